//! Terminals that a command makes for itself where it has no namespaces. They lie in `/dev/pts` with all others of the
//! machine, and the kernel reuses the number of a closed one for any program, so each is held by its inode.

use crate::helper::place::Seen;
use rustix::fd::OwnedFd;
use rustix::fs::{FileType, Mode, OFlags, fstat, major, makedev, open};
use std::cell::RefCell;

/// The terminals of one session.
#[derive(Default)]
pub(in crate::helper) struct OwnTerminals(RefCell<Vec<Seen>>);

/// The most terminals: each takes the supervisor a descriptor, and the machine has a few thousand.
const MOST: usize = 256;

impl OwnTerminals {
    /// Whether there can be one more.
    pub(super) fn has_room(&self) -> bool {
        let mut all = self.0.borrow_mut();
        all.retain(is_there);
        all.len() < MOST
    }

    /// Remembers the terminal that belongs to a file, if the file is the master of one.
    pub(in crate::helper) fn note(&self, master: &OwnedFd) {
        let is_maker = fstat(master).is_ok_and(|about| about.st_rdev == makedev(5, 2));
        let Ok(name) = rustix::pty::ptsname(master, Vec::new()) else { return };
        let slave =
            is_maker.then(|| open(name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()).flatten();
        let seen = slave.and_then(|slave| Seen::of(slave).ok());
        self.0.borrow_mut().extend(seen.filter(is_terminal));
    }

    /// Whether this is one of them. While a terminal is held, no other one gets its number.
    pub(super) fn has(&self, seen: &Seen) -> bool {
        let is_it =
            |own: &Seen| own.about.st_rdev == seen.about.st_rdev && own.about.st_dev == seen.about.st_dev;
        is_terminal(seen) && self.0.borrow().iter().any(|own| is_it(own) && is_there(own))
    }
}

/// Whether it is `/dev/ptmx`, which creates terminals.
pub(super) fn is_maker(seen: &Seen) -> bool {
    seen.kind() == FileType::CharacterDevice && seen.about.st_rdev == makedev(5, 2)
}

pub(super) fn is_terminal(seen: &Seen) -> bool {
    const TERMINALS: u32 = 136;
    seen.kind() == FileType::CharacterDevice && major(seen.about.st_rdev) == TERMINALS
}

fn is_there(seen: &Seen) -> bool {
    fstat(seen.hold()).is_ok_and(|about| about.st_nlink > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::pty::{OpenptFlags, grantpt, openpt, unlockpt};

    #[test]
    fn a_terminal_is_known_until_it_is_closed() {
        let terminals = OwnTerminals::default();
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = rustix::pty::ptsname(&master, Vec::new()).unwrap();
        let seen = Seen::of(open(name, OFlags::PATH, Mode::empty()).unwrap()).unwrap();
        assert!(!terminals.has(&seen));
        terminals.note(&master);
        assert!(terminals.has(&seen));
        drop(master);
        assert!(!terminals.has(&seen));
    }
}
