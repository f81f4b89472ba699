//! The guardian: a small process in its own session that outlives the runtime by a moment and ends what it left.
//!
//! It receives one number, the runtime tag, and holds one pipe. When the runtime is gone, in whatever way, the pipe
//! ends; then the guardian sends TERM to every process that bears the runtime tag and is not detached, waits for a
//! grace period, and sends KILL until it finds no such process. It keeps no list, so there is no moment at which a
//! process is started but not yet on it.

use crate::cgroup::{self, Hierarchies};
use crate::ladder::KillLadder;
use crate::limits::{self, ProcessLimits};
use crate::mark::{Fate, Mark, RuntimeTag};
use crate::pipes;
use crate::process::Process;
use crate::signal::Signal;
use crate::spawn::{self, Kinship, Launch, Stdio};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

pub use crate::ladder::wait_until_gone;

/// The guardian as its runtime holds it: dropping this makes the guardian start its work.
#[derive(Debug)]
pub struct Guardian {
    _lifeline: OwnedFd,
    process: Process,
}

/// How to start one: a program that will call [`watch`] with the runtime tag it finds in its arguments.
#[derive(Debug)]
pub struct GuardianProgram {
    /// The executable.
    pub program: CString,
    /// Its arguments, the name first.
    pub arguments: Vec<CString>,
}

/// The variable of a guardian with the path of the file that registers the runtime. Not an argument: `pkill -f
/// windlass` would find the name of the state directory there, and end the guardians.
pub const REGISTRATION: &str = "WINDLASS_REGISTRATION";

/// Starts a guardian. It need not report that it is ready: from the moment it exists, it will see the end of the pipe.
/// When no process of the runtime is left, the guardian removes the runtime's registration, if it has one.
pub fn start(plan: &GuardianProgram, registration: Option<&Path>) -> Result<Guardian, Errno> {
    let lifeline = pipes::to_child()?;
    let nowhere = open_null_for_writing()?;
    let environment: Vec<CString> = registration.and_then(variable).into_iter().collect();
    let launch = Launch {
        program: &plan.program,
        arguments: &plan.arguments,
        environment: &environment,
        directory: c"/",
        identity: None,
        stdio: Stdio::Pipes {
            stdin: lifeline.theirs.as_fd(),
            stdout: nowhere.as_fd(),
            stderr: nowhere.as_fd(),
        },
        mark: None,
        open_files: None,
        limits: ProcessLimits::default(),
        groups: &[],
        passed: &[],
        kinship: Kinship::Child,
    };
    let process = spawn::launch(&launch).map_err(|failure| failure.errno)?;
    Ok(Guardian { _lifeline: lifeline.ours, process })
}

impl Guardian {
    /// Makes the guardian start its work, and returns the process, to be collected when it is done.
    pub fn release(self) -> Process {
        self.process
    }

    /// Collects it, once it is dead: readable then, as any pidfd.
    pub fn reap(&self) {
        // Not dead, or collected already: nothing to do.
        let _ = self.process.reap();
    }
}

impl AsFd for Guardian {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.process.as_fd()
    }
}

impl AsRawFd for Guardian {
    fn as_raw_fd(&self) -> i32 {
        self.process.as_raw_fd()
    }
}

/// Runs the guardian to its end. Standard input is the pipe from the runtime. Returns when no process is left to end.
pub fn watch(runtime_tag: RuntimeTag, grace: Duration, registration: Option<&Path>) {
    ignore_polite_signals();
    continue_when_the_runtime_dies();
    wait_for_the_end(rustix::stdio::stdin());
    // Each member is held, with its children: more than the soft limit on descriptors may be needed.
    limits::raise_open_files();
    let left = KillLadder::new(runtime_tag, |mark: Mark| mark.fate() == Fate::WithRuntime).climb(grace);
    if let Some(registration) = registration.filter(|_| left.is_empty()) {
        // The runtime removes its registration itself when it ends normally. The next Windlass retries the removal of
        // one that remains.
        let _ = std::fs::remove_file(registration);
    }
    // The runtime's control groups are empty now, and it can no longer remove them itself.
    cgroup::remove_abandoned(&Hierarchies::of_this_process());
}

fn variable(registration: &Path) -> Option<CString> {
    CString::new([REGISTRATION.as_bytes(), b"=", registration.as_os_str().as_bytes()].concat()).ok()
}

fn wait_for_the_end(pipe: impl AsFd) {
    let mut byte = [0];
    loop {
        match rustix::io::read(&pipe, &mut byte) {
            Ok(0) => return,
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// A guardian that was stopped must still work: the kernel sends it CONT when its runtime dies. CONT has no effect on a
/// running process, so it does no harm that the kernel also sends it when only the thread that started the guardian
/// ends.
fn continue_when_the_runtime_dies() {
    // If this fails, a stopped guardian waits for a CONT from outside; the next Windlass that starts ends the remaining
    // processes.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::CONT.to_rustix()));
}

/// The guardian ignores the signals that ask a program to end. When they are sent to all our processes, the runtime
/// must end, and the guardian must remain to clean up.
fn ignore_polite_signals() {
    crate::signal::ignore(&[Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT, Signal::PIPE]);
}

fn open_null_for_writing() -> Result<OwnedFd, Errno> {
    use rustix::fs::{Mode, OFlags, open};
    crate::descriptor::above_stdio(open("/dev/null", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?)
}
