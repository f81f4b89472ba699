//! The order of calls about one session: they are carried out as they arrived, and each reply has the output of its own
//! call.
//!
//! A call takes its ticket when it arrives, before a task is spawned for it: tasks are polled in any order. A write
//! holds up the calls behind it until its reply is made, so that no other reply shows its output. It holds them up for
//! no longer than its yield time, whatever its `until` says: a program may need the next line to reach the state for
//! which the first call waits.
//!
//! A finished reply is not yet on its way: tasks carry it to the transport, in any order. A transport that answers in
//! the order of arrival reports when a response is sent, and the calls behind it wait for that, too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::arguments::{SessionRef, session};
use crate::delivery::Delivery;
use crate::toolbox::Toolbox;

/// How long calls wait until a finished response is sent. A client that does not read one of its connections must not
/// block its others.
const SENT_WITHIN: Duration = Duration::from_secs(5);

/// Calls that were admitted and hold up others, by session.
#[derive(Debug, Default)]
pub(crate) struct SessionQueues(Mutex<BTreeMap<SessionRef, Vec<Stages>>>);

/// How far a call has got.
#[derive(Clone, Debug, Default)]
struct Stages {
    /// The call has taken effect on the session: its input was written.
    effective: CancellationToken,
    /// Calls behind it may be carried out.
    released: CancellationToken,
    /// The reply is made, and the calls behind it wait until it is sent.
    replied: CancellationToken,
    /// The transport sent the response, or lost it.
    sent: CancellationToken,
}

/// The place of a call among those about the same session. The calls behind it are released when its last handle is
/// dropped, or before.
#[derive(Clone, Debug)]
pub struct CallTicket(Arc<Ticket>);

#[derive(Debug)]
struct Ticket {
    before: Vec<Stages>,
    own: Stages,
    rank: Rank,
    /// The transport reports when the response is sent.
    is_sent_in_order: AtomicBool,
}

/// How a call stands to those before it and behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rank {
    /// Has output of its own, for which the calls behind it wait for so long.
    Writes(Duration),
    /// Reads the output, after the calls before it and before those behind it.
    Reads,
    /// Waits for the session. It may wait for minutes, and those behind it do not.
    Polls,
    /// Must not wait for replies: it can end the calls that wait.
    Controls,
}

impl Toolbox {
    /// Takes the place of a call that has just arrived. A protocol that runs its calls in tasks takes it before it
    /// spawns them; [`Toolbox::call`] takes it if the call has none. Calls about no session have none.
    pub fn ticket(&self, tool: &str, arguments: &Map<String, Value>) -> Option<CallTicket> {
        let rank = Rank::of(tool, arguments)?;
        // A call that names a session twice must not wait for itself.
        let sessions: BTreeSet<_> = named(arguments).into_iter().map(|asked| self.canonical(asked)).collect();
        Some(self.queues().ticket(sessions, rank))
    }

    /// The same session has the same key, whether a call names or numbers it.
    fn canonical(&self, asked: SessionRef) -> SessionRef {
        self.find_held(&asked).map_or(asked, |held| SessionRef::Number(held.number.0))
    }
}

/// The sessions that arguments name.
fn named(arguments: &Map<String, Value>) -> Vec<SessionRef> {
    const FIELD: &str = "session_id";
    let one = arguments.get(FIELD).into_iter();
    let several = arguments.get("session_ids").and_then(Value::as_array).into_iter().flatten();
    one.chain(several).filter_map(|value| session(FIELD, value.clone()).ok()).collect()
}

impl Rank {
    fn of(tool: &str, arguments: &Map<String, Value>) -> Option<Self> {
        match tool {
            "write_stdin" => Some(crate::tool::holds(arguments).map_or(Self::Polls, Self::Writes)),
            "read_output" => Some(Self::Reads),
            "wait_sessions" | "stop_session" => Some(Self::Controls),
            _ => None,
        }
    }
}

impl SessionQueues {
    fn ticket(&self, sessions: BTreeSet<SessionRef>, rank: Rank) -> CallTicket {
        let own = Stages::default();
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        queues.retain(|_, calls| {
            calls.retain(|call| !call.is_over());
            !calls.is_empty()
        });
        let mut before = Vec::new();
        for session in sessions {
            let calls = queues.entry(session).or_default();
            before.extend(calls.iter().cloned());
            calls.push(own.clone());
        }
        CallTicket(Arc::new(Ticket { before, own, rank, is_sent_in_order: AtomicBool::new(false) }))
    }
}

impl CallTicket {
    /// Makes the calls behind this one wait until the response to its request is sent or lost. A response that is sent
    /// before the reply is made, because the call became a task, holds up nothing.
    pub fn sent_with(&self, response: &Delivery) {
        // No handle of the delivery may be held here: a response is lost when the transport drops its last one.
        let sent = self.0.own.sent.clone();
        response.on_settled(move |_| sent.cancel());
        self.0.is_sent_in_order.store(true, Ordering::Relaxed);
    }

    /// Carries a call out when its turn comes.
    pub(crate) async fn in_turn<T>(&self, call: impl Future<Output = T>) -> T {
        // Calls that are given up release those behind them.
        let _release = ReleaseOnDrop(&self.0.own);
        self.turn().await;
        let reply = self.carried_out(call).await;
        if self.0.is_sent_in_order.load(Ordering::Relaxed) {
            self.0.own.reply();
        }
        reply
    }

    async fn carried_out<T>(&self, call: impl Future<Output = T>) -> T {
        match self.0.rank {
            Rank::Writes(hold) => self.write(call, hold).await,
            Rank::Reads => {
                self.is_effective();
                call.await
            }
            Rank::Polls | Rank::Controls => {
                self.0.own.release();
                call.await
            }
        }
    }

    /// Holds up the calls behind this one until its reply is made, but for no longer than this after the session has
    /// received its text.
    async fn write<T>(&self, call: impl Future<Output = T>, hold: Duration) -> T {
        let mut call = std::pin::pin!(call);
        tokio::select! {
            biased;
            done = &mut call => return done,
            () = self.0.own.effective.cancelled() => {}
        }
        // timer: a call may wait for an event that only a later call causes.
        if let Ok(done) = tokio::time::timeout(hold, &mut call).await {
            return done;
        }
        self.0.own.release();
        call.await
    }

    /// Notes that the call has taken effect on the session.
    pub(crate) fn is_effective(&self) {
        self.0.own.effective.cancel();
    }

    async fn turn(&self) {
        for call in &self.0.before {
            match self.0.rank {
                Rank::Controls => call.effective.cancelled().await,
                Rank::Writes(_) | Rank::Reads | Rank::Polls => call.over().await,
            }
        }
    }
}

impl Stages {
    fn release(&self) {
        self.effective.cancel();
        self.released.cancel();
    }

    fn reply(&self) {
        self.effective.cancel();
        self.replied.cancel();
    }

    /// The call is done: releases those behind it, unless they wait for its response to be sent.
    fn end(&self) {
        if !self.replied.is_cancelled() {
            self.release();
        }
    }

    fn is_over(&self) -> bool {
        self.released.is_cancelled() || (self.replied.is_cancelled() && self.sent.is_cancelled())
    }

    /// Waits until calls behind this one may be carried out.
    async fn over(&self) {
        let sent = async {
            self.replied.cancelled().await;
            // timer: the client may not read the connection that the response goes to.
            let _ = tokio::time::timeout(SENT_WITHIN, self.sent.cancelled()).await;
        };
        tokio::select! {
            () = self.released.cancelled() => {}
            () = sent => {}
        }
    }
}

struct ReleaseOnDrop<'a>(&'a Stages);

impl Drop for ReleaseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.own.end();
    }
}
