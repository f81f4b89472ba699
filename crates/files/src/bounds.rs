//! The size limits of an output, and the text that enforces them.

use std::fmt::Write;

/// The most bytes of text in one output, apart from its notes: about 10,000 tokens of four bytes each.
pub const ANSWER_BYTES: usize = 40_000;

/// The most characters that are shown of one line or one name.
pub(crate) const LONGEST_LINE: usize = 500;

/// The text of an output as it grows: lines, until there is no room for the next one, and notes behind them.
#[derive(Debug, Default)]
pub(crate) struct Text {
    lines: String,
    notes: Vec<String>,
}

impl Text {
    /// Adds a line, unless it does not fit. The first one always fits: with an empty page the model could not go on.
    #[must_use]
    pub(crate) fn push(&mut self, line: &str) -> bool {
        let fits = self.lines.is_empty() || self.lines.len() + line.len() < ANSWER_BYTES;
        if fits {
            self.lines.push_str(line);
            self.lines.push('\n');
        }
        fits
    }

    /// Adds a note, which stands behind all lines and does not count towards the limit.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    pub(crate) fn finish(mut self) -> String {
        for note in &self.notes {
            let _ = writeln!(self.lines, "Note: {note}");
        }
        let end = self.lines.trim_end_matches('\n').len();
        self.lines.truncate(end);
        self.lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_while_there_is_room_and_notes_come_last() {
        let mut text = Text::default();
        text.note("why");
        assert!(text.push(&"x".repeat(ANSWER_BYTES)), "the first line always fits");
        assert!(!text.push("y"));
        let finished = text.finish();
        assert!(finished.ends_with("x\nNote: why"));
    }
}
