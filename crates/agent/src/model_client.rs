//! Whom an agent asks: a model behind a wire, or a script in a test.

use std::future::Future;
use std::pin::Pin;

use windlass_llm::{Client, Failure, Request, ResponseEvent, StreamedResponse};

/// What an answer is waited for with.
pub type ResponseFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Box<dyn ResponseStream>, Failure>> + Send + 'a>>;
/// What the next piece of an answer is waited for with.
pub type Spoken<'a> = Pin<Box<dyn Future<Output = Result<Option<ResponseEvent>, Failure>> + Send + 'a>>;

/// Answers questions. Never retries.
pub trait ModelClient: Send + Sync {
    /// Asks. Dropping the future, or the speech, ends the exchange.
    fn ask(&self, request: Request) -> ResponseFuture<'_>;
}

/// An answer on its way.
pub trait ResponseStream: Send {
    /// Its next piece; `None` once it is complete.
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
