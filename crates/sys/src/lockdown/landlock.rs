//! Landlock: what a process and all that it starts may do with files, ports and each other, by the kernel's own rules and
//! without privilege. Rules only ever add up to what is allowed: nothing below an allowed directory can be taken away.

use super::call::call;
use rustix::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use rustix::io::Errno;

/// The version of the interface that the kernel offers; 0: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32);

impl Version {
    /// What this kernel offers.
    pub fn offered() -> Self {
        Self(crate::probe::landlock_version().unwrap_or(0))
    }
}

/// Rights to files, as bits that the kernel understands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights(u64);

impl Rights {
    /// None.
    pub const NONE: Self = Self(0);
    /// Opening files and directories for reading.
    pub const READ: Self = Self(1 << 2 | 1 << 3);
    /// Executing files.
    pub const EXECUTE: Self = Self(1 << 0);
    /// Writing into files that are there, and what is done with devices.
    pub const WRITE_INTO: Self = Self(1 << 1 | 1 << 14 | 1 << 15);
    /// All that changes the tree of files: making, removing, moving.
    pub const CHANGE_TREE: Self =
        Self(1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 12 | 1 << 13);
    /// All that changes anything.
    pub const WRITE: Self = Self::WRITE_INTO.and(Self::CHANGE_TREE);
    /// Of a file that is no directory, only these mean anything.
    const OF_FILES: Self = Self(1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15);

    /// Both.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those that also mean something for a file.
    pub const fn of_files(self) -> Self {
        Self(self.0 & Self::OF_FILES.0)
    }

    /// Those that this version knows.
    const fn known_to(self, version: Version) -> Self {
        let bits = match version.0 {
            0 => 0,
            1 => 13,
            2 => 14,
            3 | 4 => 15,
            _ => 16,
        };
        Self(self.0 & ((1 << bits) - 1))
    }
}

/// What is ruled beside files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beyond {
    /// Whether TCP ports may be neither bound nor connected to.
    pub no_tcp: bool,
    /// Whether abstract sockets and signals end at those who are bound by the same rules.
    pub scoped: bool,
}

/// Rules that are being collected.
#[derive(Debug)]
pub struct Ruleset {
    fd: OwnedFd,
    version: Version,
    handled: Rights,
}

/// The kernel's `struct landlock_ruleset_attr`.
#[repr(C)]
struct RulesetAttributes {
    files: u64,
    network: u64,
    scoped: u64,
}

/// The kernel's `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
struct PathAttributes {
    allowed: u64,
    parent: i32,
}

impl Ruleset {
    /// Rules over these rights: what no rule allows is refused.
    pub fn over(handled: Rights, beyond: Beyond, version: Version) -> Result<Self, Errno> {
        let handled = handled.known_to(version);
        let tcp = if beyond.no_tcp && version >= Version(4) { 0b11 } else { 0 };
        let scoped = if beyond.scoped && version >= Version(6) { 0b11 } else { 0 };
        let attributes = RulesetAttributes { files: handled.0, network: tcp, scoped };
        let size = match version.0 {
            0..=3 => 8_usize,
            4 | 5 => 16,
            _ => 24,
        };
        // SAFETY: the structure is at least as large as the size that is given, which is that of the version; the answer
        // is a descriptor that nobody else owns.
        unsafe {
            let fd = call!(libc::SYS_landlock_create_ruleset, &raw const attributes, size, 0)?;
            Ok(Self { fd: OwnedFd::from_raw_fd(fd as i32), version, handled })
        }
    }

    /// Allows these rights at this file or directory and everything below.
    pub fn allow(&self, at: impl AsFd, rights: Rights) -> Result<(), Errno> {
        const PATH_BENEATH: u32 = 1;
        let allowed = rights.known_to(self.version).0 & self.handled.0;
        if allowed == 0 {
            return Ok(());
        }
        let attributes = PathAttributes { allowed, parent: at.as_fd().as_raw_fd() };
        // SAFETY: the structure is the one that this kind of rule takes.
        unsafe {
            call!(libc::SYS_landlock_add_rule, self.fd.as_raw_fd(), PATH_BENEATH, &raw const attributes, 0)
        }
        .map(drop)
    }

    /// Binds this process, and all that it becomes or starts, by the rules. It must not be able to gain privileges.
    pub fn enforce(self) -> Result<(), Errno> {
        // SAFETY: takes a descriptor and no memory.
        unsafe { call!(libc::SYS_landlock_restrict_self, self.fd.as_raw_fd(), 0) }.map(drop)
    }
}
