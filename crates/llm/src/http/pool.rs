//! Idle connections, kept for the next request. No task watches them: a connection is checked when it is taken.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::Connection;

/// As many as agents of one provider usually send requests at the same time.
const MOST_KEPT: usize = 8;
/// Servers and the load balancers before them close connections that are idle for longer.
const LONGEST_IDLE: Duration = Duration::from_secs(50);
/// The longest time to wait for the end of the body of a complete response. It mostly came with the last event; a
/// server that keeps a stream open for longer costs us no more than a new connection.
const LONGEST_END: Duration = Duration::from_millis(50);

/// The idle connections.
#[derive(Default)]
pub(crate) struct Pool(Mutex<Vec<IdleConnection>>);

struct IdleConnection {
    connection: Connection,
    /// The end of the body of the last response, which may not have arrived yet when its last event was read.
    rest: Incoming,
    since: Instant,
}

impl Pool {
    /// Keeps a connection whose response was complete.
    pub(crate) fn put(&self, connection: Connection, rest: Incoming) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MOST_KEPT {
            kept.remove(0);
        }
        kept.push(IdleConnection { connection, rest, since: Instant::now() });
    }

    /// The most recently used of the connections that are still good.
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
        // timer: a stream that does not end although its response is complete.
        let ended = tokio::time::timeout(LONGEST_END, end_of(&mut self.rest)).await;
        (ended == Ok(Ended::Well) && !self.connection.is_closed()).then_some(self.connection)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Well,
    Badly,
}

/// Reads the rest of a body whose response is complete.
async fn end_of(rest: &mut Incoming) -> Ended {
    loop {
        match rest.frame().await {
            None => return Ended::Well,
            Some(Ok(_)) => {}
            Some(Err(_)) => return Ended::Badly,
        }
    }
}
