//! Parses the lines between a patch's markers into sections and chunks. More lenient than the grammar that models are
//! given, but never where a line could mean two things. The error messages use wordings that models know.

use crate::header::{self, END_OF_FILE, SectionHeader};
use crate::patch::{Chunk, ChunkPlace, PatchLine, Section, Update};

/// The reason why a text is not a patch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// Nothing is between the markers.
    #[error("patch rejected: empty patch")]
    Empty,
    /// The text is longer than a patch may be.
    #[error("patch rejected: it has {size} bytes, and {limit} are the most")]
    TooLarge {
        /// Its length in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The first marker is missing, or there are several.
    #[error("invalid patch: The first line of the patch must be '*** Begin Patch'")]
    NoBegin,
    /// The last marker is missing, or there are several.
    #[error("invalid patch: The last line of the patch must be '*** End Patch'")]
    NoEnd,
    /// A line is invalid at its position.
    #[error("invalid hunk at line {line}, {fault}")]
    Hunk {
        /// Its number, where the line of the first marker is 1.
        line: usize,
        /// The fault.
        fault: HunkFault,
    },
}

/// A fault of a line in a patch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HunkFault {
    /// A section header is expected here.
    #[error(
        "'{text}' is not a valid hunk header. Valid hunk headers: '*** Add File: {{path}}', '*** Delete File: {{path}}', \
         '*** Update File: {{path}}'"
    )]
    NotAHeader {
        /// The text of the line, perhaps shortened.
        text: String,
    },
    /// A section updates a file, but contains no change.
    #[error(
        "Update file hunk for path '{path}' is empty. To rename a file without changing it, give one line of it as context"
    )]
    EmptyUpdate {
        /// The file.
        path: String,
    },
    /// A chunk has a header but no lines.
    #[error("Update hunk does not contain any lines")]
    EmptyChunk,
    /// A line without a prefix follows a chunk.
    #[error(
        "Expected update hunk to start with a @@ context marker, got: '{text}'. Every line of a hunk starts with ' ' \
         (context line), '+' (added line), or '-' (removed line)"
    )]
    NotAChunk {
        /// The line, perhaps shortened.
        text: String,
    },
    /// A line without a prefix begins a chunk.
    #[error(
        "Unexpected line found in update hunk: '{text}'. Every line should start with ' ' (context line), '+' (added \
         line), or '-' (removed line)"
    )]
    Unexpected {
        /// The line, perhaps shortened.
        text: String,
    },
}

/// Reads all sections.
pub(crate) fn sections(lines: &[&str]) -> Result<Vec<Section>, ParseError> {
    let mut reader = Reader { lines, next: 0 };
    let mut sections = Vec::new();
    while reader.skip_blank().is_some() {
        sections.push(reader.section()?);
    }
    Ok(sections)
}

/// Reads the lines between the markers.
struct Reader<'a> {
    lines: &'a [&'a str],
    next: usize,
}

impl<'a> Reader<'a> {
    fn section(&mut self) -> Result<Section, ParseError> {
        let at = self.next;
        let line = self.peek().unwrap_or_default();
        let header = header::section(line)
            .ok_or_else(|| fault(at, HunkFault::NotAHeader { text: shortened(line.trim()) }))?;
        self.next += 1;
        match header {
            SectionHeader::Add(path) => Ok(Section::Add { path: path.to_owned(), text: self.added_text() }),
            SectionHeader::Delete(path) => Ok(Section::Delete { path: path.to_owned() }),
            SectionHeader::Update(path) => self.update(at, path).map(Section::Update),
        }
    }

    /// The lines of a new file. An empty line between others has lost its prefix: it has no other meaning.
    fn added_text(&mut self) -> String {
        let mut text = String::new();
        loop {
            let (blank, next) = self.after_blank();
            let Some(line) = next.and_then(|line| line.strip_prefix('+')) else { break };
            text.extend(std::iter::repeat_n('\n', blank));
            text.push_str(line);
            text.push('\n');
            self.next += blank + 1;
        }
        if self.peek().is_some_and(is_end_of_file) {
            self.next += 1;
        }
        text
    }

    fn update(&mut self, at: usize, path: &str) -> Result<Update, ParseError> {
        let path = path.to_owned();
        let move_to = self.peek().and_then(header::move_to).map(str::to_owned);
        self.next += usize::from(move_to.is_some());
        let mut chunks = Vec::new();
        while let Some(line) = self.skip_blank()
            && (!line.starts_with("***") || is_end_of_file(line))
        {
            chunks.push(self.chunk(chunks.is_empty())?);
        }
        if chunks.is_empty() {
            return Err(fault(at, HunkFault::EmptyUpdate { path }));
        }
        Ok(Update { path, move_to, chunks })
    }

    /// Parses one chunk. The first of a section needs no header.
    fn chunk(&mut self, first: bool) -> Result<Chunk, ParseError> {
        let begin = self.next;
        let mut chunk = Chunk::default();
        self.chunk_headers(&mut chunk);
        if self.next == begin && !first {
            let text = shortened(self.peek().unwrap_or_default());
            return Err(fault(begin, HunkFault::NotAChunk { text }));
        }
        let soft = self.chunk_lines(&mut chunk)?;
        if chunk.lines.is_empty() {
            return Err(fault(begin, HunkFault::EmptyChunk));
        }
        drop_separators(&mut chunk.lines, soft);
        Ok(chunk)
    }

    /// Parses the `@@` lines. Several in a row lead from the outermost to the innermost.
    fn chunk_headers(&mut self, chunk: &mut Chunk) {
        loop {
            let (blank, next) = self.after_blank();
            let Some(header) = next.and_then(header::chunk) else { return };
            chunk.numbers = header.numbers.or(chunk.numbers);
            chunk.headers.extend(header.line.map(str::to_owned));
            self.next += blank + 1;
        }
    }

    /// Parses the lines below the headers. Returns how many of the last ones are completely empty, without a prefix.
    fn chunk_lines(&mut self, chunk: &mut Chunk) -> Result<usize, ParseError> {
        let mut soft = 0;
        while let Some(line) = self.peek() {
            if is_end_of_file(line) {
                self.next += 1;
                chunk.place = ChunkPlace::EndOfFile;
                break;
            }
            match line.chars().next() {
                None => chunk.lines.push(PatchLine::Context(String::new())),
                Some(' ') => chunk.lines.push(PatchLine::Context(line[1..].to_owned())),
                Some('-') => chunk.lines.push(PatchLine::Remove(line[1..].to_owned())),
                Some('+') => chunk.lines.push(PatchLine::Add(line[1..].to_owned())),
                Some('\\') if line.starts_with("\\ No newline") => {}
                Some('*') if line.starts_with("***") => break,
                Some(_) if chunk.lines.is_empty() => {
                    return Err(fault(self.next, HunkFault::Unexpected { text: shortened(line) }));
                }
                Some(_) => break,
            }
            soft = if line.is_empty() { soft + 1 } else { 0 };
            self.next += 1;
        }
        Ok(soft)
    }

    fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.next).copied()
    }

    /// How many blank lines come next, and the line after them.
    fn after_blank(&self) -> (usize, Option<&'a str>) {
        let rest = &self.lines[self.next..];
        let blank = rest.iter().take_while(|line| line.trim().is_empty()).count();
        (blank, rest.get(blank).copied())
    }

    fn skip_blank(&mut self) -> Option<&'a str> {
        let (blank, line) = self.after_blank();
        self.next += blank;
        line
    }
}

/// Removes empty lines below a chunk that only adds: they separate it from the next one, and searching for an empty
/// line in the file could put the additions anywhere.
fn drop_separators(lines: &mut Vec<PatchLine>, soft: usize) {
    let kept = lines.len() - soft;
    if kept > 0 && lines[..kept].iter().all(|line| line.old().is_none()) {
        lines.truncate(kept);
    }
}

fn is_end_of_file(line: &str) -> bool {
    line.trim_end() == END_OF_FILE
}

/// A fault of the line with this index; the first marker is line 1 and has no index.
fn fault(index: usize, fault: HunkFault) -> ParseError {
    ParseError::Hunk { line: index + 2, fault }
}

/// The most characters of a line that an error repeats.
const SHOWN: usize = 200;

/// The beginning of a line, for messages.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
