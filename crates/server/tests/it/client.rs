//! The typed client with a real server: in this process, at a path, and over connections that break.

mod control;
mod doors;
mod reconnect;
mod rig;
