//! Answers requests whose handler panics: the panic is caught, and the client gets an internal error.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

use rmcp::model::ErrorData;
use windlass_protocol::envelope::{INTERNAL_ERROR, Refusal};

/// The handler of a request panicked. The panic hook has reported it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the request failed because of a defect in windlass; other requests are not affected")]
pub(crate) struct Panicked;

impl From<Panicked> for ErrorData {
    fn from(panicked: Panicked) -> Self {
        Self::internal_error(panicked.to_string(), None)
    }
}

impl From<Panicked> for Refusal {
    fn from(panicked: Panicked) -> Self {
        Self::new(INTERNAL_ERROR, panicked.to_string())
    }
}

/// Runs this future, and catches a panic. Its changes may be half done, as with any error; its state is dropped.
pub(crate) async fn survived<T>(work: impl Future<Output = T>) -> Result<T, Panicked> {
    let mut work = std::pin::pin!(work);
    std::future::poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(done)) => Poll::Ready(Ok(done)),
        Err(_) => Poll::Ready(Err(Panicked)),
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_error_and_anything_else_is_passed_on() {
        assert_eq!(survived(async { 7 }).await, Ok(7));
        let panics = async {
            tokio::task::yield_now().await;
            assert!(std::hint::black_box(false), "a defect");
        };
        assert_eq!(survived(panics).await, Err(Panicked));
    }
}
