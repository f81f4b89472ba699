//! Sessions as the state directory records them: finds one by its number or name, and determines its state.

use std::error::Error;
use std::fmt;

use anyhow::{Result, bail};
use windlass_engine::{
    Cause, Exit, Lifetime, ListSessions, Listing, LoadRecord, PidScope, Presence, ProcessKey, SessionId,
    SessionRecord, Store, with_causes,
};
use windlass_sys::process::{self, Pid, Process};
use windlass_sys::signal::Signal;

use crate::printing::say;
use crate::report;

/// The state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Its root and its runtime are alive.
    Running,
    /// Its root is dead, and its runtime is alive and has not written a receipt: it still reads output or ends
    /// processes, or the disk refuses the receipt.
    Exiting,
    /// It outlived its runtime, as intended.
    Detached,
    /// Its runtime died; the guardian is about to end it.
    Ending,
    /// Its runtime is in another pid namespace, such as a container: from here its state is not visible.
    Elsewhere,
    /// Its runtime died before it recorded the end.
    Lost,
    /// It has a receipt.
    Over(Exit, Cause),
}

impl State {
    /// The current state of a recorded session.
    pub(crate) fn of(record: &SessionRecord) -> Self {
        Self::judge(record, is_alive)
    }

    fn judge(record: &SessionRecord, is_alive: impl Fn(ProcessKey) -> bool) -> Self {
        match &record.receipt {
            Some(receipt) => Self::Over(receipt.exit, receipt.cause),
            None if record.start.runtime.is_out_of_sight() => Self::Elsewhere,
            None if is_alive(record.start.runtime) && is_alive(record.start.root) => Self::Running,
            None if is_alive(record.start.runtime) => Self::Exiting,
            None if !is_alive(record.start.root) => Self::Lost,
            None if record.start.lifetime == Lifetime::Detached => Self::Detached,
            None => Self::Ending,
        }
    }

    /// Why a session without a receipt is in its state, if the word does not say everything.
    pub(crate) fn reason(self, record: &SessionRecord) -> Option<String> {
        let runtime = record.start.runtime;
        let pid = runtime.pid;
        match self {
            Self::Running | Self::Exiting if process::is_stopped(Pid::new(pid)) => {
                Some(stopped_runtime(runtime))
            }
            Self::Exiting => Some(format!(
                "its windlass (process {pid}) has not recorded the end: it reads output or ends processes, or the disk refuses the \
                 receipt"
            )),
            Self::Ending => {
                Some("its windlass was killed, and a guardian ends what the session started".to_owned())
            }
            Self::Lost => Some("its windlass was killed before it recorded how the session ended".to_owned()),
            Self::Elsewhere => Some(format!(
                "its windlass (process {pid} there) is in another pid namespace, such as a container, and cannot be seen from here"
            )),
            Self::Running | Self::Detached | Self::Over(..) => record.unreadable.clone(),
        }
    }

    /// How a session goes on, or went, after its runtime was killed. `None` while the runtime lives, after a receipt,
    /// and if neither is visible from here. As soon as the runtime is dead, a receipt will never be written and no
    /// process reads the output any more: readers must learn that before the guardian has ended the command, too.
    pub(crate) fn fate_without_runtime(self) -> Option<&'static str> {
        match self {
            Self::Lost => Some("its windlass was killed"),
            Self::Ending => Some("its windlass was killed, a guardian ends what the session started"),
            Self::Detached => Some("its windlass was killed, its command goes on"),
            Self::Running | Self::Exiting | Self::Elsewhere | Self::Over(..) => None,
        }
    }

    /// Whether any part of it may still run.
    pub(crate) fn is_live(self) -> bool {
        matches!(self, Self::Running | Self::Exiting | Self::Detached | Self::Ending | Self::Elsewhere)
    }

    /// One word, for programs.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Exiting => "exiting",
            Self::Detached => "detached",
            Self::Ending => "ending",
            Self::Elsewhere => "elsewhere",
            Self::Lost => "lost",
            Self::Over(Exit::Code(_), Cause::Itself) => "exited",
            Self::Over(Exit::Signal(_), Cause::Itself) => "signalled",
            Self::Over(Exit::Unknown, Cause::Itself) => "unknown",
            Self::Over(_, Cause::Timeout(_)) => "timeout",
            Self::Over(_, Cause::Stopped) => "stopped",
            Self::Over(_, Cause::Limit(_)) => "limit",
            Self::Over(_, Cause::Shutdown) => "shutdown",
            Self::Over(_, Cause::Evicted) => "evicted",
            Self::Over(_, Cause::Dropped) => "dropped",
        }
    }
}

/// A short text for people.
impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Over(Exit::Code(code), Cause::Itself) => write!(f, "exit {code}"),
            Self::Over(Exit::Signal(number), Cause::Itself) => Signal::from(*number).fmt(f),
            other => f.write_str(other.word()),
        }
    }
}

/// The remark about a stopped runtime.
pub(crate) fn stopped_runtime(runtime: ProcessKey) -> String {
    let pid = runtime.pid;
    format!(
        "its windlass (process {pid}) is stopped, and records the end when it goes on: `kill -CONT {pid}`"
    )
}

/// Whether this very process, and not a later one with the same pid, is alive.
pub(crate) fn is_alive(key: ProcessKey) -> bool {
    hold(key).is_some()
}

/// Opens a pidfd of this very process, if it is alive.
pub(crate) fn hold(key: ProcessKey) -> Option<Process> {
    match key.presence() {
        Presence::Alive(process) => Some(process),
        Presence::Gone | Presence::OutOfSight => None,
    }
}

/// Whether the process was started in this pid namespace since the machine was booted.
pub(crate) fn is_here(key: ProcessKey) -> bool {
    key.scope.is_some() && key.scope == PidScope::of_this_process()
}

/// Whether the process is not known to be dead: its files are kept then.
pub(crate) fn may_be_alive(key: ProcessKey) -> bool {
    !matches!(key.presence(), Presence::Gone)
}

/// Whether more output of a session may come: as long as its runtime is alive to read it and the root, or a process
/// that the root left running, is alive to print.
pub(crate) fn may_print(record: &SessionRecord) -> bool {
    let has_printers = record.receipt.as_ref().is_none_or(|receipt| !receipt.left_running.is_empty());
    has_printers && is_alive(record.start.runtime)
}

/// The error that no such session exists.
#[derive(Debug)]
pub(crate) struct Unknown {
    asked: String,
    newest: Vec<String>,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no session `{}`", self.asked)?;
        match self.newest.as_slice() {
            [] => f.write_str("; none is remembered yet"),
            newest => write!(f, "; the newest are {}", newest.join(", ")),
        }
    }
}

impl Error for Unknown {}

/// The session with this number, or the newest of this name. Fails if its record cannot be read.
pub(crate) fn find(store: &Store, asked: &str) -> Result<SessionRecord> {
    let record = look_up(store, asked)?;
    warn_of_unreadable(&record);
    Ok(record)
}

fn warn_of_unreadable(record: &SessionRecord) {
    if let Some(reason) = &record.unreadable {
        say!("windlass: session {}: {reason}", record.start.id);
    }
}

fn look_up(store: &Store, asked: &str) -> Result<SessionRecord> {
    if let Ok(number) = asked.parse() {
        match store.load(SessionId::new(number)) {
            Ok(record) => return Ok(record),
            Err(failure @ LoadRecord::Read { .. }) if !is_missing(&failure) => {
                let unknown = format!("session {number} may exist and may be running; that cannot be known");
                return Err(anyhow::Error::from(failure).context(unknown));
            }
            // A number may also be a name.
            Err(_) => {}
        }
    }
    let Listing { sessions, mut unreadable } = list(store)?;
    let named = newest_or_only_running(&sessions, asked)?;
    match (named, unreadable.pop()) {
        (Some(session), _) => Ok(session.clone()),
        (None, None) => Err(Unknown { asked: asked.to_owned(), newest: newest(&sessions) }.into()),
        (None, Some(failure)) => Err(anyhow::Error::from(failure)
            .context(format!("it cannot be known whether there is a session `{asked}`"))),
    }
}

/// The running session of this name, or else the newest one. Owners may use the same name at the same time: then a name
/// does not identify a session.
fn newest_or_only_running<'a>(
    sessions: &'a [SessionRecord],
    name: &str,
) -> Result<Option<&'a SessionRecord>> {
    let is_named = |session: &&SessionRecord| session.start.name.as_deref() == Some(name);
    let mut running = sessions.iter().filter(is_named).filter(|session| State::of(session).is_live());
    match (running.next(), running.next()) {
        (None, _) => Ok(sessions.iter().rev().find(is_named)),
        (Some(only), None) => Ok(Some(only)),
        (Some(first), Some(second)) => {
            let others: Vec<String> = [first, second]
                .into_iter()
                .chain(running)
                .map(|session| session.start.id.to_string())
                .collect();
            bail!(
                "the name `{name}` is that of several running sessions: {}; give the number",
                others.join(", ")
            )
        }
    }
}

/// Whether the state directory was never created, and so has no sessions.
fn is_missing(failure: &LoadRecord) -> bool {
    matches!(failure, LoadRecord::Read { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
}

/// All recorded sessions, oldest first; none if the state directory was never created.
pub(crate) fn list(store: &Store) -> Result<Listing, ListSessions> {
    match store.list() {
        Err(error) if error.source.kind() == std::io::ErrorKind::NotFound => Ok(Listing::default()),
        listed => listed,
    }
}

/// All recorded sessions. Those with unreadable records are also named on standard error: they may be running.
pub(crate) fn list_and_warn(store: &Store) -> Result<Listing, ListSessions> {
    /// The most sessions that are named: the reason is mostly the same for all.
    const NAMED: usize = 3;
    let listing = list(store)?;
    let unreadable = &listing.unreadable;
    for failure in unreadable.iter().take(NAMED) {
        let error = with_causes(failure);
        say!("windlass: {error}; its sessions are not shown, and may be running");
        if let Some(remedy) = failure.remedy() {
            say!("  hint: {remedy}");
        }
    }
    if unreadable.len() > NAMED {
        say!("windlass: {} cannot be read either", report::plural(unreadable.len() - NAMED, "other record"));
    }
    listing.sessions.iter().for_each(warn_of_unreadable);
    Ok(listing)
}

/// The most sessions that are suggested when the requested one does not exist.
const OFFERED: usize = 5;

fn newest(sessions: &[SessionRecord]) -> Vec<String> {
    let describe = |session: &SessionRecord| match &session.start.name {
        Some(name) => format!("{} ({name})", session.start.id),
        None => session.start.id.to_string(),
    };
    sessions.iter().rev().take(OFFERED).map(describe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};
    use windlass_engine::{Limits, PeakMemory, Peaks, Receipt, StartRecord, StreamBytes};

    const RUNTIME: ProcessKey = ProcessKey { pid: 1, start_ticks: 1, scope: None };
    const ROOT: ProcessKey = ProcessKey { pid: 2, start_ticks: 2, scope: None };

    fn record(lifetime: Lifetime, over: Option<(Exit, Cause)>) -> SessionRecord {
        let start = StartRecord {
            id: SessionId::new(1001),
            name: None,
            argv: vec!["true".into()],
            script: None,
            withheld: Vec::new(),
            owner: None,
            cwd: "/".into(),
            terminal: false,
            lifetime,
            sandbox: None,
            started: SystemTime::UNIX_EPOCH,
            runtime: RUNTIME,
            root: ROOT,
            mark: None,
            limits: Limits::default(),
        };
        let receipt = over.map(|(exit, cause)| Receipt {
            exit,
            cause,
            wall: Duration::ZERO,
            cpu_user: Duration::ZERO,
            cpu_system: Duration::ZERO,
            peak_memory: PeakMemory::AtMost(0),
            bytes: StreamBytes::default(),
            cut_off: false,
            degraded: None,
            denials: Vec::new(),
            undelivered_input: 0,
            left_running: Vec::new(),
            ended: Vec::new(),
            remaining: Vec::new(),
            peaks: Peaks::default(),
            enforced: Vec::new(),
        });
        SessionRecord {
            start,
            receipt,
            sizes: windlass_engine::TerminalSizes::default(),
            degraded: None,
            unreadable: None,
        }
    }

    #[test]
    fn without_a_receipt_the_living_tell_the_state() {
        let check = |lifetime, alive: &[ProcessKey], expected| {
            let state = State::judge(&record(lifetime, None), |key| alive.contains(&key));
            assert_eq!(state, expected, "{lifetime} {alive:?}");
        };
        check(Lifetime::Runtime, &[RUNTIME, ROOT], State::Running);
        check(Lifetime::Runtime, &[RUNTIME], State::Exiting);
        check(Lifetime::Runtime, &[ROOT], State::Ending);
        check(Lifetime::Detached, &[ROOT], State::Detached);
        check(Lifetime::Runtime, &[], State::Lost);
        check(Lifetime::Detached, &[], State::Lost);
    }

    #[test]
    fn a_receipt_is_told_in_a_few_characters() {
        let check = |exit, cause, shown: &str, word: &str| {
            let state = State::judge(&record(Lifetime::Runtime, Some((exit, cause))), |_| true);
            assert_eq!((state.to_string().as_str(), state.word()), (shown, word));
        };
        check(Exit::Code(3), Cause::Itself, "exit 3", "exited");
        check(Exit::Signal(9), Cause::Itself, "SIGKILL", "signalled");
        check(Exit::Signal(15), Cause::Timeout(Duration::from_secs(1)), "timeout", "timeout");
        check(Exit::Signal(15), Cause::Stopped, "stopped", "stopped");
    }

    #[test]
    fn a_session_of_another_pid_namespace_is_neither_lost_nor_running() {
        let mut scope = PidScope::of_this_process().unwrap();
        scope.pid_namespace += 1;
        let mut record = record(Lifetime::Runtime, None);
        record.start.runtime.scope = Some(scope);
        let state = State::judge(&record, |_| false);
        assert_eq!((state, state.is_live(), state.word()), (State::Elsewhere, true, "elsewhere"));
        assert!(may_be_alive(record.start.runtime) && !is_alive(record.start.runtime));
    }
}
