//! Counting tokens as models do, in time linear in the text whatever a hostile program printed.

use std::fmt;
use std::ops::Add;

/// A number of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tokens(u64);

impl Tokens {
    /// None.
    pub const ZERO: Self = Self(0);

    /// So many tokens.
    #[must_use]
    pub const fn new(tokens: u64) -> Self {
        Self(tokens)
    }

    /// The plain number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Add for Tokens {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self(self.0.saturating_add(more.0))
    }
}

impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How tokens are counted. The vocabulary is unpacked on first use, which takes about a tenth of a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tokenizer {
    /// The vocabulary of current OpenAI models.
    #[default]
    O200k,
    /// The one before it.
    Cl100k,
    /// A quarter of the bytes, rounded up: no vocabulary, the numbers Codex prints.
    Bytes4,
}

/// Text is counted in pieces of at most this size, so that no input can make one piece slow. They are cut where no
/// token can reach across: before a line that begins with a letter or a digit. Where there is no such place the sum may
/// differ from the count of the whole by a token or two for each cut.
const PIECE: usize = 8 << 10;

impl Tokenizer {
    /// How many tokens `text` has.
    #[must_use]
    pub fn count(self, text: &str) -> Tokens {
        let Some(vocabulary) = self.vocabulary() else {
            return Tokens((text.len() as u64).div_ceil(4));
        };
        Tokens(pieces(text).map(|piece| vocabulary.count(piece) as u64).sum())
    }

    /// The count if it is at most `limit`; gives up as soon as it is not.
    pub(crate) fn count_within(self, text: &str, limit: u64) -> Option<u64> {
        let Some(vocabulary) = self.vocabulary() else {
            return Some(self.count(text).get()).filter(|count| *count <= limit);
        };
        let mut count = 0;
        for piece in pieces(text) {
            count += vocabulary.count(piece) as u64;
            if count > limit {
                return None;
            }
        }
        Some(count)
    }

    fn vocabulary(self) -> Option<&'static tiktoken::CoreBpe> {
        match self {
            Self::O200k => tiktoken::get_encoding("o200k_base"),
            Self::Cl100k => tiktoken::get_encoding("cl100k_base"),
            Self::Bytes4 => None,
        }
    }
}

fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, later) = rest.split_at(piece_end(rest));
        rest = later;
        (!piece.is_empty()).then_some(piece)
    })
}

fn piece_end(text: &str) -> usize {
    if text.len() <= PIECE {
        return text.len();
    }
    clean_cut(&text.as_bytes()[..=PIECE])
        .or_else(|| memchr::memrchr(b'\n', &text.as_bytes()[..PIECE]).map(|at| at + 1))
        .unwrap_or_else(|| text.floor_char_boundary(PIECE))
}

/// The last place before the last byte at which no token reaches across. A run of blank lines, or a line end and the
/// slashes after it, can be one token; a line end and a letter or digit cannot.
fn clean_cut(text: &[u8]) -> Option<usize> {
    let is_clean = |at: &usize| text.get(at + 1).is_some_and(u8::is_ascii_alphanumeric);
    memchr::memrchr_iter(b'\n', text).find(is_clean).map(|at| at + 1)
}

/// Counts text that comes in parts as if it had come whole.
#[derive(Clone, Debug)]
pub struct TokenCounter {
    tokenizer: Tokenizer,
    /// What came after the last place at which it can be cut.
    carried: String,
    counted: Tokens,
    bytes: u64,
}

impl TokenCounter {
    /// The most text that waits for a place to cut.
    const LONGEST_CARRY: usize = 4 * PIECE;

    /// A count of nothing yet.
    #[must_use]
    pub fn new(tokenizer: Tokenizer) -> Self {
        Self { tokenizer, carried: String::new(), counted: Tokens::ZERO, bytes: 0 }
    }

    /// Counts the next part.
    pub fn feed(&mut self, text: &str) {
        self.bytes += text.len() as u64;
        if self.tokenizer == Tokenizer::Bytes4 {
            return;
        }
        match clean_cut(text.as_bytes()).filter(|_| text.len() >= PIECE) {
            Some(cut) => self.feed_large(text, cut),
            None => {
                self.carried.push_str(text);
                self.count_carried();
            }
        }
    }

    /// Most of a large part need not be copied: only its beginning belongs to what was carried.
    fn feed_large(&mut self, text: &str, cut: usize) {
        let seam = clean_start(&text[..cut]).unwrap_or(cut);
        self.carried.push_str(&text[..seam]);
        self.counted =
            self.counted + self.tokenizer.count(&self.carried) + self.tokenizer.count(&text[seam..cut]);
        self.carried.clear();
        self.carried.push_str(&text[cut..]);
    }

    fn count_carried(&mut self) {
        if self.carried.len() <= Self::LONGEST_CARRY {
            return;
        }
        let cut = clean_cut(self.carried.as_bytes()).unwrap_or(self.carried.len());
        self.counted = self.counted + self.tokenizer.count(&self.carried[..cut]);
        self.carried.drain(..cut);
    }

    /// How many tokens there were in all.
    #[must_use]
    pub fn finish(self) -> Tokens {
        match self.tokenizer {
            Tokenizer::Bytes4 => Tokens(self.bytes.div_ceil(4)),
            tokenizer => self.counted + tokenizer.count(&self.carried),
        }
    }
}

fn clean_start(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_clean = |at: &usize| bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric);
    memchr::memchr_iter(b'\n', bytes).find(is_clean).map(|at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_of_the_bytes_is_rounded_up() {
        for (text, expected) in [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("…", 1)] {
            assert_eq!(Tokenizer::Bytes4.count(text).get(), expected, "{text:?}");
        }
    }

    #[test]
    fn real_vocabularies_count_as_their_models_do() {
        assert_eq!(Tokenizer::O200k.count("hello world").get(), 2);
        assert_eq!(Tokenizer::Cl100k.count("hello world").get(), 2);
        assert_eq!(Tokenizer::O200k.count("").get(), 0);
        // Names of special tokens are ordinary text when a program prints them.
        assert!(Tokenizer::O200k.count("<|endoftext|>").get() > 1);
    }

    #[test]
    fn long_text_is_counted_in_pieces_with_little_difference() {
        let text = "error: something went wrong in module seventeen\n".repeat(2000);
        let whole = tiktoken::get_encoding("o200k_base").unwrap().count(&text) as u64;
        let pieces = Tokenizer::O200k.count(&text).get();
        assert!(pieces.abs_diff(whole) <= 2 * text.len() as u64 / PIECE as u64, "{pieces} {whole}");
    }

    #[test]
    fn text_whose_lines_begin_with_letters_is_counted_exactly_in_any_parts() {
        let line = "warning: unused `x`;\n\n\n  --> src/main.rs:4\n// note\n";
        let text = line.repeat(700);
        let whole = tiktoken::get_encoding("o200k_base").unwrap().count(&text) as u64;
        assert_eq!(Tokenizer::O200k.count(&text).get(), whole);
        for part in [1, 7, 1000, 5000, 40_000] {
            let mut counter = TokenCounter::new(Tokenizer::O200k);
            text.as_bytes().chunks(part).for_each(|part| counter.feed(std::str::from_utf8(part).unwrap()));
            assert_eq!(counter.finish().get(), whole, "{part}");
        }
        let mut quarter = TokenCounter::new(Tokenizer::Bytes4);
        ["a", "bcd", "e"].into_iter().for_each(|part| quarter.feed(part));
        assert_eq!(quarter.finish().get(), 2);
    }

    #[test]
    fn hostile_runs_are_counted() {
        for unit in ["a", " ", "=", "\n", "\u{301}", "日", "\u{fffd}", "\t"] {
            let text = unit.repeat(100_000 / unit.len());
            assert!(Tokenizer::O200k.count(&text).get() > 0, "{unit:?}");
        }
    }
}
