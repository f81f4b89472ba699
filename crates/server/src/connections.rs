//! The connections of a server: how many there are at a time, and which one is closed when there are too many.
//!
//! A connection is *pending* until its client has shown a valid token, or finished the handshake of a WebSocket. Every
//! process that reaches the address can open such connections and leave them there, so they are counted apart from
//! those of clients: they are few, they have little time, and the oldest is closed to make room for the next. A client
//! that sends its request at once is therefore served, however many others never do.
//!
//! An admitted client keeps its connection while a request is carried out. Before its first request is complete, and
//! between two requests over HTTP, the connection can be closed to make room, too. The server closes one of the peer
//! that has most of them, so that one peer does not push out the others.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::caller::{Caller, Denied};
use crate::gate::Access;
use crate::jsonrpc::ws_upgrade::Stream;

/// The limit on connections of admitted clients. Beyond it the next client replaces another, or waits for one to end.
/// Pending connections may still be admitted, so there can be a few more.
pub(crate) const ESTABLISHED_LIMIT: usize = 512;

/// The most pending connections. Together with the others they leave a process with the usual limit of 1,024 descriptors
/// enough for its commands.
pub(crate) const PENDING_LIMIT: usize = 128;

/// How long a connection may be pending.
const PENDING_PATIENCE: Duration = Duration::from_secs(10);

/// How long a connection may be pending in any case: a request takes a moment to arrive, and a TLS handshake several.
/// While all are younger than this, the next has to wait.
const GRACE: Duration = Duration::from_millis(250);

/// How long an admitted client may take to send the headers of a request, or be silent between two.
pub(crate) const HEADER_PATIENCE: Duration = Duration::from_secs(30);

/// How long an admitted client may take to send the body of a request.
pub(crate) const BODY_PATIENCE: Duration = Duration::from_secs(30);

/// The idle time of TCP keepalive.
const ARE_YOU_THERE: Duration = Duration::from_secs(60);

/// The interval and the number of keepalive probes before the client counts as gone.
const ASK_AGAIN: Duration = Duration::from_secs(15);
const ASK_TIMES: u32 = 4;

/// A listening socket.
pub(crate) trait Entrance: Sync {
    /// The type of its connections.
    type Stream: Stream;

    /// Accepts the next client.
    fn next(&self) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// The process behind a connection.
    fn caller(stream: &Self::Stream) -> Caller;

    /// The peer for which the connection counts.
    fn peer(stream: &Self::Stream) -> PeerKey;
}

/// Connections with the same key come from the same peer, as far as the server knows without a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PeerKey {
    /// A machine. All processes of this machine are one peer over TCP.
    Address(IpAddr),
    /// A process of a user, over a unix socket.
    Process(u32, Option<i32>),
    /// The peer disconnected before it could be identified.
    Unknown,
}

impl Entrance for TcpListener {
    type Stream = TcpStream;

    async fn next(&self) -> io::Result<TcpStream> {
        self.accept().await.map(|(stream, _)| prepared(stream))
    }

    fn caller(stream: &TcpStream) -> Caller {
        Caller::tcp(stream)
    }

    fn peer(stream: &TcpStream) -> PeerKey {
        stream.peer_addr().map_or(PeerKey::Unknown, |address| PeerKey::Address(address.ip()))
    }
}

fn prepared(stream: TcpStream) -> TcpStream {
    // Without this, Nagle's algorithm may hold a reply back until the client acknowledges the one before.
    let _ = stream.set_nodelay(true);
    // A client whose machine was switched off sends nothing, and its processes would run for ever.
    let _ = rustix::net::sockopt::set_socket_keepalive(&stream, true);
    let _ = rustix::net::sockopt::set_tcp_keepidle(&stream, ARE_YOU_THERE);
    let _ = rustix::net::sockopt::set_tcp_keepintvl(&stream, ASK_AGAIN);
    let _ = rustix::net::sockopt::set_tcp_keepcnt(&stream, ASK_TIMES);
    stream
}

/// Accepts connections until `stop` is done, each in a task of its own; returns the tasks that have not ended by then.
///
/// `converse` updates its slot: whether the server or the client has to act next, and when the client was admitted.
/// Until then its future may be dropped at any moment.
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
                    let slot = table.slot(E::peer(&stream));
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

/// Makes room when accepting fails for lack of descriptors; the client stays in the queue.
async fn out_of_descriptors(table: &Table) {
    let _ = table.lock().close_one(Phase::waits);
    // timer: no event says that a descriptor became free.
    tokio::time::sleep(Duration::from_millis(100)).await;
}

/// A connection's entry in the table of its server; removed on drop.
pub(crate) struct Slot {
    table: Arc<Table>,
    id: u64,
    /// Cancelled to close the connection and make room for another.
    evicted: CancellationToken,
}

impl Slot {
    /// Judges the caller whose request has come. The search runs at the first request, and the connection is not closed
    /// for others meanwhile; later requests make it no younger.
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

    /// The client was admitted, and its request is still to come. `false` if the connection was given up before: its
    /// requests must not be carried out.
    #[must_use]
    pub(crate) fn let_in(&self) -> bool {
        self.enter(Phase::Quiet { since: Instant::now() })
    }

    /// The request has arrived, or the first message of a WebSocket. `false` as above.
    #[must_use]
    pub(crate) fn establish(&self) -> bool {
        self.enter(Phase::Established)
    }

    fn enter(&self, next: Phase) -> bool {
        let phase = self.table.change(self.id, |phase| match phase {
            Phase::Closing => Phase::Closing,
            Phase::Checking | Phase::Waiting { .. } | Phase::Quiet { .. } | Phase::Established => next,
        });
        phase == Some(next)
    }

    /// Waits until the connection was pending for too long, or has to make room.
    async fn given_up(&self) {
        tokio::select! {
            () = self.evicted.cancelled() => return,
            // timer: a client that connects and sends nothing must not keep its connection.
            () = tokio::time::sleep(PENDING_PATIENCE) => {}
        }
        let phase = self.table.change(self.id, |phase| match phase {
            Phase::Checking | Phase::Waiting { .. } | Phase::Closing => Phase::Closing,
            phase => phase,
        });
        if phase != Some(Phase::Closing) {
            self.evicted.cancelled().await;
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
    /// Wakes the one task that accepts.
    changed: Notify,
}

#[derive(Default)]
struct Entries {
    entries: BTreeMap<u64, Entry>,
    next: u64,
}

struct Entry {
    phase: Phase,
    peer: PeerKey,
    evicted: CancellationToken,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Pending while the server looks for the caller. Not closed for others, or a client that sent its request at once
    /// could lose its connection before the request is read.
    Checking,
    /// Pending while the server waits for the client.
    Waiting { since: Instant },
    /// Given up while it was pending; removed in a moment.
    Closing,
    /// Admitted and idle: no request is under way.
    Quiet { since: Instant },
    /// Admitted, with a request under way.
    Established,
}

impl Phase {
    /// The time since which a pending connection waits for its client.
    fn waits(self) -> Option<Instant> {
        match self {
            Self::Waiting { since } => Some(since),
            _ => None,
        }
    }

    /// The time since which an admitted client has no request under way.
    fn is_quiet(self) -> Option<Instant> {
        match self {
            Self::Quiet { since } => Some(since),
            _ => None,
        }
    }
}

/// When the next connection may be accepted.
#[derive(Debug, PartialEq, Eq)]
enum Room {
    Now,
    /// Look again at this time.
    At(Instant),
    /// Look again after a change.
    Later,
}

impl Table {
    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(self: &Arc<Self>, peer: PeerKey) -> Arc<Slot> {
        let evicted = CancellationToken::new();
        let mut entries = self.lock();
        let id = entries.next;
        entries.next += 1;
        let phase = Phase::Waiting { since: Instant::now() };
        entries.entries.insert(id, Entry { phase, peer, evicted: evicted.clone() });
        Arc::new(Slot { table: Arc::clone(self), id, evicted })
    }

    /// Changes the phase of a connection, and returns the new one.
    fn change(&self, id: u64, change: impl FnOnce(Phase) -> Phase) -> Option<Phase> {
        let mut entries = self.lock();
        let entry = entries.entries.get_mut(&id)?;
        entry.phase = change(entry.phase);
        self.changed.notify_one();
        Some(entry.phase)
    }

    /// Waits until another connection may be accepted; closes one if necessary.
    async fn room(&self) {
        loop {
            let room = self.lock().make_room();
            match room {
                Room::Now => return,
                Room::Later => self.changed.notified().await,
                Room::At(due) => tokio::select! {
                    () = self.changed.notified() => {}
                    // timer: a connection comes of age without an event.
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
        let let_in = count(|phase| matches!(phase, Phase::Quiet { .. } | Phase::Established));
        let is_closing = count(|phase| *phase == Phase::Closing) > 0;
        let pending = self.entries.len() - let_in;
        if let_in < ESTABLISHED_LIMIT && pending < PENDING_LIMIT {
            return Room::Now;
        }
        // A closed connection counts until its descriptor is free.
        if is_closing {
            return Room::Later;
        }
        if let_in >= ESTABLISHED_LIMIT {
            self.close_one(Phase::is_quiet)
        } else {
            self.close_one(Phase::waits)
        }
    }

    /// Closes a connection that waits for its client: of the peer that has most of them, the one that waits for
    /// longest. If that is too young, returns when to look again.
    fn close_one(&mut self, waits: fn(Phase) -> Option<Instant>) -> Room {
        let mut peers: HashMap<PeerKey, usize> = HashMap::new();
        for entry in self.entries.values().filter(|entry| waits(entry.phase).is_some()) {
            *peers.entry(entry.peer).or_default() += 1;
        }
        let most = peers.values().copied().max().unwrap_or_default();
        let candidates = self.entries.values_mut().filter(|entry| peers.get(&entry.peer) == Some(&most));
        let waiting = candidates.filter_map(|entry| waits(entry.phase).map(|since| (since, entry)));
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
