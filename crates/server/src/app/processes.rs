//! The processes of one connection: the running ones by the names the client gave them, and the latest that have ended.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::JoinSet;
use windlass_engine::{Offset, SessionId};

use super::input::QueuedInput;
use super::process::{Name, Process};
use crate::spill::Spill;

/// The limit on sessions that have ended and can still be read by their number.
const FINISHED: usize = 256;

/// The number of sessions with processes left running at which the table looks whether those still exist, which takes a
/// while.
const LOOK_AFTER: usize = 64;

/// All processes of one connection.
#[derive(Debug)]
pub(super) struct Processes {
    table: Mutex<Table>,
    /// Input that waits for processes which do not read.
    pub(super) held: QueuedInput,
    /// The file for input that does not fit in memory.
    pub(super) spill: Spill,
}

#[derive(Debug, Default)]
struct Table {
    /// The running processes by name.
    named: HashMap<Name, Arc<Process>>,
    /// All known processes by number.
    numbered: BTreeMap<SessionId, Arc<Process>>,
    /// The processes that have ended, oldest first.
    finished: VecDeque<SessionId>,
    /// The processes that have ended and left others running, which end with the connection.
    survived: Vec<Arc<Process>>,
    /// The length of `survived` at which it is pruned.
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
    /// An empty table. Input that finds no room in memory is kept below this directory.
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

    /// All known processes, oldest first.
    pub(super) fn all(&self) -> Vec<Arc<Process>> {
        self.lock().numbered.values().cloned().collect()
    }

    /// Stops following the processes: they run at their own pace, and their names become free as they end.
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

    /// Adds a process that has just been started.
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

    /// Ends all processes, also those left running, and returns when they have ended. The client has gone.
    pub(super) async fn end_all(&self) {
        self.end_each().await;
        // A follower that still waits for the client to take something would wait for ever.
        for process in self.all() {
            process.followed_by(None);
        }
    }

    /// Like [`Self::end_all`], for a client that is still there and hears of each end.
    pub(super) async fn end_each(&self) {
        let mut ends = JoinSet::new();
        for process in self.unended() {
            ends.spawn(async move { process.session.end_call().await });
        }
        while ends.join_next().await.is_some() {}
    }

    /// The processes that have not ended. They stay in the table: the task that ends them may be cancelled midway.
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
