//! The events of a model's response while it arrives.

use crate::item::Item;

/// A piece of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResponseEvent {
    /// The provider has begun to answer; nothing else is known yet.
    Started,
    /// More text of the message that is being written. For display only: the item repeats it in full.
    Text(String),
    /// More of the model's reasoning. For display only.
    Thought(String),
    /// The model is writing a call of this tool. For display only: the call runs only when its item is complete.
    Calling(String),
    /// An item is complete.
    Item(Item),
    /// The response is complete; no event follows.
    Completed(Usage),
}

/// The tokens that a response cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens read, including those from a cache.
    pub input: u64,
    /// Of those, read from a cache.
    pub cached: u64,
    /// Of those, written into a cache.
    pub cache_written: u64,
    /// Tokens written, including reasoning.
    pub output: u64,
    /// Of those, reasoning.
    pub reasoning: u64,
}

impl Usage {
    /// All tokens together, which is how far the model's context window is filled.
    pub fn total(self) -> u64 {
        self.input + self.output
    }

    /// The sum of both.
    pub fn and(self, other: Self) -> Self {
        Self {
            input: self.input + other.input,
            cached: self.cached + other.cached,
            cache_written: self.cache_written + other.cache_written,
            output: self.output + other.output,
            reasoning: self.reasoning + other.reasoning,
        }
    }
}
