//! The Model Context Protocol: the tools for MCP clients, over standard input and output or over HTTP.
//!
//! The same process serves both eras of the protocol: the one that opens with `initialize` and the one in which every
//! request stands for itself (2026-07-28). `rmcp` implements the protocol; this module handles the errors of the
//! transport.

mod arrivals;
pub mod fixtures;
mod handler;
mod http;
pub(crate) mod repair;
mod stdio;
mod wire;

pub use crate::gate::{Access, ServerReach, ServerTls, Token, TokenError};
pub use rmcp::ServerHandler as Handler;

pub use self::handler::Windlass;
pub use self::http::{CLIENT_LIMIT, HttpOptions, ListenError, PATH, listen, serve_http};
pub use self::stdio::{serve_pipes, serve_stdio};
pub use self::wire::IN_FLIGHT_LIMIT;
pub use crate::lines::LINE_LIMIT;
