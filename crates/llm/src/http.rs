//! HTTP/1.1 to one server: its address, connections to it, and a few idle connections kept for the next request.
//!
//! It is independent of the wires. Encryption is set up when the first encrypted connection is made, and not before:
//! reading the machine's certificates takes longer than a whole exchange with a model on the same machine.

mod address;
mod connect;
mod pool;
mod socks;
mod tls;

pub(crate) use self::address::Address;
pub use self::address::BadAddress;
pub(crate) use self::connect::{Connection, Connector, Stream, basic};
pub(crate) use self::pool::Pool;

/// The `User-Agent` that we send.
pub(crate) const OURSELVES: &str = concat!("windlass/", env!("CARGO_PKG_VERSION"));

/// An error with its chain of causes: the interesting part of a hyper error is in its source.
pub(crate) fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let chain = std::iter::successors(Some(error), |error| error.source());
    let mut said: Vec<String> = chain.map(ToString::to_string).collect();
    said.dedup();
    said.join(": ")
}
