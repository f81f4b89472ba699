//! The runtime's side of a confined start: starts the helper, sends it a request, and reads its reports. Blocks for the
//! time that the helper takes, a millisecond or two.

use crate::confinement::StreamKind;
use crate::denial::Denial;
use crate::namespaces::NamespacePool;
use crate::plan::Plan;
use crate::request::{ConfineStep, Failure, HelperRequest, LaunchRequest, Report};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::ffi::CString;
use windlass_sys::channel::{self, Waiting};
use windlass_sys::descriptor;
use windlass_sys::directory::DirectoryIdentity;
use windlass_sys::limits::{OpenFiles, ProcessLimits};
use windlass_sys::mark::{Halves, Mark, RuntimeTag};
use windlass_sys::process::{self, Pid, Process};
use windlass_sys::signal::Signal;
use windlass_sys::spawn::{self, Kinship, Launch, LaunchFailure, Stdio};

/// How to start a helper: a program that calls [`crate::helper::run`] when it finds these arguments.
#[derive(Clone, Debug)]
pub struct HelperProgram {
    /// The executable.
    pub program: CString,
    /// Its arguments, the name first.
    pub arguments: Vec<CString>,
}

/// A command to confine and start.
#[derive(Debug)]
pub struct Command<'a> {
    /// The file to execute, already found.
    pub program: CString,
    /// Its arguments, the name first.
    pub arguments: Vec<CString>,
    /// Its whole environment.
    pub environment: Vec<CString>,
    /// Its working directory.
    pub directory: CString,
    /// Which directory that must be, if it was decided before.
    pub identity: Option<DirectoryIdentity>,
    /// What it reads and writes.
    pub stdio: Stdio<'a>,
    /// The mark of its session.
    pub mark: Option<(RuntimeTag, Mark)>,
    /// The open-file limit to give back.
    pub open_files: Option<OpenFiles>,
    /// The limits that the kernel enforces on each of its processes.
    pub limits: ProcessLimits,
    /// The control groups that it enters, by their entry files.
    pub groups: &'a [BorrowedFd<'a>],
    /// Further descriptors, which it finds from [`windlass_sys::spawn::FIRST_PASSED`] on.
    pub inherited: &'a [BorrowedFd<'a>],
    /// Variables that contain the address of its egress listener, with [`crate::DOOR`] for the port.
    pub door: Vec<CString>,
}

/// A confined command that runs.
#[derive(Debug)]
pub struct ConfinedProcess {
    /// The command. A child of this process.
    pub process: Process,
    /// Its supervisor: ends with the command and all that it started; if it is killed, they end with it.
    pub watcher: Option<Process>,
    /// The helper that confined it, which is about to exit.
    pub helper: Pid,
    /// The line on which the supervisor reports denials.
    pub line: Line,
    /// The egress listener on its loopback device: the runtime must serve it with a proxy that lets the listed hosts
    /// through.
    pub door: Option<OwnedFd>,
}

/// The reason why a confined command did not start. None of its processes is left.
#[derive(Debug, thiserror::Error)]
pub enum StartFailure {
    /// The caller has no helper program.
    #[error("this runtime was made without a helper for sandboxes")]
    NoHelper,
    /// The helper itself could not be started.
    #[error("cannot start the sandbox's helper: {0}")]
    Helper(LaunchFailure),
    /// The channel to the helper failed.
    #[error("cannot speak to the sandbox's helper: {0}")]
    Channel(Errno),
    /// The helper stopped at a step.
    #[error("cannot {0}")]
    Confining(Failure),
    /// The helper died without an answer, or sent one that cannot be parsed.
    #[error("the sandbox's helper gave no answer")]
    Silent,
}

impl From<Failure> for StartFailure {
    fn from(failure: Failure) -> Self {
        Self::Confining(failure)
    }
}

/// Starts a command under a plan.
pub fn launch(
    pool: &NamespacePool,
    plan: &Plan,
    mut command: Command<'_>,
) -> Result<ConfinedProcess, StartFailure> {
    if let Some(state) = &pool.own_files().state_inside {
        state.set(&mut command.environment, plan);
    }
    pool.collect();
    let ground = pool.ground_for(plan)?;
    let kind = match command.stdio {
        Stdio::Terminal { .. } => StreamKind::Terminal,
        Stdio::Pipes { .. } => StreamKind::Pipes,
    };
    let preparation = pool.preparation(plan, ground.as_deref(), kind);
    let mut passed = streams(command.stdio).to_vec();
    passed.extend(command.groups);
    passed.extend(command.inherited);
    let mut order = Box::new(order(command));
    if let Some(talk) = pool.prepared_helper(&preparation) {
        let task = HelperRequest::Start(order);
        if let Some(started) = start_prepared(pool, talk, &task, &passed) {
            return started;
        }
        let HelperRequest::Start(again) = task else { return Err(StartFailure::Silent) };
        order = again;
    }
    passed.extend(pool.shared_sockets(&preparation.confinement));
    let task = HelperRequest::Confine { confinement: Box::new(preparation.confinement), order };
    // A waiting helper is in its namespaces already. One that has just died, or no longer fits, is replaced.
    if let Some(talk) = pool.standing_helper(plan).filter(|talk| talk.order(&task, &passed).is_ok()) {
        match hear_of_start(pool, talk) {
            Err(StartFailure::Confining(failure)) if failure.stage == ConfineStep::Prepared => {}
            started => return started,
        }
    }
    passed.extend(ground.iter().flat_map(|ground| ground.spaces()));
    let talk = pool.new_helper()?;
    talk.order(&task, &passed)?;
    hear_of_start(pool, talk)
}

/// `None`: the prepared helper cannot be used, and no part of the command was started.
fn start_prepared(
    pool: &NamespacePool,
    talk: HelperConnection,
    task: &HelperRequest,
    passed: &[BorrowedFd<'_>],
) -> Option<Result<ConfinedProcess, StartFailure>> {
    let Ok((Report::Prepared { watcher }, _)) = talk.next() else { return None };
    // A helper that is locked in cannot take the mark on itself. If this runtime dies from here on, its guardian finds
    // both processes by the mark; if it died before, they would find the channel closed and exit.
    if let HelperRequest::Start(order) = task
        && let Some(mark) = order.mark
    {
        mark.put_on(talk.helper.pid()).and_then(|()| mark.put_on(Pid::new(watcher))).ok()?;
    }
    talk.order(task, passed).ok()?;
    match hear_of_start(pool, talk) {
        Err(StartFailure::Confining(failure)) if failure.stage == ConfineStep::Prepared => None,
        started => Some(started),
    }
}

fn hear_of_start(pool: &NamespacePool, talk: HelperConnection) -> Result<ConfinedProcess, StartFailure> {
    let mut denials = Vec::new();
    loop {
        match talk.next()? {
            (Report::Denied(denial), _) => denials.push(denial),
            (Report::Started { pid, watcher, door }, holds) => {
                let mut holds = holds.into_iter();
                let mut held = |pid: u32| holds.next().map(|hold| Process::held(Pid::new(pid), hold));
                let process = held(pid).ok_or(StartFailure::Silent)?;
                let watcher = if watcher == 0 { None } else { held(watcher) };
                let door = if door { holds.next() } else { None };
                let (end, helper) = talk.finish();
                let number = helper.pid();
                pool.collect_later(helper);
                let line = Line { end, first: denials };
                return Ok(ConfinedProcess { process, watcher, helper: number, line, door });
            }
            (report, _) => return Err(talk.unexpected(report)),
        }
    }
}

/// The descriptors of the streams. The command itself takes the terminal, in a session of its own.
fn streams(stdio: Stdio<'_>) -> [BorrowedFd<'_>; 3] {
    match stdio {
        Stdio::Terminal { slave } => [slave; 3],
        Stdio::Pipes { stdin, stdout, stderr } => [stdin, stdout, stderr],
    }
}

fn order(command: Command<'_>) -> LaunchRequest {
    LaunchRequest {
        program: command.program,
        arguments: command.arguments,
        environment: command.environment,
        directory: command.directory,
        identity: command.identity,
        terminal: matches!(command.stdio, Stdio::Terminal { .. }),
        door: command.door,
        mark: command.mark.and_then(|(runtime_tag, mark)| runtime_tag.halves(mark)),
        groups: u32::try_from(command.groups.len()).unwrap_or(u32::MAX),
        inherited: u32::try_from(command.inherited.len()).unwrap_or(u32::MAX),
        limits: command.limits,
        open_files: command.open_files.map(|OpenFiles { soft, hard }| Halves { soft, hard }),
    }
}

/// The denials of a command, as its supervisor reports them.
#[derive(Debug)]
pub struct Line {
    end: OwnedFd,
    first: Vec<Denial>,
}

impl Line {
    /// The denials since the last call, without waiting.
    pub fn take(&mut self) -> Vec<Denial> {
        let mut taken = std::mem::take(&mut self.first);
        while let Ok(message) = channel::receive(&self.end, Waiting::No) {
            match Report::read(&message.bytes) {
                Some(Report::Denied(denial)) => taken.push(denial),
                // The supervisor is gone.
                None if message.bytes.is_empty() => break,
                _ => {}
            }
        }
        taken
    }
}

/// The conversation with a helper at work. Dropping it ends the helper.
#[derive(Debug)]
pub(crate) struct HelperConnection {
    helper: Helper,
    end: OwnedFd,
}

/// A helper's process, which does not outlive this.
#[derive(Debug)]
pub(crate) struct Helper(Process);

impl Helper {
    fn pid(&self) -> Pid {
        self.0.pid()
    }

    /// Whether it has exited and was collected.
    pub(crate) fn is_collected(&self) -> bool {
        !matches!(self.0.reap(), Ok(None))
    }
}

/// Longer than a helper takes on any working machine.
const PATIENCE: Timespec = Timespec { tv_sec: 20, tv_nsec: 0 };

impl HelperConnection {
    /// Starts a helper, which waits for a request.
    pub(crate) fn begin(helper: &HelperProgram) -> Result<Self, StartFailure> {
        let (ours, theirs) = channel::pair().map_err(StartFailure::Channel)?;
        let nothing = open_nothing().map_err(StartFailure::Channel)?;
        let (stdin, stdout, stderr) = (nothing.as_fd(), nothing.as_fd(), nothing.as_fd());
        let launch = Launch {
            program: &helper.program,
            arguments: &helper.arguments,
            environment: &[],
            directory: c"/",
            identity: None,
            stdio: Stdio::Pipes { stdin, stdout, stderr },
            // The helper takes on its session's mark when it gets one. Until then it ends when the runtime closes the
            // channel.
            mark: None,
            open_files: None,
            limits: ProcessLimits::default(),
            groups: &[],
            passed: &[theirs.as_fd()],
            kinship: Kinship::Child,
        };
        let helper = spawn::launch(&launch).map_err(StartFailure::Helper)?;
        Ok(Self { helper: Helper(helper), end: ours })
    }

    /// Sends it a request.
    pub(crate) fn order(&self, task: &HelperRequest, passed: &[BorrowedFd<'_>]) -> Result<(), StartFailure> {
        let orders = descriptor::in_memory("orders", &task.write()).map_err(StartFailure::Channel)?;
        let descriptors: Vec<BorrowedFd<'_>> =
            std::iter::once(orders.as_fd()).chain(passed.iter().copied()).collect();
        channel::send(&self.end, b"orders", &descriptors, Waiting::Yes).map_err(StartFailure::Channel)
    }

    /// Whether the helper lives and can receive requests.
    pub(crate) fn is_there(&self) -> bool {
        self.helper.0.is_alive()
    }

    pub(crate) fn helper_number(&self) -> String {
        self.helper.0.pid().to_string()
    }

    pub(crate) fn say(&self, report: &Report) -> Result<(), StartFailure> {
        channel::send(&self.end, &report.write(), &[], Waiting::Yes).map_err(StartFailure::Channel)
    }

    pub(crate) fn next(&self) -> Result<(Report, Vec<OwnedFd>), StartFailure> {
        let mut fds = [PollFd::new(&self.end, PollFlags::IN)];
        let came = loop {
            match poll(&mut fds, Some(&PATIENCE)) {
                Err(Errno::INTR) => {}
                answer => break answer.map_err(StartFailure::Channel)?,
            }
        };
        if came == 0 {
            return Err(StartFailure::Silent);
        }
        let message = channel::receive(&self.end, Waiting::Yes).map_err(StartFailure::Channel)?;
        let report = Report::read(&message.bytes).ok_or(StartFailure::Silent)?;
        Ok((report, message.descriptors))
    }

    /// The failure that a report means which ends the conversation.
    pub(crate) fn unexpected(&self, report: Report) -> StartFailure {
        match report {
            Report::Failed { failure, uncollected } => {
                if let Some(pid) = uncollected {
                    process::reap_exiting(Pid::new(pid));
                }
                StartFailure::Confining(failure)
            }
            _ => StartFailure::Silent,
        }
    }

    /// Ends the conversation: the helper is done and about to exit; from now on the channel belongs to the supervisor.
    fn finish(self) -> (OwnedFd, Helper) {
        (self.end, self.helper)
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // A helper that has sent its last report is about to exit, and any other is no longer wanted.
        let _ = self.0.signal(Signal::KILL);
        let _ = self.0.reap_blocking();
    }
}

/// Above the numbers that a child's own streams get.
fn open_nothing() -> Result<OwnedFd, Errno> {
    let nothing = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::fcntl_dupfd_cloexec(nothing, spawn::FIRST_PASSED)
}
