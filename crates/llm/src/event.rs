//! What a model's answer is made of while it arrives.

use crate::item::Item;

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResponseEvent {
    /// The provider has begun; nothing is known yet.
    Started,
    /// More of the words of the message that is being written. For eyes only: the item says it all again.
    Text(String),
    /// More of a thought. For eyes only.
    Thought(String),
    /// A call of this tool is being written. For eyes only: nothing is run before its item is done.
    Calling(String),
    /// An item is complete.
    Item(Item),
    /// The answer is complete; nothing follows.
    Completed(Usage),
}

/// What an answer cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens read, those from a cache included.
    pub input: u64,
    /// Of those, read from a cache.
    pub cached: u64,
    /// Of those, written into a cache.
    pub cache_written: u64,
    /// Tokens written, thoughts included.
    pub output: u64,
    /// Of those, thoughts.
    pub reasoning: u64,
}

impl Usage {
    /// Everything together, which is what fills the model's window.
    pub fn total(self) -> u64 {
        self.input + self.output
    }

    /// Both.
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
