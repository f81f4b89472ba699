//! Reads a file as a stream of lines, and keeps only the beginning of each line, whatever its length.

use std::fs::File;
use std::io::{self, BufRead, BufReader};

use crate::answer::FileToolError;
use crate::bounds::LONGEST_LINE;
use crate::file_context::FileContext;
use crate::opening::OpenedFile;
use crate::words::count;

/// The bytes that are read at a time. The call can be stopped between two reads.
const CHUNK: usize = 64 * 1024;
/// How many bytes of a line are kept: enough for one character more than is shown.
const KEPT: usize = 4 * (LONGEST_LINE + 1);

/// The lines of a file, one after the other.
pub(super) struct Lines<'a> {
    found: &'a OpenedFile,
    reader: BufReader<&'a File>,
    surroundings: &'a FileContext<'a>,
    /// How many lines have been read.
    passed: u64,
}

/// One line.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// Its number, from 1.
    pub(super) number: u64,
    /// Its beginning, without the line break.
    pub(super) kept: Vec<u8>,
    /// Its length in bytes, without the line break.
    pub(super) length: u64,
    pub(super) ending: LineBreak,
}

/// The end of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum LineBreak {
    /// The end of the file.
    #[default]
    Nothing,
    Newline,
    CarriageReturnAndNewline,
}

impl<'a> Lines<'a> {
    pub(super) fn of(found: &'a OpenedFile, file: &'a File, surroundings: &'a FileContext<'a>) -> Self {
        Self { found, reader: BufReader::with_capacity(CHUNK, file), surroundings, passed: 0 }
    }

    /// Skips so many lines, or to the end.
    pub(super) fn skip(&mut self, lines: u64) -> Result<(), FileToolError> {
        let goal = self.passed.saturating_add(lines);
        let mut in_a_line = false;
        while self.passed < goal {
            let wanted = goal - self.passed;
            let chunk = self.chunk()?;
            if chunk.is_empty() {
                self.passed += u64::from(in_a_line);
                break;
            }
            let (newlines, used) = count_newlines(chunk, wanted);
            in_a_line = chunk[..used].last() != Some(&b'\n');
            self.reader.consume(used);
            self.passed += newlines;
        }
        Ok(())
    }

    /// The next line, if there is one.
    pub(super) fn next(&mut self) -> Result<Option<Line>, FileToolError> {
        let mut line = Line { number: self.passed + 1, ..Line::default() };
        let mut last = None;
        loop {
            let chunk = self.chunk()?;
            if chunk.is_empty() {
                break;
            }
            let newline = memchr::memchr(b'\n', chunk);
            let part = &chunk[..newline.unwrap_or(chunk.len())];
            line.add(part);
            last = part.last().copied().or(last);
            let used = part.len() + usize::from(newline.is_some());
            self.reader.consume(used);
            if newline.is_some() {
                line.end(last);
                break;
            }
        }
        if line.length == 0 && line.ending == LineBreak::Nothing {
            return Ok(None);
        }
        self.passed += 1;
        Ok(Some(line))
    }

    /// Whether any bytes follow the last line that was read.
    pub(super) fn has_more(&mut self) -> Result<bool, FileToolError> {
        Ok(!self.chunk()?.is_empty())
    }

    /// The error that there is no line with this number. Called at the end of the file.
    pub(super) fn beyond_the_end(&self, offset: u64) -> FileToolError {
        let there = count(self.passed, "line");
        FileToolError::BeyondTheEnd { path: self.found.path.clone(), there, offset }
    }

    /// The next bytes of the file; empty at its end.
    fn chunk(&mut self) -> Result<&[u8], FileToolError> {
        if self.reader.buffer().is_empty() {
            self.surroundings.go_on()?;
            while let Err(error) = self.reader.fill_buf() {
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(self.found.system("read it", error));
                }
            }
        }
        Ok(self.reader.buffer())
    }
}

impl Line {
    fn add(&mut self, part: &[u8]) {
        let room = KEPT - self.kept.len();
        self.kept.extend_from_slice(&part[..part.len().min(room)]);
        self.length += part.len() as u64;
    }

    /// Handles a newline, which follows this byte.
    fn end(&mut self, last: Option<u8>) {
        self.ending = LineBreak::Newline;
        if last == Some(b'\r') {
            self.ending = LineBreak::CarriageReturnAndNewline;
            self.length -= 1;
            self.kept.truncate(usize::try_from(self.length).unwrap_or(KEPT));
        }
    }
}

/// The number of newlines, up to `wanted`, and the number of bytes up to the last of them or, if there are fewer, to
/// the end.
fn count_newlines(chunk: &[u8], wanted: u64) -> (u64, usize) {
    let all = memchr::memchr_iter(b'\n', chunk).count() as u64;
    if all < wanted {
        return (all, chunk.len());
    }
    let last =
        usize::try_from(wanted - 1).ok().and_then(|place| memchr::memchr_iter(b'\n', chunk).nth(place));
    (wanted, last.map_or(0, |place| place + 1))
}
