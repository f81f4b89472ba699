//! Runs the same tests with each cell at the other end of a stream, as it is in a separate process.
#![forbid(unsafe_code)]

/// The engine runs behind a stream.
const APART: bool = true;

#[path = "it/anything.rs"]
mod anything;
#[path = "it/calls.rs"]
mod calls;
#[path = "it/ending.rs"]
mod ending;
#[path = "it/keeping.rs"]
mod keeping;
#[path = "it/limits.rs"]
mod limits;
#[path = "it/rig.rs"]
mod rig;
#[path = "it/waiting.rs"]
mod waiting;
#[path = "it/walls.rs"]
mod walls;
