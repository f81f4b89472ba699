//! What came in for one consumer and was not taken yet.
//!
//! There is one reader per connection and many consumers, so a consumer that is slow has a bounded queue. What happens
//! when it is full is the consumer's choice: the reader lets the output go by, and the consumer reads it from the server
//! when it gets there; or the reader, and with it the whole connection, waits.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};

use super::output::ClientPiece;
use super::process::Exit;

/// How many bytes may wait for a consumer.
pub(super) const QUEUE_LIMIT: usize = 4 << 20;

/// What becomes of output that comes faster than it is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Slowness {
    /// It goes by, and is read from the server's journal when the consumer gets there. Nobody else waits, and the
    /// process does not either; what the journal no longer keeps by then is reported as dropped. With a server that keeps
    /// no sessions this is the same as [`Slowness::HoldUp`].
    #[default]
    CatchUp,
    /// The connection waits, and so does the process once the server's own limits are reached. Nothing is ever dropped.
    /// Everything else on the connection waits, too: for one whose output matters, or that is alone.
    HoldUp,
}

/// When a consumer has had everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastOf {
    /// With the exit of the root process.
    Exit,
    /// When nothing that it left running can print any more either.
    Close,
}

/// The queue of one consumer.
pub(super) struct Queue {
    state: Mutex<State>,
    /// For the consumer: something changed.
    changed: Notify,
    /// For the reader: there is room.
    room: Notify,
    fate: watch::Sender<Fate>,
    last: LastOf,
    slowness: Slowness,
}

#[derive(Default)]
struct State {
    pieces: VecDeque<ClientPiece>,
    bytes: usize,
    /// Up to where output has come in; nothing where the server does not count it.
    received: Option<u64>,
    /// Whether output went by.
    behind: bool,
    closed: bool,
    /// Nobody will take anything any more.
    abandoned: bool,
}

/// What became of a process, as far as is known.
#[derive(Clone, Debug, Default)]
pub(super) enum Fate {
    #[default]
    Running,
    Exited(Arc<Exit>),
    /// The connection is lost.
    Lost,
}

/// What a consumer is to do.
pub(super) enum ConsumerStep {
    Take(ClientPiece),
    /// Read from the server, from here on.
    CatchUp,
    /// There is nothing more.
    End,
    Lost,
}

impl Queue {
    /// A queue for output from this offset on; nothing where the server does not count it.
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

    /// Takes note that the server does not count output.
    pub(super) fn is_not_counted(&self) {
        self.lock().received = None;
    }

    /// Puts output in line. Waits for room where the consumer wants that.
    pub(super) async fn push(&self, mut piece: ClientPiece) {
        while let Err(refused) = self.try_push(piece) {
            piece = refused;
            self.room.notified().await;
        }
    }

    /// Puts output in line if there is room, or nobody wants it, or it can be read later; else gives it back.
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

    /// Takes note of the end. One that is known already stays.
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

    /// Takes note that nothing more can come.
    pub(super) fn closed(&self) {
        self.lock().closed = true;
        self.changed.notify_one();
    }

    /// Takes note that the connection is lost, or there again.
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

    /// Nobody takes anything any more: what comes goes by.
    pub(super) fn abandon(&self) {
        let mut state = self.lock();
        state.abandoned = true;
        state.pieces = VecDeque::new();
        drop(state);
        self.room.notify_one();
    }

    /// Whether its output was asked for by the number of a session, beside what a process tells by itself.
    pub(super) fn is_subscription(&self) -> bool {
        self.last == LastOf::Close
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.lock().abandoned
    }

    pub(super) fn fate(&self) -> watch::Receiver<Fate> {
        self.fate.subscribe()
    }

    /// From where on output is missing, for a connection that begins anew and brings all of that.
    pub(super) fn begin_anew(&self) -> Option<u64> {
        let mut state = self.lock();
        state.behind = false;
        state.received
    }

    /// Waits for the consumer's next turn. May be dropped without losing anything.
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

    /// The offset of the first byte that waits, if any does.
    pub(super) fn front(&self) -> Option<u64> {
        self.lock().pieces.front().map(ClientPiece::offset)
    }

    /// Takes note of what was read from the server. What comes in and was read already is not wanted again.
    pub(super) fn caught_up_to(&self, offset: u64) {
        let mut state = self.lock();
        state.received = state.received.map(|received| received.max(offset));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
