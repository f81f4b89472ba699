//! Landlock: rules, enforced by the kernel without privilege, about what a process and all that it starts may do with
//! files, ports and each other. Rules only ever add up to what is allowed: nothing below an allowed directory can be
//! taken away.

use landlock::{
    AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, Scope,
};
use rustix::fd::AsFd;
use rustix::io::Errno;
use std::error::Error;

/// The version of the interface that the kernel offers; 0: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32);

impl Version {
    /// The version that this kernel offers.
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
    /// Writing into existing files, and operations on devices.
    pub const WRITE_INTO: Self = Self(1 << 1 | 1 << 14 | 1 << 15);
    /// All changes of the tree of files: creating, removing, moving.
    pub const CHANGE_TREE: Self =
        Self(1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 12 | 1 << 13);
    /// All changes of files and of the tree.
    pub const WRITE: Self = Self::WRITE_INTO.and(Self::CHANGE_TREE);
    /// Connecting to a socket at a path whose server is bound by other rules, or by none. Allowing a directory never
    /// includes this right: each socket has to be allowed by itself.
    pub const REACH_SOCKETS: Self = Self(1 << 16);
    /// Only these rights have a meaning for a file that is not a directory.
    const OF_FILES: Self = Self(1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15 | 1 << 16);

    /// The union of both.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The rights that also mean something for a file.
    pub const fn of_files(self) -> Self {
        Self(self.0 & Self::OF_FILES.0)
    }

    /// The rights that mean something for a directory and all that is below it.
    pub const fn of_directories(self) -> Self {
        Self(self.0 & !Self::REACH_SOCKETS.0)
    }

    /// The rights that this version knows.
    const fn known_to(self, version: Version) -> Self {
        let bits = match version.0 {
            0 => 0,
            1 => 13,
            2 => 14,
            3 | 4 => 15,
            5..=8 => 16,
            _ => 17,
        };
        Self(self.0 & ((1 << bits) - 1))
    }
}

/// Restrictions beside those on files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beyond {
    /// Whether TCP ports may be neither bound nor connected to.
    pub no_tcp: bool,
    /// Whether abstract sockets and signals reach only processes that are bound by the same rules.
    pub scoped: bool,
}

/// Rules that are being collected.
#[derive(Debug)]
pub struct Ruleset {
    rules: RulesetCreated,
    version: Version,
    handled: Rights,
}

impl Ruleset {
    /// A ruleset over these rights: accesses that no rule allows are refused.
    pub fn over(handled: Rights, beyond: Beyond, version: Version) -> Result<Self, Errno> {
        let handled = handled.known_to(version);
        // Only rights that the version knows are requested, so the library cannot leave any out silently.
        let mut rules = landlock::Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        rules = rules.handle_access(handled.bits()).map_err(|error| errno(&error))?;
        if beyond.no_tcp && version >= Version(4) {
            rules = rules
                .handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)
                .map_err(|error| errno(&error))?;
        }
        if beyond.scoped && version >= Version(6) {
            rules = rules.scope(Scope::AbstractUnixSocket | Scope::Signal).map_err(|error| errno(&error))?;
        }
        let rules = rules.create().map_err(|error| errno(&error))?;
        Ok(Self { rules, version, handled })
    }

    /// Allows these rights at this file or directory and everything below.
    pub fn allow(&mut self, at: impl AsFd, rights: Rights) -> Result<(), Errno> {
        let allowed = Rights(rights.known_to(self.version).0 & self.handled.0);
        if allowed == Rights::NONE {
            return Ok(());
        }
        let rule = PathBeneath::new(at.as_fd(), allowed.bits());
        (&mut self.rules).add_rule(rule).map_err(|error| errno(&error)).map(drop)
    }

    /// Puts these rules on this process and all that it becomes or starts. It can gain no privileges from then on.
    pub fn enforce(self) -> Result<(), Errno> {
        self.rules.restrict_self().map_err(|error| errno(&error)).map(drop)
    }
}

impl Rights {
    fn bits(self) -> BitFlags<AccessFs> {
        BitFlags::from_bits_truncate(self.0)
    }
}

/// The kernel's error, if it is one.
fn errno(error: &RulesetError) -> Errno {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(errno) = error.downcast_ref().and_then(Errno::from_io_error) {
            return errno;
        }
        cause = error.source();
    }
    Errno::OPNOTSUPP
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_knows_the_rights_that_came_up_to_it() {
        let all = Rights(u64::MAX);
        for (version, count) in [(0, 0), (1, 13), (2, 14), (3, 15), (4, 15), (5, 16), (8, 16), (9, 17)] {
            let known = all.known_to(Version(version));
            assert_eq!(known.0.count_ones(), count, "{version}");
            assert_eq!(known.bits().bits(), known.0, "the same bits mean the same there");
        }
    }

    #[test]
    fn the_kernels_reason_is_found_in_an_error() {
        let mut rules = match Ruleset::over(Rights::WRITE, Beyond::default(), Version(1)) {
            Ok(rules) => rules,
            // Landlock is switched off, or missing.
            Err(errno) => return assert_eq!(errno, Errno::OPNOTSUPP),
        };
        // A pipe is on no file system that could be ruled over.
        let (pipe, _) = rustix::pipe::pipe().unwrap();
        assert_eq!(rules.allow(&pipe, Rights::WRITE_INTO), Err(Errno::BADFD));
    }
}
