//! Starts a background process: it has its own session, so it does not end with a terminal, process group or parent,
//! and it inherits only the pipe on which it reports.

use crate::limits::ProcessLimits;
use crate::pipes;
use crate::process::{Ended, Pid, Process};
use crate::spawn::{self, Kinship, Launch, Stdio};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

/// A program to start in the background.
#[derive(Debug)]
pub struct BackgroundProgram {
    /// The executable.
    pub program: CString,
    /// Its arguments, the name first.
    pub arguments: Vec<CString>,
    /// Its whole environment, `NAME=value`.
    pub environment: Vec<CString>,
}

/// A background process that was started and has not reported yet.
#[derive(Debug)]
pub struct Background {
    process: Process,
    report: File,
}

/// Starts the program in this process's directory. Its output and its errors go to the pipe on which it reports, until
/// it calls [`go_silent`].
pub fn start(plan: &BackgroundProgram) -> Result<Background, Errno> {
    let report = pipes::from_child()?;
    let nothing = pipes::nothing()?;
    let launch = Launch {
        program: &plan.program,
        arguments: &plan.arguments,
        environment: &plan.environment,
        directory: c".",
        identity: None,
        stdio: Stdio::Pipes {
            stdin: nothing.as_fd(),
            stdout: report.theirs.as_fd(),
            stderr: report.theirs.as_fd(),
        },
        mark: None,
        open_files: None,
        limits: ProcessLimits::default(),
        groups: &[],
        passed: &[],
        kinship: Kinship::Child,
    };
    let process = spawn::launch(&launch).map_err(|failure| failure.errno)?;
    rustix::io::ioctl_fionbio(&report.ours, false)?;
    Ok(Background { process, report: report.ours.into() })
}

impl Background {
    /// The whole report, once the process has called [`go_silent`] or is dead. Fails with `TimedOut` where neither
    /// happens in time.
    pub fn report(&mut self, limit: Duration) -> io::Result<Vec<u8>> {
        let deadline = Instant::now() + limit;
        let mut text = Vec::new();
        let mut piece = [0; 4096];
        while text.len() < LONGEST_REPORT {
            let left =
                Timespec::try_from(deadline.saturating_duration_since(Instant::now())).unwrap_or_default();
            match poll(&mut [PollFd::new(&self.report, PollFlags::IN)], Some(&left)) {
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(errno.into()),
            }
            match rustix::io::read(&self.report, &mut piece) {
                Ok(0) => break,
                Ok(count) => text.extend_from_slice(&piece[..count]),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(text)
    }

    /// The process that was started.
    pub fn pid(&self) -> Pid {
        self.process.pid()
    }

    /// Waits for a process that is ending, and returns how it ended.
    pub fn ended(self) -> Result<Ended, Errno> {
        self.process.reap_blocking()
    }
}

/// Longest report that is read, in bytes. An explanation is a few lines; the rest is ignored.
const LONGEST_REPORT: usize = 64 * 1024;

/// Ends the report; the background process calls this. From now on its output goes to `/dev/null`, and the reader of
/// its report sees the end of the pipe.
pub fn go_silent() -> Result<(), Errno> {
    let nowhere: OwnedFd = open("/dev/null", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    rustix::stdio::dup2_stderr(&nowhere)
}
