//! `windlass stop`: ends sessions of another windlass, and nothing else of it.
//!
//! The processes are found by the session's mark, whether or not the windlass that runs it is alive. A server gets no
//! signal: it goes on with its other sessions, sees the request when the root dies, ends what is left, and writes the
//! receipt. The shim of a detached session has no other session, and gets TERM afterwards.
//!
//! A windlass that is stopped (SIGSTOP) is not waited for. It is not continued either: it may be a server, whose other
//! sessions would go on as well, and the user who stopped it did not ask for that. The request stays, so that its
//! receipt is right later.
//!
//! A process is signalled only while it is held by a pidfd, and only if it has the mark, descends from a process that
//! has it, or is a root without a mark whose parent is the living runtime: a pid in a record proves nothing.

mod receipt;

use anyhow::{Result, bail};
use serde_json::{Map, Value};
use windlass_engine::{KillDelays, ProcessKey, ProcessLine, SessionRecord, StopRequest, Store};
use windlass_sys::ladder::KillLadder;
use windlass_sys::mark::{self, Mark, RuntimeTag};
use windlass_sys::process::{self, Pid, Process};

use self::receipt::{await_end, await_receipt};
use crate::args::Stop;
use crate::config::Config;
use crate::failure::{self, Exit};
use crate::printing::{print, print_text, say};
use crate::report;
use crate::sessions::{self, State, hold};

/// Ends sessions one after the other, and prints how each ended. A failure does not prevent the end of the others.
pub(crate) fn run(order: &Stop, config: &Config) -> Result<Exit> {
    let store = config.reading_store()?;
    let mut exit = Exit::SUCCESS;
    for session in &order.sessions {
        let ending = sessions::find(&store, session).and_then(|record| StopOutcome::of(record, &store));
        let ending = match ending {
            Ok(ending) => ending,
            Err(error) => {
                exit = failure::explain(&error, Exit::FAILED);
                continue;
            }
        };
        if order.json {
            print(ending.json())?;
        } else {
            print_text(&ending.text())?;
        }
        if !ending.is_complete() {
            exit = Exit::FAILED;
        }
    }
    Ok(exit)
}

/// Ends a session of another windlass, and returns its record after that.
pub(crate) fn end(record: SessionRecord, store: &Store) -> Result<SessionRecord> {
    StopOutcome::of(record, store).map(|ending| ending.record)
}

/// The result for one session.
struct StopOutcome {
    record: SessionRecord,
    how: How,
    /// Processes that this process ended.
    swept: Vec<ProcessLine>,
    /// Processes that could not be ended.
    left: Vec<ProcessLine>,
}

/// The process that ended the session.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// The session was over before.
    AlreadyOver,
    /// Its runtime, together with this process.
    ByRuntime,
    /// This process: the runtime is stopped, and has not noticed.
    RuntimeStopped,
    /// This process: the runtime was dead.
    WithoutRuntime,
}

impl StopOutcome {
    fn of(record: SessionRecord, store: &Store) -> Result<Self> {
        let is_over = record.receipt.as_ref().is_some_and(|receipt| receipt.left_running.is_empty());
        if State::of(&record) == State::Elsewhere {
            bail!(
                "session {} runs in another pid namespace, such as a container, and cannot be seen from here; stop it there",
                record.start.id
            );
        }
        let Some(targets) = Targets::of(&record)?.filter(|_| !is_over) else {
            return Ok(Self { record, how: How::AlreadyOver, swept: Vec::new(), left: Vec::new() });
        };
        match hold(record.start.runtime) {
            Some(runtime) => Self::with_runtime(&record, store, (targets, &runtime)),
            None => Self::without_runtime(record, store, targets),
        }
    }

    /// Ends a session whose runtime lives. The runtime reaps the root, and adds the processes ended here to those in
    /// the receipt.
    fn with_runtime(
        record: &SessionRecord,
        store: &Store,
        (targets, runtime): (Targets, &Process),
    ) -> Result<Self> {
        let request = store.request_stop(record.start.id);
        if let Err(error) = &request {
            say!("windlass: the receipt will not say that the session was stopped: {error}");
        }
        let root = targets.root;
        let (mut swept, left) = targets.end();
        // The receipt itself describes the root.
        swept.retain(|line| root.is_none_or(|root| root.get() != line.pid));
        let record = await_receipt(store, record, runtime)?;
        let is_stopped = || runtime.is_alive() && process::is_stopped(runtime.pid());
        if record.receipt.is_none() && is_stopped() {
            request.into_iter().for_each(StopRequest::leave);
            return Ok(Self { record, how: How::RuntimeStopped, swept, left });
        }
        // Before the end of the runtime: it may be a server, which goes on.
        drop(request);
        await_end(runtime);
        Ok(Self { record, how: How::ByRuntime, swept, left })
    }

    /// The runtime may have written the receipt at the last moment, so the record is read again.
    fn without_runtime(record: SessionRecord, store: &Store, targets: Targets) -> Result<Self> {
        let record = store.load(record.start.id).unwrap_or(record);
        let (swept, left) = targets.end();
        let how = if swept.is_empty() { How::AlreadyOver } else { How::WithoutRuntime };
        Ok(Self { record, how, swept, left })
    }

    /// Whether everything that should have ended has ended.
    fn is_complete(&self) -> bool {
        self.remaining().is_empty()
    }

    /// All ended processes: those that the runtime ended, and those that this process ended.
    fn ended(&self) -> Vec<ProcessLine> {
        let receipt = self.record.receipt.as_ref().filter(|_| self.how == How::ByRuntime);
        let mut ended = receipt.map(|receipt| receipt.ended.clone()).unwrap_or_default();
        for line in &self.swept {
            if ended.iter().all(|known| known.pid != line.pid) {
                ended.push(line.clone());
            }
        }
        ended
    }

    fn remaining(&self) -> Vec<ProcessLine> {
        let receipt = self.record.receipt.as_ref().map(|receipt| receipt.remaining.clone());
        receipt.into_iter().flatten().chain(self.left.iter().cloned()).collect()
    }

    fn text(&self) -> String {
        let mut text = self.sentence() + "\n";
        let (ended, remaining) = (self.ended(), self.remaining());
        if !ended.is_empty() {
            let number = report::plural(ended.len(), "process");
            text.push_str(&format!("ended {number}: {}\n", report::processes(&ended)));
        }
        if !remaining.is_empty() {
            text.push_str(&format!("could not end: {}\n", report::processes(&remaining)));
        }
        text
    }

    fn sentence(&self) -> String {
        let id = self.record.start.id;
        match (&self.record.receipt, self.how) {
            (Some(receipt), How::AlreadyOver) => {
                format!("session {id} is over already: it {}", report::ending(receipt))
            }
            (Some(receipt), _) => format!("session {id} {}", report::ending(receipt)),
            (None, How::AlreadyOver) => {
                format!("session {id} is over already: its windlass died, and how it ended is not known")
            }
            (None, How::RuntimeStopped) => {
                format!("session {id} was ended; {}", sessions::stopped_runtime(self.record.start.runtime))
            }
            (None, How::ByRuntime) => format!("session {id} was ended, and its windlass left no receipt"),
            (None, How::WithoutRuntime) => {
                format!("session {id} had lost its windlass; its command was ended without it")
            }
        }
    }

    fn json(&self) -> String {
        let start = &self.record.start;
        let mut object = Map::new();
        object.insert("session".to_owned(), start.id.get().into());
        object.insert("name".to_owned(), start.name.clone().into());
        object.insert("state".to_owned(), State::of(&self.record).word().into());
        object.insert("already_over".to_owned(), (self.how == How::AlreadyOver).into());
        object.insert("reason".to_owned(), State::of(&self.record).reason(&self.record).into());
        report::receipt_fields(self.record.receipt.as_ref(), &mut object);
        object.insert("swept".to_owned(), report::processes_json(&self.swept));
        object.insert("left".to_owned(), report::processes_json(&self.left));
        Value::Object(object).to_string() + "\n"
    }
}

/// The processes of a session.
struct Targets {
    ladder: KillLadder<Box<dyn Fn(Mark) -> bool>>,
    root: Option<Pid>,
}

impl Targets {
    /// `None`: no process of the session can be alive.
    fn of(record: &SessionRecord) -> Result<Option<Self>> {
        let start = &record.start;
        let root = hold(start.root).filter(|_| record.receipt.is_none());
        let is_of_this_boot = sessions::is_here(start.runtime);
        let is_unmarked = start.mark.is_none() && start.runtime.scope.is_some();
        let is_child = root.as_ref().is_some_and(|root| is_child_of(root, start.runtime));
        let mark = match (start.mark, &root) {
            (Some(mark), _) if is_of_this_boot => mark,
            // In a sandbox every process has the mark of the session around the sandbox, which is not the session's
            // own.
            (None, Some(_)) if is_unmarked && is_child => {
                return Ok(root.map(|root| Self::of_unmarked(root, record)));
            }
            // Earlier versions did not record the mark, but their sessions have one.
            (_, Some(root)) => {
                let is_own = |mark: &Mark| !is_unmarked && start.mark.is_none_or(|it| it == *mark);
                match mark::on_root(root.pid()).filter(is_own) {
                    Some(mark) => mark,
                    None => bail!(
                        "process {} has the number and the start of session {}'s command, but not its mark: it is not signalled",
                        root.pid(),
                        start.id
                    ),
                }
            }
            (_, None) => return Ok(None),
        };
        let is_member: Box<dyn Fn(Mark) -> bool> = Box::new(move |found| found == mark);
        let mut ladder = KillLadder::new(mark.runtime_tag(), is_member);
        ladder.hang_up = start.terminal;
        let pid = root.as_ref().map(Process::pid);
        // A root that shed its mark is recognised as the child of its runtime.
        if let Some(root) = root.filter(|_| is_child) {
            ladder.add(root);
        }
        Ok(Some(Self { ladder, root: pid }))
    }

    /// The root and its descendants. The runtime, which is the root's parent, ends the other processes.
    fn of_unmarked(root: Process, record: &SessionRecord) -> Self {
        let no_mark: Box<dyn Fn(Mark) -> bool> = Box::new(|_| false);
        let mut ladder = KillLadder::new(RuntimeTag::of_family(0), no_mark);
        ladder.hang_up = record.start.terminal;
        let pid = root.pid();
        ladder.add(root);
        Self { ladder, root: Some(pid) }
    }

    /// Ends the processes: returns those that ended, and those that could not be ended.
    fn end(mut self) -> (Vec<ProcessLine>, Vec<ProcessLine>) {
        let found: Vec<ProcessLine> =
            self.ladder.look().into_iter().filter_map(|process| describe(process.pid())).collect();
        let left = self.ladder.climb(KillDelays::default().grace);
        let left: Vec<ProcessLine> = left.iter().filter_map(|process| describe(process.pid())).collect();
        let is_ended = |line: &ProcessLine| left.iter().all(|left| left.pid != line.pid);
        let ended = found.into_iter().filter(is_ended).collect();
        (ended, left)
    }
}

fn is_child_of(process: &Process, runtime: ProcessKey) -> bool {
    hold(runtime).is_some_and(|runtime| process::parent_of(process.pid()) == Some(runtime.pid()))
}

fn describe(pid: Pid) -> Option<ProcessLine> {
    process::command_line(pid).map(|command| ProcessLine { pid: pid.get(), command })
}
