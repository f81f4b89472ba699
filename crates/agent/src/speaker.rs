//! Whom an agent asks: a model behind a wire, or a script in a test.

use std::future::Future;
use std::pin::Pin;

use windlass_model::{Answer, Client, Event, Failure, Request};

/// What an answer is waited for with.
pub type Asked<'a> = Pin<Box<dyn Future<Output = Result<Box<dyn Speech>, Failure>> + Send + 'a>>;
/// What the next piece of an answer is waited for with.
pub type Spoken<'a> = Pin<Box<dyn Future<Output = Result<Option<Event>, Failure>> + Send + 'a>>;

/// Answers questions. Never retries.
pub trait Speaker: Send + Sync {
    /// Asks. Dropping the future, or the speech, ends the exchange.
    fn ask(&self, request: Request) -> Asked<'_>;
}

/// An answer on its way.
pub trait Speech: Send {
    /// Its next piece; `None` once it is complete.
    fn next(&mut self) -> Spoken<'_>;
}

impl Speaker for Client {
    fn ask(&self, request: Request) -> Asked<'_> {
        Box::pin(async move { Ok(Box::new(self.send(&request).await?) as Box<dyn Speech>) })
    }
}

impl Speech for Answer {
    fn next(&mut self) -> Spoken<'_> {
        Box::pin(Answer::next(self))
    }
}
