//! Counting text that comes in parts as if it had come whole.

use super::classes::{Class, class_at};
use super::count::Counting;
use super::repeated::{Repeated, repeated};
use super::shapes::without_digits;
use super::{Tokenizer, Tokens};

/// Counts text that comes in parts as if it had come whole.
///
/// Only where 32 KiB in a row are all letters, all digits, all blank or all punctuation can the count differ, by a
/// token or two for each such stretch: a piece of text that never ends has to be cut somewhere.
#[derive(Clone, Debug)]
pub struct TokenCounter {
    tokenizer: Tokenizer,
    /// The text after the last place at which it can be cut.
    carried: String,
    counting: Counting,
    counted: Tokens,
    bytes: u64,
    /// Where a text is put without its digits.
    room: Vec<u8>,
}

/// From here on it pays not to copy a part.
const LARGE_PART: usize = 8 << 10;

/// The most text that waits for a place to cut.
const LONGEST_CARRY: usize = 32 << 10;

impl TokenCounter {
    /// A count of nothing yet.
    #[must_use]
    pub fn new(tokenizer: Tokenizer) -> Self {
        let (carried, counting) = (String::new(), Counting::default());
        Self { tokenizer, carried, counting, counted: Tokens::ZERO, bytes: 0, room: Vec::new() }
    }

    /// Another one of the same kind, of nothing yet.
    #[must_use]
    pub fn fresh(&self) -> Self {
        Self::new(self.tokenizer)
    }

    /// Counts the next part.
    pub fn feed(&mut self, text: &str) {
        let middle = self.feed_edges(text);
        self.feed_apart(middle);
    }

    /// Takes in the next part except for its middle, which any counter may count with
    /// [`feed_apart`](TokenCounter::feed_apart). A small part has no such middle.
    pub fn feed_edges<'a>(&mut self, text: &'a str) -> &'a str {
        self.bytes += text.len() as u64;
        if self.tokenizer == Tokenizer::Bytes4 {
            return "";
        }
        match last_cut(text).filter(|_| text.len() >= LARGE_PART) {
            Some(cut) => self.feed_large(text, cut),
            None => {
                self.carried.push_str(text);
                self.count_carried();
                ""
            }
        }
    }

    /// Counts the middle that another counter left out, in any order, and not as a part of this counter's own text.
    pub fn feed_apart(&mut self, middle: &str) {
        let mut room = std::mem::take(&mut self.room);
        let mut rest = without_digits(middle, &mut room);
        while let Some(Repeated { from, unit, times }) = repeated(rest) {
            self.count(&rest[..from]);
            let once = self.tokenizer.count_with(&rest[from..from + unit], &mut self.counting).get();
            self.add(Tokens::new(once.saturating_mul(times as u64)));
            rest = &rest[from + unit * times..];
        }
        self.count(rest);
        self.room = room;
    }

    /// Adds the counts of other counters.
    pub fn add(&mut self, counted: Tokens) {
        self.counted = self.counted + counted;
    }

    /// Most of a large part need not be copied: only its beginning belongs to what was carried.
    fn feed_large<'a>(&mut self, text: &'a str, cut: usize) -> &'a str {
        let seam = first_cut(&text[..cut]).unwrap_or(cut);
        self.carried.push_str(&text[..seam]);
        self.count_part(self.carried.len());
        self.carried.push_str(&text[cut..]);
        &text[seam..cut]
    }

    fn count(&mut self, text: &str) {
        self.counted = self.counted + self.tokenizer.count_with(text, &mut self.counting);
    }

    fn count_carried(&mut self) {
        if self.carried.len() > LONGEST_CARRY {
            self.count_part(last_cut(&self.carried).unwrap_or(self.carried.len()));
        }
    }

    /// Counts what was carried, up to `end`, and carries it no longer.
    fn count_part(&mut self, end: usize) {
        self.counted = self.counted + self.tokenizer.count_with(&self.carried[..end], &mut self.counting);
        self.carried.drain(..end);
    }

    /// How many tokens there were in all.
    #[must_use]
    pub fn finish(mut self) -> Tokens {
        if self.tokenizer == Tokenizer::Bytes4 {
            return Tokens::new(self.bytes.div_ceil(4));
        }
        self.count_part(self.carried.len());
        self.counted
    }
}

/// The last place inside the text at which it can be cut.
fn last_cut(text: &str) -> Option<usize> {
    text.char_indices().rev().map(|(at, _)| at).find(|&at| can_be_cut(text, at))
}

/// The first place inside the text at which it can be cut.
pub(super) fn first_cut(text: &str) -> Option<usize> {
    text.char_indices().map(|(at, _)| at).find(|&at| can_be_cut(text, at))
}

/// Whether no piece reaches across `at`, whatever stands further away, and neither side looks across to know where its
/// pieces end.
fn can_be_cut(text: &str, at: usize) -> bool {
    let Some(before) = text[..at].char_indices().next_back() else { return false };
    let (before, _) = class_at(text.as_bytes(), before.0);
    let (after, _) = class_at(text.as_bytes(), at);
    match (before, after) {
        // Digits are counted off in threes, and nothing else is in a piece with them.
        (Class::NUMBER, after) => after != Class::NUMBER,
        (before, Class::NUMBER) => before.is_letter() || before == Class::NEWLINE,
        (before, Class::SPACE) => before.is_letter() || before == Class::OTHER,
        (before, Class::NEWLINE) => before.is_letter(),
        // An apostrophe may begin a contraction.
        (before, Class::OTHER) => before.is_letter() && !text[at..].starts_with('\''),
        (before, after) => before == Class::NEWLINE && after.is_letter(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, tokenizer: Tokenizer) {
        let whole = tokenizer.count(text);
        for part in [1, 7, 1000, 5000, 40_000] {
            let mut counter = TokenCounter::new(tokenizer);
            let mut rest = text;
            while !rest.is_empty() {
                let (part, later) = rest.split_at(rest.ceil_char_boundary(part.min(rest.len())));
                counter.feed(part);
                rest = later;
            }
            assert_eq!(counter.finish(), whole, "{part} {tokenizer:?}");
        }
    }

    #[test]
    fn text_in_parts_is_counted_as_the_whole() {
        let samples = [
            "warning: unused `x`;\n\n\n  --> src/main.rs:4\n// note\n",
            "    indented,\n\tand they'll   say it's 12345 things\n",
            "{\"one\":\"line\",\"n\":[1,22,333,4444]},",
            "処理が完了しました。次の要求を待っています…",
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
            "\u{1f600} e\u{301}te\u{301}  \r\n",
        ];
        for sample in samples {
            for tokenizer in [Tokenizer::O200k, Tokenizer::Cl100k, Tokenizer::Bytes4] {
                check(&sample.repeat(50_000 / sample.len()), tokenizer);
            }
        }
    }

    #[test]
    fn middles_may_be_counted_by_others_and_in_any_order() {
        let lines = (0..20_000).map(|line| format!("  {line}: it's\u{e9} (run)\n/{}", line % 7));
        let text: String = lines.collect();
        let mut counters = [TokenCounter::new(Tokenizer::O200k), TokenCounter::new(Tokenizer::O200k)];
        let mut main = TokenCounter::new(Tokenizer::O200k);
        let (mut rest, mut middles) = (text.as_str(), Vec::new());
        while !rest.is_empty() {
            let (part, later) = rest.split_at(rest.ceil_char_boundary(20_011.min(rest.len())));
            middles.push(main.feed_edges(part));
            rest = later;
        }
        for (number, middle) in middles.into_iter().enumerate().rev() {
            counters[number % 2].feed_apart(middle);
        }
        counters.into_iter().for_each(|counter| main.add(counter.finish()));
        assert_eq!(main.finish(), Tokenizer::O200k.count(&text));
    }

    #[test]
    fn a_stretch_without_a_place_to_cut_is_counted_nearly_right() {
        for unit in ["a", " ", "=", "\n", "7", "日"] {
            let text = unit.repeat(70_000 / unit.len());
            let mut counter = TokenCounter::new(Tokenizer::O200k);
            text.as_bytes()
                .chunks(3000)
                .for_each(|part| counter.feed(std::str::from_utf8(part).unwrap_or_default()));
            let (parts, whole) = (counter.finish().get(), Tokenizer::O200k.count(&text).get());
            assert!(
                parts.abs_diff(whole) <= 2 * (text.len() / LONGEST_CARRY) as u64,
                "{unit:?} {parts} {whole}"
            );
        }
    }
}
