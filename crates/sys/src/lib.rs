//! The operating system, made safe: starting processes, their terminals and pipes, their deaths, and the tree of
//! everything they started. The only crate with `unsafe` code; it knows nothing of sessions, journals or async.

#[cfg(not(target_os = "linux"))]
compile_error!("Windlass runs on Linux; another platform is a set of files in `sys` and `sandbox`");

pub mod background;
pub mod cgroup;
pub mod channel;
pub mod clock;
pub mod descent;
pub mod descriptor;
pub mod directory;
pub mod evidence;
pub mod guardian;
pub mod held_files;
pub mod identity;
pub mod ladder;
pub mod limits;
pub mod lockdown;
pub mod locks;
pub mod mark;
pub mod peer;
pub mod pipes;
pub mod probe;
pub mod process;
pub mod pty;
pub mod published;
pub mod signal;
pub mod spawn;
pub mod terminal;
pub mod tree;
pub mod usage;
