//! The interface between an agent and its model: a provider behind a wire, or a script in a test.

use std::future::Future;
use std::pin::Pin;

use windlass_llm::{Client, Failure, Request, ResponseEvent, StreamedResponse};

/// The future of a response.
pub type ResponseFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Box<dyn ResponseStream>, Failure>> + Send + 'a>>;
/// The future of the next event of a response.
pub type Spoken<'a> = Pin<Box<dyn Future<Output = Result<Option<ResponseEvent>, Failure>> + Send + 'a>>;

/// Sends requests to a model. Never retries.
pub trait ModelClient: Send + Sync {
    /// Sends a request. Dropping the future, or the stream, ends the exchange.
    fn ask(&self, request: Request) -> ResponseFuture<'_>;
}

/// A response that is being received.
pub trait ResponseStream: Send {
    /// The next event of the response; `None` once it is complete.
    fn next(&mut self) -> Spoken<'_>;
}

impl ModelClient for Client {
    fn ask(&self, request: Request) -> ResponseFuture<'_> {
        Box::pin(async move { Ok(Box::new(self.send(&request).await?) as Box<dyn ResponseStream>) })
    }
}

impl ResponseStream for StreamedResponse {
    fn next(&mut self) -> Spoken<'_> {
        Box::pin(StreamedResponse::next(self))
    }
}
