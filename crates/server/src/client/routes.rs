//! Routes notifications to consumers. Outlives connections, so that waits for output go on with the next one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::de::DeserializeOwned;
use serde_json::Value;
use windlass_protocol::app::{
    ProcessExited, ProcessOutputDelta, SessionClosed, SessionDropped, SessionExited, SessionOutput,
    notification,
};

use super::output::ClientPiece;
use super::queue::{Fate, Queue};

/// The number of a delta from a server that counts neither deltas nor bytes.
const NOT_COUNTED: u64 = 0;

/// The consumers of output.
#[derive(Default)]
pub(super) struct Routes {
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    by_handle: HashMap<String, StartedProcess>,
    /// The consumers that subscribed to a session, or that a new connection subscribed again.
    by_session: HashMap<u64, Vec<Arc<Queue>>>,
}

/// Whether a session has any consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputInterest {
    BySomebody,
    ByNobody,
}

struct StartedProcess {
    queue: Arc<Queue>,
    /// Known once the server has replied.
    session: Option<u64>,
}

impl Routes {
    /// Routes output under this handle to the queue.
    pub(super) fn add_handle(&self, handle: &str, queue: &Arc<Queue>) {
        let started = StartedProcess { queue: Arc::clone(queue), session: None };
        self.lock().by_handle.insert(handle.to_owned(), started);
    }

    /// Removes a handle.
    pub(super) fn remove_handle(&self, handle: &str) {
        self.lock().by_handle.remove(handle);
    }

    /// Sets the session of a handle. Does nothing if the process has ended meanwhile.
    pub(super) fn name_session(&self, handle: &str, session: u64) {
        if let Some(started) = self.lock().by_handle.get_mut(handle) {
            started.session = Some(session);
        }
    }

    /// Also routes output of this session to the queue.
    pub(super) fn add_session(&self, session: u64, queue: &Arc<Queue>) {
        self.lock().add_session(session, queue);
    }

    /// Removes a queue from a session, and returns whether any are left.
    pub(super) fn remove_session(&self, session: u64, queue: &Arc<Queue>) -> OutputInterest {
        let mut table = self.lock();
        let Some(queues) = table.by_session.get_mut(&session) else { return OutputInterest::ByNobody };
        queues.retain(|known| !Arc::ptr_eq(known, queue));
        if !queues.is_empty() {
            return OutputInterest::BySomebody;
        }
        table.by_session.remove(&session);
        OutputInterest::ByNobody
    }

    /// The smallest offset from which any consumer of a session misses output.
    pub(super) fn missing(&self, session: u64) -> Option<u64> {
        self.of_session(session).iter().filter_map(|queue| queue.begin_anew()).min()
    }

    /// The sessions whose output must be requested on a new connection. Output that came under a handle comes under the
    /// session's number from now on.
    pub(super) fn begin_anew(&self) -> Vec<u64> {
        let mut table = self.lock();
        let started: Vec<_> = table.by_handle.values().filter_map(StartedProcess::named).collect();
        for (session, queue) in started {
            table.add_session(session, &queue);
        }
        table.by_session.keys().copied().collect()
    }

    /// Informs all consumers of the state of the connection.
    pub(super) fn connection(&self, now: &Fate) {
        for queue in self.everybody() {
            queue.connection(now.clone());
        }
    }

    /// The handles of all running processes.
    pub(super) fn handles(&self) -> Vec<String> {
        self.lock().by_handle.keys().cloned().collect()
    }

    /// Removes a session that the server has forgotten, as lost.
    pub(super) fn forget(&self, session: u64) {
        for queue in self.lock().by_session.remove(&session).unwrap_or_default() {
            queue.connection(Fate::Lost);
        }
    }

    /// Delivers a notification to its consumers. Malformed ones are ignored.
    pub(super) async fn take(&self, method: &str, params: Value) {
        match method {
            notification::PROCESS_OUTPUT_DELTA => {
                let Some(delta) = read::<ProcessOutputDelta>(params) else { return };
                let queue = self
                    .lock()
                    .by_handle
                    .get(&delta.process_handle)
                    .map(|started| Arc::clone(&started.queue));
                let piece = ClientPiece::decode(delta.stream, delta.offset, &delta.delta_base64);
                let (Some(queue), Some(piece)) = (queue, piece) else { return };
                if delta.seq == NOT_COUNTED {
                    queue.is_not_counted();
                }
                queue.push(piece).await;
            }
            notification::PROCESS_EXITED => {
                let Some(exited) = read::<ProcessExited>(params) else { return };
                if let Some(started) = self.lock().by_handle.remove(&exited.process_handle) {
                    started.queue.exited(exited.into());
                }
            }
            _ => self.take_session(method, params).await,
        }
    }

    async fn take_session(&self, method: &str, params: Value) {
        match method {
            notification::SESSION_OUTPUT => {
                let Some(output) = read::<SessionOutput>(params) else { return };
                if let Some(piece) = ClientPiece::decode(output.stream, output.offset, &output.delta_base64) {
                    self.push(output.session_id, piece).await;
                }
            }
            notification::SESSION_DROPPED => {
                let Some(SessionDropped { session_id, from, to, .. }) = read(params) else { return };
                self.push(session_id, ClientPiece::Dropped { from, to }).await;
            }
            notification::SESSION_EXITED => {
                let Some(SessionExited { session_id, exit }) = read(params) else { return };
                self.lock().by_handle.retain(|_, started| started.session != Some(session_id));
                for queue in self.of_session(session_id) {
                    queue.exited(exit.clone().into());
                }
            }
            notification::SESSION_CLOSED => {
                let Some(SessionClosed { session_id, .. }) = read(params) else { return };
                for queue in self.lock().by_session.remove(&session_id).unwrap_or_default() {
                    queue.closed();
                }
            }
            _ => {}
        }
    }

    async fn push(&self, session: u64, piece: ClientPiece) {
        for queue in self.of_session(session) {
            queue.push(piece.clone()).await;
        }
    }

    fn of_session(&self, session: u64) -> Vec<Arc<Queue>> {
        self.lock().by_session.get(&session).cloned().unwrap_or_default()
    }

    fn everybody(&self) -> Vec<Arc<Queue>> {
        let table = self.lock();
        let started = table.by_handle.values().map(|started| &started.queue);
        started.chain(table.by_session.values().flatten()).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StartedProcess {
    fn named(&self) -> Option<(u64, Arc<Queue>)> {
        Some((self.session?, Arc::clone(&self.queue)))
    }
}

impl Table {
    fn add_session(&mut self, session: u64, queue: &Arc<Queue>) {
        let queues = self.by_session.entry(session).or_default();
        queues.retain(|known| !known.is_abandoned() && !Arc::ptr_eq(known, queue));
        queues.push(Arc::clone(queue));
    }
}

fn read<T: DeserializeOwned>(params: Value) -> Option<T> {
    serde_json::from_value(params).ok()
}
