//! What to run, completely: the engine adds nothing of its own and reads no environment.

use crate::{Lifetime, Limits};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use windlass_sandbox::Plan;
use windlass_sys::directory::HeldDirectory;
use windlass_sys::pty::Size;

/// One command and the circumstances it runs in.
#[derive(Clone, Debug)]
pub struct CommandSpec {
    /// The program and its arguments. A program without a slash is looked up in the child's own `PATH`.
    pub argv: Vec<OsString>,
    /// The name the program sees itself under, where it is not `argv[0]`.
    pub argv0: Option<OsString>,
    /// Where it runs. Absolute.
    pub directory: PathBuf,
    /// The directory that this path must lead to, for commands that were approved with it. Another one in its place is refused.
    pub held_directory: Option<Arc<HeldDirectory>>,
    /// Its whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// What it reads and writes.
    pub io: Io,
    /// Whether its output and its errors are told apart, on pipes.
    pub streams: Streams,
    /// Files in memory, read-only and without a name, which it finds open as descriptors 3, 4 and so on.
    pub memory_files: Vec<Vec<u8>>,
    /// What its life is tied to.
    pub lifetime: Lifetime,
    /// A name people can use instead of its number.
    pub name: Option<String>,
    /// When it is to be ended, counted from its start.
    pub timeout: Option<Duration>,
    /// What it may use.
    pub limits: Limits,
    /// Who sets its speed when it prints.
    pub pace: Pace,
    /// The variable in which it finds its session's number.
    pub number_in: Option<OsString>,
    /// Where its output and its record go.
    pub keeping: Keeping,
    /// What people asked for, where the arguments do not show it: a script that travels beside them.
    pub script: Option<String>,
    /// Names of variables that were kept from it, for the record.
    pub withheld: Vec<String>,
    /// The client that it belongs to, for the record: an opaque text by which clients recognise their own sessions.
    pub owner: Option<String>,
    /// What it may touch, as a plan for this machine; everything its user may, without one.
    pub sandbox: Option<Arc<Plan>>,
}

impl CommandSpec {
    /// A command on pipes with nothing to read, living as long as the runtime.
    pub fn new(argv: impl IntoIterator<Item = impl Into<OsString>>, directory: impl Into<PathBuf>) -> Self {
        Self {
            argv: argv.into_iter().map(Into::into).collect(),
            argv0: None,
            directory: directory.into(),
            held_directory: None,
            environment: Vec::new(),
            io: Io::Pipes(Stdin::Closed),
            streams: Streams::Apart,
            memory_files: Vec::new(),
            lifetime: Lifetime::Runtime,
            name: None,
            timeout: None,
            limits: Limits::default(),
            pace: Pace::Free,
            number_in: None,
            keeping: Keeping::Store,
            script: None,
            withheld: Vec::new(),
            owner: None,
            sandbox: None,
        }
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&OsString> {
        self.environment.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
    }
}

/// Where a session's output and record go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keeping {
    /// The engine's store, if it has one.
    #[default]
    Store,
    /// Memory: it is nobody's work, and is listed nowhere once it is over.
    Memory,
}

/// Who sets the speed of a command that prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// The command: no reader slows it, and retention decides what is kept for those who are late.
    #[default]
    Free,
    /// One reader who must miss nothing, as in a pipeline: the command waits while this many bytes lie ahead of what the
    /// reader has confirmed.
    Reader {
        /// At most this far ahead.
        window: u64,
    },
}

/// What a command reads and writes.
#[derive(Clone, Debug)]
pub enum Io {
    /// Pipes for output and errors.
    Pipes(Stdin),
    /// A terminal of its own for everything.
    Terminal(Terminal),
}

/// How many pipes a command writes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Streams {
    /// One for output and one for errors. Their order among each other is lost: the kernel keeps none between two pipes.
    #[default]
    Apart,
    /// One for both, in the order in which they were written. All of it counts as output.
    Together,
}

/// What a command on pipes reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stdin {
    /// Nothing: it is at its end from the start.
    Closed,
    /// These bytes, then the end.
    Bytes(Vec<u8>),
    /// Whatever is written later.
    Open,
}

/// The terminal a command runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// Its size at the start.
    pub size: Size,
    /// Who answers when a program asks the terminal where its cursor is or what it can do.
    pub queries: Queries,
}

impl Default for Terminal {
    fn default() -> Self {
        Self { size: Size::default(), queries: Queries::Answered }
    }
}

/// Who answers a program's questions to its terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queries {
    /// The engine, so that programs do not hang with nobody attached.
    Answered,
    /// Somebody else: a person's real terminal sees the question and answers it.
    PassedOn,
}
