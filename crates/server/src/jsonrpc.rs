//! JSON-RPC for programs that run processes: the transport of messages, independent of the dialect.
//!
//! A [`MessageHandler`] takes the messages of one connection, strictly in the order they came, and answers through a
//! [`Peer`]. The transport turns bytes into messages: lines on pipes, frames on a WebSocket.

pub(crate) mod connection;
pub mod listen;
pub(crate) mod peer;
pub(crate) mod socket_path;
pub(crate) mod websocket;
pub(crate) mod ws_upgrade;

pub(crate) use self::connection::{Inbox, MessageHandler, Next, serve};
pub(crate) use self::listen::Via;
pub(crate) use self::peer::{Framing, Peer, Stamping};
