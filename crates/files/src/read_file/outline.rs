//! Facts about the lines near an anchor: the indentation, the apparent role and the length of each. It takes a few
//! bytes per line, so a file of any length can be handled.

use std::ops::Range;

use super::lines::{Line, Lines};
use crate::answer::FileToolError;
use crate::bounds::ANSWER_BYTES;

/// How many lines before and behind the anchor are examined.
const REACH: u64 = 50_000;
/// The largest indentation of a tab.
const TAB: u32 = 4;
/// The bytes that surround a line in the output: `L12: ` and the newline.
const FRAME: usize = 10;
/// The part of an output that is reserved for its first line and for lines that grow when they are shown.
const SLACK: usize = 2000;

/// Some lines of a file. Indices inside the outline start at 0.
#[derive(Debug)]
pub(super) struct Outline {
    pub(super) lines: Vec<LineFacts>,
    pub(super) anchor: usize,
    /// The number of the first one in the file.
    first: u64,
}

/// The facts about a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineFacts {
    /// In columns.
    pub(super) indent: u32,
    pub(super) role: Role,
    bytes: u32,
}

/// The apparent role of a line, in any language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Blank,
    /// A comment, a decorator, an attribute: it belongs to the next line.
    Header,
    /// The first of several lines of a decorator or an attribute.
    Decorator,
    /// Only an opening bracket: it belongs to the line before.
    Opening,
    /// A line that begins by closing a block, as `}`, `)`, `end` and `else` do.
    Closing,
    Other,
}

impl Outline {
    /// The lines around this one, whose number starts at 1.
    pub(super) fn around(anchor: u64, mut lines: Lines<'_>) -> Result<Self, FileToolError> {
        let first = anchor.saturating_sub(REACH).max(1);
        lines.skip(first - 1)?;
        let mut outline = Self { lines: Vec::new(), anchor: 0, first };
        while let Some(line) = lines.next()? {
            if line.number > anchor.saturating_add(REACH) {
                break;
            }
            if line.number == anchor {
                outline.anchor = outline.lines.len();
            }
            outline.lines.push(LineFacts::of(&line));
        }
        let reached = outline.number(outline.lines.len()) > anchor;
        if reached { Ok(outline) } else { Err(lines.beyond_the_end(anchor)) }
    }

    /// The line's number in the file.
    pub(super) fn number(&self, line: usize) -> u64 {
        self.first + line as u64
    }

    /// The part of the block around the anchor that fits an output and this number of lines.
    pub(super) fn fitting(&self, block: &Range<usize>, most: u64) -> Range<usize> {
        let mut room = Room { lines: most, bytes: ANSWER_BYTES - SLACK };
        let mut fitting = self.anchor..self.anchor + 1;
        room.take(self.lines[self.anchor]);
        loop {
            let before = fitting.clone();
            if fitting.start > block.start && room.take(self.lines[fitting.start - 1]) {
                fitting.start -= 1;
            }
            if fitting.end < block.end && room.take(self.lines[fitting.end]) {
                fitting.end += 1;
            }
            if fitting == before {
                return fitting;
            }
        }
    }
}

/// The remaining room of an output.
struct Room {
    lines: u64,
    bytes: usize,
}

impl Room {
    fn take(&mut self, line: LineFacts) -> bool {
        let bytes = line.bytes as usize + FRAME;
        let fits = self.lines > 0 && self.bytes >= bytes;
        if fits {
            self.lines -= 1;
            self.bytes -= bytes;
        }
        fits
    }
}

impl LineFacts {
    fn of(line: &Line) -> Self {
        let mut indent = 0;
        let mut rest = &line.kept[..];
        while let [first @ (b' ' | b'\t'), others @ ..] = rest {
            indent = if *first == b'\t' { indent / TAB * TAB + TAB } else { indent + 1 };
            rest = others;
        }
        Self {
            indent,
            role: Role::of(rest.trim_ascii()),
            bytes: u32::try_from(line.kept.len()).unwrap_or(u32::MAX),
        }
    }
}

impl Role {
    /// The role of a line that begins with this text.
    fn of(text: &[u8]) -> Self {
        const HEADERS: [&[u8]; 10] = [b"//", b"/*", b"*/", b"* ", b"#", b"@", b"-- ", b"---", b";;", b"<!--"];
        let is_header = text == b"*" || HEADERS.iter().any(|start| text.starts_with(start));
        let is_open = matches!(text, [b'@' | b'#', .., b'(' | b'[' | b'{']) && !text.starts_with(b"# ");
        match text {
            b"" => Self::Blank,
            b"{" | b"(" | b"[" | b"begin" | b"do" | b"then" => Self::Opening,
            _ if is_open => Self::Decorator,
            _ if is_header => Self::Header,
            [b'}' | b')' | b']', ..] | [b'<', b'/', ..] => Self::Closing,
            _ if closes(text) => Self::Closing,
            _ => Self::Other,
        }
    }
}

/// Whether the line begins with a word that ends a block or continues its statement with another block.
fn closes(text: &[u8]) -> bool {
    const WORDS: [&[u8]; 12] = [
        b"end", b"fi", b"done", b"esac", b"else", b"elif", b"elsif", b"except", b"finally", b"catch",
        b"rescue", b"ensure",
    ];
    let length = text.iter().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(text.len());
    WORDS.contains(&&text[..length])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_an_indentation_and_a_role() {
        for (text, indent, role) in [
            ("", 0, Role::Blank),
            ("   ", 3, Role::Blank),
            ("fn main() {", 0, Role::Other),
            ("\tx", 4, Role::Other),
            ("  \tx", 4, Role::Other),
            ("    \tx", 8, Role::Other),
            ("  // why", 2, Role::Header),
            ("#[test]", 0, Role::Header),
            ("@decorated", 0, Role::Header),
            ("@decorated(", 0, Role::Decorator),
            ("#[derive(", 0, Role::Decorator),
            ("# see (", 0, Role::Header),
            (" * text", 1, Role::Header),
            ("*pointer = 1;", 0, Role::Other),
            ("--x;", 0, Role::Other),
            ("{", 0, Role::Opening),
            ("} else {", 0, Role::Closing),
            ("else:", 0, Role::Closing),
            ("elsewhere()", 0, Role::Other),
            ("end", 0, Role::Closing),
            ("</div>", 0, Role::Closing),
        ] {
            let line = Line { kept: text.as_bytes().to_vec(), ..Line::default() };
            let facts = LineFacts::of(&line);
            assert_eq!((facts.indent, facts.role), (indent, role), "{text:?}");
        }
    }
}
