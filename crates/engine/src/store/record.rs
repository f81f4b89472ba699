//! What is remembered of a session beside its output: how it started and, once it has ended, its receipt.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::SystemTime;

use crate::{Lifetime, Limits, Receipt, SessionId};

/// A process that cannot be mistaken for a later one with the same pid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProcessKey {
    /// Its process id.
    pub pid: u32,
    /// When it started, in the kernel's own units.
    pub start_ticks: u64,
}

/// How a session started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartRecord {
    /// The session.
    pub id: SessionId,
    /// The name somebody gave it.
    pub name: Option<String>,
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// What was asked for, where the arguments do not show it: a script, or its beginning.
    pub script: Option<String>,
    /// Names of variables that were kept from it.
    pub withheld: Vec<String>,
    /// The client that it belongs to. Sessions of people have none, nor do those of Windlass before it had owners.
    pub owner: Option<String>,
    /// Where it was started.
    pub cwd: PathBuf,
    /// Whether it has a terminal rather than pipes.
    pub terminal: bool,
    /// What its life is tied to.
    pub lifetime: Lifetime,
    /// What keeps it from things, in one line.
    pub sandbox: Option<String>,
    /// When it was started.
    pub started: SystemTime,
    /// The process that runs it.
    pub runtime: ProcessKey,
    /// The process that is it.
    pub root: ProcessKey,
    /// What it may use.
    pub limits: Limits,
}

/// All that is remembered of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRecord {
    /// How it started.
    pub start: StartRecord,
    /// How it ended; `None` while it runs, and for ever if its runtime was killed.
    pub receipt: Option<Receipt>,
}
