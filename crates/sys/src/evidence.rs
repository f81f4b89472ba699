//! Kernel evidence: whether a program waits for input at this moment, and the sockets on which a set of processes
//! listens.
//!
//! Nothing here guesses from silence or from what was printed. The kernel says which system call every thread is
//! blocked in and on which descriptors, and whether any input is left to read. Both together are exact: a thread that
//! input has woken is no longer blocked, and input that woke no thread is still there to read. Whether the job around
//! such a reader works is judged by what its other threads wait for (`job`) and, in doubt, by their processor time
//! (`activity`).
//!
//! A look has a side effect: looking at a terminal opens its far end for a moment. Only a descriptor of that end can
//! make the kernel hand over what was typed (it passes through a work queue) and say whether any of it is unread.

mod activity;
mod awaited;
mod call;
mod family;
mod file;
mod inspect;
mod job;
mod listening;
mod peer;
mod scope;
mod source;

pub use listening::{Endpoint, listening};

use crate::process::Pid;
use crate::pty;
use activity::{Activity, Sample, Window};
use family::{ProcessStat, everyone_off};
use inspect::{Inspected, Look, look_at};
use job::{Finding, Job, Listed, Surroundings};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::pty::OpenptFlags;
use scope::Scope;
use source::Source;
use std::fmt;
use std::time::{Duration, Instant};

/// The kernel's evidence whether a job waits for input now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputState {
    /// A thread of this process is blocked reading, its input is empty, and no other thread of the job works towards
    /// output.
    Waiting {
        /// The reader.
        pid: Pid,
    },
    /// The same, except that the kernel cannot tell whether output may come without input.
    Probably {
        /// The reader.
        pid: Pid,
        /// The reason.
        doubt: Doubt,
    },
    /// A thread of this process reads, and only its processor time can tell whether the job works: look again then.
    Undecided {
        /// The reader.
        pid: Pid,
        /// When a look can decide.
        again: Duration,
    },
    /// No thread reads, or the job works beside its reader, or has input that it has not taken yet.
    Busy,
    /// The process in question cannot be inspected (setuid, another user): only silence can tell.
    Unknown {
        /// The process that cannot be inspected.
        pid: Pid,
    },
}

/// The reason why a job that reads its input is said to wait only `probably`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Its system calls are hidden from this user.
    Hidden,
    /// The reader waits for a peer too, as `ssh` does: the far side decides what it prints.
    Connection,
    /// The reader of lines waits for a limited time, or has a timer that runs.
    Timer,
    /// A signal may interrupt the reader by the clock.
    Alarm,
    /// Another thread of the reader's process waits with a timer.
    ThreadTimer,
    /// Another process of the job waits with a timer.
    ProcessTimer,
    /// A process that started the reader has a timer: it may end the reader, or print.
    ParentTimer,
    /// A process that the job started has left it, can print, and works or has a timer.
    LeftJob,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hidden => "it cannot be inspected",
            Self::Connection => "it also waits for a connection",
            Self::Timer => "it also waits for a timer",
            Self::Alarm => "an alarm may interrupt it",
            Self::ThreadTimer => "another thread of it sleeps with a timer",
            Self::ProcessTimer => "another process of its job sleeps with a timer",
            Self::ParentTimer => "a process that started it has a timer",
            Self::LeftJob => "a process that left its job may print",
        })
    }
}

/// The kind of input that a program reads from its terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// A line, edited by the kernel and shown as it is typed.
    Line,
    /// A line that is not shown: a password.
    Hidden,
    /// Single keys, drawn by the program: full-screen programs, and line editors of their own such as readline, which
    /// differ only in the use of the alternate screen.
    FullScreen,
}

/// How the terminal treats input, read through the master.
pub fn input_kind(master: BorrowedFd<'_>) -> Result<InputKind, Errno> {
    let mode = pty::input_mode(master)?;
    Ok(match (mode.canonical, mode.echo) {
        (true, false) => InputKind::Hidden,
        (false, false) => InputKind::FullScreen,
        // Single keys with echo (`read -n 1`): for a person who types, that is a very short line.
        (true | false, true) => InputKind::Line,
    })
}

/// Looks at the input of one session, again and again, and remembers the processor time of the job from look to look.
#[derive(Default)]
pub struct Watch {
    /// One window for each reader in doubt: several where relays lie between.
    windows: Vec<Window>,
    elsewhere: Elsewhere,
    /// How much the session has printed, in bytes.
    printed: u64,
}

/// The reader of a terminal outside of the session, if there is one.
#[derive(Default)]
struct Elsewhere {
    found: Option<Pid>,
    /// Before this moment the process table is not searched again.
    next: Option<Instant>,
}

/// More relays than anyone nests on purpose.
const DEEPEST: u8 = 4;

impl Watch {
    /// Notes how many bytes of the session's output were read so far. A reader of lines that has a clock does not wait
    /// while the session prints.
    pub fn note_output(&mut self, total: u64) {
        self.printed = total;
    }

    /// Looks at a terminal. `master` is the pty master, `root` the session's root process.
    ///
    /// After `Waiting` and `Probably`, everything the reader printed before it began to wait is readable at the master:
    /// read it until it would block, and the prompt is in what you have.
    ///
    /// The price grows with the number of processes and threads of the session.
    pub fn terminal(&mut self, master: BorrowedFd<'_>, root: Pid) -> InputState {
        self.terminal_at(master, root, 0)
    }

    /// Looks at the terminal that a relay made for the programs behind it.
    fn terminal_behind(&mut self, master: BorrowedFd<'_>, relay: Pid, source: &Source) -> InputState {
        if source.depth == DEEPEST {
            return InputState::Unknown { pid: relay };
        }
        self.terminal_at(master, relay, source.depth + 1)
    }

    fn terminal_at(&mut self, master: BorrowedFd<'_>, root: Pid, depth: u8) -> InputState {
        // No process has the terminal open, and opening it would revive it for all that watch the master.
        if has_hung_up(master) {
            return InputState::Busy;
        }
        let slave = match open_slave(master) {
            Ok(slave) => slave,
            // The terminal has just hung up.
            Err(Errno::IO) => return InputState::Busy,
            // Out of descriptors, or a kernel without this call.
            Err(_) => return InputState::Unknown { pid: root },
        };
        let kind = input_kind(master).unwrap_or(InputKind::Line);
        let (Some(source), Some(group)) = (Source::terminal(&slave, depth, kind), foreground(master)) else {
            return InputState::Busy;
        };
        if has_unread_input(&slave, master) {
            return InputState::Busy;
        }
        let reading = self.group_reading(&source, &Scope { group: Some(group), root });
        // Input may have arrived meanwhile, or the foreground group may have changed. Looking again costs two calls,
        // and makes the whole answer true at one moment.
        let stands = !has_unread_input(&slave, master) && foreground(master) == Some(group);
        if stands { reading } else { InputState::Busy }
    }

    /// Looks at a pipe of which we hold the writing end `stdin` (the session's descriptor 0).
    pub fn pipe(&mut self, stdin: BorrowedFd<'_>, root: Pid) -> InputState {
        let Some(source) = Source::pipe(stdin) else { return InputState::Busy };
        let is_empty = || rustix::io::ioctl_fionread(stdin).is_ok_and(|unread| unread == 0);
        if !is_empty() {
            return InputState::Busy;
        }
        let reading = self.group_reading(&source, &Scope { group: None, root });
        if is_empty() { reading } else { InputState::Busy }
    }

    fn group_reading(&mut self, source: &Source, scope: &Scope) -> InputState {
        // The leader is the usual reader. It is looked at before its children are listed: a list from before the look
        // would miss those that it started in between.
        let leader = scope.leader();
        let mut verdict = JobVerdict::default();
        self.look_for_reader(source, leader.as_slice(), &mut verdict);
        let is_listed_later = verdict.found.is_some();
        let members = scope.members(verdict.reader_asleep().or(leader));
        if !is_listed_later {
            let leads = |pid: Pid| leader.is_some_and(|(leader, _)| leader == pid);
            let others: Vec<_> = members.near.iter().filter(|(pid, _)| !leads(*pid)).copied().collect();
            self.look_for_reader(source, &others, &mut verdict);
        }
        let is_open = verdict.found.is_none() && verdict.unknown.is_none() && scope.group.is_some();
        if is_open && verdict.asks_outside(source, &members.near) {
            verdict.found = self.reader_elsewhere(source, &members.near);
            verdict.is_elsewhere = true;
        }
        // A process table that hides other users' processes shows no member at all; the group answers signals anyway.
        if let Some(group) = scope.group
            && !members.near.iter().any(|(_, facts)| facts.group == group)
            && verdict.found.is_none()
            && exists_unseen(group)
        {
            return InputState::Unknown { pid: group };
        }
        let listed = if is_listed_later { Listed::AfterTheLook } else { Listed::BeforeTheLook };
        self.conclude(source, &Surroundings { scope, members, listed }, verdict)
    }

    /// Looks at all of them until one reads.
    fn look_for_reader(&mut self, source: &Source, members: &[(Pid, ProcessStat)], verdict: &mut JobVerdict) {
        for (pid, facts) in members {
            match look_at(self, source, *pid, *facts) {
                Look::Busy => {}
                Look::Asks(socket) => verdict.asks.push((*pid, socket)),
                Look::Denied => verdict.unknown = verdict.unknown.or(Some(*pid)),
                look => {
                    verdict.found = Some((look, *facts));
                    break;
                }
            }
        }
    }

    /// A daemon may read the terminal for a client that asked it to: `pinentry` for `gpg`, the server of `tmux` for the
    /// attached client. It has the terminal open and is not a process of the session.
    fn reader_elsewhere(
        &mut self,
        source: &Source,
        members: &[(Pid, ProcessStat)],
    ) -> Option<(Look, ProcessStat)> {
        /// The pause after a search, which takes milliseconds where there are hundreds of processes.
        const REST: Duration = Duration::from_millis(50);
        const REST_PER_SEARCH: u32 = 20;
        let reads = |watch: &mut Self, pid: Pid, facts: ProcessStat| match look_at(watch, source, pid, facts)
        {
            look @ (Look::Reads(_) | Look::Behind(..)) => Some((look, facts)),
            Look::Asks(_) | Look::Busy | Look::Denied => None,
        };
        let known = self.elsewhere.found.and_then(|pid| reads(self, pid, ProcessStat::of(pid)?));
        let begin = Instant::now();
        if known.is_some() || self.elsewhere.next.is_some_and(|next| begin < next) {
            return known;
        }
        self.elsewhere.found = None;
        let mut found = None;
        for (pid, facts) in everyone_off(source.device()?) {
            let is_member = members.iter().any(|(member, _)| *member == pid);
            if is_member || pid == Pid::of_this_process() {
                continue;
            }
            found = reads(self, pid, facts);
            if found.is_some() {
                self.elsewhere.found = Some(pid);
                break;
            }
        }
        self.elsewhere.next = Some(Instant::now() + REST.max(begin.elapsed() * REST_PER_SEARCH));
        found
    }

    /// Judges the job around the reader that was found.
    fn conclude(&mut self, source: &Source, around: &Surroundings<'_>, verdict: JobVerdict) -> InputState {
        let (reader, behind, facts) = match verdict.found {
            Some((Look::Reads(reader), facts)) => {
                let pid = reader.pid;
                (reader, InputState::Waiting { pid }, facts)
            }
            Some((Look::Behind(relay, reading), facts)) => (relay, reading, facts),
            _ => return verdict.unknown.map_or(InputState::Busy, |pid| InputState::Unknown { pid }),
        };
        let job = Job::new(source, &reader, around, (facts.group, verdict.is_elsewhere));
        let reading = match job.finding() {
            Finding::Idle => return behind,
            Finding::Works => return InputState::Busy,
            Finding::Doubtful(span, doubt) => self.measured(&job, span, doubt),
        };
        // Either of them may be in doubt.
        if matches!(behind, InputState::Waiting { .. }) { reading } else { behind }
    }

    /// Measures the job for as long as it takes to call it idle.
    fn measured(&mut self, job: &Job<'_>, span: Duration, doubt: Option<Doubt>) -> InputState {
        let pid = job.reader.pid;
        let reader = (pid, job.reader.thread);
        let ticking = job.ticking();
        let now = Sample::of(&job.members).with_preemptions(&ticking);
        let now = if job.prints_by_clock(doubt) { now.with_output(self.printed) } else { now };
        if now.is_empty() {
            // This kernel does not count processor time: the timer is all that is known.
            return InputState::Probably { pid, doubt: doubt.unwrap_or(Doubt::Timer) };
        }
        let Some(window) = self.windows.iter_mut().find(|window| window.reader == reader) else {
            self.windows.truncate(DEEPEST.into());
            self.windows.insert(0, Window::new(reader, now));
            return InputState::Undecided { pid, again: span };
        };
        match (window.measure(now, span, &ticking), doubt) {
            (Activity::Works, _) => InputState::Busy,
            (Activity::TooEarly(again), _) => InputState::Undecided { pid, again },
            (Activity::Quiet, Some(doubt)) => InputState::Probably { pid, doubt },
            (Activity::Quiet, None) => InputState::Waiting { pid },
        }
    }
}

/// The result of all looks together. A reader decides; a process that cannot be inspected outweighs busy ones.
#[derive(Default)]
struct JobVerdict {
    found: Option<(Look, ProcessStat)>,
    /// Whether the reader is none of the session's processes.
    is_elsewhere: bool,
    unknown: Option<Pid>,
    /// Sockets that members wait for.
    asks: Vec<(Pid, u64)>,
}

impl JobVerdict {
    /// The reader's process as it was while the reader slept.
    fn reader_asleep(&self) -> Option<(Pid, ProcessStat)> {
        match &self.found {
            Some((Look::Reads(reader), _)) => reader.asleep.map(|facts| (reader.pid, facts)),
            _ => None,
        }
    }

    /// Whether one of the members waits for the answer of a daemon.
    fn asks_outside(&self, source: &Source, members: &[(Pid, ProcessStat)]) -> bool {
        let is_member = |pid: Pid| members.iter().any(|(member, _)| *member == pid);
        self.asks.iter().any(|(pid, socket)| {
            let peer = Inspected::new(source, *pid, 0).peer(*socket);
            // The pair of sockets between `tmux` and the server that it started was made by the client.
            peer.is_some_and(|peer| peer.is_local() && (peer.is_outside(is_member) || peer.is(*pid)))
        })
    }
}

fn open_slave(master: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let nonblocking = OpenptFlags::from_bits_retain(rustix::fs::OFlags::NONBLOCK.bits());
    rustix::pty::ioctl_tiocgptpeer(master, flags | nonblocking)
}

fn foreground(master: BorrowedFd<'_>) -> Option<Pid> {
    let group = rustix::termios::tcgetpgrp(master).ok()?;
    Some(Pid::new(group.as_raw_nonzero().get().unsigned_abs()))
}

fn has_hung_up(master: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(master, PollFlags::empty())];
    poll_now(&mut fds).is_err() || fds[0].revents().contains(PollFlags::HUP)
}

/// Whether a read from the slave would return at once. Asking pushes both directions through the kernel's work queue
/// first: the typed input, and with it the output that the terminal echoed or the reader printed.
fn has_unread_input(slave: &OwnedFd, master: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::new(slave, PollFlags::IN), PollFd::from_borrowed_fd(master, PollFlags::IN)];
    // Without an answer there may be unread input, and then no program is said to wait.
    poll_now(&mut fds).is_err() || !fds[0].revents().is_empty()
}

fn poll_now(fds: &mut [PollFd<'_>]) -> Result<usize, Errno> {
    loop {
        match poll(fds, Some(&Timespec::default())) {
            // Even a poll that does not wait is interrupted where many children die at once.
            Err(Errno::INTR) => {}
            answer => return answer,
        }
    }
}

/// Whether a group has members of another user that the process table does not show us.
fn exists_unseen(group: Pid) -> bool {
    let Some(group) = rustix::process::Pid::from_raw(group.raw()) else { return false };
    rustix::process::test_kill_process_group(group) == Err(Errno::PERM)
}
