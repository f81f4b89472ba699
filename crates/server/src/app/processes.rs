//! The processes of one connection: the running ones by the names the client gave them, and the latest that have ended.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::JoinSet;
use windlass_engine::SessionId;

use super::input::Held;
use super::process::{Name, Process};

/// Sessions that have ended and can still be read by their number.
const FINISHED: usize = 256;

/// All processes of one connection.
#[derive(Debug, Default)]
pub(super) struct Processes {
    table: Mutex<Table>,
    /// Input that waits for processes which do not read.
    pub(super) held: Held,
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
}

impl Processes {
    /// The running process of this name.
    pub(super) fn find(&self, name: &Name) -> Option<Arc<Process>> {
        self.lock().named.get(name).cloned()
    }

    /// Whether a running process has this name.
    pub(super) fn is_taken(&self, name: &Name) -> bool {
        self.lock().named.contains_key(name)
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
        let mut table = self.lock();
        if let Some(name) = &process.name {
            table.named.remove(name);
        }
        table.finished.push_back(process.session.id());
        if process.has_left_something() {
            table.survived.push(Arc::clone(process));
        }
        if table.finished.len() > FINISHED
            && let Some(oldest) = table.finished.pop_front()
        {
            table.numbered.remove(&oldest);
        }
    }

    /// Ends everything that runs or was left running, and returns when it has.
    pub(super) async fn end_all(&self) {
        let mut ends = JoinSet::new();
        for process in self.take_unended() {
            ends.spawn(async move { process.session.end_call().await });
        }
        while ends.join_next().await.is_some() {}
    }

    fn take_unended(&self) -> Vec<Arc<Process>> {
        let mut table = self.lock();
        let mut unended = std::mem::take(&mut table.survived);
        let running = table.numbered.values().filter(|process| process.session.receipt().is_none());
        unended.extend(running.cloned());
        unended
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
