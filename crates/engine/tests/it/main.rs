//! The engine's integration tests: one binary, one module per part.

mod journal;
mod rig;
mod scratch;
mod start;
mod store;
mod tree;
