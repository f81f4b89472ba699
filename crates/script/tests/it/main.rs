//! Scripts in real cells, with tools that the tests play.

mod anything;
mod calls;
mod ending;
mod keeping;
mod limits;
mod rig;
mod waiting;
mod walls;
