//! The kernel's means of keeping a process from things, made safe: namespaces, mounts, Landlock, system call filters and
//! capabilities. What is to be kept from whom is decided elsewhere; everything here changes the calling process for good.
//!
//! Meant for a small process that has one thread and is about to become somebody else's program, never for the runtime.

mod call;
pub mod filter;
mod fork;
pub mod landlock;
pub mod mount;
pub mod namespace;
pub mod notice;
pub mod number;
pub mod privilege;
pub mod socket;
pub mod unix_sockets;

pub(crate) use fork::has_one_thread;
pub use fork::{Twin, fork};
