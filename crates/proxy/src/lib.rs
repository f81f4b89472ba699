//! The network that a confined command may reach: a proxy that is the only way out of a namespace without a route.
//!
//! [`allow`] is the list of hosts that may be reached, [`server`] speaks HTTP and SOCKS5 with the command's programs,
//! and each decision is reported to a [`decision::Sink`]. The crate knows no sessions, no JSON and no command line. A
//! surprise for readers: a name that is not listed is not even looked up, because a question to a name server leaves
//! the machine too.
#![forbid(unsafe_code)]

pub mod allow;
pub mod decision;
pub mod environment;
#[doc(hidden)]
pub mod fuzzing;
pub mod host;
pub mod options;
mod own_server;
pub mod resolve;
pub mod server;
mod wire;
pub mod zone;

pub use self::allow::AllowList;
pub use self::options::Options;
pub use self::own_server::Announcement;
pub use self::server::Proxy;
