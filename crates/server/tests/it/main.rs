//! The server as its clients meet it.
#![forbid(unsafe_code)]

mod http;
mod lines;
mod rig;
