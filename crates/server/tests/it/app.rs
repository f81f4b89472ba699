//! The app-server dialect, as clients on pipes meet it.

mod input;
mod lifecycle;
mod output;
mod processes;
mod refusals;
mod resume;
mod rig;
mod sessions;
