//! The mark: how a process that belongs to a session is recognised, even if it tried to escape.
//!
//! `RLIMIT_LOCKS` has limited nothing since Linux 2.4, yet every process inherits it through fork, exec, setsid, a
//! second fork and an emptied environment; it can be lowered without privilege, and read from outside. So each
//! session's root starts with a number in it that the runtime chose. Children cannot shed it by accident, it costs one
//! system call in the child and one per process looked at, and a guardian that knows nothing but the runtime's half of
//! the number can find them all.

use crate::process::Pid;
use rustix::io::Errno;
use std::mem::MaybeUninit;

/// The part of the mark that all sessions of one runtime share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuntimeTag {
    family: u32,
    place: MarkSupport,
}

/// The halves of the limit in which this runtime may write its marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MarkSupport {
    /// Both halves of the limit are free.
    Both,
    /// The hard half carries the mark of the session this runtime itself runs in, which must stay.
    SoftOnly { hard: u64 },
    /// A sandbox of another runtime keeps that runtime's mark on every process. That runtime ends all of them, so
    /// sessions inside have no marks: their processes are found through their leader and their parent alone.
    Sandboxed,
    /// The hard half was lowered too far to hold a mark: processes cannot be marked, and an engine reports that.
    Nowhere,
}

/// The number on every process of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mark(u64);

/// The lifetime that a session's mark states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The session ends with its runtime.
    WithRuntime,
    /// The session outlives its runtime.
    Detached,
}

/// The two halves of a limit, as they are to be set in a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Halves {
    /// The lower limit, which is in force.
    pub soft: u64,
    /// The upper limit.
    pub hard: u64,
}

impl Halves {
    /// The two limits of a process, whether a runtime or another program set them; `None`: the process is gone.
    pub fn on(pid: Pid) -> Option<Self> {
        read_halves(Some(pid))
    }

    /// Puts the mark on this process, which from now on belongs to the session, with all that it starts.
    pub fn take_on(self) -> Result<(), Errno> {
        self.set(0)
    }

    /// Puts the mark on another process of this user.
    pub fn put_on(self, pid: Pid) -> Result<(), Errno> {
        self.set(pid.raw())
    }

    fn set(self, pid: i32) -> Result<(), Errno> {
        let limit = libc::rlimit64 { rlim_cur: self.soft, rlim_max: self.hard };
        // SAFETY: the new limit is complete, and the old one is not requested.
        let answer =
            unsafe { libc::prlimit64(pid, libc::RLIMIT_LOCKS, &raw const limit, std::ptr::null_mut()) };
        if answer == 0 {
            Ok(())
        } else {
            Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::PERM))
        }
    }
}

const FAMILY_SHIFT: u32 = 32;
const FAMILY_BITS: u32 = 30;
const DETACHED: u64 = 1;

impl RuntimeTag {
    /// A new runtime tag, which no other runtime on this machine has, except by a chance of one in a billion.
    pub fn generate() -> Self {
        if in_sandbox() {
            return Self { family: random_below(1 << FAMILY_BITS), place: MarkSupport::Sandboxed };
        }
        let hard = read_halves(None).map_or(u64::MAX, |halves| halves.hard);
        if hard == u64::MAX {
            return Self { family: random_below(1 << FAMILY_BITS), place: MarkSupport::Both };
        }
        // A number above the hard limit cannot be set, so the number of a nested runtime is smaller than that of the
        // runtime around it.
        match u32::try_from(hard >> FAMILY_SHIFT).unwrap_or(u32::MAX) {
            0..=1 => Self { family: random_below(1 << FAMILY_BITS), place: MarkSupport::Nowhere },
            ceiling => Self { family: random_below(ceiling), place: MarkSupport::SoftOnly { hard } },
        }
    }

    /// The runtime tag with this number, for a guardian that received it.
    pub fn of_family(family: u32) -> Self {
        Self { family, place: MarkSupport::Both }
    }

    /// The number that the guardian receives.
    pub fn family(self) -> u32 {
        self.family
    }

    /// Whether sessions can be marked here, or need not be.
    pub fn can_mark(self) -> bool {
        self.place != MarkSupport::Nowhere
    }

    /// Whether the processes of its sessions bear marks.
    pub fn gives_marks(self) -> bool {
        matches!(self.place, MarkSupport::Both | MarkSupport::SoftOnly { .. })
    }

    /// Whether this runtime itself runs in a session of another one.
    pub fn is_nested(self) -> bool {
        self.place != MarkSupport::Both
    }

    /// The mark of one session, by its place in the order of starting.
    pub fn mark(self, sequence: u32, fate: Fate) -> Mark {
        let sequence = u64::from(sequence & 0x7fff_ffff) << 1;
        let fate = if fate == Fate::Detached { DETACHED } else { 0 };
        Mark(u64::from(self.family) << FAMILY_SHIFT | sequence | fate)
    }

    /// The mark on a process, if it bears one of this runtime.
    pub fn on(self, pid: Pid) -> Option<Mark> {
        let halves = read_halves(Some(pid))?;
        [halves.soft, halves.hard]
            .into_iter()
            .find(|half| half >> FAMILY_SHIFT == u64::from(self.family))
            .map(Mark)
    }

    /// The limits that a process has to set to bear a mark, where marks are supported.
    pub fn halves(self, mark: Mark) -> Option<Halves> {
        match self.place {
            MarkSupport::Both => Some(Halves { soft: mark.0, hard: mark.0 }),
            MarkSupport::SoftOnly { hard } => Some(Halves { soft: mark.0, hard }),
            MarkSupport::Sandboxed | MarkSupport::Nowhere => None,
        }
    }
}

/// Whether this process runs in a sandbox of another runtime: no process there may set its mark, not even to the same
/// value.
pub fn in_sandbox() -> bool {
    read_halves(None).is_some_and(|halves| halves.take_on().is_err())
}

/// The marks on a process, by any runtime: that of its session, and that of the session around its runtime.
pub(crate) fn marks_on(pid: Pid) -> impl Iterator<Item = Mark> {
    let halves = read_halves(Some(pid)).map(|halves| (halves.soft, halves.hard));
    let (soft, hard) = halves.unwrap_or((u64::MAX, u64::MAX));
    let both = [Some(soft), (hard != soft).then_some(hard)];
    both.into_iter().flatten().filter(|half| *half != u64::MAX && half >> FAMILY_SHIFT != 0).map(Mark)
}

/// The mark of a session, by its root process: `None` if it bears none, or is gone.
pub fn on_root(pid: Pid) -> Option<Mark> {
    marks_on(pid).next()
}

/// Whether a process of this user bears a mark of any runtime. Processes of other users count as unmarked.
pub(crate) fn on_own_process(pid: Pid) -> bool {
    prlimit(Some(pid)).is_ok_and(|Halves { soft, hard }| {
        [soft, hard].into_iter().any(|half| half != u64::MAX && half >> FAMILY_SHIFT != 0)
    })
}

impl Mark {
    /// The number that is stored in a record.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// The mark that is stored in a record; `None` if no runtime gives such a mark.
    pub fn from_bits(bits: u64) -> Option<Self> {
        (bits != u64::MAX && bits >> FAMILY_SHIFT != 0).then_some(Self(bits))
    }

    /// The tag of the runtime that gave this mark.
    pub fn runtime_tag(self) -> RuntimeTag {
        RuntimeTag::of_family(u32::try_from(self.0 >> FAMILY_SHIFT).unwrap_or(u32::MAX))
    }

    /// The session's place in the order of starting.
    pub fn sequence(self) -> u32 {
        u32::try_from(self.0 >> 1 & 0x7fff_ffff).unwrap_or(0)
    }

    /// Whether it outlives its runtime.
    pub fn fate(self) -> Fate {
        if self.0 & DETACHED == 0 { Fate::WithRuntime } else { Fate::Detached }
    }
}

fn read_halves(pid: Option<Pid>) -> Option<Halves> {
    match prlimit(pid) {
        Ok(halves) => Some(halves),
        // The limits of another user's process (sudo, say) may not be read by system call, but its limits file is
        // readable by all.
        Err(Errno::PERM) => pid.and_then(read_limits_file),
        Err(_) => None,
    }
}

fn prlimit(pid: Option<Pid>) -> Result<Halves, Errno> {
    let raw = pid.map_or(0, Pid::raw);
    let mut limit = MaybeUninit::<libc::rlimit64>::uninit();
    // SAFETY: the new limit is null (nothing is changed), and the old one points at memory of the right size.
    let answer = unsafe { libc::prlimit64(raw, libc::RLIMIT_LOCKS, std::ptr::null(), limit.as_mut_ptr()) };
    if answer != 0 {
        return Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::SRCH));
    }
    // SAFETY: the call succeeded, so the kernel filled the structure.
    let limit = unsafe { limit.assume_init() };
    Ok(Halves { soft: limit.rlim_cur, hard: limit.rlim_max })
}

fn read_limits_file(pid: Pid) -> Option<Halves> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    let mut words = text.lines().find_map(|line| line.strip_prefix("Max file locks"))?.split_whitespace();
    let mut half = || words.next().map(|word| word.parse().unwrap_or(u64::MAX));
    Some(Halves { soft: half()?, hard: half()? })
}

/// At least 1, so that a limit of a few billion that another program set is not taken for a mark of family 0.
fn random_below(ceiling: u32) -> u32 {
    let mut bytes = [0; 4];
    // An interrupted or short answer leaves zeroes, which the clock then varies enough.
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    let clock = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic).tv_nsec;
    (u32::from_ne_bytes(bytes) ^ u32::try_from(clock).unwrap_or(0)) % (ceiling - 1).max(1) + 1
}

#[cfg(test)]
mod tests {
    use super::{Fate, MarkSupport, Pid, RuntimeTag};

    #[test]
    fn a_mark_carries_its_sequence_and_fate() {
        let runtime_tag = RuntimeTag::of_family(77);
        for (sequence, fate) in
            [(0, Fate::WithRuntime), (1, Fate::Detached), (0x7fff_ffff, Fate::WithRuntime)]
        {
            let mark = runtime_tag.mark(sequence, fate);
            assert_eq!((mark.sequence(), mark.fate()), (sequence, fate));
        }
    }

    #[test]
    fn families_stay_below_the_hard_limit_so_that_they_can_be_set() {
        for _ in 0..1000 {
            let runtime_tag = RuntimeTag::generate();
            assert!(runtime_tag.family() > 0);
            if let MarkSupport::SoftOnly { hard } = runtime_tag.place {
                assert!(runtime_tag.mark(u32::MAX, Fate::Detached).0 <= hard);
            }
        }
    }

    #[test]
    fn a_process_without_our_mark_bears_none() {
        assert_eq!(RuntimeTag::of_family(0x3fff_fffe).on(Pid::of_this_process()), None);
    }
}
