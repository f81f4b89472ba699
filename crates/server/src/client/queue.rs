//! The queue of output that one consumer has not taken yet.
//!
//! There is one reader per connection and many consumers, so a consumer that is slow has a bounded queue. The consumer
//! chooses what happens when it is full: the reader skips the output, and the consumer reads it from the server when it
//! gets there; or the reader, and with it the whole connection, waits.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};

use super::output::ClientPiece;
use super::process::Exit;

/// How many bytes may wait for a consumer.
pub(super) const QUEUE_LIMIT: usize = 4 << 20;

/// The handling of output that comes faster than its consumer takes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Slowness {
    /// It is skipped, and read from the server's journal when the consumer gets there. Neither other consumers nor the
    /// process wait; output that the journal has dropped by then is reported as dropped. With a server that keeps no
    /// sessions this is the same as [`Slowness::HoldUp`].
    #[default]
    CatchUp,
    /// The connection waits, and so does the process once the server's own limits are reached. Nothing is ever dropped.
    /// Everything else on the connection waits, too: for a consumer whose output matters, or that is alone.
    HoldUp,
}

/// When the output of a consumer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastOf {
    /// With the exit of the root process.
    Exit,
    /// When no process left running can print any more either.
    Close,
}

/// The queue of one consumer.
pub(super) struct Queue {
    state: Mutex<State>,
    /// Wakes the consumer after a change.
    changed: Notify,
    /// Wakes the reader when there is room.
    room: Notify,
    fate: watch::Sender<Fate>,
    last: LastOf,
    slowness: Slowness,
}

#[derive(Default)]
struct State {
    pieces: VecDeque<ClientPiece>,
    bytes: usize,
    /// The offset up to which output has arrived; `None` if the server does not count it.
    received: Option<u64>,
    /// Whether output was skipped.
    behind: bool,
    closed: bool,
    /// The consumer was dropped.
    abandoned: bool,
}

/// The state of a process, as far as the client knows.
#[derive(Clone, Debug, Default)]
pub(super) enum Fate {
    #[default]
    Running,
    Exited(Arc<Exit>),
    /// The connection is lost.
    Lost,
}

/// The next step of a consumer.
pub(super) enum ConsumerStep {
    Take(ClientPiece),
    /// Read from the server, from the current offset on.
    CatchUp,
    /// The output has ended.
    End,
    Lost,
}

impl Queue {
    /// A queue for output from this offset on; `None` if the server does not count it.
    pub(super) fn new(received: Option<u64>, last: LastOf, slowness: Slowness) -> Self {
        Self {
            state: Mutex::new(State { received, ..State::default() }),
            changed: Notify::new(),
            room: Notify::new(),
            fate: watch::Sender::default(),
            last,
            slowness,
        }
    }

    /// Marks the output as not counted by the server.
    pub(super) fn is_not_counted(&self) {
        self.lock().received = None;
    }

    /// Appends output. Waits for room if the consumer chose that.
    pub(super) async fn push(&self, mut piece: ClientPiece) {
        while let Err(refused) = self.try_push(piece) {
            piece = refused;
            self.room.notified().await;
        }
    }

    /// Appends output if there is room, or drops it if it is unwanted or can be read later; otherwise gives it back.
    fn try_push(&self, piece: ClientPiece) -> Result<(), ClientPiece> {
        let mut state = self.lock();
        if state.abandoned || state.behind {
            return Ok(());
        }
        let Some(piece) = piece.after(state.received) else { return Ok(()) };
        let fits = state.pieces.is_empty() || state.bytes + piece.weight() <= QUEUE_LIMIT;
        if !fits && (self.slowness == Slowness::HoldUp || state.received.is_none()) {
            return Err(piece);
        }
        if fits {
            state.bytes += piece.weight();
            state.received = state.received.map(|_| piece.end());
            state.pieces.push_back(piece);
        } else {
            state.behind = true;
        }
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// Records the exit. The first one stays.
    pub(super) fn exited(&self, exit: Exit) {
        self.fate.send_if_modified(|fate| {
            let news = !matches!(fate, Fate::Exited(_));
            if news {
                *fate = Fate::Exited(Arc::new(exit));
            }
            news
        });
        self.changed.notify_one();
    }

    /// Records that no more output can come.
    pub(super) fn closed(&self) {
        self.lock().closed = true;
        self.changed.notify_one();
    }

    /// Records that the connection is lost, or made anew.
    pub(super) fn connection(&self, now: Fate) {
        self.fate.send_if_modified(|fate| {
            let open = !matches!(fate, Fate::Exited(_));
            if open {
                *fate = now;
            }
            open
        });
        self.changed.notify_one();
    }

    /// Marks the queue as abandoned: the reader discards what arrives.
    pub(super) fn abandon(&self) {
        let mut state = self.lock();
        state.abandoned = true;
        state.pieces = VecDeque::new();
        drop(state);
        self.room.notify_one();
    }

    /// Whether its output was requested by the number of a session, beside the output that a process sends anyway.
    pub(super) fn is_subscription(&self) -> bool {
        self.last == LastOf::Close
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.lock().abandoned
    }

    pub(super) fn fate(&self) -> watch::Receiver<Fate> {
        self.fate.subscribe()
    }

    /// The offset from which output is missing. For a new connection, which brings all of that.
    pub(super) fn begin_anew(&self) -> Option<u64> {
        let mut state = self.lock();
        state.behind = false;
        state.received
    }

    /// Waits for the consumer's next step. Cancel safe.
    pub(super) async fn turn(&self) -> ConsumerStep {
        loop {
            if let Some(turn) = self.ready() {
                return turn;
            }
            self.changed.notified().await;
        }
    }

    fn ready(&self) -> Option<ConsumerStep> {
        let mut state = self.lock();
        if let Some(piece) = state.pieces.pop_front() {
            state.bytes -= piece.weight();
            drop(state);
            self.room.notify_one();
            return Some(ConsumerStep::Take(piece));
        }
        if std::mem::take(&mut state.behind) {
            return Some(ConsumerStep::CatchUp);
        }
        match (&*self.fate.borrow(), self.last) {
            (Fate::Lost, _) => Some(ConsumerStep::Lost),
            (Fate::Exited(_), LastOf::Exit) => Some(ConsumerStep::End),
            _ if state.closed => Some(ConsumerStep::End),
            _ => None,
        }
    }

    /// The offset of the first queued byte, if there is one.
    pub(super) fn front(&self) -> Option<u64> {
        self.lock().pieces.front().map(ClientPiece::offset)
    }

    /// Records that output was read from the server. Notifications of output before this offset are ignored.
    pub(super) fn caught_up_to(&self, offset: u64) {
        let mut state = self.lock();
        state.received = state.received.map(|received| received.max(offset));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
