//! Why there is no answer, and what may be done about it.

use std::time::Duration;

/// An attempt that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// What may be done.
    pub remedy: Remedy,
    /// What happened, in words for people: names the provider's address where it could not be reached.
    pub message: String,
}

/// What may be done about a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// The same again, a little later.
    Retry {
        /// How much later, where the provider says so.
        after: Option<Duration>,
    },
    /// The conversation must become shorter first.
    Shorten,
    /// Nothing: the same would fail again.
    GiveUp,
}

impl Failure {
    /// One that may pass by itself.
    pub fn passing(message: impl Into<String>) -> Self {
        Self { remedy: Remedy::Retry { after: None }, message: message.into() }
    }

    /// One that stays.
    pub fn lasting(message: impl Into<String>) -> Self {
        Self { remedy: Remedy::GiveUp, message: message.into() }
    }
}
