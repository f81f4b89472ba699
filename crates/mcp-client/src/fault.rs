//! Why a request has no answer, before it is explained to a particular caller.

use std::sync::Arc;
use std::time::Duration;

use crate::failure::CallError;
use crate::message::RpcError;

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The server or the connection to it ended during the request.
    Ended(Arc<str>),
    /// The server had ended before the request could be sent.
    Gone(Arc<str>),
    /// The server answered with an error.
    Refused(RpcError),
    /// The HTTP server no longer knows our session, so it did not look at the request.
    SessionLost,
    /// The server could not be reached.
    Unreachable(String),
    /// The HTTP server rejected the request without a JSON-RPC message.
    TurnedAway(String),
    /// The answer violates the protocol.
    Senseless(String),
    /// It took too long.
    TimedOut(Duration),
    /// The client is shutting down.
    ShutDown,
}

impl Fault {
    /// The reason, in words that need no context but the server's name.
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

    /// Whether the server did not look at the request, so that it can be sent again without being carried out twice.
    pub(crate) fn left_undone(&self) -> bool {
        matches!(self, Self::Gone(_) | Self::SessionLost)
    }

    /// The error for the caller.
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
