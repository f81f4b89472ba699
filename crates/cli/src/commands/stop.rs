//! `windlass stop`: ends a session that another windlass runs. Only that windlass knows everything its session started,
//! so it is told to end, and waited for; a process is signalled only while it is held and known to be the recorded one.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};
use windlass_engine::{Listing, Patience, ProcessLine, SessionRecord, Store};
use windlass_sys::guardian::wait_until_gone;
use windlass_sys::process::{self, Pid, Process};
use windlass_sys::signal::Signal;

use crate::args::Stop;
use crate::config::Config;
use crate::failure::Exit;
use crate::printing::print;
use crate::report;
use crate::sessions::{self, State, hold};

/// How long a runtime may take to end its session: more than the grace and the sweeps after it ever do.
const RUNTIME_LIMIT: Duration = Duration::from_secs(30);

/// Ends a session and tells how it ended.
pub(crate) fn run(order: &Stop, config: &Config) -> Result<Exit> {
    let store = config.reading_store()?;
    let record = sessions::find(&store, &order.session)?;
    let ending = Ending::of(record, &store)?;
    print(if order.json { ending.json() } else { ending.text() })?;
    Ok(if ending.is_complete() { Exit::SUCCESS } else { Exit::FAILED })
}

/// Ends a session of another windlass, and gives its record after that.
pub(crate) fn end(record: SessionRecord, store: &Store) -> Result<SessionRecord> {
    Ending::of(record, store).map(|ending| ending.record)
}

/// What became of the session.
struct Ending {
    record: SessionRecord,
    how: How,
    /// Processes that were ended and that no receipt names as such.
    swept: Vec<ProcessLine>,
}

/// Who ended it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// It was over before.
    AlreadyOver,
    /// Its runtime, because we told it to.
    ByRuntime,
    /// We did: its runtime was dead.
    WithoutRuntime,
}

impl Ending {
    fn of(record: SessionRecord, store: &Store) -> Result<Self> {
        let is_over = record.receipt.as_ref().is_some_and(|receipt| receipt.left_running.is_empty());
        match hold(record.start.runtime).filter(|_| !is_over) {
            Some(runtime) => {
                refuse_shared(&record, store)?;
                let left = left_running(&record);
                end_runtime(&runtime)?;
                let swept = left.into_iter().filter(|(process, _)| !process.is_alive()).map(|(_, line)| line);
                let swept = swept.collect();
                Ok(Self { record: store.load(record.start.id)?, how: How::ByRuntime, swept })
            }
            None => Self::without_runtime(record, store),
        }
    }

    /// The runtime may have written the receipt at the last moment, so the record is read again.
    fn without_runtime(record: SessionRecord, store: &Store) -> Result<Self> {
        let record = store.load(record.start.id).unwrap_or(record);
        match hold(record.start.root).filter(|_| record.receipt.is_none()) {
            Some(root) => {
                let swept = describe(root.pid()).into_iter().collect();
                end_root(&root)?;
                Ok(Self { record, how: How::WithoutRuntime, swept })
            }
            None => Ok(Self { record, how: How::AlreadyOver, swept: Vec::new() }),
        }
    }

    /// Whether nothing of the session is left that should have ended.
    fn is_complete(&self) -> bool {
        self.record.receipt.as_ref().is_none_or(|receipt| receipt.remaining.is_empty())
    }

    fn text(&self) -> String {
        let mut text = self.sentence() + "\n";
        let receipt = self.record.receipt.as_ref();
        let in_receipt =
            receipt.filter(|_| self.how == How::ByRuntime).map(|receipt| receipt.ended.as_slice());
        let ended = [in_receipt.unwrap_or_default(), self.swept.as_slice()].concat();
        if !ended.is_empty() {
            let number = report::plural(ended.len(), "process");
            text.push_str(&format!("ended {number}: {}\n", report::processes(&ended)));
        }
        if let Some(receipt) = receipt.filter(|receipt| !receipt.remaining.is_empty()) {
            text.push_str(&format!("could not end: {}\n", report::processes(&receipt.remaining)));
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
        report::receipt_fields(self.record.receipt.as_ref(), &mut object);
        object.insert("swept".to_owned(), report::processes_json(&self.swept));
        Value::Object(object).to_string() + "\n"
    }
}

/// What a session whose root has exited left running and is still there. A stranger who was given the number since is
/// told apart by living on.
fn left_running(record: &SessionRecord) -> Vec<(Process, ProcessLine)> {
    let left = record.receipt.iter().flat_map(|receipt| &receipt.left_running);
    let held = left.filter_map(|line| Process::open(Pid::new(line.pid)).ok());
    let alive = held.filter(Process::is_alive);
    alive.filter_map(|process| describe(process.pid()).map(|line| (process, line))).collect()
}

fn describe(pid: Pid) -> Option<ProcessLine> {
    process::command_line(pid).map(|command| ProcessLine { pid: pid.get(), command })
}

/// A runtime that ends takes all its sessions along.
fn refuse_shared(record: &SessionRecord, store: &Store) -> Result<()> {
    let (id, runtime) = (record.start.id, record.start.runtime);
    let is_other = |other: &SessionRecord| other.start.runtime == runtime && other.start.id != id;
    let Listing { sessions, mut unreadable } = sessions::list(store)?;
    if let Some(failure) = unreadable.pop() {
        let unknown =
            format!("session {id} is not stopped: its windlass may run others, which cannot be known");
        return Err(anyhow::Error::from(failure).context(unknown));
    }
    let others = sessions.iter().filter(|other| is_other(other) && other.receipt.is_none()).count();
    if others > 0 {
        let others = report::plural(others, "other running session");
        bail!(
            "session {id} cannot be stopped alone: its windlass (process {}) also runs {others}",
            runtime.pid
        );
    }
    Ok(())
}

/// Tells a runtime to end, and waits until it has.
fn end_runtime(runtime: &Process) -> Result<()> {
    ask(runtime)?;
    wait_until_gone(std::slice::from_ref(runtime), RUNTIME_LIMIT);
    if runtime.is_alive() {
        let limit = report::duration(RUNTIME_LIMIT);
        bail!("its windlass (process {}) was told to end and has not within {limit}", runtime.pid());
    }
    Ok(())
}

/// What is left without its runtime gets what that would have given it.
fn end_root(root: &Process) -> Result<()> {
    let patience = Patience::default();
    ask(root)?;
    wait_until_gone(std::slice::from_ref(root), patience.grace);
    if root.is_alive() {
        // One that died in between needs no second signal.
        let _ = root.signal(Signal::KILL);
        wait_until_gone(std::slice::from_ref(root), patience.after_kill);
    }
    if root.is_alive() {
        bail!("process {} could not be ended", root.pid());
    }
    Ok(())
}

/// The polite request. A stopped process takes it once it is continued.
fn ask(process: &Process) -> Result<()> {
    for signal in [Signal::TERM, Signal::CONT] {
        match process.signal(signal) {
            // It ended by itself meanwhile, which is what was wanted.
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(errno) => {
                return Err(errno).with_context(|| format!("cannot signal process {}", process.pid()));
            }
        }
    }
    Ok(())
}
