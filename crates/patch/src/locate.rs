//! Locates each chunk in its file. Chunks come in the order of the file: each is searched for below the one before,
//! though it may share lines that the one before only named as context. Where several places fit, the first one below
//! the header is taken (or the one nearest to a unified diff's number), and the doubt is recorded.

use std::collections::HashSet;

use crate::misfit::{self, Elsewhere, Misfit};
use crate::nearest::nearest;
use crate::parse::shortened;
use crate::patch::{Chunk, ChunkPlace, LineNumbers, PatchLine};
use crate::search::Index;
use crate::warning::{Doubt, MAX_OTHERS};

/// The location of a chunk, in lines counted from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChunkLocation {
    /// The chunk covers these lines of the file.
    Block { start: usize, length: usize },
    /// The chunk only adds, before this line.
    Before(usize),
    /// The chunk only adds, at the end of the file.
    End,
}

/// The most repetitions of a header that are examined.
const RIVALS: usize = 20;

/// Locates the chunks of one file, one after another.
pub(crate) struct Locator<'a> {
    index: &'a Index<'a>,
    /// The line below the chunks so far.
    cursor: usize,
    /// The first line that the chunk before did not change: lines from here on may be shared with it.
    floor: usize,
    /// How many chunks were located.
    count: usize,
    /// The first lines of the located chunks.
    starts: Vec<usize>,
    doubts: Vec<Doubt>,
}

/// The part of the file to which the headers of a chunk lead.
struct Scope {
    /// The search for the chunk begins here.
    from: usize,
    header: Header,
}

/// The position of a chunk's innermost header in the file.
enum Header {
    None,
    /// A line that only occurs below the cursor, and the other occurrences of its outermost header.
    Ahead {
        line: usize,
        rivals: Vec<usize>,
    },
    /// A line above the cursor: the chunks before are within its scope too.
    Behind {
        line: usize,
    },
}

/// The places where the lines of a chunk were found.
struct MatchedChunk {
    /// The first acceptable place and all places behind it.
    places: Vec<usize>,
    /// The chosen place.
    start: usize,
    /// How many lines were searched for.
    length: usize,
}

impl<'a> Locator<'a> {
    pub(crate) fn of(index: &'a Index<'a>) -> Self {
        Self { index, cursor: 0, floor: 0, count: 0, starts: Vec::new(), doubts: Vec::new() }
    }

    /// Locates the next chunk.
    pub(crate) fn place(&mut self, chunk: &Chunk) -> Result<ChunkLocation, Misfit> {
        self.count += 1;
        let scope = self.scope(chunk)?;
        let old: Vec<&str> = chunk.lines.iter().filter_map(PatchLine::old).collect();
        if old.is_empty() {
            self.place_addition(chunk, &scope)
        } else {
            self.place_block(chunk, &old, &scope)
        }
    }

    /// The chunks that fit several places. A place that another chunk took no longer counts.
    pub(crate) fn doubts(self) -> Vec<Doubt> {
        let starts: HashSet<usize> = self.starts.into_iter().collect();
        let mut doubts = self.doubts;
        for doubt in &mut doubts {
            if let Doubt::Repeated { others, .. } = doubt {
                others.retain(|line| !starts.contains(&(line - 1)));
            }
        }
        doubts.retain(|doubt| !matches!(doubt, Doubt::Repeated { others, .. } if others.is_empty()));
        doubts
    }

    /// Follows the headers of a chunk, the outermost first.
    fn scope(&mut self, chunk: &Chunk) -> Result<Scope, Misfit> {
        let mut scope = Scope { from: self.cursor, header: Header::None };
        for header in &chunk.headers {
            let mut found = self.find_header(header, scope.from).into_iter();
            if let Some(line) = found.next() {
                let rivals = match scope.header {
                    Header::None => found.take(RIVALS).collect(),
                    Header::Ahead { rivals, .. } => rivals,
                    Header::Behind { .. } => Vec::new(),
                };
                scope = Scope { from: line + 1, header: Header::Ahead { line, rivals } };
            } else if let Some(line) = self.find_behind(header) {
                scope.header = Header::Behind { line };
            } else if chunk.numbers.is_some() {
                self.doubts.push(Doubt::HeaderIgnored { chunk: self.count, header: shortened(header) });
            } else {
                return Err(self.no_context(header));
            }
        }
        Ok(scope)
    }

    fn find_header(&self, header: &str, from: usize) -> Vec<usize> {
        let found = self.index.find(&[header], from);
        match header.strip_suffix("@@") {
            // Some models close a header with `@@`, as unified diffs do.
            Some(open) if found.is_empty() => self.index.find(&[open], from),
            _ => found,
        }
    }

    /// The last line above the cursor that a header can mean.
    fn find_behind(&self, header: &str) -> Option<usize> {
        self.find_header(header, 0).into_iter().rfind(|line| *line < self.cursor)
    }

    fn no_context(&self, header: &str) -> Misfit {
        Misfit::NoContext { header: shortened(header), nearest: nearest(self.index.lines(), &[header]) }
    }

    /// Locates a chunk that only adds: below its header, else where its numbers say, else at the end.
    fn place_addition(&mut self, chunk: &Chunk, scope: &Scope) -> Result<ChunkLocation, Misfit> {
        if chunk.place == ChunkPlace::EndOfFile {
            return Ok(ChunkLocation::End);
        }
        // Only a program writes a count of zero, so its number can be trusted.
        if let Some(numbers) = chunk.numbers.filter(|numbers| numbers.count == 0) {
            return Ok(self.place_by_number(numbers));
        }
        match &scope.header {
            Header::Ahead { line, rivals } => {
                let others = if chunk.headers.len() == 1 { rivals.clone() } else { Vec::new() };
                self.note_repetition(*line, others);
                (self.cursor, self.floor) = (line + 1, line + 1);
                Ok(ChunkLocation::Before(line + 1))
            }
            Header::Behind { line } => self.place_behind(chunk, *line),
            Header::None => {
                Ok(chunk.numbers.map_or(ChunkLocation::End, |numbers| self.place_by_number(numbers)))
            }
        }
    }

    /// A chunk may go back to a line above the cursor only if that line occurs once.
    fn place_behind(&self, chunk: &Chunk, line: usize) -> Result<ChunkLocation, Misfit> {
        let header = chunk.headers.last().map_or("", String::as_str);
        match self.find_header(header, 0).len() {
            1 => Ok(ChunkLocation::Before(line + 1)),
            _ => Err(self.no_context(header)),
        }
    }

    /// In a unified diff, lines that are added to an empty range come after the line with the number; otherwise the
    /// number is that of the first line.
    fn place_by_number(&mut self, numbers: LineNumbers) -> ChunkLocation {
        let at = if numbers.count == 0 { numbers.start } else { numbers.start.saturating_sub(1) };
        if at >= self.index.lines().len() {
            return ChunkLocation::End;
        }
        self.doubts.push(Doubt::ByNumberAlone { chunk: self.count, line: at + 1 });
        (self.cursor, self.floor) = (self.cursor.max(at), self.floor.max(at));
        ChunkLocation::Before(at)
    }

    /// Locates a chunk by the lines that it keeps or removes.
    fn place_block(&mut self, chunk: &Chunk, old: &[&str], scope: &Scope) -> Result<ChunkLocation, Misfit> {
        let Some(found) = self.find_block(chunk, old, scope) else {
            return Err(self.no_lines(chunk, old, scope));
        };
        let MatchedChunk { start, length, .. } = found;
        let others = self.others(chunk, &found, scope);
        self.note_repetition(start, others);
        self.starts.push(start);
        self.cursor = start + length;
        self.floor = self.cursor - trailing_context(chunk, old.len() - length);
        Ok(ChunkLocation::Block { start, length })
    }

    /// Searches below the header; then from the header on, for chunks that repeat it; then among the lines that the
    /// chunk before named without changing them. With numbers the header is only a hint as well: `diff` writes whatever
    /// function precedes the chunk, and a place that is exactly where the number says needs no header.
    fn find_block(&self, chunk: &Chunk, old: &[&str], scope: &Scope) -> Option<MatchedChunk> {
        let from = |from: usize| self.find_from(chunk, old, from);
        let Some(numbers) = chunk.numbers else {
            return from(scope.from).or_else(|| from(self.second(scope)));
        };
        let anywhere = from(self.floor)?;
        if anywhere.start + 1 == numbers.start {
            return Some(anywhere);
        }
        from(scope.from).or(Some(anywhere))
    }

    /// The start of the second search, when the lines are not below the header.
    fn second(&self, scope: &Scope) -> usize {
        match scope.header {
            Header::Ahead { line, .. } => line,
            Header::None | Header::Behind { .. } => self.floor,
        }
    }

    /// Searches for the lines, and then without the empty ones at their end, which only mark the end of the patch's
    /// section.
    fn find_from(&self, chunk: &Chunk, old: &[&str], from: usize) -> Option<MatchedChunk> {
        let filled = old.iter().rposition(|line| !line.is_empty()).map_or(1, |last| last + 1);
        let mut lengths = vec![old.len(), (old.len() - 1).max(filled), filled];
        lengths.dedup();
        lengths.into_iter().find_map(|length| {
            let wanted = &old[..length];
            let places = match chunk.place {
                ChunkPlace::Anywhere => self.index.find(wanted, from),
                ChunkPlace::EndOfFile => self.index.find_at_end(wanted, from).into_iter().collect(),
            };
            let start = choose(&places, chunk.numbers)?;
            Some(MatchedChunk { places, start, length })
        })
    }

    /// The other places that the chunk could mean.
    fn others(&self, chunk: &Chunk, found: &MatchedChunk, scope: &Scope) -> Vec<usize> {
        let start = found.start;
        let but_start = |places: &[usize]| places.iter().copied().filter(|place| *place != start).collect();
        match (chunk.numbers, &scope.header) {
            (Some(numbers), _) if start + 1 == numbers.start => Vec::new(),
            (Some(_), _) => but_start(&found.places),
            (None, Header::None) => {
                let wanted: Vec<&str> =
                    chunk.lines.iter().filter_map(PatchLine::old).take(found.length).collect();
                match chunk.place {
                    ChunkPlace::Anywhere => but_start(&self.index.find(&wanted, self.floor)),
                    ChunkPlace::EndOfFile => Vec::new(),
                }
            }
            (None, Header::Behind { .. }) => Vec::new(),
            (None, Header::Ahead { rivals, .. }) => {
                let mut places: Vec<usize> =
                    rivals.iter().filter_map(|rival| self.follow(chunk, *rival, found)).collect();
                places.dedup();
                but_start(&places)
            }
        }
    }

    /// The chunk's location if its outermost header were this line.
    fn follow(&self, chunk: &Chunk, outermost: usize, found: &MatchedChunk) -> Option<usize> {
        let mut from = outermost + 1;
        for header in &chunk.headers[1..] {
            from = self.find_header(header, from).first()? + 1;
        }
        found.places.iter().copied().find(|place| *place >= from)
    }

    fn note_repetition(&mut self, line: usize, others: Vec<usize>) {
        if !others.is_empty() {
            let others = others.into_iter().take(MAX_OTHERS).map(|other| other + 1).collect();
            self.doubts.push(Doubt::Repeated { chunk: self.count, line: line + 1, others });
        }
    }

    fn no_lines(&self, chunk: &Chunk, old: &[&str], scope: &Scope) -> Misfit {
        let first = |from| self.index.find(old, from).first().map(|line| line + 1);
        let found = match (chunk.place, first(scope.from), first(0)) {
            (ChunkPlace::EndOfFile, Some(line), _) => Elsewhere::NotAtEnd { line },
            (_, _, Some(line)) => Elsewhere::TooEarly { line },
            _ => Elsewhere::Nowhere(nearest(self.index.lines(), old)),
        };
        Misfit::NoLines { expected: misfit::expected(old), found }
    }
}

/// The first place, or the one nearest to a unified diff's number.
fn choose(places: &[usize], numbers: Option<LineNumbers>) -> Option<usize> {
    match numbers {
        None => places.first().copied(),
        Some(numbers) => {
            let hint = numbers.start.saturating_sub(1);
            places.iter().copied().min_by_key(|place| place.abs_diff(hint))
        }
    }
}

/// How many lines at the chunk's end stay as they are. `dropped`: how many of its old lines are missing in the file.
fn trailing_context(chunk: &Chunk, dropped: usize) -> usize {
    let mut skip = dropped;
    let mut kept = 0;
    for line in chunk.lines.iter().rev() {
        match line {
            PatchLine::Add(_) => return kept,
            _ if skip > 0 => skip -= 1,
            PatchLine::Remove(_) => return kept,
            PatchLine::Context(_) => kept += 1,
        }
    }
    kept
}
