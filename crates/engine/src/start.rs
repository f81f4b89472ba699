//! From a command to a running process: find the program, open the ends, launch. Every failure names the thing that is
//! wrong and leaves nothing behind.

use crate::SessionId;
use crate::command::{CommandSpec, Io, Stdin, Streams, Terminal};
use crate::confined::Confined;
use crate::egress::{self, EgressListener};
use crate::limits::KernelLimits;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{SealFlags, fcntl_add_seals};
use rustix::io::Errno;
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use windlass_sandbox::{Access, ConfineStep, NamespacePool, Plan, StartFailure};
use windlass_sys::directory::{DirectoryIdentity, HeldDirectory};
use windlass_sys::limits::OpenFiles;
use windlass_sys::mark::{Mark, RuntimeTag};
use windlass_sys::process::Process;
use windlass_sys::spawn::{self, Kinship, Launch, SpawnStep, Stdio};
use windlass_sys::{descriptor, pipes, pty};

/// Why a command was not started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The command names no program.
    #[error("the command is empty")]
    Empty,
    /// A string contains a NUL byte, which no argument or variable may.
    #[error("the {what} contains a NUL byte")]
    Nul {
        /// The kind of string.
        what: &'static str,
    },
    /// No such program.
    #[error("program not found: {} (searched in {searched})", .program.display())]
    ProgramNotFound {
        /// The name in the command.
        program: PathBuf,
        /// The directories that were searched.
        searched: String,
    },
    /// The file is there but did not run.
    #[error("cannot execute {}: {reason}", .program.display())]
    CannotExecute {
        /// The file.
        program: PathBuf,
        /// The problem with it.
        reason: String,
        /// The error of the kernel.
        #[source]
        source: Errno,
    },
    /// The sandbox hides the program from the command.
    #[error("cannot execute {}: the sandbox does not let the command read it ({rule})", .program.display())]
    DeniedProgram {
        /// The file.
        program: PathBuf,
        /// The rule that denies it.
        rule: String,
    },
    /// The working directory is missing, is no directory, or cannot be entered.
    #[error("working directory {}: {source}", .directory.display())]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// The error of the kernel.
        #[source]
        source: Errno,
    },
    /// The working directory is another one than the approved one.
    #[error(
        "working directory {}: another directory is there now than the one that was approved; nothing was run: call again to \
         have it approved",
        .directory.display()
    )]
    DirectoryReplaced {
        /// The path.
        directory: PathBuf,
    },
    /// Every pseudo-terminal of the machine is in use.
    #[error("out of pseudo-terminals: the machine's limit (kernel.pty.max) is reached")]
    OutOfTerminals,
    /// The runtime may open no more files.
    #[error("out of file descriptors: the limit of this process or of the machine is reached")]
    OutOfFiles,
    /// No more processes may be started.
    #[error("out of processes: the limit of this user or of the machine is reached")]
    OutOfProcesses,
    /// The name belongs to a session that still runs.
    #[error("the name `{name}` is held by session {holder}, which is still running")]
    NameTaken {
        /// The name.
        name: String,
        /// The session that has it.
        holder: SessionId,
    },
    /// Another session of that name is being started at this very moment.
    #[error("the name `{name}` is being taken by a session that starts right now")]
    NameBeingTaken {
        /// The name.
        name: String,
    },
    /// Too many sessions run, and none of them may be ended to make room.
    #[error("{limit} sessions are running and none may be evicted")]
    TooManySessions {
        /// The limit.
        limit: usize,
    },
    /// The engine is ending.
    #[error("the runtime is shutting down")]
    ShuttingDown,
    /// The sandbox could not be set up, so the command was not started.
    #[error("the sandbox could not be set up, so nothing was started: {reason}")]
    Sandbox {
        /// The step that failed.
        reason: String,
    },
    /// The control group that was to limit it cannot be used.
    #[error("cannot enter the control group of the session: {source}")]
    Group {
        /// The error of the kernel.
        #[source]
        source: Errno,
    },
    /// Any other refusal of the kernel.
    #[error("cannot {doing}: {source}")]
    System {
        /// The operation that failed.
        doing: &'static str,
        /// The error of the kernel.
        #[source]
        source: Errno,
    },
}

impl StartError {
    pub(crate) fn system(doing: &'static str, source: Errno) -> Self {
        match source {
            Errno::MFILE | Errno::NFILE => Self::OutOfFiles,
            source => Self::System { doing, source },
        }
    }
}

/// The runtime's ends of a command's standard streams.
#[derive(Debug)]
pub(crate) enum Ends {
    Pipes {
        stdin: Option<OwnedFd>,
        stdout: OwnedFd,
        /// `None` if errors are written to the pipe of the output.
        stderr: Option<OwnedFd>,
    },
    /// The slave is held until the root exits: programs that close the terminal and open it again do not end it.
    Terminal { master: OwnedFd, slave: OwnedFd },
}

/// The surroundings in which the command is launched.
#[derive(Debug)]
pub(crate) struct Placement<'a> {
    pub(crate) mark: (RuntimeTag, Mark),
    pub(crate) open_files: OpenFiles,
    /// The namespaces for a confined command.
    pub(crate) grounds: Option<&'a NamespacePool>,
    pub(crate) held: KernelLimits<'a>,
}

/// A command that runs.
#[derive(Debug)]
pub(crate) struct Launched {
    pub(crate) process: Process,
    pub(crate) ends: Ends,
    pub(crate) confined: Confined,
    pub(crate) door: Option<EgressListener>,
}

/// Launches the command.
pub(crate) fn launch(spec: &CommandSpec, placement: &Placement<'_>) -> Result<Launched, StartError> {
    let call = Call::prepare(spec)?;
    match &spec.io {
        Io::Pipes(stdin) => launch_on_pipes(spec, &call, stdin, placement),
        Io::Terminal(terminal) => launch_on_terminal(spec, &call, terminal, placement),
    }
}

fn launch_on_pipes(
    spec: &CommandSpec,
    call: &Call,
    stdin: &Stdin,
    placement: &Placement<'_>,
) -> Result<Launched, StartError> {
    let pipe_error = |errno| StartError::system("open a pipe", errno);
    let (their_stdin, our_stdin) = match stdin {
        Stdin::Closed => (pipes::nothing().map_err(pipe_error)?, None),
        Stdin::Bytes(_) | Stdin::Open => {
            let pipe = pipes::to_child().map_err(pipe_error)?;
            (pipe.theirs, Some(pipe.ours))
        }
    };
    let stdout = pipes::from_child().map_err(pipe_error)?;
    let stderr = match spec.streams {
        Streams::Apart => Some(pipes::from_child().map_err(pipe_error)?),
        Streams::Together => None,
    };
    let stdio = Stdio::Pipes {
        stdin: their_stdin.as_fd(),
        stdout: stdout.theirs.as_fd(),
        stderr: stderr.as_ref().unwrap_or(&stdout).theirs.as_fd(),
    };
    let Begun { process, confined, door } = call.launch(spec, stdio, placement)?;
    let ends = Ends::Pipes { stdin: our_stdin, stdout: stdout.ours, stderr: stderr.map(|pipe| pipe.ours) };
    Ok(Launched { process, ends, confined, door })
}

fn launch_on_terminal(
    spec: &CommandSpec,
    call: &Call,
    terminal: &Terminal,
    placement: &Placement<'_>,
) -> Result<Launched, StartError> {
    let pty = pty::open(terminal.size).map_err(|errno| match errno {
        // The machine's limit gives one error, that of a private mount of terminals another.
        Errno::NOSPC | Errno::AGAIN => StartError::OutOfTerminals,
        errno => StartError::system("open a pseudo-terminal", errno),
    })?;
    let stdio = Stdio::Terminal { slave: pty.slave.as_fd() };
    let Begun { process, confined, door } = call.launch(spec, stdio, placement)?;
    Ok(Launched { process, ends: Ends::Terminal { master: pty.master, slave: pty.slave }, confined, door })
}

/// A process, and its sandbox if it has one.
struct Begun {
    process: Process,
    confined: Confined,
    door: Option<EgressListener>,
}

fn door_of(plan: &Plan, watcher: &Option<Process>, listener: Option<OwnedFd>) -> Option<EgressListener> {
    let hosts = egress::hosts(&plan.network)?.ok()?;
    Some(EgressListener { listener: listener?, hosts, watcher: watcher.as_ref()?.try_clone().ok()? })
}

/// The command in the form that the kernel takes.
struct Call {
    program: CString,
    arguments: Vec<CString>,
    environment: Vec<CString>,
    directory: CString,
    identity: Option<DirectoryIdentity>,
    memory_files: Vec<OwnedFd>,
}

impl Call {
    fn prepare(spec: &CommandSpec) -> Result<Self, StartError> {
        let name = spec.argv.first().filter(|name| !name.is_empty()).ok_or(StartError::Empty)?;
        let shown = spec.argv0.as_ref().unwrap_or(name);
        let arguments = std::iter::once(shown).chain(&spec.argv[1..]);
        // First of all: a search for a program whose name is invalid would hide the problem.
        let arguments = arguments.map(|argument| c_string(argument, "command")).collect::<Result<_, _>>()?;
        c_string(name, "program")?;
        let program = find_program(spec, name)?;
        let memory_files = spec.memory_files.iter().map(|bytes| memory_file(bytes));
        Ok(Self {
            memory_files: memory_files
                .collect::<Result<_, _>>()
                .map_err(|errno| StartError::system("make a file in memory", errno))?,
            program: c_string(program.as_os_str(), "program")?,
            arguments,
            environment: spec.environment.iter().map(c_variable).collect::<Result<_, _>>()?,
            directory: c_string(spec.directory.as_os_str(), "working directory")?,
            identity: spec.held_directory.as_deref().map(HeldDirectory::identity),
        })
    }

    fn launch(
        &self,
        spec: &CommandSpec,
        stdio: Stdio<'_>,
        placement: &Placement<'_>,
    ) -> Result<Begun, StartError> {
        match &spec.sandbox {
            None => {
                let process = self.launch_freely(spec, stdio, placement)?;
                Ok(Begun { process, confined: Confined::default(), door: None })
            }
            Some(plan) => {
                let started = self.launch_confined(plan, stdio, placement);
                started.map_err(|failure| self.explain_confined(spec, failure))
            }
        }
    }

    fn launch_confined(
        &self,
        plan: &Plan,
        stdio: Stdio<'_>,
        placement: &Placement<'_>,
    ) -> Result<Begun, StartFailure> {
        let grounds = placement.grounds.ok_or(StartFailure::NoHelper)?;
        let inherited: Vec<BorrowedFd<'_>> = self.memory_files.iter().map(AsFd::as_fd).collect();
        let command = windlass_sandbox::Command {
            program: self.program.clone(),
            arguments: self.arguments.clone(),
            environment: self.environment.clone(),
            directory: self.directory.clone(),
            identity: self.identity,
            stdio,
            mark: Some(placement.mark),
            open_files: Some(placement.open_files),
            limits: placement.held.limits,
            groups: placement.held.groups,
            inherited: &inherited,
            door: egress::variables(plan),
        };
        let started = windlass_sandbox::launch(grounds, plan, command)?;
        let door = door_of(plan, &started.watcher, started.door);
        Ok(Begun {
            process: started.process,
            confined: Confined::new(started.watcher, started.helper, started.line),
            door,
        })
    }

    /// A problem with the command itself gets the same error as without a sandbox.
    fn explain_confined(&self, spec: &CommandSpec, failure: StartFailure) -> StartError {
        let step = |stage| match stage {
            ConfineStep::Directory => Some(SpawnStep::Directory),
            ConfineStep::Execute => Some(SpawnStep::Execute),
            _ => None,
        };
        match failure {
            StartFailure::Confining(failure) if failure.stage == ConfineStep::Group => {
                StartError::Group { source: failure.errno }
            }
            StartFailure::Confining(failure) => match step(failure.stage) {
                Some(step) => self.explain(spec, step, failure.errno),
                None => StartError::Sandbox { reason: format!("cannot {failure}") },
            },
            StartFailure::Helper(failure) if failure.step == SpawnStep::Clone => {
                self.explain(spec, failure.step, failure.errno)
            }
            failure => StartError::Sandbox { reason: failure.to_string() },
        }
    }

    fn launch_freely(
        &self,
        spec: &CommandSpec,
        stdio: Stdio<'_>,
        placement: &Placement<'_>,
    ) -> Result<Process, StartError> {
        let inherited: Vec<BorrowedFd<'_>> = self.memory_files.iter().map(AsFd::as_fd).collect();
        let launch = Launch {
            program: &self.program,
            arguments: &self.arguments,
            environment: &self.environment,
            directory: &self.directory,
            identity: self.identity,
            stdio,
            mark: Some(placement.mark),
            open_files: Some(placement.open_files),
            limits: placement.held.limits,
            groups: placement.held.groups,
            passed: &inherited,
            kinship: Kinship::Child,
        };
        spawn::launch(&launch).map_err(|failure| self.explain(spec, failure.step, failure.errno))
    }

    fn explain(&self, spec: &CommandSpec, step: SpawnStep, errno: Errno) -> StartError {
        match step {
            SpawnStep::Directory if errno == Errno::STALE && self.identity.is_some() => {
                StartError::DirectoryReplaced { directory: spec.directory.clone() }
            }
            SpawnStep::Directory => {
                StartError::Directory { directory: spec.directory.clone(), source: errno }
            }
            SpawnStep::Execute => {
                let program = PathBuf::from(OsStr::from_bytes(self.program.as_bytes()));
                if matches!(errno, Errno::NOENT | Errno::NOTDIR) && !spec.directory.join(&program).exists() {
                    let searched = spec.directory.to_string_lossy().into_owned();
                    return StartError::ProgramNotFound { program, searched };
                }
                if let Some(rule) = denial_of(spec, &program).filter(|_| errno == Errno::ACCESS) {
                    return StartError::DeniedProgram { program, rule };
                }
                let reason = why_not_executable(&program, errno);
                StartError::CannotExecute { program, reason, source: errno }
            }
            SpawnStep::Clone if errno == Errno::AGAIN => StartError::OutOfProcesses,
            SpawnStep::Clone => StartError::system("start a process", errno),
            SpawnStep::Session => StartError::system("make a session for the process", errno),
            SpawnStep::Terminal => StartError::system("give the process its terminal", errno),
            SpawnStep::Descriptors => StartError::system("give the process its pipes", errno),
            SpawnStep::Groups => StartError::Group { source: errno },
            SpawnStep::Limits => StartError::system("set the limits of the process", errno),
        }
    }
}

/// The search path when the environment has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The file to execute, by the rules of `execvp`, but in the child's `PATH` and from the child's directory.
fn find_program(spec: &CommandSpec, name: &OsStr) -> Result<PathBuf, StartError> {
    if name.as_bytes().contains(&b'/') {
        // Relative to the child's directory, which it enters before it executes. Whether it is there shows when it is
        // run.
        return Ok(PathBuf::from(name));
    }
    let default = OsString::from(DEFAULT_PATH);
    let path = spec.variable("PATH").unwrap_or(&default);
    let candidates = || {
        path.as_bytes().split(|byte| *byte == b':').map(|directory| {
            let directory = if directory.is_empty() { b"." } else { directory };
            Path::new(OsStr::from_bytes(directory)).join(name)
        })
    };
    if let Some(found) = candidates().find(|candidate| is_program(&spec.directory.join(candidate))) {
        return Ok(found);
    }
    // A program that is there and cannot be run explains more than a missing one.
    Err(match candidates().find(|candidate| spec.directory.join(candidate).exists()) {
        Some(program) => {
            let reason = why_not_executable(&program, Errno::ACCESS);
            StartError::CannotExecute { program, reason, source: Errno::ACCESS }
        }
        None => StartError::ProgramNotFound {
            program: name.into(),
            searched: format!("PATH={}", path.to_string_lossy()),
        },
    })
}

fn is_program(file: &Path) -> bool {
    rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok() && file.is_file()
}

/// The rule by which the command's sandbox denies the program.
fn denial_of(spec: &CommandSpec, program: &Path) -> Option<String> {
    let file = std::fs::canonicalize(spec.directory.join(program)).ok()?;
    let ruling = spec.sandbox.as_ref()?.ruling_at(&file)?;
    (ruling.access == Access::Deny).then(|| ruling.origin.clone())
}

fn why_not_executable(program: &Path, errno: Errno) -> String {
    match errno {
        Errno::NOENT => match interpreter(program) {
            Some(interpreter) => format!("its interpreter {interpreter} does not exist"),
            None => "it, or the loader it needs, does not exist".into(),
        },
        Errno::NOEXEC => "it is neither a program for this machine nor a script with a #! line".into(),
        Errno::ACCESS => "permission denied (is it executable, and is it a file?)".into(),
        Errno::TOOBIG => "its arguments and environment are larger than the kernel accepts".into(),
        errno => errno.to_string(),
    }
}

fn interpreter(program: &Path) -> Option<String> {
    use std::io::Read;
    let mut start = [0; 128];
    let length = std::fs::File::open(program).ok()?.read(&mut start).ok()?;
    let line = start[..length].split(|byte| *byte == b'\n').next()?.strip_prefix(b"#!")?;
    String::from_utf8_lossy(line).split_whitespace().next().map(str::to_owned)
}

/// Sealed: a shell reads its script piece by piece, and the script must not change under it.
fn memory_file(bytes: &[u8]) -> Result<OwnedFd, Errno> {
    let file = descriptor::in_memory("windlass-input", bytes)?;
    fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(file)
}

fn c_string(text: &OsStr, what: &'static str) -> Result<CString, StartError> {
    CString::new(text.as_bytes()).map_err(|_| StartError::Nul { what })
}

fn c_variable((name, value): &(OsString, OsString)) -> Result<CString, StartError> {
    let mut variable = name.clone();
    variable.push("=");
    variable.push(value);
    CString::new(variable.into_vec()).map_err(|_| StartError::Nul { what: "environment" })
}
