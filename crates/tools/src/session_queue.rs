//! The order of calls about one session: they are carried out as they arrived, and each reply has the output of its own call.
//!
//! A call takes its ticket when it arrives, before a task is spawned for it: tasks are polled in any order. A write holds up
//! the calls behind it until its reply is made, so that no other reply shows its output. It holds them up for no longer than
//! its yield time, whatever its `until` says: a program may need the next line to get to where the first call waits for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::arguments::{SessionRef, session};
use crate::toolbox::Toolbox;

/// Calls that were admitted and hold up others, by session.
#[derive(Debug, Default)]
pub(crate) struct SessionQueues(Mutex<BTreeMap<SessionRef, Vec<Stages>>>);

/// How far a call has got.
#[derive(Clone, Debug, Default)]
struct Stages {
    /// The session has what the call gives it.
    effective: CancellationToken,
    /// Calls behind it may be carried out.
    released: CancellationToken,
}

/// The place of a call among those about the same session. The calls behind it are let go when its last handle is dropped,
/// or before.
#[derive(Clone, Debug)]
pub struct CallTicket(Arc<Ticket>);

#[derive(Debug)]
struct Ticket {
    before: Vec<Stages>,
    own: Stages,
    rank: Rank,
}

/// How a call stands to those before it and behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rank {
    /// Has output of its own, for which those behind it wait for so long.
    Writes(Duration),
    /// Looks at the output, after what the calls before it did and before what those behind it do.
    Reads,
    /// Waits for the session. It may wait for minutes, and those behind it do not.
    Polls,
    /// Must not wait for replies: it is what ends them.
    Controls,
}

impl Toolbox {
    /// Takes the place of a call that has just arrived. A protocol that hands its calls to tasks takes it before it spawns
    /// them; [`Toolbox::call`] takes it where the call has none. There is none for calls about no session.
    pub fn ticket(&self, tool: &str, arguments: &Map<String, Value>) -> Option<CallTicket> {
        let rank = Rank::of(tool, arguments)?;
        // A call that names a session twice must not wait for itself.
        let sessions: BTreeSet<_> = named(arguments).into_iter().map(|asked| self.canonical(asked)).collect();
        Some(self.queues().ticket(sessions, rank))
    }

    /// The same session has the same key, whether it is named or numbered.
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
            calls.retain(|call| !call.released.is_cancelled());
            !calls.is_empty()
        });
        let mut before = Vec::new();
        for session in sessions {
            let calls = queues.entry(session).or_default();
            before.extend(calls.iter().cloned());
            calls.push(own.clone());
        }
        CallTicket(Arc::new(Ticket { before, own, rank }))
    }
}

impl CallTicket {
    /// Carries a call out when its turn comes.
    pub(crate) async fn in_turn<T>(&self, call: impl Future<Output = T>) -> T {
        let _release = ReleaseOnDrop(&self.0.own);
        self.turn().await;
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

    /// Holds up the calls behind this one until its reply is made, but not for longer than this from when the session has its text.
    async fn write<T>(&self, call: impl Future<Output = T>, hold: Duration) -> T {
        let mut call = std::pin::pin!(call);
        tokio::select! {
            biased;
            done = &mut call => return done,
            () = self.0.own.effective.cancelled() => {}
        }
        // timer: a call may wait for what only a later call brings about.
        if let Ok(done) = tokio::time::timeout(hold, &mut call).await {
            return done;
        }
        self.0.own.release();
        call.await
    }

    /// Notes that the session has what this call gives it.
    pub(crate) fn is_effective(&self) {
        self.0.own.effective.cancel();
    }

    async fn turn(&self) {
        for call in &self.0.before {
            match self.0.rank {
                Rank::Controls => call.effective.cancelled().await,
                Rank::Writes(_) | Rank::Reads | Rank::Polls => call.released.cancelled().await,
            }
        }
    }
}

impl Stages {
    fn release(&self) {
        self.effective.cancel();
        self.released.cancel();
    }
}

struct ReleaseOnDrop<'a>(&'a Stages);

impl Drop for ReleaseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.own.release();
    }
}
