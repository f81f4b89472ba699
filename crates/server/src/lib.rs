//! Lets other processes use an engine. Each protocol has a module of its own: [`mcp`] offers the tools of
//! `windlass-tools`, `jsonrpc` carries the dialects for processes. None of them depends on language models or
//! terminals.
#![forbid(unsafe_code)]

pub mod app;
mod caller;
pub mod client;
mod connections;
pub mod exec;
mod failure;
#[doc(hidden)]
pub mod fuzzing;
pub mod gate;
pub(crate) mod jsonrpc;
mod lines;
pub mod mcp;
mod outbox;
mod panics;
mod pipe;
pub mod shim;
mod spill;
pub mod tls;
mod unread;

pub use self::jsonrpc::listen;
