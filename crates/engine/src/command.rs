//! The complete description of a command: the engine adds nothing of its own and reads no environment.

use crate::{Lifetime, Limits};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use windlass_sandbox::Plan;
use windlass_sys::directory::HeldDirectory;
use windlass_sys::pty::Size;

/// One command and the circumstances in which it runs.
#[derive(Clone, Debug)]
pub struct CommandSpec {
    /// The program and its arguments. A program without a slash is looked up in the child's own `PATH`.
    pub argv: Vec<OsString>,
    /// The name under which the program sees itself, if it is not `argv[0]`.
    pub argv0: Option<OsString>,
    /// Its working directory. Absolute.
    pub directory: PathBuf,
    /// The directory that this path must lead to, for commands that were approved with it. Another one in its place is refused.
    pub held_directory: Option<Arc<HeldDirectory>>,
    /// Its whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Its standard streams: pipes or a terminal.
    pub io: Io,
    /// Whether output and errors go to separate pipes.
    pub streams: Streams,
    /// Files in memory, read-only and without a name, which it finds open as descriptors 3, 4 and so on.
    pub memory_files: Vec<Vec<u8>>,
    /// The rule for when its session ends.
    pub lifetime: Lifetime,
    /// A name people can use instead of its number.
    pub name: Option<String>,
    /// When it is to be ended, counted from its start.
    pub timeout: Option<Duration>,
    /// The resources that it may use.
    pub limits: Limits,
    /// The side that sets its speed when it prints: the command or one reader.
    pub pace: Pace,
    /// The variable in which it finds its session's number.
    pub number_in: Option<OsString>,
    /// The store of its output and its record.
    pub keeping: Keeping,
    /// The script that people asked for, where the arguments do not show it because it travels beside them.
    pub script: Option<String>,
    /// Names of variables that were withheld from it, for the record.
    pub withheld: Vec<String>,
    /// The client that it belongs to, for the record: an opaque text by which clients recognise their own sessions.
    pub owner: Option<String>,
    /// The files and hosts that it may access, as a plan for this machine. Without one it may access all that its user
    /// may.
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

/// The store of a session's output and record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keeping {
    /// The engine's store, if it has one.
    #[default]
    Store,
    /// Memory: the session is internal work, and is not listed once it is over.
    Memory,
}

/// The side that sets the speed of a command that prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// The command: no reader slows it, and retention decides how much output is kept for slow readers.
    #[default]
    Free,
    /// One reader that must miss nothing, as in a pipeline: the command waits while this many bytes lie ahead of the
    /// offset that the reader has confirmed.
    Reader {
        /// At most this far ahead.
        window: u64,
    },
}

/// The standard streams of a command.
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
    /// One for output and one for errors. Their relative order is lost: the kernel keeps none between two pipes.
    #[default]
    Apart,
    /// One for both, in the order in which they were written. All of it counts as output.
    Together,
}

/// The standard input of a command on pipes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stdin {
    /// No input: end of file at once.
    Closed,
    /// These bytes, then the end.
    Bytes(Vec<u8>),
    /// Input that is written later.
    Open,
}

/// The terminal a command runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// Its size at the start.
    pub size: Size,
    /// The side that answers when a program asks the terminal where its cursor is or what it can do.
    pub queries: Queries,
}

impl Default for Terminal {
    fn default() -> Self {
        Self { size: Size::default(), queries: Queries::Answered }
    }
}

/// The side that answers a program's questions to its terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queries {
    /// The engine, so that programs do not hang when no terminal is attached.
    Answered,
    /// A terminal outside: a person's real terminal sees the question and answers it.
    PassedOn,
}
