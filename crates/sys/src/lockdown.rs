//! The kernel's means of confining a process, made safe: namespaces, mounts, Landlock, system call filters and
//! capabilities. Other crates decide what to forbid to whom; everything here changes the calling process for good.
//!
//! Meant for a small process that has one thread and is about to execute another program, never for the runtime.

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
