//! The network that a confined command may reach: a proxy behind the only door of a namespace without a route out.
//!
//! [`allow`] is the list of what may be reached, [`server`] speaks HTTP and SOCKS5 with the command's programs, and
//! every answer it gives is told to a [`decision::Sink`]. It knows no sessions, no JSON and no command line. What may
//! surprise: a name that is not listed is not even looked up, because a question to a name server leaves the machine too.
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
