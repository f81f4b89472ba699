//! One connection: its client, its processes, and the dispatch of messages to methods.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinSet};
use windlass_engine::SessionId;
use windlass_protocol::app::{Method, Resumable, ResumeRequest};
use windlass_protocol::envelope::{
    self, INTERNAL_ERROR, INVALID_REQUEST, Message, NoMessage, OVERLOADED, Refusal, RequestId,
};

use super::AppServer;
use super::methods;
use super::processes::Processes;
use super::resumable::ResumePromise;
use crate::jsonrpc::connection::MESSAGE_LIMIT;
use crate::jsonrpc::{MessageHandler, Next, Peer};
use crate::panics::survived;

/// The state of one connection.
pub(super) struct Connection {
    pub(super) server: AppServer,
    pub(super) peer: Peer,
    pub(super) processes: Arc<Processes>,
    /// The client; set by `initialize`.
    client: Option<Arc<Client>>,
    /// Reads, waits and subscriptions under way. They end with the connection.
    errands: JoinSet<()>,
    /// Lets one large read build its reply at a time.
    pub(super) reading: Arc<Semaphore>,
    /// The tasks in `errands` that follow a session.
    subscriptions: HashMap<SessionId, AbortHandle>,
    /// The token under which the client can resume if the connection is lost.
    promise: Option<ResumePromise>,
    after_loss: AfterLoss,
    is_closed: bool,
}

/// The limit on reads, waits and subscriptions under way at a time.
const ERRANDS: usize = 1024;

/// Whether a client can come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterLoss {
    /// It may resume on another connection.
    MayReturn,
    /// The client cannot come back: it has no other connection.
    Ends,
}

/// The properties that a client declared in `initialize`.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) experimental: bool,
    pub(super) opted_out: HashSet<String>,
}

impl Client {
    /// Whether the client wants this notification.
    pub(super) fn wants(&self, notification: &str) -> bool {
        !self.opted_out.contains(notification)
    }
}

/// The parameters and the id of one request.
pub(super) struct Request {
    pub(super) id: RequestId,
    pub(super) params: Value,
}

impl Request {
    /// Parses the parameters into the method's own type.
    pub(super) fn read<T: DeserializeOwned>(&mut self) -> Result<T, Refusal> {
        let params = match self.params.take() {
            Value::Null => return Err(invalid("missing field `params`")),
            params => params,
        };
        serde_json::from_value(params).map_err(|error| invalid(&error.to_string()))
    }
}

/// The error for a request whose members have the wrong types.
fn invalid(what: &str) -> Refusal {
    Refusal::new(INVALID_REQUEST, format!("Invalid request: {what}"))
}

impl Connection {
    pub(super) fn new(server: AppServer, peer: Peer, after_loss: AfterLoss) -> Self {
        let processes = Arc::new(Processes::new(server.options().state_directory.clone()));
        Self {
            server,
            peer,
            processes,
            client: None,
            errands: JoinSet::new(),
            reading: Arc::new(Semaphore::new(1)),
            subscriptions: HashMap::new(),
            promise: None,
            after_loss,
            is_closed: false,
        }
    }

    /// The client; an error before `initialize`.
    pub(super) fn client(&self) -> Result<&Arc<Client>, Refusal> {
        self.client.as_ref().ok_or_else(|| Refusal::new(INVALID_REQUEST, "Not initialized"))
    }

    /// Stores the client. A second `initialize` is an error.
    pub(super) fn introduce(&mut self, client: Client) -> Result<(), Refusal> {
        if self.client.is_some() {
            return Err(Refusal::new(INVALID_REQUEST, "Already initialized"));
        }
        self.client = Some(Arc::new(client));
        Ok(())
    }

    /// Rejects a method that is experimental unless the client asked for experimental methods.
    pub(super) fn require_experimental(&self, what: &str) -> Result<(), Refusal> {
        if self.client()?.experimental {
            return Ok(());
        }
        Err(Refusal::new(INVALID_REQUEST, format!("{what} requires experimentalApi capability")))
    }

    /// Takes over the processes of an earlier connection, if there are any, and reserves a token under which they can
    /// be taken over again.
    pub(super) fn resume(&mut self, request: &ResumeRequest) -> Result<Option<Resumable>, Refusal> {
        if self.after_loss == AfterLoss::Ends {
            return Ok(None);
        }
        let resumable = self.server.resumable_clients();
        let former = request.token.as_ref().and_then(|token| resumable.take(token, request.grace_ms));
        let resumed = former.is_some();
        let promise = match former {
            Some((processes, promise)) => {
                self.processes = processes;
                // The follower of the earlier connection may still be running.
                self.processes.let_go();
                promise
            }
            None => resumable.reserve(&self.processes, request.grace_ms).map_err(|error| {
                Refusal::new(INTERNAL_ERROR, format!("cannot make a token to resume with: {error}"))
            })?,
        };
        let resumable =
            Resumable { token: promise.token.reveal().to_owned(), grace_ms: promise.grace_ms(), resumed };
        self.promise = Some(promise);
        Ok(Some(resumable))
    }

    /// Withdraws the promise that processes outlive the connection. `false`: another connection has taken them over.
    pub(super) fn will_not_resume(&mut self) -> bool {
        match self.promise.take() {
            None => true,
            Some(promise) if self.server.resumable_clients().renounce(&promise) => true,
            Some(promise) => {
                self.promise = Some(promise);
                false
            }
        }
    }

    /// Runs a task beside the messages.
    pub(super) fn run_errand(
        &mut self,
        errand: impl Future<Output = ()> + Send + 'static,
    ) -> Result<AbortHandle, Refusal> {
        while self.errands.try_join_next().is_some() {}
        if self.errands.len() >= ERRANDS {
            let message =
                format!("{ERRANDS} reads, waits and subscriptions are under way on this connection");
            return Err(Refusal::new(OVERLOADED, message));
        }
        Ok(self.errands.spawn(errand))
    }

    /// Runs a task that answers a request when it is done. If it panics, the request is answered with an error.
    pub(super) fn run_answering(
        &mut self,
        id: RequestId,
        errand: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), Refusal> {
        let peer = self.peer.clone();
        let answering = async move {
            if let Err(panicked) = survived(errand).await {
                peer.refuse(&id, &panicked.into());
            }
        };
        self.run_errand(answering).map(drop)
    }

    /// Records the task that follows a session, or removes it with `None`. A former follower is aborted.
    pub(super) fn subscribed(&mut self, session: SessionId, follower: Option<AbortHandle>) {
        let former = match follower {
            Some(follower) => self.subscriptions.insert(session, follower),
            None => self.subscriptions.remove(&session),
        };
        if let Some(former) = former {
            former.abort();
        }
        self.subscriptions.retain(|_, follower| !follower.is_finished());
    }

    async fn request(&mut self, method: &str, request: Request) {
        let id = request.id.clone();
        let done = match Method::from_name(method) {
            Some(method) => methods::call(self, method, request).await,
            None => Err(unknown(method)),
        };
        if let Err(refusal) = done {
            self.peer.refuse(&id, &refusal);
        }
    }
}

fn unknown(method: &str) -> Refusal {
    let known: Vec<String> = Method::ALL.iter().map(|method| format!("`{}`", method.name())).collect();
    invalid(&format!("unknown variant `{method}`, expected one of {}", known.join(", ")))
}

impl MessageHandler for Connection {
    async fn take(&mut self, message: &[u8]) -> Next {
        match envelope::read(message) {
            Ok(Message::Request { id, method, params }) => {
                self.request(&method, Request { id, params }).await;
            }
            // The server sends no requests, and the notifications of clients require no action.
            Ok(Message::Notification { .. } | Message::Answer { .. }) => {}
            Err(NoMessage { reason, id: Some(id) }) => self.peer.refuse(&id, &invalid(&reason)),
            // The id is unknown, so no reply can be addressed; clients of this dialect expect none.
            Err(NoMessage { id: None, .. }) => {}
        }
        Next::GoOn
    }

    /// Rejects a message that is too long. Its id is known only if it stands at the beginning.
    fn too_long(&mut self, beginning: &[u8]) {
        if let Some(id) = envelope::id_at_the_beginning(beginning) {
            self.peer.refuse(&id, &invalid(&format!("the message is longer than {MESSAGE_LIMIT} bytes")));
        }
    }

    async fn close(mut self) {
        self.errands.abort_all();
        match self.promise.take() {
            Some(promise) => self.server.resumable_clients().await_return(promise, &self.processes),
            None => self.processes.end_all().await,
        }
        self.is_closed = true;
    }
}

impl Drop for Connection {
    /// The connection was dropped without `close`, after a panic for example. Its processes must be ended all the same.
    fn drop(&mut self) {
        let Ok(runtime) = Handle::try_current() else { return };
        if self.is_closed {
            return;
        }
        match self.promise.take() {
            Some(promise) => self.server.resumable_clients().await_return(promise, &self.processes),
            None => {
                let processes = Arc::clone(&self.processes);
                drop(runtime.spawn(async move { processes.end_all().await }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use windlass_engine::sandbox::Policy;
    use windlass_engine::{Cause, Engine, EngineOptions};
    use windlass_testkit::HANG;

    use super::*;
    use crate::app::AppOptions;
    use crate::jsonrpc::{Framing, Stamping};

    #[tokio::test]
    async fn a_connection_that_nobody_closes_leaves_nothing_running() {
        let engine = Engine::new(EngineOptions::default()).expect("an engine can be made");
        let options = AppOptions {
            directory: "/".into(),
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            state_directory: "/state".into(),
            sandbox: Policy::FullAccess,
            process_sandbox: Policy::FullAccess,
        };
        let peer = Peer::new(Box::new(tokio::io::sink()), Framing::Lines, Stamping::Plain);
        let mut connection = Connection::new(AppServer::new(engine.clone(), options), peer, AfterLoss::Ends);
        for message in [
            r#"{"id":1,"method":"initialize","params":{"clientInfo":{"name":"test","version":"1"}}}"#,
            r#"{"id":2,"method":"command/exec","params":{"command":["sleep","1000"]}}"#,
        ] {
            connection.take(message.as_bytes()).await;
        }
        let session = connection.processes.all().remove(0).session.clone();
        drop(connection);
        let ended = tokio::time::timeout(HANG, session.exited()).await.expect("it is ended");
        assert_eq!(ended.expect("it is watched").cause, Cause::Dropped);
        engine.shutdown().await;
    }
}
