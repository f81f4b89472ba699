//! Exec sessions: the unit to which a client attaches. One owns processes, each a session of the engine; it outlives a
//! lost connection for a while, and everything that runs in it ends with it.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::rand::{GetRandomFlags, getrandom};
use tokio::sync::watch;
use tokio::task::JoinSet;
use windlass_engine::Session;
use windlass_protocol::envelope::{ATTACHED_ELSEWHERE, INTERNAL_ERROR, INVALID_REQUEST, Refusal};

use super::process::Process;
use super::waiting::Waiting;
use crate::jsonrpc::Peer;

/// The default time that a session waits for a client which lost its connection.
pub(super) const GRACE: Duration = Duration::from_secs(30);

/// The limit on sessions, attached or waiting.
const MOST: usize = 4096;

/// The number of sessions with processes left running at which the list is pruned.
const LEFT: usize = 64;

/// The sessions of one server.
pub(super) struct Sessions {
    /// How long sessions wait for a client.
    grace: Duration,
    /// The directory for input that does not fit in memory.
    state_directory: PathBuf,
    all: Mutex<HashMap<String, Arc<ExecSession>>>,
    /// The tasks of sessions that wait for a client; each ends its session when none comes.
    waiting: Mutex<JoinSet<()>>,
}

/// The state to which a client is attached, or attaches again.
pub(super) struct ExecSession {
    id: String,
    attachment: watch::Sender<Attachment>,
    /// How often the connection was lost.
    losses: AtomicU64,
    processes: Mutex<BTreeMap<String, Arc<Process>>>,
    /// Sessions of forgotten processes that left others running, which may go on as long as the exec session does.
    left: Mutex<Vec<Session>>,
    tasks: Mutex<JoinSet<()>>,
    input: Waiting,
}

/// The attached client.
#[derive(Clone)]
pub(super) enum Attachment {
    /// A client that has not confirmed the reply to `initialize` yet, and gets no events before.
    Greeted,
    Attached(Peer),
    /// None; the number is that of the loss.
    Awaited(u64),
    /// None any more: the exec session is over.
    Over,
}

impl Attachment {
    fn is_awaited(&self, time: u64) -> bool {
        matches!(self, Self::Awaited(since) if *since == time)
    }
}

impl Sessions {
    pub(super) fn new(grace: Duration, state_directory: PathBuf) -> Self {
        Self { grace, state_directory, all: Mutex::default(), waiting: Mutex::default() }
    }

    /// Creates a session, to which the client must still attach.
    pub(super) fn open(&self) -> Result<Arc<ExecSession>, Refusal> {
        let mut all = self.lock();
        if all.len() >= MOST {
            let message =
                format!("this server has {MOST} sessions already: close one, or wait until one is forgotten");
            return Err(Refusal::new(INTERNAL_ERROR, message));
        }
        let session = Arc::new(ExecSession::new(random_id()?, Waiting::below(self.state_directory.clone())));
        all.insert(session.id.clone(), Arc::clone(&session));
        Ok(session)
    }

    /// The session of a connection that was lost, likewise.
    pub(super) fn resume(&self, id: &str) -> Result<Arc<ExecSession>, Refusal> {
        let all = self.lock();
        let unknown = || Refusal::new(INVALID_REQUEST, format!("unknown session id {id}"));
        let session = all.get(id).ok_or_else(unknown)?;
        let attached = session.attachment.send_if_modified(|attachment| {
            let awaited = matches!(attachment, Attachment::Awaited(_));
            if awaited {
                *attachment = Attachment::Greeted;
            }
            awaited
        });
        if attached {
            return Ok(Arc::clone(session));
        }
        let message = format!("session {id} is already attached to another connection");
        Err(Refusal::new(ATTACHED_ELSEWHERE, message))
    }

    /// The connection is lost: the session waits for its client, and ends if it does not come.
    pub(super) fn detach(self: &Arc<Self>, session: &Arc<ExecSession>) {
        let time = session.losses.fetch_add(1, Ordering::Relaxed);
        let is_lost = session.attachment.send_if_modified(|attachment| {
            let is_attached = matches!(attachment, Attachment::Greeted | Attachment::Attached(_));
            if is_attached {
                *attachment = Attachment::Awaited(time);
            }
            is_attached
        });
        if !is_lost {
            return;
        }
        let (sessions, session) = (Arc::clone(self), Arc::clone(session));
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        while waiting.try_join_next().is_some() {}
        waiting.spawn(async move {
            let mut attachment = session.attachment.subscribe();
            let attached = attachment.wait_for(|attachment| !attachment.is_awaited(time));
            // timer: the server cannot know whether a client that lost its connection will come back.
            if tokio::time::timeout(sessions.grace, attached).await.is_err() {
                sessions.expire(&session, time).await;
            }
        });
    }

    async fn expire(&self, session: &Arc<ExecSession>, time: u64) {
        // Under the lock, so that no client attaches to a session that is ending.
        let is_over = {
            let mut all = self.lock();
            let is_awaited = session.attachment.borrow().is_awaited(time);
            is_awaited.then(|| {
                session.attachment.send_replace(Attachment::Over);
                all.remove(&session.id)
            })
        };
        if is_over.is_some() {
            session.end().await;
        }
    }

    /// Ends a session now, with everything in it.
    pub(super) async fn close(&self, session: &Arc<ExecSession>) {
        self.lock().remove(&session.id);
        session.attachment.send_replace(Attachment::Over);
        session.end().await;
    }

    pub(super) async fn end_all(&self) {
        let all: Vec<_> = self.lock().drain().map(|(_, session)| session).collect();
        let mut ends = JoinSet::new();
        for session in all {
            session.attachment.send_replace(Attachment::Over);
            ends.spawn(async move { session.end().await });
        }
        while ends.join_next().await.is_some() {}
        let mut waiting = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        while waiting.join_next().await.is_some() {}
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<ExecSession>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ExecSession {
    fn new(id: String, input: Waiting) -> Self {
        Self {
            id,
            attachment: watch::Sender::new(Attachment::Greeted),
            losses: AtomicU64::new(0),
            processes: Mutex::default(),
            left: Mutex::default(),
            tasks: Mutex::default(),
            input,
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// The client has confirmed the reply to `initialize`: events are sent to it from now on.
    pub(super) fn attach(&self, peer: Peer) {
        self.attachment.send_if_modified(|attachment| {
            let is_greeted = matches!(attachment, Attachment::Greeted);
            if is_greeted {
                *attachment = Attachment::Attached(peer);
            }
            is_greeted
        });
    }

    /// The waiting input of its processes.
    pub(super) fn input(&self) -> &Waiting {
        &self.input
    }

    /// The attached client, as a level to wait on.
    pub(super) fn attachment(&self) -> watch::Receiver<Attachment> {
        self.attachment.subscribe()
    }

    pub(super) fn process(&self, id: &str) -> Option<Arc<Process>> {
        self.processes().get(id).cloned()
    }

    /// All known processes, by name.
    pub(super) fn all_processes(&self) -> Vec<Arc<Process>> {
        self.processes().values().cloned().collect()
    }

    pub(super) fn knows(&self, id: &str) -> bool {
        self.processes().contains_key(id)
    }

    pub(super) fn add(&self, process: Arc<Process>) {
        self.processes().insert(process.id().to_owned(), process);
    }

    /// Frees the name of a process. Processes that it left running go on.
    pub(super) fn forget(&self, process: &Process) {
        self.processes().remove(process.id());
        if !process.may_be_alive() {
            return;
        }
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.push(process.session().clone());
        // Looking for processes is slow, so it is done for many at once.
        if left.len() > LEFT {
            left.retain(|session| !session.processes().is_empty());
        }
    }

    /// Runs a task that ends with the session at the latest.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    /// Ends every process and everything that it started.
    async fn end(&self) {
        let processes = std::mem::take(&mut *self.processes());
        let left = std::mem::take(&mut *self.left.lock().unwrap_or_else(PoisonError::into_inner));
        let mut stops = JoinSet::new();
        let alive = processes.values().filter(|process| process.may_be_alive());
        for session in alive.map(|process| process.session().clone()).chain(left) {
            stops.spawn(async move { drop(session.stop().await) });
        }
        while stops.join_next().await.is_some() {}
        let mut tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        tasks.shutdown().await;
    }

    fn processes(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Process>>> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A random number in the form of a version 4 UUID.
fn random_id() -> Result<String, Refusal> {
    let mut bytes = [0; 16];
    let filled = getrandom(&mut bytes, GetRandomFlags::empty());
    if !matches!(filled, Ok(16)) {
        return Err(Refusal::new(INTERNAL_ERROR, "the system gives no random numbers"));
    }
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_ids_are_uuids_and_differ() {
        let [one, other] = [random_id().expect("random"), random_id().expect("random")];
        assert_ne!(one, other);
        let lengths: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!(&one[14..15], "4");
        assert!("89ab".contains(&one[19..20]), "{one}");
    }
}
