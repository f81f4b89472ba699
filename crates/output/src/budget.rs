//! How much of an output may be shown.

use crate::tokens::{Tokenizer, Tokens};

/// A limit on a piece of text, the marker for what was left out included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// At most so many bytes of UTF-8.
    Bytes(u64),
    /// At most so many characters.
    Characters(u64),
    /// At most so many lines.
    Lines(u64),
    /// At most so many tokens.
    Tokens(Tokens),
}

impl Budget {
    /// How many raw bytes are worth loading at each end of an output that is too large to load whole: more than
    /// this cannot be shown, short of output that is nearly all escape codes.
    #[must_use]
    pub fn reach(self) -> u64 {
        const LEAST: u64 = 16 << 10;
        const MOST: u64 = 4 << 20;
        let bytes = match self {
            Self::Bytes(bytes) => bytes.saturating_mul(2),
            Self::Characters(characters) => characters.saturating_mul(8),
            Self::Lines(lines) => lines.saturating_mul(512),
            Self::Tokens(tokens) => tokens.get().saturating_mul(16),
        };
        bytes.clamp(LEAST, MOST)
    }
}

/// Measures text in the unit of a budget.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meter {
    unit: Unit,
    limit: u64,
}

#[derive(Clone, Copy, Debug)]
enum Unit {
    Bytes,
    Characters,
    Lines,
    Tokens(Tokenizer),
}

impl Meter {
    pub(crate) fn new(budget: Budget, tokenizer: Tokenizer) -> Self {
        let (unit, limit) = match (budget, tokenizer) {
            (Budget::Bytes(bytes), _) => (Unit::Bytes, bytes),
            (Budget::Characters(characters), _) => (Unit::Characters, characters),
            (Budget::Lines(lines), _) => (Unit::Lines, lines),
            // Rounding each piece up would waste a part of the budget: quarters are counted as bytes.
            (Budget::Tokens(tokens), Tokenizer::Bytes4) => (Unit::Bytes, tokens.get().saturating_mul(4)),
            (Budget::Tokens(tokens), tokenizer) => (Unit::Tokens(tokenizer), tokens.get()),
        };
        Self { unit, limit }
    }

    pub(crate) fn limit(self) -> u64 {
        self.limit
    }

    pub(crate) fn cost(self, text: &str) -> u64 {
        match self.unit {
            Unit::Bytes => text.len() as u64,
            Unit::Characters => text.chars().count() as u64,
            Unit::Lines => {
                let newlines = memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64;
                newlines + u64::from(!text.is_empty() && !text.ends_with('\n'))
            }
            Unit::Tokens(tokenizer) => tokenizer.count(text).get(),
        }
    }

    /// The cost if it is at most `limit`.
    pub(crate) fn cost_within(self, text: &str, limit: u64) -> Option<u64> {
        match self.unit {
            Unit::Tokens(tokenizer) => tokenizer.count_within(text, limit),
            _ => Some(self.cost(text)).filter(|cost| *cost <= limit),
        }
    }
}
