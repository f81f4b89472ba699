//! The account of a session once its root process has ended, complete and in one value.

use crate::{Crossed, Degraded, Enforced, Peaks};
use std::fmt;
use std::time::Duration;
use windlass_sandbox::Denial;
use windlass_sys::process::{self, Pid};

/// How the root process ended. A code and a signal are different things and stay so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It called `exit` with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// It has ended, but something else in this process collected it, and how it ended with it.
    Unknown,
}

impl Exit {
    /// One number for a shell or a model: the code, 128 plus the signal, or 255 where it is not known.
    pub fn code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
            Self::Unknown => 255,
        }
    }

    /// Whether the command itself reported success.
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }
}

/// Why the session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// By itself: it returned, or a process outside the runtime signalled it.
    Itself,
    /// Its timeout.
    Timeout(Duration),
    /// A stop request.
    Stopped,
    /// It crossed this limit.
    Limit(Crossed),
    /// The runtime was shutting down.
    Shutdown,
    /// The registry was full and this one had to make room.
    Evicted,
    /// The last handle of a `call` session went away.
    Dropped,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Itself => f.write_str("itself"),
            Self::Timeout(after) => write!(f, "timeout after {} ms", after.as_millis()),
            Self::Stopped => f.write_str("stopped"),
            Self::Limit(crossed) => crossed.fmt(f),
            Self::Shutdown => f.write_str("shutdown"),
            Self::Evicted => f.write_str("evicted"),
            Self::Dropped => f.write_str("dropped"),
        }
    }
}

/// Peak resident memory in bytes. The kernel starts a child's high-water mark at its parent's (the address space is
/// shared until `exec`), so a figure below the runtime's own peak is only an upper bound, and says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeakMemory {
    /// Measured.
    Exactly(u64),
    /// Not more than this.
    AtMost(u64),
}

/// Bytes printed, per stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamBytes {
    /// Through the pipe on fd 1.
    pub stdout: u64,
    /// Through the pipe on fd 2.
    pub stderr: u64,
    /// Through the terminal.
    pub terminal: u64,
}

impl StreamBytes {
    /// All streams together.
    pub fn total(self) -> u64 {
        self.stdout + self.stderr + self.terminal
    }
}

/// One process, as a person would name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessLine {
    /// Its process id.
    pub pid: u32,
    /// Its command line, or its kernel name in brackets if it has none.
    pub command: String,
}

impl ProcessLine {
    /// The number of the process inside of its sandbox, while it is there: the one that it and commands around it know.
    pub fn pid_in_sandbox(&self) -> Option<u32> {
        process::number_inside(Pid::new(self.pid)).map(Pid::get)
    }
}

impl fmt::Display for ProcessLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.pid, self.command)
    }
}

/// The account of a session's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// How the root process ended.
    pub exit: Exit,
    /// Why.
    pub cause: Cause,
    /// From spawn to the root's exit.
    pub wall: Duration,
    /// CPU time in user mode: the root and the descendants it waited for.
    pub cpu_user: Duration,
    /// CPU time in the kernel, likewise.
    pub cpu_system: Duration,
    /// Peak resident memory of the largest of them.
    pub peak_memory: PeakMemory,
    /// The bytes printed until the receipt was written.
    pub bytes: StreamBytes,
    /// Whether a process still held its output when the runtime stopped waiting: more may have been printed since.
    pub cut_off: bool,
    /// Whether, where and why its output is not on the disk: later readers find only the bytes before.
    pub degraded: Option<Degraded>,
    /// The denials of its sandbox.
    pub denials: Vec<Denial>,
    /// Input that was accepted and never reached the process.
    pub undelivered_input: u64,
    /// Processes it started that were still alive when it ended, and were left running.
    pub left_running: Vec<ProcessLine>,
    /// Processes other than the root that the runtime ended.
    pub ended: Vec<ProcessLine>,
    /// Processes that could not be ended.
    pub remaining: Vec<ProcessLine>,
    /// The peak use of all its processes together, as far as it was measured: limited resources are.
    pub peaks: Peaks,
    /// The limits that were in force, and the mechanism of each.
    pub enforced: Vec<Enforced>,
}
