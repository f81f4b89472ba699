//! Shows lines to a model as `L12: text`, within limits, with notes about what cannot be seen.

use super::about_cut_lines;
use super::lines::{Line, LineBreak, Lines};
use crate::answer::FileToolError;
use crate::bounds::{LONGEST_LINE, Text};
use crate::words::count;

/// Facts about the lines that were shown.
#[derive(Debug, Default)]
pub(super) struct Page {
    shown: u64,
    /// How many of them end with a carriage return.
    carriage_returns: u64,
    /// The first one that was cut.
    cut: Option<u64>,
    /// The first one with bytes that are not UTF-8.
    not_utf8: Option<u64>,
    begins_with_mark: bool,
    unfinished: bool,
    next: Option<u64>,
}

impl Page {
    /// Shows up to so many lines, as far as there is room.
    pub(super) fn fill(lines: &mut Lines<'_>, most: u64, text: &mut Text) -> Result<Self, FileToolError> {
        let mut page = Self::default();
        while page.shown < most {
            let Some(line) = lines.next()? else { return Ok(page) };
            if !page.show(&line, text) {
                page.next = Some(line.number);
                return Ok(page);
            }
            if page.shown == most && lines.has_more()? {
                page.next = Some(line.number + 1);
            }
        }
        Ok(page)
    }

    /// How many lines were shown.
    pub(super) fn shown(&self) -> u64 {
        self.shown
    }

    /// The line that follows the page.
    pub(super) fn next(&self) -> Option<u64> {
        self.next
    }

    /// Adds notes about what the lines do not show.
    pub(super) fn remarks(&self, text: &mut Text) {
        if let Some(first) = self.cut {
            text.note(about_cut_lines(first));
        }
        if let Some(first) = self.not_utf8 {
            text.note(format!(
                "not all of it is UTF-8: \u{fffd} stands for bytes that are not (first in line {first})"
            ));
        }
        if self.begins_with_mark {
            text.note("the file begins with a byte order mark, which is not shown");
        }
        if self.carriage_returns == self.shown && self.shown > 0 {
            text.note("lines end with CR LF");
        } else if self.carriage_returns > 0 {
            text.note(format!("CR LF ends {} of these, LF the others", count(self.carriage_returns, "line")));
        }
        if self.unfinished {
            text.note("the last line has no newline at its end");
        }
    }

    /// Adds a line, unless there is no room for it.
    fn show(&mut self, line: &Line, text: &mut Text) -> bool {
        let shape = Shape::of(line);
        let cut =
            if shape.cut { format!(" … [cut: the line has {} bytes]", line.length) } else { String::new() };
        if !text.push(&format!("L{}: {}{cut}", line.number, shape.text)) {
            return false;
        }
        self.shown += 1;
        self.carriage_returns += u64::from(line.ending == LineBreak::CarriageReturnAndNewline);
        self.cut = self.cut.or(shape.cut.then_some(line.number));
        self.not_utf8 = self.not_utf8.or(shape.not_utf8.then_some(line.number));
        self.begins_with_mark |= shape.marked;
        self.unfinished = line.ending == LineBreak::Nothing;
        true
    }
}

/// A line's text, and the changes made to it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Shape {
    text: String,
    cut: bool,
    not_utf8: bool,
    /// Whether a byte order mark was removed.
    marked: bool,
}

impl Shape {
    fn of(line: &Line) -> Self {
        let mut shape = Self::default();
        let unmarked = if line.number == 1 { line.kept.strip_prefix(b"\xef\xbb\xbf") } else { None };
        shape.marked = unmarked.is_some();
        let mut room = LONGEST_LINE;
        for chunk in unmarked.unwrap_or(&line.kept).utf8_chunks() {
            room = shape.add(chunk.valid(), room);
            if !chunk.invalid().is_empty() && room > 0 {
                shape.not_utf8 = true;
                room = shape.add("\u{fffd}", room);
            } else if !chunk.invalid().is_empty() {
                shape.cut = true;
            }
        }
        shape.cut |= line.kept.len() as u64 != line.length;
        shape
    }

    /// Adds as many characters as there is room for, and returns the remaining room. NUL, which many JSON readers
    /// reject, is replaced by its picture character.
    fn add(&mut self, text: &str, mut room: usize) -> usize {
        for c in text.chars() {
            if room == 0 {
                self.cut = true;
                break;
            }
            self.text.push(if c == '\0' { '␀' } else { c });
            room -= 1;
        }
        room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(bytes: &[u8]) -> Shape {
        let kept = bytes[..bytes.len().min(4 * (LONGEST_LINE + 1))].to_vec();
        Shape::of(&Line { number: 1, kept, length: bytes.len() as u64, ending: LineBreak::Newline })
    }

    #[test]
    fn lines_are_cut_at_characters() {
        for (character, number, cut) in
            [("a", 500, false), ("a", 501, true), ("é", 500, false), ("🦀", 500, false), ("🦀", 501, true)]
        {
            let shape = shape(character.repeat(number).as_bytes());
            assert_eq!(shape.text, character.repeat(number.min(500)));
            assert_eq!((shape.cut, shape.not_utf8), (cut, false), "{number} times {character}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_told() {
        for (bytes, text, not_utf8) in [
            (&b"lat\xe9in"[..], "lat\u{fffd}in", true),
            (b"a\0b", "a␀b", false),
            (b"\xe2\x82", "\u{fffd}", true),
        ] {
            let shape = shape(bytes);
            assert_eq!((shape.text.as_str(), shape.not_utf8), (text, not_utf8));
        }
    }

    #[test]
    fn a_byte_order_mark_is_taken_off() {
        let shape = shape(b"\xef\xbb\xbfusing");
        assert_eq!((shape.text.as_str(), shape.marked), ("using", true));
    }
}
