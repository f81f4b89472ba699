//! The exec-server dialect, as its clients meet it.

mod files;
mod handshake;
mod input;
mod processes;
mod random;
mod reading;
mod resume;
mod rig;
