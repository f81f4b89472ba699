//! The record of a session: how it started and, once it has ended, its receipt.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::SystemTime;

use crate::{Degraded, Lifetime, Limits, Receipt, SessionId, TerminalSizes};
use windlass_sys::mark::{Fate, Mark};

pub use windlass_sys::identity::{PidScope, Presence, ProcessKey};

/// How a session started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartRecord {
    /// The session.
    pub id: SessionId,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// The script that was asked for, or its beginning, where the arguments do not show it.
    pub script: Option<String>,
    /// Names of variables that were withheld from it.
    pub withheld: Vec<String>,
    /// The client that it belongs to. Sessions of people have none, nor do those of Windlass before it had owners.
    pub owner: Option<String>,
    /// Its working directory.
    pub cwd: PathBuf,
    /// Whether it has a terminal rather than pipes.
    pub terminal: bool,
    /// The rule for when it ends.
    pub lifetime: Lifetime,
    /// The restrictions of its plan, in one line.
    pub sandbox: Option<String>,
    /// When it was started.
    pub started: SystemTime,
    /// The process of its runtime.
    pub runtime: ProcessKey,
    /// Its root process.
    pub root: ProcessKey,
    /// The mark on every process that it starts. Records of earlier versions have none, nor do sessions that cannot be
    /// marked.
    pub mark: Option<Mark>,
    /// The resources that it may use.
    pub limits: Limits,
}

impl SessionRecord {
    /// Whether processes may be left that should have ended with the runtime: it recorded no end of them, and they were
    /// started in the pid namespace of this process since the machine was booted.
    pub fn may_have_survivors(&self) -> bool {
        let is_recorded = self.receipt.as_ref().is_some_and(|receipt| receipt.left_running.is_empty());
        let ends_with_runtime = self.start.mark.is_some_and(|mark| mark.fate() == Fate::WithRuntime);
        let is_here =
            self.start.runtime.scope.is_some_and(|scope| PidScope::of_this_process() == Some(scope));
        !is_recorded && ends_with_runtime && is_here
    }
}

/// Everything recorded about a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRecord {
    /// How it started.
    pub start: StartRecord,
    /// How it ended; `None` while it runs, and for ever if its runtime was killed.
    pub receipt: Option<Receipt>,
    /// The sizes of its terminal; without meaning if it has none.
    pub sizes: TerminalSizes,
    /// The offset from which the disk refused output while the session ran, and why.
    pub degraded: Option<Degraded>,
    /// Why the record cannot be read in the state directory, if the contents come from the processes of the session.
    pub unreadable: Option<String>,
}
