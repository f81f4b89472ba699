//! The operating system's integration tests: real programs on real terminals and pipes.

mod awaited;
mod background;
mod cgroup;
mod corpus;
mod evidence;
mod spawn;
mod stage;
