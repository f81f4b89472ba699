//! Keeps the processes of a lost connection for their client: for a while, under a token that only the client knows.
//!
//! The token stays the same for as long as the processes do. If a resume consumed it, a client whose connection is lost
//! again before it gets the reply could never come back.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::{AbortHandle, JoinSet};

use super::processes::Processes;
use crate::gate::{Token, TokenDigest, TokenError};

/// The grace for a client that asks for none.
const DEFAULT_GRACE: Duration = Duration::from_secs(30);

/// The longest grace.
const LONGEST_GRACE: Duration = Duration::from_secs(600);

/// The limit on clients that are awaited at a time. The processes of one more end at once.
const MOST_AWAITED: usize = 256;

/// The clients that may come back.
#[derive(Debug, Default)]
pub(super) struct ResumableClients {
    /// By the digests of their tokens.
    places: Mutex<HashMap<TokenDigest, ResumableClient>>,
}

/// The processes of one client.
#[derive(Debug)]
struct ResumableClient {
    processes: Arc<Processes>,
    /// The number of the connection that owns the processes. Requests of earlier connections have no effect.
    holder: u64,
    /// The task that ends the processes after the grace; set while the client is away.
    ending: Option<AbortHandle>,
}

/// The promise that processes outlive their connection.
#[derive(Debug)]
pub(super) struct ResumePromise {
    pub(super) token: Token,
    grace: Duration,
    holder: u64,
}

impl ResumePromise {
    fn digest(&self) -> TokenDigest {
        TokenDigest::of(self.token.reveal().as_bytes())
    }

    /// How long they outlive it.
    pub(super) fn grace_ms(&self) -> u64 {
        u64::try_from(self.grace.as_millis()).unwrap_or(u64::MAX)
    }
}

impl ResumableClients {
    /// Reserves an entry under a new token.
    pub(super) fn reserve(
        &self,
        processes: &Arc<Processes>,
        grace_ms: Option<u64>,
    ) -> Result<ResumePromise, TokenError> {
        let promise = ResumePromise { token: Token::random()?, grace: allowed(grace_ms), holder: 0 };
        let place = ResumableClient { processes: Arc::clone(processes), holder: 0, ending: None };
        self.lock().insert(promise.digest(), place);
        Ok(promise)
    }

    /// Hands over the processes of this token, whether its connection is lost or only about to be.
    pub(super) fn take(&self, token: &str, grace_ms: Option<u64>) -> Option<(Arc<Processes>, ResumePromise)> {
        let token = Token::chosen(token).ok()?;
        let mut places = self.lock();
        let place = places.get_mut(&TokenDigest::of(token.reveal().as_bytes()))?;
        if let Some(ending) = place.ending.take() {
            ending.abort();
        }
        place.holder += 1;
        let promise = ResumePromise { token, grace: allowed(grace_ms), holder: place.holder };
        Some((Arc::clone(&place.processes), promise))
    }

    /// The connection is lost: its processes go on for a while. Processes that another connection took over are not
    /// touched.
    pub(super) fn await_return(self: &Arc<Self>, promise: ResumePromise, processes: &Arc<Processes>) {
        let mut places = self.lock();
        let awaited = places.values().filter(|place| place.ending.is_some()).count();
        let Some(place) = places.get_mut(&promise.digest()) else { return };
        if place.holder != promise.holder {
            return;
        }
        processes.let_go();
        let grace = if awaited < MOST_AWAITED { promise.grace } else { Duration::ZERO };
        let resumable = Arc::clone(self);
        let ending = tokio::spawn(async move {
            // timer: how long a client may be away.
            tokio::time::sleep(grace).await;
            if let Some(place) = resumable.give_up(&promise) {
                place.processes.end_all().await;
            }
        });
        place.ending = Some(ending.abort_handle());
    }

    /// Gives up the processes of a client that will not come back. `false`: another connection has taken them over.
    pub(super) fn renounce(&self, promise: &ResumePromise) -> bool {
        self.give_up(promise).is_some()
    }

    /// Removes the entry unless another connection took it over: a client may resume in the very moment in which the
    /// grace ends.
    fn give_up(&self, promise: &ResumePromise) -> Option<ResumableClient> {
        let mut places = self.lock();
        let abandoned = places.get(&promise.digest()).is_some_and(|place| place.holder == promise.holder);
        if abandoned { places.remove(&promise.digest()) } else { None }
    }

    /// Ends all processes that wait for a client.
    pub(super) async fn end_all(&self) {
        let places = std::mem::take(&mut *self.lock());
        let mut ends = JoinSet::new();
        for place in places.into_values() {
            if let Some(ending) = place.ending {
                ending.abort();
            }
            ends.spawn(async move { place.processes.end_all().await });
        }
        while ends.join_next().await.is_some() {}
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TokenDigest, ResumableClient>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn allowed(grace_ms: Option<u64>) -> Duration {
    grace_ms.map_or(DEFAULT_GRACE, Duration::from_millis).min(LONGEST_GRACE)
}
