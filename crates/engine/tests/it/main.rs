//! The engine's integration tests: one binary, one module per part.

mod input;
mod journal;
mod limits;
mod model;
mod registry;
mod regressions;
mod rig;
mod start;
mod store;
mod survive;
mod tree;
mod waiting;
