//! Connections that are kept for the next question. Nothing runs here: a connection is looked at when it is wanted.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::Connection;

/// As many as agents of one provider ask at the same time.
const MOST_KEPT: usize = 8;
/// Servers and what stands before them close what is idle for longer.
const LONGEST_IDLE: Duration = Duration::from_secs(50);
/// How long the end of a complete answer is waited for. It mostly came with the last event; who keeps a stream open for
/// longer costs no more than a new connection does.
const LONGEST_END: Duration = Duration::from_millis(50);

/// The connections.
#[derive(Default)]
pub(crate) struct Pool(Mutex<Vec<IdleConnection>>);

struct IdleConnection {
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
        kept.push(IdleConnection { connection, rest, since: Instant::now() });
    }

    /// The connection that was used last, of those that are still good.
    pub(crate) async fn take(&self) -> Option<Connection> {
        while let Some(candidate) = self.pop() {
            if let Some(connection) = candidate.if_good().await {
                return Some(connection);
            }
        }
        None
    }

    fn pop(&self) -> Option<IdleConnection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }
}

impl IdleConnection {
    async fn if_good(mut self) -> Option<Connection> {
        if self.since.elapsed() > LONGEST_IDLE {
            return None;
        }
        // timer: a stream that does not end although its answer is complete.
        let ended = tokio::time::timeout(LONGEST_END, end_of(&mut self.rest)).await;
        (ended == Ok(Ended::Well) && !self.connection.is_closed()).then_some(self.connection)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Well,
    Badly,
}

/// Reads what may follow an answer that is complete.
async fn end_of(rest: &mut Incoming) -> Ended {
    loop {
        match rest.frame().await {
            None => return Ended::Well,
            Some(Ok(_)) => {}
            Some(Err(_)) => return Ended::Badly,
        }
    }
}
