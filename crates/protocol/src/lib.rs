//! Every shape that crosses a process boundary, as plain data: no I/O, no engine, no opinion on what a request means.
//!
//! Two dialects of JSON-RPC share the [`envelope`]: the app-server's and the exec-server's.
#![forbid(unsafe_code)]

pub mod app;
pub mod envelope;
pub mod exec;
pub mod schema;
