//! Scripts in real cells, with tools that the tests provide.

/// The engine runs on a thread of this process.
const APART: bool = false;

mod anything;
mod calls;
mod ending;
mod keeping;
mod limits;
mod rig;
mod waiting;
mod walls;
