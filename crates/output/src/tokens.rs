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

/// Text is counted in pieces of at most this size, cut at newlines where there are any. The sum differs from the
/// count of the whole by a token or two for each cut, and no input can make one piece slow.
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
    let newline = memchr::memrchr(b'\n', &text.as_bytes()[..PIECE]);
    newline.map_or_else(|| text.floor_char_boundary(PIECE), |at| at + 1)
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
    fn hostile_runs_are_counted() {
        for unit in ["a", " ", "=", "\n", "\u{301}", "日", "\u{fffd}", "\t"] {
            let text = unit.repeat(100_000 / unit.len());
            assert!(Tokenizer::O200k.count(&text).get() > 0, "{unit:?}");
        }
    }
}
