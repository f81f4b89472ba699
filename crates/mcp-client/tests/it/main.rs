//! The integration tests of the MCP client: one binary, one module per part.
#![forbid(unsafe_code)]

mod bytes;
mod faults;
mod http;
mod program;
mod questions;
mod rig;
mod sdk;
mod web;
