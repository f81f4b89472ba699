//! The server, tested by its clients.
#![forbid(unsafe_code)]

mod app;
mod approval;
mod bench;
mod client;
mod delivery;
mod exec;
mod http;
mod lines;
mod order;
mod resources;
mod rig;
mod secrets;
mod tools;
