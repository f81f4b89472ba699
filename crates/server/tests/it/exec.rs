//! The exec-server dialect, tested by its clients.

mod files;
mod handshake;
mod input;
mod processes;
mod random;
mod reading;
mod resume;
mod rig;
