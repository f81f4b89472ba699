//! A process in the background: in a session of its own, so that no terminal, group or parent takes it along, with
//! nothing inherited but what it is told to report on.

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

/// What to start.
#[derive(Debug)]
pub struct BackgroundProgram {
    /// The executable.
    pub program: CString,
    /// Its arguments, the name first.
    pub arguments: Vec<CString>,
    /// Its whole environment, `NAME=value`.
    pub environment: Vec<CString>,
}

/// One that was started and has yet to report.
#[derive(Debug)]
pub struct Background {
    process: Process,
    report: File,
}

/// Starts it where we are. Both its output and its errors are the pipe it reports on, until it calls [`go_silent`].
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
    /// Everything it reported, once it has gone silent or is dead. Fails with `TimedOut` where neither comes in time.
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

    /// Waits for one that is ending, and says how it did.
    pub fn ended(self) -> Result<Ended, Errno> {
        self.process.reap_blocking()
    }
}

/// An explanation is a few lines; what is more than this is not read.
const LONGEST_REPORT: usize = 64 * 1024;

/// Called by the one in the background: from now on nobody hears it, and whoever waits for its report has all of it.
pub fn go_silent() -> Result<(), Errno> {
    let nowhere: OwnedFd = open("/dev/null", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    rustix::stdio::dup2_stderr(&nowhere)
}
