//! HTTP/1.1 to one provider: an address, connections to it, and a few that are kept for the next question.
//!
//! It knows no wires. Encryption is set up when the first encrypted connection is made, and not before: reading the
//! machine's certificates takes longer than a whole exchange with a model on the same machine.

mod address;
mod connect;
mod pool;
mod tls;

pub(crate) use self::address::Address;
pub use self::address::BadAddress;
pub(crate) use self::connect::{Connection, Connector, Stream, basic};
pub(crate) use self::pool::Pool;
