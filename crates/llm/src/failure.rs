//! Failures: why a request got no complete response, and what the caller may do about it.

use std::time::Duration;

/// A failed attempt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The step that may help.
    pub remedy: Remedy,
    /// A description for users; names the provider's address where it could not be reached.
    pub message: String,
}

/// The step that may help after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Send the same request again, a little later.
    Retry {
        /// The delay that the provider asks for, if it names one.
        after: Option<Duration>,
    },
    /// Shorten the conversation first.
    Shorten,
    /// Do not retry: the same request would fail again.
    GiveUp,
}

impl Failure {
    /// A failure that may pass by itself.
    pub fn passing(message: impl Into<String>) -> Self {
        Self { remedy: Remedy::Retry { after: None }, message: message.into() }
    }

    /// A failure that stays until something is changed.
    pub fn lasting(message: impl Into<String>) -> Self {
        Self { remedy: Remedy::GiveUp, message: message.into() }
    }
}
