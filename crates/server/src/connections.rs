//! The connections of a server: how many there are at a time, and which one is closed when there are too many.
//!
//! A connection is *pending* until its client has shown a valid token, or finished the handshake of a WebSocket. Every
//! process that reaches the address can open such connections and leave them there, so they are counted apart from those
//! of clients: they are few, they have little time, and the oldest is closed to make room for the next. A client that
//! sends its request at once is therefore served, however many others never do.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::caller::{Caller, Denied};
use crate::gate::Access;
use crate::jsonrpc::door::Stream;

/// How many connections of clients that were let in there are before the next has to wait for one to end. Pending ones
/// may still be let in, so there can be a few more.
pub(crate) const ESTABLISHED_LIMIT: usize = 512;

/// The most pending connections. Together with the others they leave a process with the usual limit of 1,024 descriptors
/// enough for its commands.
pub(crate) const PENDING_LIMIT: usize = 128;

/// How long a connection may be pending.
const PENDING_PATIENCE: Duration = Duration::from_secs(10);

/// How long a connection may be pending whatever happens: a request takes a moment to arrive, and a TLS handshake several.
/// While all are younger than this, the next has to wait.
const GRACE: Duration = Duration::from_millis(250);

/// How long a client that was let in may take to send the headers of a request, or be silent between two.
pub(crate) const HEADER_PATIENCE: Duration = Duration::from_secs(30);

/// After how long a silence the system asks whether a client's machine is still there.
const ARE_YOU_THERE: Duration = Duration::from_secs(60);

/// How soon it asks again, and how often, before the client counts as gone.
const ASK_AGAIN: Duration = Duration::from_secs(15);
const ASK_TIMES: u32 = 4;

/// Where clients connect.
pub(crate) trait Entrance: Sync {
    /// What they are talked to through.
    type Stream: Stream;

    /// The next client.
    fn next(&self) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// The process behind a connection.
    fn caller(stream: &Self::Stream) -> Caller;
}

impl Entrance for TcpListener {
    type Stream = TcpStream;

    async fn next(&self) -> io::Result<TcpStream> {
        self.accept().await.map(|(stream, _)| prepared(stream))
    }

    fn caller(stream: &TcpStream) -> Caller {
        Caller::tcp(stream)
    }
}

fn prepared(stream: TcpStream) -> TcpStream {
    // Without this an answer may wait for the client's acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    // A client whose machine was switched off says nothing, and its processes would run for ever.
    let _ = rustix::net::sockopt::set_socket_keepalive(&stream, true);
    let _ = rustix::net::sockopt::set_tcp_keepidle(&stream, ARE_YOU_THERE);
    let _ = rustix::net::sockopt::set_tcp_keepintvl(&stream, ASK_AGAIN);
    let _ = rustix::net::sockopt::set_tcp_keepcnt(&stream, ASK_TIMES);
    stream
}

/// Accepts connections until `stop` is done, each in a task of its own; gives the tasks that have not ended by then.
///
/// `converse` tells its slot whose turn it is and when the client was let in. Until then it may be dropped at any moment.
pub(crate) async fn accept_until<E: Entrance, F: Future<Output = ()> + Send + 'static>(
    entrance: &E,
    converse: impl Fn(E::Stream, Arc<Slot>) -> F,
    stop: impl Future<Output = ()>,
) -> JoinSet<()> {
    let table = Arc::new(Table::default());
    let mut tasks = JoinSet::new();
    tokio::pin!(stop);
    loop {
        let next = async {
            table.room().await;
            entrance.next().await
        };
        tokio::select! {
            () = &mut stop => return tasks,
            Some(_) = tasks.join_next() => {}
            stream = next => match stream {
                Ok(stream) => {
                    let slot = table.slot();
                    let conversation = converse(stream, Arc::clone(&slot));
                    drop(tasks.spawn(unless_given_up(slot, conversation)));
                }
                Err(_) => out_of_descriptors(&table).await,
            },
        }
    }
}

async fn unless_given_up(slot: Arc<Slot>, conversation: impl Future<Output = ()>) {
    tokio::select! {
        () = conversation => {}
        () = slot.given_up() => {}
    }
}

/// Accepting fails when descriptors run out, and the client still waits in the queue.
async fn out_of_descriptors(table: &Table) {
    let _ = table.lock().close_oldest();
    // timer: nothing tells when a descriptor becomes free.
    tokio::time::sleep(Duration::from_millis(100)).await;
}

/// One connection's entry in the table of its server, until it is dropped.
pub(crate) struct Slot {
    table: Arc<Table>,
    id: u64,
    /// Done when the connection is closed to make room for another.
    evicted: CancellationToken,
}

impl Slot {
    /// Whether the caller whose request has come is served. It is looked for at its first request, and not closed for others
    /// meanwhile; later requests make the connection no younger.
    pub(crate) async fn judge(&self, caller: &Caller, access: &Access) -> Result<(), Denied> {
        if let Some(judged) = caller.judged() {
            return judged;
        }
        self.table.change(self.id, |phase| match phase {
            Phase::Waiting { .. } => Phase::Checking,
            phase => phase,
        });
        let judged = caller.judge(access).await;
        self.table.change(self.id, |phase| match phase {
            Phase::Checking => Phase::Waiting { since: Instant::now() },
            phase => phase,
        });
        judged
    }

    /// The client was let in. False if the connection was given up before, and nothing may be done for it.
    #[must_use]
    pub(crate) fn establish(&self) -> bool {
        let phase = self.table.change(self.id, |phase| match phase {
            Phase::Closing => Phase::Closing,
            Phase::Checking | Phase::Waiting { .. } | Phase::Established => Phase::Established,
        });
        phase == Some(Phase::Established)
    }

    /// Done when the connection was pending for too long, or has to make room. Never, once it is established.
    async fn given_up(&self) {
        tokio::select! {
            () = self.evicted.cancelled() => return,
            // timer: a client that connects and says nothing must not be kept.
            () = tokio::time::sleep(PENDING_PATIENCE) => {}
        }
        let phase = self.table.change(self.id, |phase| match phase {
            Phase::Established => Phase::Established,
            Phase::Checking | Phase::Waiting { .. } | Phase::Closing => Phase::Closing,
        });
        if phase == Some(Phase::Established) {
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.table.lock().entries.remove(&self.id);
        self.table.changed.notify_one();
    }
}

/// All connections of a server.
#[derive(Default)]
struct Table {
    entries: Mutex<Entries>,
    /// For the one task that accepts.
    changed: Notify,
}

#[derive(Default)]
struct Entries {
    entries: BTreeMap<u64, Entry>,
    next: u64,
}

struct Entry {
    phase: Phase,
    evicted: CancellationToken,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Pending, and it is our turn: the caller is looked for. Not closed for others, or a client that sent its request at
    /// once could be closed before the request is read.
    Checking,
    /// Pending, and it is the client's turn.
    Waiting { since: Instant },
    /// Given up while it was pending, and gone in a moment.
    Closing,
    /// Its client was let in.
    Established,
}

/// When the next connection may be accepted.
#[derive(Debug, PartialEq, Eq)]
enum Room {
    Now,
    /// Another look is due then.
    At(Instant),
    /// After something has changed.
    Later,
}

impl Table {
    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(self: &Arc<Self>) -> Arc<Slot> {
        let evicted = CancellationToken::new();
        let mut entries = self.lock();
        let id = entries.next;
        entries.next += 1;
        let phase = Phase::Waiting { since: Instant::now() };
        entries.entries.insert(id, Entry { phase, evicted: evicted.clone() });
        Arc::new(Slot { table: Arc::clone(self), id, evicted })
    }

    /// Changes the phase of a connection, and gives the new one.
    fn change(&self, id: u64, change: impl FnOnce(Phase) -> Phase) -> Option<Phase> {
        let mut entries = self.lock();
        let entry = entries.entries.get_mut(&id)?;
        entry.phase = change(entry.phase);
        self.changed.notify_one();
        Some(entry.phase)
    }

    /// Waits until another connection may be accepted, and closes the oldest pending one if that is what it takes.
    async fn room(&self) {
        loop {
            let room = self.lock().make_room();
            match room {
                Room::Now => return,
                Room::Later => self.changed.notified().await,
                Room::At(due) => tokio::select! {
                    () = self.changed.notified() => {}
                    // timer: an age is reached without anything happening.
                    () = tokio::time::sleep_until(due) => {}
                },
            }
        }
    }
}

impl Entries {
    fn make_room(&mut self) -> Room {
        let count =
            |wanted: fn(&Phase) -> bool| self.entries.values().filter(|one| wanted(&one.phase)).count();
        let established = count(|phase| *phase == Phase::Established);
        let is_closing = count(|phase| *phase == Phase::Closing) > 0;
        let pending = self.entries.len() - established;
        if established >= ESTABLISHED_LIMIT {
            return Room::Later;
        }
        if pending < PENDING_LIMIT {
            return Room::Now;
        }
        // One that is closed is counted until its descriptor is free.
        if is_closing { Room::Later } else { self.close_oldest() }
    }

    /// Closes the connection whose client was waited for longest, unless it is too young for that; then gives when to look
    /// again.
    fn close_oldest(&mut self) -> Room {
        let waiting = self.entries.values_mut().filter_map(|entry| match entry.phase {
            Phase::Waiting { since } => Some((since, entry)),
            Phase::Checking | Phase::Closing | Phase::Established => None,
        });
        let Some((since, oldest)) = waiting.min_by_key(|(since, _)| *since) else { return Room::Later };
        let due = since + GRACE;
        if Instant::now() < due {
            return Room::At(due);
        }
        oldest.phase = Phase::Closing;
        oldest.evicted.cancel();
        Room::Later
    }
}

#[cfg(test)]
mod tests;
