//! The way to servers on the web, as something that is given: this room makes no connections and knows no TLS.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;

/// Carries requests. Dropping what it returns ends the exchange.
pub trait Http: Send + Sync {
    /// Sends a request and waits for the head of its answer.
    fn send(&self, request: HttpRequest) -> HttpFuture<'_>;
}

/// A request that is on its way.
pub type HttpFuture<'a> = Pin<Box<dyn Future<Output = Result<HttpAnswer, HttpError>> + Send + 'a>>;

/// A piece of a body that is waited for.
pub type BodyFuture<'a> = Pin<Box<dyn Future<Output = Option<Result<Bytes, HttpError>>> + Send + 'a>>;

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpMethod {
    /// To listen.
    Get,
    /// To say something.
    Post,
    /// To part.
    Delete,
}

impl HttpMethod {
    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

/// What is to be sent.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// What for.
    pub method: HttpMethod,
    /// Where to.
    pub url: String,
    /// All headers but those of the transfer itself.
    pub headers: Vec<(String, String)>,
    /// The body; empty without one.
    pub body: Vec<u8>,
}

impl fmt::Debug for HttpRequest {
    /// Without values of headers and without the body: both may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        let mut shown = f.debug_struct("HttpRequest");
        shown.field("method", &self.method).field("headers", &names).field("body", &self.body.len());
        shown.finish_non_exhaustive()
    }
}

/// The head of an answer, and its body as it comes.
pub struct HttpAnswer {
    /// The status.
    pub status: u16,
    /// The headers. Names are compared without regard to case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Box<dyn HttpBody>,
}

impl HttpAnswer {
    /// The first header of this name.
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

/// A body that comes in pieces.
pub trait HttpBody: Send {
    /// The next piece; `None` at the end.
    fn next(&mut self) -> BodyFuture<'_>;
}

/// Why nothing was carried: no connection, no certificate, a connection that broke.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HttpError(pub String);
