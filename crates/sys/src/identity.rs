//! Identifies the process that a record means. The kernel reuses process ids, the clock ticks at which a process
//! started recur after a boot, and a pid namespace counts its processes from one: only all of these together identify
//! one process.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;

use crate::process::{Pid, Process, start_ticks};

/// A process that cannot be mistaken for another one with the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProcessKey {
    /// Its process id.
    pub pid: u32,
    /// When it started, in the kernel's own units.
    pub start_ticks: u64,
    /// The scope in which that id is valid. Records of earlier versions do not have it.
    pub scope: Option<PidScope>,
}

/// The kernel and the namespace in which process ids are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PidScope {
    /// The kernel's random id of this boot.
    pub boot: u128,
    /// The inode of the pid namespace.
    pub pid_namespace: u64,
}

/// The state of a process, as far as this process can see it.
#[derive(Debug)]
pub enum Presence {
    /// It is alive, and held by a pidfd.
    Alive(Process),
    /// It has ended.
    Gone,
    /// It is in another pid namespace: it may be alive, and cannot be seen from here.
    OutOfSight,
}

impl ProcessKey {
    /// The key of a process that exists.
    pub fn of(pid: Pid) -> Self {
        Self {
            pid: pid.get(),
            start_ticks: start_ticks(pid).unwrap_or(0),
            scope: PidScope::of_this_process(),
        }
    }

    /// Whether it is the calling process.
    pub fn is_this_process(self) -> bool {
        let own = Self::of(Pid::of_this_process());
        self == Self { scope: self.scope.and(own.scope), ..own }
    }

    /// Whether it is in another pid namespace of this kernel: then nothing about it is visible from here.
    pub fn is_out_of_sight(self) -> bool {
        let scopes = self.scope.zip(PidScope::of_this_process());
        scopes.is_some_and(|(theirs, ours)| theirs.boot == ours.boot && theirs != ours)
    }

    /// Whether this very process is alive.
    pub fn presence(self) -> Presence {
        if self.is_out_of_sight() {
            return Presence::OutOfSight;
        }
        let own = PidScope::of_this_process();
        if self.scope.zip(own).is_some_and(|(theirs, ours)| theirs != ours) {
            return Presence::Gone;
        }
        let pid = Pid::new(self.pid);
        // Held first: from then on the number cannot change hands.
        match Process::open(pid) {
            Ok(process) if start_ticks(pid) == Some(self.start_ticks) && process.is_alive() => {
                Presence::Alive(process)
            }
            Ok(_) | Err(rustix::io::Errno::SRCH) => Presence::Gone,
            // Out of descriptors, for example. The number alone is looked at: "gone" would be a guess.
            Err(_) if start_ticks(pid).is_some_and(|ticks| ticks != self.start_ticks) => Presence::Gone,
            Err(_) => Presence::OutOfSight,
        }
    }
}

/// The form in which a key appears in the names of files. The parts of the scope are left out where it is not known.
impl fmt::Display for ProcessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pid, start_ticks, scope } = self;
        write!(f, "{pid}-{start_ticks}")?;
        match scope {
            Some(PidScope { boot, pid_namespace }) => write!(f, "-{boot:032x}-{pid_namespace}"),
            None => Ok(()),
        }
    }
}

impl ProcessKey {
    /// Reads a key as it is displayed.
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split('-');
        let (pid, start_ticks) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let scope = match words.next() {
            Some(boot) => Some(PidScope {
                boot: u128::from_str_radix(boot, 16).ok()?,
                pid_namespace: words.next()?.parse().ok()?,
            }),
            None => None,
        };
        words.next().is_none().then_some(Self { pid, start_ticks, scope })
    }
}

impl PidScope {
    /// The scope of the ids that this process sees; `None` where `/proc` does not say.
    pub fn of_this_process() -> Option<Self> {
        static OWN: OnceLock<PidScope> = OnceLock::new();
        // A failed look, for example for lack of descriptors, is repeated the next time.
        OWN.get().copied().or_else(|| Self::read().map(|scope| *OWN.get_or_init(|| scope)))
    }

    fn read() -> Option<Self> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let boot = u128::from_str_radix(&boot.trim().replace('-', ""), 16).ok()?;
        let pid_namespace = std::fs::metadata("/proc/self/ns/pid").ok()?.ino();
        Some(Self { boot, pid_namespace })
    }
}

#[cfg(test)]
mod tests {
    use super::{Pid, Presence, ProcessKey};

    fn own() -> ProcessKey {
        ProcessKey::of(Pid::of_this_process())
    }

    #[test]
    fn this_process_is_alive_and_a_namesake_of_another_time_or_boot_is_gone() {
        assert!(own().scope.is_some());
        assert!(matches!(own().presence(), Presence::Alive(_)));
        let later = ProcessKey { start_ticks: own().start_ticks + 1, ..own() };
        assert!(matches!(later.presence(), Presence::Gone));
        let mut rebooted = own();
        rebooted.scope.as_mut().unwrap().boot ^= 1;
        assert!(matches!(rebooted.presence(), Presence::Gone));
    }

    #[test]
    fn a_process_of_another_pid_namespace_is_not_gone() {
        assert!(own().is_this_process() && ProcessKey { scope: None, ..own() }.is_this_process());
        let mut elsewhere = own();
        elsewhere.scope.as_mut().unwrap().pid_namespace += 1;
        assert!(matches!(elsewhere.presence(), Presence::OutOfSight) && !elsewhere.is_this_process());
    }

    #[test]
    fn a_key_of_an_older_version_is_judged_by_its_number_and_start() {
        assert!(matches!(ProcessKey { scope: None, ..own() }.presence(), Presence::Alive(_)));
        assert!(matches!(ProcessKey { scope: None, start_ticks: 1, ..own() }.presence(), Presence::Gone));
    }
}
