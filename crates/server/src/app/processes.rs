//! The processes of one connection: the running ones by the names the client gave them, and the latest that have ended.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::JoinSet;
use windlass_engine::{Offset, SessionId};

use super::input::QueuedInput;
use super::process::{Name, Process};
use crate::spill::Spill;

/// Sessions that have ended and can still be read by their number.
const FINISHED: usize = 256;

/// Sessions that left something running before it is looked whether that is still there, which takes a while.
const LOOK_AFTER: usize = 64;

/// All processes of one connection.
#[derive(Debug)]
pub(super) struct Processes {
    table: Mutex<Table>,
    /// Input that waits for processes which do not read.
    pub(super) held: QueuedInput,
    /// Where it goes when there is too much of it.
    pub(super) spill: Spill,
}

#[derive(Debug, Default)]
struct Table {
    /// What runs, by name.
    named: HashMap<Name, Arc<Process>>,
    /// Everything that is known, by number.
    numbered: BTreeMap<SessionId, Arc<Process>>,
    /// What has ended, oldest first.
    finished: VecDeque<SessionId>,
    /// What has ended and left something running, which ends with the connection.
    survived: Vec<Arc<Process>>,
    /// How many of those there may be before it is looked who is still there.
    look_at: usize,
}

impl Table {
    fn survive(&mut self, process: &Arc<Process>) {
        if self.survived.len() >= self.look_at {
            self.survived.retain(|process| !process.session.processes().is_empty());
            self.look_at = 2 * self.survived.len() + LOOK_AFTER;
        }
        self.survived.push(Arc::clone(process));
    }
}

impl Processes {
    /// None yet. What waits for them and finds no room is kept below this directory.
    pub(super) fn new(directory: PathBuf) -> Self {
        Self { table: Mutex::default(), held: QueuedInput::default(), spill: Spill::below(directory) }
    }

    /// The running process of this name.
    pub(super) fn find(&self, name: &Name) -> Option<Arc<Process>> {
        self.lock().named.get(name).cloned()
    }

    /// Whether a running process has this name.
    pub(super) fn is_taken(&self, name: &Name) -> bool {
        self.lock().named.contains_key(name)
    }

    /// The session of this number, running or ended.
    pub(super) fn numbered(&self, id: SessionId) -> Option<Arc<Process>> {
        self.lock().numbered.get(&id).cloned()
    }

    /// Everything that is known, oldest first.
    pub(super) fn all(&self) -> Vec<Arc<Process>> {
        self.lock().numbered.values().cloned().collect()
    }

    /// Nobody tells of the processes any more. They go on as fast as they like, and their names become free as they end.
    pub(super) fn let_go(self: &Arc<Self>) {
        for process in self.all().into_iter().filter(|process| process.receipt().is_none()) {
            let (processes, followed) = (Arc::clone(self), Arc::clone(&process));
            let watching = tokio::spawn(async move {
                followed.session.confirm(Offset::new(u64::MAX)).await;
                if let Ok(receipt) = followed.session.exited().await {
                    followed.settle(receipt).await;
                }
                processes.finish(&followed);
            });
            process.followed_by(Some(watching.abort_handle()));
        }
    }

    /// Takes in a process that has just been started.
    pub(super) fn add(&self, process: &Arc<Process>) {
        let mut table = self.lock();
        if let Some(name) = &process.name {
            table.named.insert(name.clone(), Arc::clone(process));
        }
        table.numbered.insert(process.session.id(), Arc::clone(process));
    }

    /// Frees the name of a process that has ended. It can still be read by its number for a while.
    pub(super) fn finish(&self, process: &Arc<Process>) {
        if !process.finish() {
            return;
        }
        let mut table = self.lock();
        if let Some(name) = &process.name {
            table.named.remove(name);
        }
        table.finished.push_back(process.session.id());
        if process.has_left_something() {
            table.survive(process);
        }
        if table.finished.len() > FINISHED
            && let Some(oldest) = table.finished.pop_front()
        {
            table.numbered.remove(&oldest);
        }
    }

    /// Ends everything that runs or was left running, and returns when it has. There is no client any more.
    pub(super) async fn end_all(&self) {
        self.end_each().await;
        // Whoever still waits for the client to take something would wait for ever.
        for process in self.all() {
            process.followed_by(None);
        }
    }

    /// The same for a client that is still there to be told.
    pub(super) async fn end_each(&self) {
        let mut ends = JoinSet::new();
        for process in self.unended() {
            ends.spawn(async move { process.session.end_call().await });
        }
        while ends.join_next().await.is_some() {}
    }

    /// They stay known: whoever ends them may be kept from doing it to the end.
    fn unended(&self) -> Vec<Arc<Process>> {
        let table = self.lock();
        let mut unended = table.survived.clone();
        let running = table.numbered.values().filter(|process| process.session.receipt().is_none());
        unended.extend(running.cloned());
        unended
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
