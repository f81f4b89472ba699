//! The limits of a proxy, each with a name and a reason. Nothing that a client does can go beyond them.

use std::time::Duration;

/// The limits and timeouts of a proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bytes of a request's or an answer's head, its first line included.
    pub head_bytes: usize,
    /// Header fields of a head.
    pub head_fields: usize,
    /// Connections at once. Further ones wait in the queue of the listener.
    pub connections: usize,
    /// How long a client may take to say what it wants.
    pub head_time: Duration,
    /// How long a name may take to be looked up.
    pub lookup_time: Duration,
    /// How long one address may take to answer.
    pub connect_time: Duration,
    /// How long a connection may carry nothing in either direction.
    pub idle_time: Duration,
}

impl Options {
    /// Twice what large cookies need, as much as common servers take.
    pub const HEAD_BYTES: usize = 32 * 1024;
    /// More than any browser sends.
    pub const HEAD_FIELDS: usize = 128;
    /// Enough for package managers, which open some tens; each costs two descriptors of the runtime.
    pub const CONNECTIONS: usize = 256;
    /// Programs send requests, not people at a keyboard, so a head arrives at once.
    pub const HEAD_TIME: Duration = Duration::from_secs(30);
    /// The system's resolver asks two servers twice in this time.
    pub const LOOKUP_TIME: Duration = Duration::from_secs(20);
    /// Three attempts of the system, and soon enough to try the next address.
    pub const CONNECT_TIME: Duration = Duration::from_secs(10);
    /// Long builds on the far side are silent for a while; databases longer, and they reconnect.
    pub const IDLE_TIME: Duration = Duration::from_secs(15 * 60);
}

impl Default for Options {
    fn default() -> Self {
        Self {
            head_bytes: Self::HEAD_BYTES,
            head_fields: Self::HEAD_FIELDS,
            connections: Self::CONNECTIONS,
            head_time: Self::HEAD_TIME,
            lookup_time: Self::LOOKUP_TIME,
            connect_time: Self::CONNECT_TIME,
            idle_time: Self::IDLE_TIME,
        }
    }
}
