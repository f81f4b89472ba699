//! Kernel evidence: whether a program waits for input at this moment, and what a set of processes listens on.
//!
//! Nothing here guesses from silence or from what was printed. The kernel says which system call every thread is blocked
//! in and on which descriptors, and whether any input is left to read. Both together are exact: a thread that input has
//! woken is no longer blocked, and input that woke nobody is still there to read.
//!
//! What would surprise: looking at a terminal opens its far end for a moment. Only a descriptor of that end can make the
//! kernel hand over what was typed (it passes through a work queue) and say whether any of it is unread.

mod call;
mod family;
mod file;
mod inspect;
mod listening;
mod source;

pub use listening::{Endpoint, listening};

use crate::process::Pid;
use crate::pty;
use family::{Facts, everyone_in, family_of};
use inspect::{Look, look_at};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::pty::OpenptFlags;
use source::Source;

/// Whether somebody waits for input right now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// A thread of this process is blocked reading, and there is nothing left for it to read.
    Waiting {
        /// The reader.
        pid: Pid,
    },
    /// Nobody reads: it works, sleeps, waits for something else, or has input it has not taken yet.
    Busy,
    /// The process in question cannot be inspected (setuid, another user): only silence can tell.
    Unknown {
        /// Who cannot be inspected.
        pid: Pid,
    },
}

/// What a program that reads its terminal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// A line, edited by the kernel and shown as it is typed.
    Line,
    /// A line that is not shown: a password.
    Hidden,
    /// Single keys, drawn by the program: full-screen programs, and line editors of their own such as readline, which
    /// only the alternate screen tells apart.
    FullScreen,
}

/// How the terminal treats input, read through the master.
pub fn input_kind(master: BorrowedFd<'_>) -> Result<InputKind, Errno> {
    let mode = pty::input_mode(master)?;
    Ok(match (mode.canonical, mode.echo) {
        (true, false) => InputKind::Hidden,
        (false, false) => InputKind::FullScreen,
        // Single keys with echo (`read -n 1`): for whoever types, that is a very short line.
        (true | false, true) => InputKind::Line,
    })
}

/// Who reads a terminal. `master` is the pty master, `root` the session's root process.
///
/// After `Waiting`, everything the reader printed before it began to wait is readable at the master: read it until it
/// would block, and the prompt is in what you have.
///
/// As long as nobody waits, the price grows with the number of processes and threads of the session.
pub fn terminal_reading(master: BorrowedFd<'_>, root: Pid) -> Reading {
    reading_at(master, root, 0)
}

/// Who reads the terminal that a relay made for the programs behind it.
fn terminal_reading_behind(master: BorrowedFd<'_>, relay: Pid, source: &Source) -> Reading {
    /// Deeper than anybody nests them by intent.
    const DEEPEST: u8 = 4;
    if source.depth == DEEPEST {
        return Reading::Unknown { pid: relay };
    }
    reading_at(master, relay, source.depth + 1)
}

fn reading_at(master: BorrowedFd<'_>, root: Pid, depth: u8) -> Reading {
    // Nobody has the terminal open, and opening it would call it back to life for everyone who watches the master.
    if has_hung_up(master) {
        return Reading::Busy;
    }
    let slave = match open_slave(master) {
        Ok(slave) => slave,
        // It hung up just now.
        Err(Errno::IO) => return Reading::Busy,
        // Out of descriptors, or a kernel that does not have this call.
        Err(_) => return Reading::Unknown { pid: root },
    };
    let (Some(source), Some(group)) = (Source::terminal(&slave, depth), foreground(master)) else {
        return Reading::Busy;
    };
    if has_unread_input(&slave, master) {
        return Reading::Busy;
    }
    let reading = group_reading(&source, group, root);
    // Input or another foreground group may have come meanwhile. Looking again costs two calls, and makes the answer
    // one that was true at one moment as a whole.
    let stands = !has_unread_input(&slave, master) && foreground(master) == Some(group);
    if stands { reading } else { Reading::Busy }
}

/// Who reads a pipe of which we hold the writing end `stdin` (the session's descriptor 0).
pub fn pipe_reading(stdin: BorrowedFd<'_>, root: Pid) -> Reading {
    let Some(source) = Source::pipe(stdin) else { return Reading::Busy };
    let is_empty = || rustix::io::ioctl_fionread(stdin).is_ok_and(|unread| unread == 0);
    if !is_empty() {
        return Reading::Busy;
    }
    let mut verdict = Verdict::default();
    for (pid, facts) in family_of(root) {
        verdict.add(pid, look_at(&source, pid, facts));
        if verdict.is_waiting() {
            break;
        }
    }
    if is_empty() { verdict.reading() } else { Reading::Busy }
}

/// The members of the foreground group and, with less right, descendants that have no terminal of their own: `su -c` puts
/// its command into a session without one, and that command reads this terminal all the same.
fn group_reading(source: &Source, group: Pid, root: Pid) -> Reading {
    let mut verdict = Verdict::default();
    let mut members = 0;
    // The leader is the usual reader, and the group's number says which process that is.
    if let Some(facts) = Facts::of(group).filter(|facts| facts.group == group && facts.is_alive()) {
        members += 1;
        verdict.add(group, look_at(source, group, facts));
    }
    let mut family = family_of(root);
    while let Some((pid, facts)) = (!verdict.is_waiting()).then(|| family.next()).flatten() {
        if pid != group && facts.is_alive() && (facts.group == group || facts.terminal == 0) {
            members += u32::from(facts.group == group);
            verdict.add(pid, look_at(source, pid, facts));
        }
    }
    // Orphans hang on somebody else. The whole process table is looked at only where nobody else is left to look at.
    if !verdict.is_waiting() && (members == 0 || family.is_incomplete()) {
        for (pid, facts) in everyone_in(group) {
            members += 1;
            verdict.add(pid, look_at(source, pid, facts));
        }
    }
    // A process table that hides other users' processes shows no member at all; the group answers signals anyway.
    if members == 0 && exists_unseen(group) { Reading::Unknown { pid: group } } else { verdict.reading() }
}

/// What all looks together say. One that waits decides; one that cannot be inspected beats those that are busy.
#[derive(Default)]
struct Verdict {
    waiting: Option<Pid>,
    unknown: Option<Pid>,
}

impl Verdict {
    fn add(&mut self, pid: Pid, look: Look) {
        match look {
            Look::Waiting { pid } => self.waiting = self.waiting.or(Some(pid)),
            Look::Denied => self.unknown = self.unknown.or(Some(pid)),
            Look::Busy => {}
        }
    }

    fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    fn reading(&self) -> Reading {
        match (self.waiting, self.unknown) {
            (Some(pid), _) => Reading::Waiting { pid },
            (None, Some(pid)) => Reading::Unknown { pid },
            (None, None) => Reading::Busy,
        }
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

/// Whether somebody could read from the slave at once. Asking pushes both directions through the kernel's work queue
/// first: what was typed, and with it what the terminal echoed or the reader printed.
fn has_unread_input(slave: &OwnedFd, master: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::new(slave, PollFlags::IN), PollFd::from_borrowed_fd(master, PollFlags::IN)];
    // Without an answer there may be some, and nobody is said to wait.
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
