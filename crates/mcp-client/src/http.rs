//! The HTTP client as a trait that the caller implements: this crate makes no connections and knows no TLS.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;

/// An HTTP client. Dropping the future or the body ends the exchange.
pub trait Http: Send + Sync {
    /// Sends a request and waits for the head of the response.
    fn send(&self, request: HttpRequest) -> HttpFuture<'_>;
}

/// The future of a response.
pub type HttpFuture<'a> = Pin<Box<dyn Future<Output = Result<HttpAnswer, HttpError>> + Send + 'a>>;

/// The future of the next chunk of a body.
pub type BodyFuture<'a> = Pin<Box<dyn Future<Output = Option<Result<Bytes, HttpError>>> + Send + 'a>>;

/// The methods that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpMethod {
    /// To listen for server messages.
    Get,
    /// To send a message.
    Post,
    /// To end the session.
    Delete,
}

impl HttpMethod {
    /// The method's name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

/// A request.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// The method.
    pub method: HttpMethod,
    /// The URL.
    pub url: String,
    /// All headers except those of the transfer itself.
    pub headers: Vec<(String, String)>,
    /// The body; may be empty.
    pub body: Vec<u8>,
}

impl fmt::Debug for HttpRequest {
    /// Leaves out the values of headers and the body, because both may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        let mut shown = f.debug_struct("HttpRequest");
        shown.field("method", &self.method).field("headers", &names).field("body", &self.body.len());
        shown.finish_non_exhaustive()
    }
}

/// A response: its head, and its body as a stream.
pub struct HttpAnswer {
    /// The status.
    pub status: u16,
    /// The headers. Names are compared without regard to case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Box<dyn HttpBody>,
}

impl HttpAnswer {
    /// The first header with this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

impl fmt::Debug for HttpAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpAnswer").field("status", &self.status).finish_non_exhaustive()
    }
}

/// A body that is read in chunks.
pub trait HttpBody: Send {
    /// The next chunk; `None` at the end.
    fn next(&mut self) -> BodyFuture<'_>;
}

/// Why an exchange failed: no connection, an invalid certificate, a connection that broke.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HttpError(pub String);
