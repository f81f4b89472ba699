//! Connections that are kept for the next question. Nothing runs here: a connection is looked at when it is wanted.

use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use hyper::body::{Body, Incoming};

use super::Connection;

/// As many as agents of one provider ask at the same time.
const MOST_KEPT: usize = 8;
/// Servers and what stands before them close what is idle for longer.
const LONGEST_IDLE: Duration = Duration::from_secs(50);
/// What may follow a complete answer before its stream ends.
const MOST_LEFTOVERS: usize = 16;

/// The connections.
#[derive(Default)]
pub(crate) struct Pool(Mutex<Vec<Kept>>);

struct Kept {
    connection: Connection,
    /// The end of the last answer, which may not have come yet when its last event was read.
    rest: Incoming,
    since: Instant,
}

impl Pool {
    /// Keeps a connection whose answer was complete.
    pub(crate) fn put(&self, connection: Connection, rest: Incoming) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MOST_KEPT {
            kept.remove(0);
        }
        kept.push(Kept { connection, rest, since: Instant::now() });
    }

    /// The connection that was used last, of those that are still good.
    pub(crate) fn take(&self) -> Option<Connection> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(mut candidate) = kept.pop() {
            if candidate.is_good() {
                return Some(candidate.connection);
            }
        }
        None
    }
}

impl Kept {
    fn is_good(&mut self) -> bool {
        self.since.elapsed() < LONGEST_IDLE && self.has_ended() && !self.connection.is_closed()
    }

    /// Whether the last answer's stream has ended by now, without waiting for it.
    fn has_ended(&mut self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..MOST_LEFTOVERS {
            match Pin::new(&mut self.rest).poll_frame(&mut context) {
                Poll::Ready(None) => return true,
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(Some(Err(_))) | Poll::Pending => return false,
            }
        }
        false
    }
}
