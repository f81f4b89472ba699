//! Control groups: the groups of this process in the machine's hierarchies, and groups of its own below those for the
//! processes of sessions. The runtime never moves another program's process, and never limits the group in which it was
//! started.
//!
//! Version 2 has one hierarchy for all controllers, version 1 one for each, and a machine may have both at once, with
//! the controllers in only one of them. So nothing is assumed: each controller is used where it is usable, and an
//! unusable one is reported by name.

mod events;
mod layout;
mod leaf;
mod nest;

pub use events::{EventFd, Events};
pub use layout::Hierarchies;
pub use leaf::SessionCgroup;
pub use nest::{RuntimeCgroup, RuntimeCgroupName, Unusable, UnusedController, remove_abandoned};

/// A controller: a resource that the kernel can count and limit for a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// Memory, page cache included.
    Memory,
    /// Processes and threads.
    Pids,
    /// CPU time, counted only.
    Cpu,
}

impl Controller {
    /// All controllers that are used here.
    pub const ALL: [Self; 3] = [Self::Memory, Self::Pids, Self::Cpu];

    /// The kernel's name for it, which differs for CPU time.
    fn name(self, version: Version) -> &'static str {
        match (self, version) {
            (Self::Memory, _) => "memory",
            (Self::Pids, _) => "pids",
            (Self::Cpu, Version::V1) => "cpuacct",
            (Self::Cpu, Version::V2) => "cpu",
        }
    }
}

/// The version of a hierarchy's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// One hierarchy for each controller.
    V1,
    /// One hierarchy for all controllers.
    V2,
}
