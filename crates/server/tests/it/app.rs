//! The app-server dialect, tested by clients on pipes.

mod input;
mod lifecycle;
mod output;
mod processes;
mod refusals;
mod resume;
mod rig;
mod sessions;
