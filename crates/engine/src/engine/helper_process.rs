//! A helper of this program that works in a sandbox for a while and is addressed over a stream. Like a one-shot it is
//! no session, and ends with the runtime or with the value that holds it.

use super::one_shot::OneShotError;
use super::{Engine, Inner};
use crate::Keeping;
use crate::lifetime::Lifetime;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{Mode, OFlags, open};
use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};
use windlass_sandbox::{Command, HelperProgram, Line, Plan, StartFailure, StreamKind};
use windlass_sys::limits::ProcessLimits;
use windlass_sys::mark::Mark;
use windlass_sys::process::Process;
use windlass_sys::signal::Signal;
use windlass_sys::spawn::{FIRST_PASSED, Stdio};

/// A helper that works in a sandbox. Dropping this kills it.
#[derive(Debug)]
pub struct HelperProcess {
    inner: Arc<Inner>,
    /// Until it is collected: afterwards the kernel may reuse its number.
    process: Mutex<Option<Process>>,
    mark: Mark,
    /// The supervisor's line for denials. Open for as long as the program runs.
    _line: Line,
}

impl Engine {
    /// Starts a program under a plan. The stream is its standard input and output; it has no environment, and its
    /// errors are discarded.
    pub fn start_helper(
        &self,
        plan: &Arc<Plan>,
        helper: &HelperProgram,
        (stream, limits): (BorrowedFd<'_>, ProcessLimits),
    ) -> Result<HelperProcess, OneShotError> {
        let grounds = self.inner.grounds.as_deref().ok_or(StartFailure::NoHelper)?;
        let nothing = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        let nothing = rustix::io::fcntl_dupfd_cloexec(nothing, FIRST_PASSED)?;
        let mark = self.inner.seat(Lifetime::Runtime, Keeping::Memory).mark;
        let roots = &self.inner.orphans.roots;
        roots.starting(mark.sequence());
        let command = Command {
            program: helper.program.clone(),
            arguments: helper.arguments.clone(),
            environment: Vec::new(),
            directory: CString::from(c"/"),
            identity: None,
            stdio: Stdio::Pipes { stdin: stream, stdout: stream, stderr: nothing.as_fd() },
            mark: Some((self.inner.runtime_tag, mark)),
            open_files: Some(self.inner.open_files),
            limits,
            groups: &[],
            inherited: &[],
            door: Vec::new(),
        };
        let started =
            windlass_sandbox::launch(grounds, plan, command).inspect_err(|_| roots.gone(mark.sequence()))?;
        self.inner.watchers.add(started.watcher.as_ref().map(Process::pid), self.inner.runtime_tag);
        roots.started(mark, started.process.pid());
        self.inner.prepare_helper(Arc::clone(plan), StreamKind::Pipes);
        let process = Mutex::new(Some(started.process));
        Ok(HelperProcess { inner: Arc::clone(&self.inner), process, mark, _line: started.line })
    }
}

impl HelperProcess {
    /// Kills it and waits until it is gone.
    pub fn kill(&self) {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(process) = process.take() {
            // One that has ended by itself is only collected.
            let _ = process.signal(Signal::KILL);
            let _ = process.reap_blocking();
            self.inner.orphans.roots.gone(self.mark.sequence());
        }
    }
}

impl Drop for HelperProcess {
    fn drop(&mut self) {
        self.kill();
    }
}
