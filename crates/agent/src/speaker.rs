//! Whom an agent asks: a model behind a wire, or a script in a test.

use std::future::Future;
use std::pin::Pin;

use windlass_model::{Event, Failure, Request};

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
