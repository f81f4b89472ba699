//! A connection to a server over any transport: its requests, with what the agreed protocol revision adds to them, and
//! its end.

use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::client_handler::ClientHandler;
use crate::fault::Fault;
use crate::message;
use crate::outcome::kind;
use crate::pipe::Pipe;
use crate::protocol_revision::Era;
use crate::web::{Question, Web};

/// How many times a server may ask for further input before it answers a request.
const ROUNDS: usize = 10;

/// A connection.
pub(crate) struct Link {
    wire: Wire,
    revision: OnceLock<Era>,
    handler: Arc<ClientHandler>,
    /// Cancelled when no more requests may be sent through this connection.
    over: CancellationToken,
    /// Cancelled when the client shuts the server down for good.
    stop: CancellationToken,
}

/// The transport.
pub(crate) enum Wire {
    /// Lines, to a program.
    Pipe(Pipe),
    /// HTTP requests, to a URL.
    Web(Arc<Web>),
}

impl Link {
    pub(crate) fn new(wire: Wire, handler: Arc<ClientHandler>, stop: CancellationToken) -> Self {
        Self { wire, revision: OnceLock::new(), handler, over: CancellationToken::new(), stop }
    }

    /// The handler of the server's requests.
    pub(crate) fn handler(&self) -> &ClientHandler {
        &self.handler
    }

    /// The agreed revision, once there is one.
    pub(crate) fn revision(&self) -> Option<&Era> {
        self.revision.get()
    }

    /// Sets the revision that all further requests follow.
    pub(crate) fn agree(&self, revision: Era) {
        // Only the handshake sets it, and only once.
        let _ = self.revision.set(revision);
    }

    /// Sends a request under the agreed revision.
    pub(crate) async fn request(
        &self,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<Map<String, Value>, Fault> {
        self.ask(self.revision(), OutgoingRequest { method, params: &params, schema: None }).await
    }

    /// Sends a request under this revision.
    pub(crate) async fn ask(
        &self,
        revision: Option<&Era>,
        asked: OutgoingRequest<'_>,
    ) -> Result<Map<String, Value>, Fault> {
        let OutgoingRequest { method, schema, params } = asked;
        let mut params = params.clone();
        if let Some(revision) = revision {
            revision.dress(&mut params);
        }
        let answered = async {
            match &self.wire {
                Wire::Pipe(pipe) => pipe.request(method, &params).await,
                Wire::Web(web) => web.request(Question { method, params: &params, schema, revision }).await,
            }
        };
        let answer = tokio::select! {
            biased;
            answer = answered => answer?,
            () = self.over.cancelled() => return Err(self.why_over()),
        };
        match answer {
            Value::Object(result) => Ok(result),
            Value::Null => Ok(Map::new()),
            other => Err(Fault::Senseless(format!("it is {}", kind(&other)))),
        }
    }

    /// Sends a request, and answers the server's input requests until it has its result.
    pub(crate) async fn complete(&self, asked: OutgoingRequest<'_>) -> Result<Map<String, Value>, Fault> {
        let mut params = asked.params.clone();
        for _ in 0..ROUNDS {
            let result = self.ask(self.revision(), OutgoingRequest { params: &params, ..asked }).await?;
            match result.get("resultType").and_then(Value::as_str) {
                Some("input_required") => self.provide(&result, &mut params).await?,
                Some("task") => {
                    return Err(Fault::Senseless(
                        "it made a task of the call, which was not asked for".to_owned(),
                    ));
                }
                _ => return Ok(result),
            }
        }
        Err(Fault::Senseless(format!("it wanted to know more {ROUNDS} times")))
    }

    /// Adds the answers to the server's input requests to the parameters.
    async fn provide(
        &self,
        result: &Map<String, Value>,
        params: &mut Map<String, Value>,
    ) -> Result<(), Fault> {
        let mut answers = Map::new();
        if let Some(Value::Object(questions)) = result.get("inputRequests") {
            for (key, question) in questions {
                let method = question.get("method").and_then(Value::as_str).unwrap_or_default();
                let particulars =
                    question.get("params").and_then(Value::as_object).cloned().unwrap_or_default();
                let answer = self.handler.answer(method, &particulars).await.map_err(Fault::Refused)?;
                answers.insert(key.clone(), answer);
            }
        }
        params.insert("inputResponses".to_owned(), Value::Object(answers));
        match result.get("requestState") {
            Some(state) => drop(params.insert("requestState".to_owned(), state.clone())),
            None => drop(params.remove("requestState")),
        }
        Ok(())
    }

    /// Sends a notification.
    pub(crate) async fn notify(&self, method: &str) -> Result<(), Fault> {
        match &self.wire {
            Wire::Pipe(pipe) => pipe.notify(method, &Map::new()).await,
            Wire::Web(web) => web.say(self.revision(), message::notification(method, &Map::new())).await,
        }
    }

    /// Receives the server's own messages until it sends no more. Returns at once if a background task or the reader of
    /// the pipe receives them.
    pub(crate) async fn listen(&self, to_changes: bool) {
        match (self.revision(), &self.wire) {
            (Some(revision @ Era::Greeted(_)), Wire::Web(web)) => web.listen(revision),
            (Some(Era::Stateless { .. }), _) if to_changes => {
                let wanted = json!({ "toolsListChanged": true });
                let params = Map::from_iter([("notifications".to_owned(), wanted)]);
                // A server that does not support the subscription is not asked again.
                let _ = self.request("subscriptions/listen", params).await;
            }
            _ => {}
        }
    }

    /// Waits until the server has ended by itself. Returns how. Over HTTP that never happens.
    pub(crate) async fn ended(&self) -> Arc<str> {
        match &self.wire {
            Wire::Pipe(pipe) => pipe.ended().await,
            Wire::Web(_) => std::future::pending().await,
        }
    }

    /// Output of the server that may explain its failure.
    pub(crate) fn evidence(&self) -> String {
        match &self.wire {
            Wire::Pipe(pipe) => pipe.evidence(),
            Wire::Web(_) => String::new(),
        }
    }

    /// Ends the server with everything that it started. Every pending request fails.
    pub(crate) async fn end(&self) {
        self.over.cancel();
        match &self.wire {
            Wire::Pipe(pipe) => pipe.end().await,
            Wire::Web(web) => web.end(self.revision()).await,
        }
    }

    fn why_over(&self) -> Fault {
        if self.stop.is_cancelled() {
            Fault::ShutDown
        } else {
            Fault::Ended(Arc::from("the connection to it was given up"))
        }
    }
}

/// A request to send.
#[derive(Clone, Copy)]
pub(crate) struct OutgoingRequest<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: &'a Map<String, Value>,
    /// The schema of the tool that is called, if it is a call.
    pub(crate) schema: Option<&'a Map<String, Value>>,
}
