//! Why a request has no answer, before it is known to whom that must be explained.

use std::sync::Arc;
use std::time::Duration;

use crate::failure::CallError;
use crate::message::RpcError;

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The server ended, or the connection to it did, while it was asked.
    Ended(Arc<str>),
    /// The server had ended before it could be asked.
    Gone(Arc<str>),
    /// The server said no.
    Refused(RpcError),
    /// The server on the web has forgotten us; it did not look at the request.
    SessionLost,
    /// It could not be asked.
    Unreachable(String),
    /// It turned the request away without a word of the protocol.
    TurnedAway(String),
    /// Its answer is none.
    Senseless(String),
    /// It took too long.
    TimedOut(Duration),
    /// We are ending.
    ShutDown,
}

impl Fault {
    /// In words that need no more context than which server is meant.
    pub(crate) fn reason(&self, what: &str) -> String {
        match self {
            Self::Ended(how) | Self::Gone(how) => how.to_string(),
            Self::Refused(RpcError { code, message }) => {
                format!("it refused {what}: {message} (code {code})")
            }
            Self::SessionLost => format!("it forgot our session before it answered {what} (404)"),
            Self::Unreachable(why) | Self::TurnedAway(why) => why.clone(),
            Self::Senseless(problem) => format!("its answer to {what} makes no sense: {problem}"),
            Self::TimedOut(after) => {
                format!("it did not answer {what} within {} seconds", after.as_secs_f64())
            }
            Self::ShutDown => "this program is ending".to_owned(),
        }
    }

    /// Whether the server did not look at the request, so that asking again does nothing twice.
    pub(crate) fn left_undone(&self) -> bool {
        matches!(self, Self::Gone(_) | Self::SessionLost)
    }

    /// For whoever called.
    pub(crate) fn into_error(self, server: &str, what: &str) -> CallError {
        let (server, what) = (server.to_owned(), what.to_owned());
        match self {
            Self::Ended(how) => CallError::Ended { server, reason: how.to_string() },
            Self::Refused(RpcError { code, message }) => CallError::Refused { server, what, code, message },
            Self::Gone(_) | Self::SessionLost | Self::Unreachable(_) | Self::TurnedAway(_) => {
                CallError::Unavailable { server, reason: self.reason(&what) }
            }
            Self::Senseless(problem) => CallError::Senseless { server, what, problem },
            Self::TimedOut(after) => CallError::TimedOut { server, what, after },
            Self::ShutDown => CallError::ShutDown { server },
        }
    }
}
