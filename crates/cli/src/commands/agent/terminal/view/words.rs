//! What the model writes, while it writes: whole lines stay as soon as they are whole, and the message that is told again
//! at its end adds only what was not shown yet.

use super::super::lines::{Line, Paint};

/// A message and a thought on their way.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// What came in pieces.
    streamed: String,
    /// How much of it stays already.
    shown: usize,
    thought: String,
}

impl Words {
    /// More of a message: its whole lines.
    pub(super) fn text(&mut self, piece: &str) -> Vec<Line> {
        self.thought.clear();
        self.streamed.push_str(piece);
        let whole = self.streamed.rfind('\n').map_or(self.shown, |at| (at + 1).max(self.shown));
        let lines = Line::all(Paint::Plain, &self.streamed[self.shown..whole]);
        self.shown = whole;
        lines
    }

    /// More of a thought.
    pub(super) fn thought(&mut self, piece: &str) {
        self.thought.push_str(piece);
    }

    pub(super) fn thought_is_over(&mut self) {
        self.thought.clear();
    }

    /// The whole message: what of it was not shown.
    pub(super) fn message(&mut self, text: &str) -> Vec<Line> {
        self.thought.clear();
        let shown = self.shown.min(text.len());
        if self.streamed.starts_with(text) {
            // Another message may have begun behind this one.
            let lines = Line::all(Paint::Plain, &text[shown..]);
            self.streamed.drain(..text.len());
            self.shown -= shown;
            return lines;
        }
        let known = text.get(..shown).is_some_and(|head| self.streamed.starts_with(head));
        let rest = if known { &text[shown..] } else { text };
        *self = Self::default();
        Line::all(Paint::Plain, rest)
    }

    /// It will not be finished: what was under way stays as far as it came.
    pub(super) fn broke(&mut self) -> Vec<Line> {
        let lines = Line::all(Paint::Dim, &self.streamed[self.shown..]);
        *self = Self::default();
        lines
    }

    /// The line that is being written.
    pub(super) fn unfinished(&self) -> &str {
        &self.streamed[self.shown..]
    }

    /// The thought that is being had.
    pub(super) fn thinking(&self) -> &str {
        &self.thought
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces, then the message; what stays of each.
    fn check(pieces: &[&str], message: &str, expected: &[&str]) {
        let mut words = Words::default();
        let mut lines: Vec<Line> = pieces.iter().flat_map(|piece| words.text(piece)).collect();
        lines.extend(words.message(message));
        let lines: Vec<String> = lines.iter().map(Line::text).collect();
        assert_eq!(lines, expected, "{pieces:?}");
        assert_eq!(words.unfinished(), "");
    }

    #[test]
    fn a_message_is_shown_once_however_it_comes() {
        check(&["one\ntw", "o\nthree"], "one\ntwo\nthree", &["one", "two", "three"]);
        check(&["one\n"], "one\n", &["one"]);
        check(&[], "one\ntwo", &["one", "two"]);
        check(&["one"], "one", &["one"]);
        // The message is longer than what came in pieces.
        check(&["one\ntw"], "one\ntwo", &["one", "two"]);
        // It is another one than what came in pieces.
        check(&["wrong\nstart"], "right", &["wrong", "right"]);
        check(&["ää\nö"], "aäää", &["ää", "aäää"]);
    }

    #[test]
    fn a_second_message_in_one_answer_goes_on_where_it_was() {
        let mut words = Words::default();
        words.text("first.");
        assert_eq!(words.text("\nsecond"), [Line::of(Paint::Plain, "first.")]);
        assert_eq!(words.message("first."), []);
        assert_eq!(words.unfinished(), "second");
    }
}
