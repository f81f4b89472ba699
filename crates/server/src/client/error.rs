//! The errors between a client and its server.

use std::io;

use windlass_protocol::envelope::Refusal;

/// Why a request or a connection failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Connecting failed.
    #[error("cannot connect to {endpoint}: {error}")]
    Unreachable {
        /// The address.
        endpoint: String,
        /// The system's error.
        error: io::Error,
    },
    /// The server's certificate is not trusted, so the client sent nothing.
    #[error("the certificate of {endpoint} is not trusted: {reason}")]
    Certificate {
        /// The address.
        endpoint: String,
        /// The reason.
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
    /// The server rejects clients without the right token.
    #[error("{endpoint} asks for a token, and {}", if *.shown { "not for this one" } else { "none was given" })]
    Token {
        /// The address.
        endpoint: String,
        /// Whether the client sent a token.
        shown: bool,
    },
    /// The server does not agree to a WebSocket.
    #[error("{endpoint} refuses the connection with the HTTP status {status}{}{said}", if .said.is_empty() { "" } else { ": " })]
    NoWebSocket {
        /// The address.
        endpoint: String,
        /// The HTTP status that it sent instead.
        status: u16,
        /// The reason that it sent, if any.
        said: String,
    },
    /// The server refused the request.
    #[error("{}", .0.message)]
    Refused(Refusal),
    /// The connection is lost. The request may or may not have been carried out.
    #[error("the connection to the server is lost")]
    Lost,
    /// The server's reply does not have the shape of one to this request.
    #[error("the server's answer to `{method}` makes no sense: {reason}")]
    Nonsense {
        /// The method.
        method: String,
        /// The fault in the reply.
        reason: String,
    },
    /// The server knows processes only while they run: it has no `session/*` methods.
    #[error("the server keeps no sessions that could be read or followed")]
    NoSessions,
    /// The server no longer has, or never keeps, the processes of the connection to be resumed.
    #[error("the server has given up the processes of the connection that was lost")]
    NotResumed,
}

impl From<Refusal> for ClientError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}
