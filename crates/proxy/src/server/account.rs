//! Counts the bytes of a connection, and when the last ones passed. The account reports the end when it is dropped, so
//! the end is reported also when the proxy is stopped in the middle.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::ProxyShared;
use crate::decision::{ConnectionEnd, ConnectionId, HowEnded, ProxyEvent};

/// The account of one connection that was allowed.
pub(crate) struct Account {
    shared: Arc<ProxyShared>,
    connection: ConnectionId,
    address: Option<SocketAddr>,
    how: HowEnded,
    pub(crate) traffic: Traffic,
}

impl Account {
    pub(crate) fn open(shared: Arc<ProxyShared>, connection: ConnectionId) -> Self {
        Self { shared, connection, address: None, how: HowEnded::Stopped, traffic: Traffic::new() }
    }

    pub(crate) fn reached(&mut self, address: SocketAddr) {
        self.address = Some(address);
        // The time of connecting does not count as idle.
        self.traffic.carried(Direction::Out, 0);
    }

    /// Closes the account.
    pub(crate) fn close(mut self, how: HowEnded) {
        self.how = how;
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        let how = std::mem::replace(&mut self.how, HowEnded::Stopped);
        let sent = self.traffic.sent.load(Ordering::Relaxed);
        let received = self.traffic.received.load(Ordering::Relaxed);
        let ending =
            ConnectionEnd { connection: self.connection, address: self.address, sent, received, how };
        self.shared.sink.tell(ProxyEvent::Ended(ending));
    }
}

/// Bytes carried each way, and the time of the last ones.
pub(crate) struct Traffic {
    sent: AtomicU64,
    received: AtomicU64,
    started: Instant,
    /// Milliseconds from the start.
    last: AtomicU64,
}

/// Which way bytes went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the client to the far side.
    Out,
    /// From the far side to the client.
    In,
}

impl Traffic {
    fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Self { sent: zero(), received: zero(), started: Instant::now(), last: zero() }
    }

    pub(crate) fn carried(&self, direction: Direction, bytes: usize) {
        let count = match direction {
            Direction::Out => &self.sent,
            Direction::In => &self.received,
        };
        count.fetch_add(bytes as u64, Ordering::Relaxed);
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(now, Ordering::Relaxed);
    }

    /// Returns when nothing was carried for that long. It wakes once in that time, not with every byte.
    pub(crate) async fn ceased(&self, idle: Duration) {
        loop {
            let end = self.started + Duration::from_millis(self.last.load(Ordering::Relaxed)) + idle;
            if end <= Instant::now() {
                return;
            }
            // timer: a connection on which nothing moves gives its place to others.
            tokio::time::sleep_until(end).await;
        }
    }
}
