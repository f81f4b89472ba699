//! What can go wrong between a client and its server.

use std::io;

use windlass_protocol::envelope::Refusal;

/// Why something did not come about.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody is there, or nobody that can be reached.
    #[error("cannot connect to {endpoint}: {error}")]
    Unreachable {
        /// Where it was tried.
        endpoint: String,
        /// What the system said.
        error: io::Error,
    },
    /// The server's certificate is not trusted, so nothing was said to it.
    #[error("the certificate of {endpoint} is not trusted: {reason}")]
    Certificate {
        /// Where it was tried.
        endpoint: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A process listens that must not see the token.
    #[error(
        "the process that listens at {endpoint} is of another user, runs in a sandbox, or cannot be identified, so the token was \
         not shown to it: start the server again at a path that no sandboxed command may write"
    )]
    Impostor {
        /// Where it was tried.
        endpoint: String,
    },
    /// Somebody is there and lets nobody in without the right token.
    #[error("{endpoint} asks for a token, and {}", if *.shown { "not for this one" } else { "none was given" })]
    Token {
        /// Where it was tried.
        endpoint: String,
        /// Whether one was shown.
        shown: bool,
    },
    /// Somebody is there and does not speak over WebSockets with us.
    #[error("{endpoint} refuses the connection with the HTTP status {status}{}{said}", if .said.is_empty() { "" } else { ": " })]
    NoWebSocket {
        /// Where it was tried.
        endpoint: String,
        /// What it says instead.
        status: u16,
        /// The reason that it gives, if any.
        said: String,
    },
    /// The server said no.
    #[error("{}", .0.message)]
    Refused(Refusal),
    /// The connection is over. What was asked for may or may not have been done.
    #[error("the connection to the server is lost")]
    Lost,
    /// The server said something that is no answer to the question.
    #[error("the server's answer to `{method}` makes no sense: {reason}")]
    Nonsense {
        /// What was asked.
        method: String,
        /// What is wrong with the answer.
        reason: String,
    },
    /// The server knows processes only while they run: it has no `session/*` methods.
    #[error("the server keeps no sessions that could be read or followed")]
    NoSessions,
    /// The server does not remember the connection that was to be resumed, or never does.
    #[error("the server has given up the processes of the connection that was lost")]
    NotResumed,
}

impl From<Refusal> for ClientError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}
