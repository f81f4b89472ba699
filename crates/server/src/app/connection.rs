//! One connection: which client it is, what it runs, and which method a message is for.

use std::collections::HashSet;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::task::JoinSet;
use windlass_protocol::app::Method;
use windlass_protocol::envelope::{self, INVALID_REQUEST, Message, NoMessage, Refusal, RequestId};

use super::AppServer;
use super::methods;
use super::processes::Processes;
use crate::jsonrpc::{Dialect, Next, Peer};

/// The state of one connection.
pub(super) struct Connection {
    pub(super) server: AppServer,
    pub(super) peer: Peer,
    pub(super) processes: Arc<Processes>,
    /// Known once it has introduced itself.
    client: Option<Arc<Client>>,
    /// What goes on beside the messages. Ends with the connection.
    tasks: JoinSet<()>,
}

/// What is known about the other side.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) experimental: bool,
    pub(super) opted_out: HashSet<String>,
}

impl Client {
    /// Whether it wants to hear of this.
    pub(super) fn wants(&self, notification: &str) -> bool {
        !self.opted_out.contains(notification)
    }
}

/// One request on its way to a method.
pub(super) struct Request {
    pub(super) id: RequestId,
    pub(super) params: Value,
}

impl Request {
    /// What it asks for, in the method's own shape.
    pub(super) fn read<T: DeserializeOwned>(&mut self) -> Result<T, Refusal> {
        let params = match self.params.take() {
            Value::Null => return Err(invalid("missing field `params`")),
            params => params,
        };
        serde_json::from_value(params).map_err(|error| invalid(&error.to_string()))
    }
}

/// A request whose members have the wrong types.
fn invalid(what: &str) -> Refusal {
    Refusal::new(INVALID_REQUEST, format!("Invalid request: {what}"))
}

impl Connection {
    pub(super) fn new(server: AppServer, peer: Peer) -> Self {
        Self { server, peer, processes: Arc::default(), client: None, tasks: JoinSet::new() }
    }

    /// The client, if it has introduced itself.
    pub(super) fn client(&self) -> Result<&Arc<Client>, Refusal> {
        self.client.as_ref().ok_or_else(|| Refusal::new(INVALID_REQUEST, "Not initialized"))
    }

    /// Takes note of who the client is. That can be said once.
    pub(super) fn introduce(&mut self, client: Client) -> Result<(), Refusal> {
        if self.client.is_some() {
            return Err(Refusal::new(INVALID_REQUEST, "Already initialized"));
        }
        self.client = Some(Arc::new(client));
        Ok(())
    }

    /// A method that only some clients may use.
    pub(super) fn require_experimental(&self, what: &str) -> Result<(), Refusal> {
        if self.client()?.experimental {
            return Ok(());
        }
        Err(Refusal::new(INVALID_REQUEST, format!("{what} requires experimentalApi capability")))
    }

    /// Lets something go on beside the messages.
    pub(super) fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        while self.tasks.try_join_next().is_some() {}
        drop(self.tasks.spawn(task));
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

impl Dialect for Connection {
    async fn take(&mut self, message: &[u8]) -> Next {
        match envelope::read(message) {
            Ok(Message::Request { id, method, params }) => {
                self.request(&method, Request { id, params }).await;
            }
            // We ask nothing, and of what clients tell, nothing needs to be done.
            Ok(Message::Notification { .. } | Message::Answer { .. }) => {}
            Err(NoMessage { reason, id: Some(id) }) => self.peer.refuse(&id, &invalid(&reason)),
            // Whom an answer would be for is not known; who speaks this dialect expects none.
            Err(NoMessage { id: None, .. }) => {}
        }
        Next::GoOn
    }

    /// Whose message it was is not known.
    fn too_long(&mut self) {}

    async fn close(self) {
        self.processes.end_all().await;
    }
}
