//! One-shots: confined processes that do one piece of work and exit. A one-shot is no session: it is not listed or
//! recorded, and session limits do not apply to it. It ends with the runtime like everything else.

use super::Engine;
use crate::Keeping;
use crate::lifetime::Lifetime;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::sync::Arc;
use std::time::{Duration, Instant};
use windlass_sandbox::{Command, Denial, Plan, StartFailure, StreamKind};
use windlass_sys::channel::{self, Waiting};
use windlass_sys::descriptor;
use windlass_sys::limits::ProcessLimits;
use windlass_sys::process::{Ended, How, Process};
use windlass_sys::signal::Signal;
use windlass_sys::spawn::Stdio;

/// The program, arguments and input of a one-shot.
#[derive(Clone, Debug)]
pub struct OneShot<'a> {
    /// The executable.
    pub program: CString,
    /// Its arguments, the name first. It has no environment, runs in the root directory, and finds a channel in the
    /// place of standard error, on which it can send descriptors.
    pub arguments: Vec<CString>,
    /// Its standard input.
    pub input: &'a [u8],
    /// The time and the descriptor that end it early.
    pub bounds: OneShotBounds<'a>,
}

/// The conditions that end a one-shot before it is done: first with TERM, then with KILL a moment later.
#[derive(Clone, Copy, Debug)]
pub struct OneShotBounds<'a> {
    /// The longest that it may take.
    pub time: Duration,
    /// A pipe or socket of the caller: the one-shot is ended once that is readable, or closed at its other end.
    pub cancel: Option<BorrowedFd<'a>>,
}

impl Default for OneShotBounds<'_> {
    /// Longer than a file operation takes on any disk that works.
    fn default() -> Self {
        Self { time: Duration::from_secs(300), cancel: None }
    }
}

/// The result of a one-shot.
#[derive(Debug)]
pub struct Brought {
    /// Its standard output.
    pub output: Vec<u8>,
    /// The descriptors that it sent.
    pub descriptors: Vec<OwnedFd>,
    /// How it ended.
    pub how: How,
    /// Its denials.
    pub denials: Vec<Denial>,
}

/// Why a one-shot was not done.
#[derive(Debug, thiserror::Error)]
pub enum OneShotError {
    /// It could not be confined.
    #[error(transparent)]
    Start(#[from] StartFailure),
    /// The system refused a resource that it needs.
    #[error("cannot prepare a process: {0}")]
    System(#[from] io::Error),
}

impl From<Errno> for OneShotError {
    fn from(errno: Errno) -> Self {
        Self::System(errno.into())
    }
}

impl Engine {
    /// Runs a one-shot under a plan. Blocks until it is done.
    pub fn run_errand(&self, plan: &Arc<Plan>, one_shot: OneShot<'_>) -> Result<Brought, OneShotError> {
        let grounds = self.inner.grounds.as_deref().ok_or(StartFailure::NoHelper)?;
        let input = descriptor::in_memory("input", one_shot.input)?;
        let mut output = File::from(descriptor::in_memory("output", &[])?);
        let (ours, theirs) = channel::pair()?;
        let mark = self.inner.seat(Lifetime::Runtime, Keeping::Memory).mark;
        let roots = &self.inner.orphans.roots;
        roots.starting(mark.sequence());
        let command = Command {
            program: one_shot.program,
            arguments: one_shot.arguments,
            environment: Vec::new(),
            directory: CString::from(c"/"),
            identity: None,
            stdio: Stdio::Pipes { stdin: input.as_fd(), stdout: output.as_fd(), stderr: theirs.as_fd() },
            mark: Some((self.inner.runtime_tag, mark)),
            open_files: Some(self.inner.open_files),
            limits: ProcessLimits::default(),
            groups: &[],
            inherited: &[],
            door: Vec::new(),
        };
        let mut started = match windlass_sandbox::launch(grounds, plan, command) {
            Ok(started) => started,
            Err(failure) => {
                roots.gone(mark.sequence());
                return Err(failure.into());
            }
        };
        let watcher = started.watcher.as_ref().map(Process::pid);
        self.inner.watchers.add(watcher.into_iter().chain([started.helper]), self.inner.runtime_tag);
        roots.started(mark, started.process.pid());
        drop(theirs);
        let ended = wait_within(&started.process, one_shot.bounds);
        roots.gone(mark.sequence());
        self.inner.prepare_helper(Arc::clone(plan), StreamKind::Pipes);
        let mut descriptors = Vec::new();
        while let Ok(message) = channel::receive(&ours, Waiting::No) {
            if message.bytes.is_empty() {
                break;
            }
            descriptors.extend(message.descriptors);
        }
        let mut bytes = Vec::new();
        output.rewind()?;
        output.read_to_end(&mut bytes)?;
        Ok(Brought { output: bytes, descriptors, how: ended?.how, denials: started.line.take() })
    }
}

/// How long a program has to end by itself after TERM.
const GRACE: Duration = Duration::from_millis(500);

/// Waits for the end of a process, and ends it when its time is over or it is cancelled.
fn wait_within(process: &Process, bounds: OneShotBounds<'_>) -> Result<Ended, Errno> {
    if !ends_within(process, bounds.time, bounds.cancel)? {
        // It may have ended a moment ago.
        let _ = process.signal(Signal::TERM);
        if !ends_within(process, GRACE, None)? {
            let _ = process.signal(Signal::KILL);
        }
    }
    process.reap_blocking()
}

/// Whether a process ends before this time is over and before it is cancelled.
fn ends_within(process: &Process, time: Duration, cancel: Option<BorrowedFd<'_>>) -> Result<bool, Errno> {
    let until = Instant::now() + time;
    let mut fds = vec![PollFd::new(process, PollFlags::IN)];
    fds.extend(cancel.as_ref().map(|cancel| PollFd::new(cancel, PollFlags::IN)));
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec {
            tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        // timer: the bound of a one-shot.
        match poll(&mut fds, Some(&timeout)) {
            Err(Errno::INTR) => {}
            answer => {
                answer?;
                return Ok(!fds[0].revents().is_empty());
            }
        }
    }
}

/// Sends a descriptor to the runtime that started this process as a one-shot.
pub fn hand_over(descriptor: impl AsFd) -> Result<(), Errno> {
    channel::send(io::stderr(), b"here", &[descriptor.as_fd()], Waiting::Yes)
}
