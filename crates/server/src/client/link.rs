//! One connection: requests under way, the reader that completes them, and the routing of notifications.

use std::collections::HashMap;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};
use windlass_protocol::envelope::{self, METHOD_NOT_FOUND, Message, Refusal, RequestId};

use super::endpoint::Wires;
use super::error::ClientError;
use super::queue::Fate;
use super::routes::Routes;
use crate::jsonrpc::connection::{Inbound, Inbox, LAST_ANSWERS};
use crate::jsonrpc::peer::Peer;
use crate::jsonrpc::websocket::close;

/// A connection. Closed when it is dropped.
pub(super) struct Link {
    peer: Peer,
    pending: Arc<Pending>,
    current: Arc<AtomicBool>,
    routes: Arc<Routes>,
    after_loss: AfterLoss,
    gone: CancellationToken,
    _over: DropGuard,
}

/// Whether consumers of output learn that their connection is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterLoss {
    /// They do.
    Told,
    /// They do not: the client makes a new connection.
    Kept,
}

/// Requests that wait for their replies. None once the connection is lost.
struct Pending {
    waiting: Mutex<Option<Waiting>>,
}

#[derive(Default)]
struct Waiting {
    by_id: HashMap<i64, oneshot::Sender<Result<Value, Refusal>>>,
    last_id: i64,
}

impl Link {
    /// Starts to read the connection.
    pub(super) fn new(wires: Wires, routes: Arc<Routes>, after_loss: AfterLoss) -> Self {
        let Wires { inbox, peer, child } = wires;
        let pending = Arc::new(Pending { waiting: Mutex::new(Some(Waiting::default())) });
        let (over, gone) = (CancellationToken::new(), CancellationToken::new());
        let current = Arc::new(AtomicBool::new(false));
        let reader = Reader {
            peer: peer.clone(),
            pending: Arc::clone(&pending),
            current: Arc::clone(&current),
            routes: Arc::clone(&routes),
            after_loss,
            gone: gone.clone(),
        };
        // The task ends with the link, after the closing handshake.
        drop(tokio::spawn(reader.run(inbox, child, over.clone())));
        Self { peer, pending, current, routes, after_loss, gone, _over: over.drop_guard() }
    }

    /// Makes this the current connection: all consumers of output depend on it from now on.
    pub(super) fn take_over(&self) {
        self.current.store(true, Ordering::SeqCst);
        // It may have been lost before the store.
        if self.is_lost() && self.after_loss == AfterLoss::Told {
            self.routes.connection(&Fate::Lost);
        }
    }

    pub(super) fn is_lost(&self) -> bool {
        self.pending.lock().is_none()
    }

    /// A token that is cancelled when the connection is lost.
    pub(super) fn gone(&self) -> CancellationToken {
        self.gone.clone()
    }

    /// Another connection takes over from this one.
    pub(super) fn stand_back(&self) {
        self.current.store(false, Ordering::SeqCst);
    }

    /// Sends a request and waits for the reply. A caller that drops the future discards the reply.
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<T, ClientError> {
        self.peer.room().await.map_err(|_| ClientError::Lost)?;
        let (asked, answer) = self.pending.ask().ok_or(ClientError::Lost)?;
        self.peer.request(&RequestId::Number(asked.id), method, params);
        let result = answer.await.map_err(|_| ClientError::Lost)??;
        serde_json::from_value(result)
            .map_err(|error| ClientError::Nonsense { method: method.to_owned(), reason: error.to_string() })
    }

    /// Sends a request and discards its reply.
    pub(super) fn ask(&self, method: &str, params: &impl Serialize) {
        if let Some((asked, _)) = self.pending.ask() {
            self.peer.request(&RequestId::Number(asked.id), method, params);
        }
    }

    /// Sends a notification.
    pub(super) fn tell(&self, method: &str, params: &impl Serialize) {
        self.peer.notify(method, params);
    }
}

impl Pending {
    fn ask(self: &Arc<Self>) -> Option<(PendingRequest, oneshot::Receiver<Result<Value, Refusal>>)> {
        let (sender, answer) = oneshot::channel();
        let mut waiting = self.lock();
        let waiting = waiting.as_mut()?;
        waiting.last_id += 1;
        waiting.by_id.insert(waiting.last_id, sender);
        Some((PendingRequest { pending: Arc::clone(self), id: waiting.last_id }, answer))
    }

    fn settle(&self, id: &RequestId, outcome: Result<Value, Refusal>) {
        let RequestId::Number(id) = id else { return };
        let asked = self.lock().as_mut().and_then(|waiting| waiting.by_id.remove(id));
        if let Some(asked) = asked {
            // The caller may have stopped waiting.
            let _ = asked.send(outcome);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that waits for its reply; it is forgotten when the caller drops this value.
struct PendingRequest {
    pending: Arc<Pending>,
    id: i64,
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        if let Some(waiting) = self.pending.lock().as_mut() {
            waiting.by_id.remove(&self.id);
        }
    }
}

/// The one task that reads a connection.
struct Reader {
    peer: Peer,
    pending: Arc<Pending>,
    current: Arc<AtomicBool>,
    routes: Arc<Routes>,
    after_loss: AfterLoss,
    gone: CancellationToken,
}

impl Reader {
    async fn run(self, mut inbox: Inbox, child: Option<Child>, over: CancellationToken) {
        let reading = async {
            while let Some(inbound) = inbox.next().await {
                match inbound {
                    Inbound::Message(message) => self.take(&message).await,
                    Inbound::Aside => {}
                    Inbound::TooLong(_) => return,
                }
            }
        };
        tokio::select! {
            () = reading => {}
            () = self.peer.gone() => {}
            () = over.cancelled() => {}
        }
        *self.pending.lock() = None;
        if self.current.load(Ordering::SeqCst) && self.after_loss == AfterLoss::Told {
            self.routes.connection(&Fate::Lost);
        }
        self.gone.cancel();
        // timer: a server that does not take the last messages must not keep this task.
        let _ = tokio::time::timeout(LAST_ANSWERS, self.peer.finish(close::NORMAL)).await;
        drop((self, inbox));
        if let Some(mut child) = child {
            // The program ends when its input does; until then a task must wait for it, or it would stay a zombie.
            drop(tokio::task::spawn_blocking(move || child.wait()).await);
        }
    }

    async fn take(&self, message: &[u8]) {
        match envelope::read(message) {
            Ok(Message::Answer { id, outcome }) => self.pending.settle(&id, outcome),
            Ok(Message::Notification { method, params }) => self.routes.take(&method, params).await,
            Ok(Message::Request { id, method, .. }) => {
                let refusal = Refusal::new(METHOD_NOT_FOUND, format!("this client has no method `{method}`"));
                self.peer.refuse(&id, &refusal);
            }
            // Ignore a message that is not JSON-RPC: the fault is the server's.
            Err(_) => {}
        }
    }
}
