//! The model's text while it is streamed: each line becomes permanent as soon as it is complete, and the full message
//! at the end adds only the part that was not shown yet.

use super::super::lines::{Line, Paint};

/// A message and reasoning that are being streamed.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// The text that was streamed so far.
    streamed: String,
    /// How many bytes of it are permanent.
    shown: usize,
    thought: String,
}

impl Words {
    /// Adds a piece of a message; returns the complete lines.
    pub(super) fn text(&mut self, piece: &str) -> Vec<Line> {
        self.thought.clear();
        self.streamed.push_str(piece);
        let whole = self.streamed.rfind('\n').map_or(self.shown, |at| (at + 1).max(self.shown));
        let lines = Line::all(Paint::Plain, &self.streamed[self.shown..whole]);
        self.shown = whole;
        lines
    }

    /// Adds a piece of reasoning.
    pub(super) fn thought(&mut self, piece: &str) {
        self.thought.push_str(piece);
    }

    pub(super) fn thought_is_over(&mut self) {
        self.thought.clear();
    }

    /// Takes the full message; returns the lines that were not shown.
    pub(super) fn message(&mut self, text: &str) -> Vec<Line> {
        self.thought.clear();
        let shown = self.shown.min(text.len());
        if self.streamed.starts_with(text) {
            // Another message may have begun after this one.
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

    /// Ends a message that will not be completed: its text so far becomes permanent.
    pub(super) fn broke(&mut self) -> Vec<Line> {
        let lines = Line::all(Paint::Dim, &self.streamed[self.shown..]);
        *self = Self::default();
        lines
    }

    /// The incomplete line.
    pub(super) fn unfinished(&self) -> &str {
        &self.streamed[self.shown..]
    }

    /// The current reasoning.
    pub(super) fn thinking(&self) -> &str {
        &self.thought
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Streams the pieces, then the message, and compares the permanent lines.
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
        // The message is longer than the streamed text.
        check(&["one\ntw"], "one\ntwo", &["one", "two"]);
        // The message differs from the streamed text.
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
