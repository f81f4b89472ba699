//! Scripts in real cells, with tools that the tests play.

mod ending;
mod rig;
