//! Counting tokens as models do: exactly, in little time whatever a hostile program printed, and with nothing to load.
//!
//! Text is split into pieces ([`split`]), most of which are tokens ([`vocabulary`]); the others are merged from several
//! tokens ([`merge`]). The build script makes the tables, and the program contains them in the form in which they are
//! read.

mod classes;
mod count;
mod counter;
mod memory;
mod merge;
mod placing;
mod repeated;
mod shapes;
mod split;
mod vocabulary;
mod window;

use std::fmt;
use std::ops::Add;

use count::Counting;
pub use counter::TokenCounter;
use split::{Cl100kRules, O200kRules};

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

/// How tokens are counted.
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

impl Tokenizer {
    /// How many tokens `text` has.
    #[must_use]
    pub fn count(self, text: &str) -> Tokens {
        self.count_with(text, &mut Counting::default())
    }

    /// The count if it is at most `limit`; gives up as soon as it is not.
    pub(crate) fn count_within(self, text: &str, limit: u64) -> Option<u64> {
        self.count_all(text, limit, &mut Counting::default())
    }

    fn count_with(self, text: &str, counting: &mut Counting) -> Tokens {
        self.count_all(text, u64::MAX, counting).map_or(Tokens::ZERO, Tokens)
    }

    fn count_all(self, text: &str, limit: u64, counting: &mut Counting) -> Option<u64> {
        match self {
            Self::O200k => counting.count::<O200kRules>(text, limit),
            Self::Cl100k => counting.count::<Cl100kRules>(text, limit),
            Self::Bytes4 => Some((text.len() as u64).div_ceil(4)).filter(|count| *count <= limit),
        }
    }
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
    fn a_count_within_a_limit_is_the_count_or_nothing() {
        let text = "error: something went wrong in module seventeen\n";
        for tokenizer in [Tokenizer::O200k, Tokenizer::Cl100k, Tokenizer::Bytes4] {
            let count = tokenizer.count(text).get();
            assert_eq!(tokenizer.count_within(text, count), Some(count), "{tokenizer:?}");
            assert_eq!(tokenizer.count_within(text, count - 1), None, "{tokenizer:?}");
        }
    }
}
