//! The order in which calls of tools arrive. The protocol's library hands each request to a task of its own, and tasks
//! are polled in any order: an action that must happen in the order of arrival waits until the request before has done
//! the same.

use std::sync::{Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

/// Hands out turns to requests.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    /// Cancelled when the newest request has taken its turn.
    newest: Mutex<Option<CancellationToken>>,
}

/// The turn of one request. A request that is dropped before its turn lets the next one go on.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    before: Option<CancellationToken>,
    over: std::sync::Arc<OnDrop>,
}

#[derive(Debug)]
struct OnDrop(CancellationToken);

impl Arrivals {
    /// Creates the turn of a request that arrives now.
    pub(crate) fn next(&self) -> Arrival {
        let over = CancellationToken::new();
        let before = self.newest.lock().unwrap_or_else(PoisonError::into_inner).replace(over.clone());
        Arrival { before, over: std::sync::Arc::new(OnDrop(over)) }
    }
}

impl Arrival {
    /// Runs an action in the order of arrival.
    pub(crate) async fn in_order<T>(&self, act: impl FnOnce() -> T) -> T {
        if let Some(before) = &self.before {
            before.cancelled().await;
        }
        let done = act();
        self.over.0.cancel();
        done
    }
}

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
