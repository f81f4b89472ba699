//! The events that the proxy reports: each decision when it is made, and the bytes that a connection carried when it
//! ends.
//!
//! The sink has to note the time of an event. A sink must not block: the proxy does not wait for the log's writer, so
//! the ready-made [`channel`] drops events that do not fit and counts them.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;

use crate::allow::Unlisted;

/// An event of the proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProxyEvent {
    /// A client asked for a host and received an answer.
    Decided(Decision),
    /// A client was turned away before its request was understood.
    TurnedAway {
        /// Which connection.
        connection: ConnectionId,
        /// Why, as a lower-case fragment.
        why: String,
    },
    /// A connection that was allowed is over.
    Ended(ConnectionEnd),
}

/// The number of a connection, counted from one in each proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// The answer to a request for a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Which connection.
    pub connection: ConnectionId,
    /// How the client asked.
    pub protocol: Protocol,
    /// The host as the client wrote it.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The address that decided: the first one allowed, or the first one refused. None if nothing was looked up.
    pub address: Option<IpAddr>,
    /// The answer.
    pub verdict: HostVerdict,
}

/// How a client asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// `CONNECT host:port` of HTTP.
    Connect,
    /// `GET http://host/` and the like.
    Http,
    /// SOCKS, version 5.
    Socks5,
}

/// Yes or no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostVerdict {
    /// It may be reached.
    Allowed {
        /// The entry of the allow-list by which it may.
        entry: String,
    },
    /// It may not, or has no address.
    Refused(DenyReason),
}

/// Why something is not reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DenyReason {
    /// The allow-list does not allow it.
    #[error(transparent)]
    Unlisted(#[from] Unlisted),
    /// The name is listed, but has no address.
    #[error("the name has no address")]
    NoAddress,
    /// The name is listed, but looking it up failed.
    #[error("the name could not be looked up: {0}")]
    LookupFailed(String),
    /// The name is listed, but looking it up took too long.
    #[error("looking the name up took too long")]
    LookupTimedOut,
}

/// How a connection that was allowed ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionEnd {
    /// Which connection.
    pub connection: ConnectionId,
    /// The far side, if it was reached.
    pub address: Option<SocketAddr>,
    /// Bytes carried from the client to the far side.
    pub sent: u64,
    /// Bytes carried from the far side to the client.
    pub received: u64,
    /// How it ended.
    pub how: HowEnded,
}

/// How a connection ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HowEnded {
    /// Both sides had finished.
    Finished,
    /// Nothing was carried for too long.
    Idle,
    /// One of the sides broke off, or did not keep to its protocol.
    Broken(String),
    /// No address answered.
    Unreachable(String),
    /// The proxy was ended.
    Stopped,
}

/// The receiver of the proxy's events.
pub trait Sink: Send + Sync + 'static {
    /// Notes an event. Called from the tasks that carry bytes, so it must not block.
    fn tell(&self, event: ProxyEvent);
}

impl<F: Fn(ProxyEvent) + Send + Sync + 'static> Sink for F {
    fn tell(&self, event: ProxyEvent) {
        self(event);
    }
}

/// A sink that queues this many events for a reader. What does not fit is lost, and counted.
pub fn channel(capacity: usize) -> (EventSender, EventReceiver) {
    let (sender, receiver) = mpsc::channel(capacity.max(1));
    let lost = Arc::new(AtomicU64::new(0));
    (EventSender { sender, lost: Arc::clone(&lost) }, EventReceiver { receiver, lost })
}

/// The side of a [`channel`] that the proxy gets.
#[derive(Clone, Debug)]
pub struct EventSender {
    sender: mpsc::Sender<ProxyEvent>,
    lost: Arc<AtomicU64>,
}

/// The side of a [`channel`] that is read.
#[derive(Debug)]
pub struct EventReceiver {
    receiver: mpsc::Receiver<ProxyEvent>,
    lost: Arc<AtomicU64>,
}

impl Sink for EventSender {
    fn tell(&self, event: ProxyEvent) {
        if self.sender.try_send(event).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl EventReceiver {
    /// The next event; none when the proxy is gone and everything was read.
    pub async fn next(&mut self) -> Option<ProxyEvent> {
        self.receiver.recv().await
    }

    /// How many events were lost so far.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "connect",
            Self::Http => "http",
            Self::Socks5 => "socks5",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(number: u64) -> ProxyEvent {
        ProxyEvent::TurnedAway { connection: ConnectionId(number), why: "a test".into() }
    }

    #[tokio::test]
    async fn what_does_not_fit_is_counted() {
        let (sender, mut receiver) = channel(2);
        (1..=5).for_each(|number| sender.tell(event(number)));
        drop(sender);
        assert_eq!(receiver.next().await, Some(event(1)));
        assert_eq!(receiver.next().await, Some(event(2)));
        assert_eq!(receiver.next().await, None);
        assert_eq!(receiver.lost(), 3);
    }
}
