//! The processes to look at: a process and everything below it, or a whole process group. The `stat` of each is read
//! once and handed on.

use super::file::{Small, decimal, words};
use crate::process::Pid;
use rustix::io::Errno;
use std::fs;
use std::ops::ControlFlow;

/// The fields of `/proc/PID/stat` that evidence needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessStat {
    /// The letter of its main thread: `S` sleeps and can be woken.
    pub(super) state: u8,
    /// Its parent.
    pub(super) parent: u32,
    /// Its process group.
    pub(super) group: Pid,
    /// Its controlling terminal; 0: none.
    pub(super) terminal: u32,
    /// How many threads it has.
    pub(super) threads: u32,
    /// When it started, in ticks since the machine did.
    pub(super) started: u64,
    /// Whether it ignores or handles the key that stops a job (`SIGTSTP`), as shells do that manage jobs.
    pub(super) manages_jobs: bool,
    /// The signals that it has handlers for.
    pub(super) handled: Handled,
}

/// Signals that a process has handlers for: one bit for each of the first 31.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Handled(pub(super) u32);

impl Handled {
    /// Whether the handlers suggest that the process uses alarms. Shells handle every signal that could end them,
    /// including the alarm of processor time, and set no alarm.
    pub(super) fn uses_alarms(self) -> bool {
        self.has(libc::SIGALRM) && !self.has(libc::SIGVTALRM)
    }

    /// Whether a signal tells the process of the end of a child. Shells have a handler for it at all times, and those that
    /// are known as above are none of these.
    pub(super) fn watches_children(self) -> bool {
        self.has(libc::SIGCHLD) && !self.has(libc::SIGVTALRM)
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn has(self, signal: i32) -> bool {
        self.0 >> (signal - 1) & 1 == 1
    }
}

impl ProcessStat {
    /// `None`: the process does not exist (any more), or it is hidden from us.
    pub(super) fn of(pid: Pid) -> Option<Self> {
        Self::parse(Small::<512>::read(format_args!("/proc/{pid}/stat")).ok()?.bytes())
    }

    /// The `stat` of one thread, whose state is its own.
    pub(super) fn of_thread(pid: Pid, thread: u32) -> Option<Self> {
        Self::parse(Small::<512>::read(format_args!("/proc/{pid}/task/{thread}/stat")).ok()?.bytes())
    }

    fn parse(stat: &[u8]) -> Option<Self> {
        // The name in brackets may hold anything, spaces and brackets too: the fields count from the last bracket.
        let mut fields = words(&stat[stat.iter().rposition(|byte| *byte == b')')? + 1..]);
        let facts = Self {
            state: *fields.next()?.first()?,
            parent: decimal(fields.next()?)?,
            group: Pid::new(decimal(fields.next()?)?),
            terminal: decimal::<i32>(fields.nth(1)?)?.cast_unsigned(),
            threads: decimal(fields.nth(12)?)?,
            started: decimal(fields.nth(1)?)?,
            manages_jobs: false,
            handled: Handled::default(),
        };
        let (ignored, handled) = (signals(fields.nth(10)), signals(fields.next()));
        let manages_jobs = ignored.has(libc::SIGTSTP) || handled.has(libc::SIGTSTP);
        Some(Self { manages_jobs, handled, ..facts })
    }

    pub(super) fn is_alive(&self) -> bool {
        !matches!(self.state, b'Z' | b'X')
    }
}

fn signals(field: Option<&[u8]>) -> Handled {
    Handled(field.and_then(decimal).unwrap_or_default())
}

/// More processes than any session has at which a look is useful, so that a walk over a tree that grows meanwhile ends.
const LARGEST: usize = 4096;

/// A process and its descendants, the process itself first. Descendants whose parent died are not found. `known` is a
/// `stat` of one of them that was just read.
pub(super) fn family_of(root: Pid, known: Option<(Pid, ProcessStat)>) -> Family {
    Family { next: vec![root], seen: 0, incomplete: false, known }
}

/// See [`family_of`].
pub(super) struct Family {
    next: Vec<Pid>,
    seen: usize,
    incomplete: bool,
    known: Option<(Pid, ProcessStat)>,
}

impl Family {
    /// Whether the kernel did not list the children: then only a walk over the whole process table finds them.
    pub(super) fn is_incomplete(&self) -> bool {
        self.incomplete
    }

    fn add_children(&mut self, pid: Pid, threads: u32) {
        let mut add = |thread| match children_of(pid, thread, &mut self.next) {
            Ok(()) => {}
            // The process is gone, or the kernel has no such file.
            Err(_) => self.incomplete |= ProcessStat::of_thread(pid, thread).is_some(),
        };
        if threads == 1 {
            add(pid.get());
        } else {
            for_each_thread(pid, |thread| {
                add(thread);
                ControlFlow::Continue(())
            });
        }
    }
}

impl Iterator for Family {
    type Item = (Pid, ProcessStat);

    fn next(&mut self) -> Option<(Pid, ProcessStat)> {
        while self.seen < LARGEST {
            let pid = self.next.pop()?;
            self.seen += 1;
            let known = self.known.filter(|(known, _)| *known == pid).map(|(_, facts)| facts);
            if let Some(facts) = known.or_else(|| ProcessStat::of(pid)) {
                self.add_children(pid, facts.threads);
                return Some((pid, facts));
            }
        }
        None
    }
}

/// Every living process of a group, from the whole process table.
pub(super) fn everyone_in(group: Pid) -> impl Iterator<Item = (Pid, ProcessStat)> {
    everyone().filter(move |(_, facts)| facts.group == group && facts.is_alive())
}

fn everyone() -> impl Iterator<Item = (Pid, ProcessStat)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok().map(Pid::new));
    pids.filter_map(|pid| Some((pid, ProcessStat::of(pid)?)))
}

/// Every living process that has another controlling terminal than this one, or none.
pub(super) fn everyone_off(terminal: u32) -> impl Iterator<Item = (Pid, ProcessStat)> {
    everyone().filter(move |(_, facts)| facts.terminal != terminal && facts.is_alive())
}

/// The threads of a process, until `work` has seen enough.
pub(super) fn for_each_thread(pid: Pid, mut work: impl FnMut(u32) -> ControlFlow<()>) {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let threads = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    for thread in threads {
        if work(thread).is_break() {
            return;
        }
    }
}

fn children_of(pid: Pid, thread: u32, children: &mut Vec<Pid>) -> Result<(), Errno> {
    const USUAL: usize = 1024;
    let list = Small::<USUAL>::read(format_args!("/proc/{pid}/task/{thread}/children"))?;
    if list.bytes().len() < USUAL {
        children.extend(words(list.bytes()).filter_map(decimal).map(Pid::new));
        return Ok(());
    }
    // The kernel gives a page at most in one read, and a number may be cut in two at the end of ours.
    let whole = fs::read(format!("/proc/{pid}/task/{thread}/children"));
    let whole = whole.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    children.extend(words(&whole).filter_map(decimal).map(Pid::new));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Handled, ProcessStat, family_of};
    use crate::process::Pid;

    const TAIL: &str = "0 -1 4194304 100 0 0 0 1 2 0 0 20 0 3 0 12345 1000 100 1 2 3 4 5 6 7 8 9 8192";

    #[test]
    fn the_fields_count_from_the_last_bracket() {
        let (group, terminal) = (Pid::new(40), 34823);
        let handled = Handled(8192);
        let (started, manages_jobs) = (12345, false);
        let expected = ProcessStat {
            state: b'S',
            parent: 7,
            group,
            terminal,
            threads: 3,
            started,
            manages_jobs,
            handled,
        };
        for name in ["cat", "a) S 1 2", "(", ") ("] {
            let stat = format!("42 ({name}) S 7 40 39 34823 {}", &TAIL[2..]);
            assert_eq!(ProcessStat::parse(stat.as_bytes()), Some(expected), "{stat}");
        }
    }

    #[test]
    fn a_handler_for_alarms_alone_means_them() {
        let bit = |signal: i32| 1 << (signal - 1);
        assert!(Handled(bit(libc::SIGALRM) | bit(libc::SIGINT)).uses_alarms());
        assert!(!Handled(bit(libc::SIGALRM) | bit(libc::SIGVTALRM)).uses_alarms());
        assert!(!Handled(bit(libc::SIGINT)).uses_alarms());
    }

    #[test]
    fn a_line_that_is_cut_is_nothing() {
        let stat = format!("42 (cat) S 7 40 39 {TAIL}");
        for length in 0..40 {
            assert_eq!(ProcessStat::parse(&stat.as_bytes()[..length]), None);
        }
    }

    #[test]
    fn a_family_begins_with_its_root() {
        let me = Pid::of_this_process();
        let (first, facts) = family_of(me, None).next().unwrap();
        assert_eq!(first, me);
        assert!(facts.threads >= 1);
        assert!(facts.is_alive());
    }
}
