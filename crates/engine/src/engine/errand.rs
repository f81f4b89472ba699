//! Errands: a program does one thing in a sandbox and is gone. It is no session: nobody can see it, nothing of it is recorded,
//! and no limit of sessions holds for it. It ends with the runtime like everything else.

use super::Engine;
use crate::Keeping;
use crate::lifetime::Lifetime;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::sync::Arc;
use windlass_sandbox::{Command, Plan, StartFailure};
use windlass_sys::channel::{self, Waiting};
use windlass_sys::descriptor;
use windlass_sys::limits::ProcessLimits;
use windlass_sys::process::{How, Process};
use windlass_sys::spawn::Stdio;

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Errand<'a> {
    /// The executable.
    pub program: CString,
    /// Its arguments, the name first. It has no environment, runs at the root of the tree of files, and finds a channel in the
    /// place of standard error, on which it can send descriptors.
    pub arguments: Vec<CString>,
    /// What it reads on standard input.
    pub input: &'a [u8],
}

/// What became of an errand.
#[derive(Debug)]
pub struct Brought {
    /// What it printed.
    pub output: Vec<u8>,
    /// The descriptors that it sent.
    pub descriptors: Vec<OwnedFd>,
    /// How it ended.
    pub how: How,
}

/// Why an errand was not done.
#[derive(Debug, thiserror::Error)]
pub enum ErrandError {
    /// It could not be confined.
    #[error(transparent)]
    Start(#[from] StartFailure),
    /// The system did not give what it needs.
    #[error("cannot prepare a process: {0}")]
    System(#[from] io::Error),
}

impl From<Errno> for ErrandError {
    fn from(errno: Errno) -> Self {
        Self::System(errno.into())
    }
}

impl Engine {
    /// Has something done under a plan. Blocks until it is done.
    pub fn run_errand(&self, plan: &Arc<Plan>, errand: Errand<'_>) -> Result<Brought, ErrandError> {
        let grounds = self.inner.grounds.as_deref().ok_or(StartFailure::NoHelper)?;
        let input = descriptor::in_memory("input", errand.input)?;
        let mut output = File::from(descriptor::in_memory("output", &[])?);
        let (ours, theirs) = channel::pair()?;
        let mark = self.inner.seat(Lifetime::Runtime, Keeping::Memory).mark;
        let roots = &self.inner.orphans.roots;
        roots.starting(mark.sequence());
        let command = Command {
            program: errand.program,
            arguments: errand.arguments,
            environment: Vec::new(),
            directory: CString::from(c"/"),
            stdio: Stdio::Pipes { stdin: input.as_fd(), stdout: output.as_fd(), stderr: theirs.as_fd() },
            mark: Some((self.inner.brand, mark)),
            open_files: Some(self.inner.open_files),
            limits: ProcessLimits::default(),
            groups: &[],
            inherited: &[],
            door: Vec::new(),
        };
        let started = match windlass_sandbox::launch(grounds, plan, command) {
            Ok(started) => started,
            Err(failure) => {
                roots.gone(mark.sequence());
                return Err(failure.into());
            }
        };
        let watcher = started.watcher.as_ref().map(Process::pid);
        self.inner.watchers.add(watcher.into_iter().chain([started.helper]), self.inner.brand);
        roots.started(mark, started.process.pid());
        drop(theirs);
        let ended = started.process.reap_blocking();
        roots.gone(mark.sequence());
        self.inner.prepare_helper(Arc::clone(plan));
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
        Ok(Brought { output: bytes, descriptors, how: ended?.how })
    }
}

/// Sends a descriptor to whoever started this process as an errand.
pub fn hand_over(descriptor: impl AsFd) -> Result<(), Errno> {
    channel::send(io::stderr(), b"here", &[descriptor.as_fd()], Waiting::Yes)
}
