//! The streamable HTTP transport: each message is a POST request, answered by one response or by a stream of events.
//!
//! Dropping a request ends its exchange; where the protocol demands a cancellation, a background task sends it.
//! Messages that the server sends meanwhile are handled as on any other transport.

mod headers;
mod stream;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::task::JoinSet;

use self::stream::Follow;
use crate::client_handler::ClientHandler;
use crate::fault::Fault;
use crate::http::{Http, HttpAnswer, HttpBody, HttpMethod, HttpRequest};
use crate::lines::MESSAGE_LIMIT;
use crate::message::{self, Message, RpcError};
use crate::notes::quote;
use crate::protocol_revision::Era;
use crate::secret::Secret;
use crate::spec::Bearer;

/// How many bytes of an error response are read for its reason.
const REASON: usize = 16 * 1024;

/// The most messages that background tasks may send at the same time: answers to requests, cancellations.
const ASIDES: usize = 64;

/// How long the request that ends the session may take.
const PARTING: Duration = Duration::from_secs(1);

/// The URL of a server, and the credentials for it.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    pub(crate) url: String,
    pub(crate) bearer: Option<Bearer>,
    pub(crate) headers: Vec<(String, Secret)>,
}

/// A connection to a server over HTTP.
pub(crate) struct Web {
    http: Arc<dyn Http>,
    address: Address,
    handler: Arc<ClientHandler>,
    next_id: AtomicU64,
    /// The session id, if the server assigned one.
    session: Mutex<Option<String>>,
    /// The background tasks that send messages beside requests.
    asides: Mutex<JoinSet<()>>,
}

/// A request, and the revision that it follows.
#[derive(Clone, Copy)]
pub(crate) struct Question<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: &'a Map<String, Value>,
    /// The schema of the tool, which says which arguments are repeated in headers.
    pub(crate) schema: Option<&'a Map<String, Value>>,
    pub(crate) revision: Option<&'a Era>,
}

impl Web {
    pub(crate) fn new(http: Arc<dyn Http>, address: Address, handler: Arc<ClientHandler>) -> Arc<Self> {
        let (session, asides) = (Mutex::default(), Mutex::default());
        Arc::new(Self { http, address, handler, next_id: AtomicU64::new(1), session, asides })
    }

    /// Sends a request and waits for the response. Dropping the future ends the exchange and, where that is not enough,
    /// sends a cancellation.
    pub(crate) async fn request(self: &Arc<Self>, question: Question<'_>) -> Result<Value, Fault> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let body = message::request(id, question.method, question.params);
        let mut headers = self.headers(question.revision);
        if question.revision.is_some_and(Era::is_stateless) || question.method == "server/discover" {
            headers.extend(headers::of_request(&question));
        }
        let mut call =
            OpenCall { web: self, id, revision: question.revision, open: question.method != "initialize" };
        let asked = async {
            let answer = self.send(HttpMethod::Post, headers, body).await?;
            if question.method == "initialize" {
                *lock(&self.session) = answer.header("mcp-session-id").map(str::to_owned);
            }
            self.answer_to(id, question.revision, answer).await
        };
        let answer = asked.await;
        call.open = false;
        answer
    }

    /// Sends a message that has no response.
    pub(crate) async fn say(&self, revision: Option<&Era>, message: Vec<u8>) -> Result<(), Fault> {
        let answer = self.send(HttpMethod::Post, self.headers(revision), message).await?;
        match answer.status {
            200..=299 => Ok(()),
            _ => Err(self.refused(answer).await),
        }
    }

    /// Receives the server's own messages, if it has a stream for them.
    pub(crate) fn listen(self: &Arc<Self>, revision: &Era) {
        let (web, revision) = (Arc::downgrade(self), revision.clone());
        self.beside(async move { stream::listen(&web, &revision).await });
    }

    /// Ends the session.
    pub(crate) async fn end(&self, revision: Option<&Era>) {
        let mut asides = std::mem::take(&mut *lock(&self.asides));
        asides.shutdown().await;
        let session = lock(&self.session).is_some();
        if session {
            let farewell = self.send(HttpMethod::Delete, self.headers(revision), Vec::new());
            // timer: a server that does not answer will expire the session by itself.
            let _ = tokio::time::timeout(PARTING, farewell).await;
        }
    }

    async fn send(
        &self,
        method: HttpMethod,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    ) -> Result<HttpAnswer, Fault> {
        let request = HttpRequest { method, url: self.address.url.clone(), headers, body };
        let sent = self.http.send(request).await;
        sent.map_err(|error| Fault::Unreachable(format!("{} cannot be reached: {error}", self.place())))
    }

    fn headers(&self, revision: Option<&Era>) -> Vec<(String, String)> {
        let mut headers = vec![
            ("Content-Type".to_owned(), "application/json".to_owned()),
            ("Accept".to_owned(), "application/json, text/event-stream".to_owned()),
        ];
        let session = lock(&self.session).clone();
        headers.extend(session.map(|session| ("Mcp-Session-Id".to_owned(), session)));
        headers.extend(
            revision.map(|revision| ("MCP-Protocol-Version".to_owned(), revision.version().to_owned())),
        );
        let bearer = self.address.bearer.as_ref();
        let shown =
            |bearer: &Bearer| ("Authorization".to_owned(), format!("Bearer {}", bearer.token.reveal()));
        headers.extend(bearer.map(shown));
        let more = self.address.headers.iter();
        headers.extend(more.map(|(name, value)| (name.clone(), value.reveal().to_owned())));
        headers
    }

    /// Reads the response to a request, whether it is a single message or a stream.
    async fn answer_to(
        self: &Arc<Self>,
        id: u64,
        revision: Option<&Era>,
        mut answer: HttpAnswer,
    ) -> Result<Value, Fault> {
        if !(200..=299).contains(&answer.status) {
            return Err(self.refused(answer).await);
        }
        let kind = answer.header("content-type").unwrap_or_default().to_ascii_lowercase();
        if kind.starts_with("text/event-stream") {
            return Follow { web: self, revision }.until_answered(id, answer.body).await;
        }
        let body = collect(answer.body.as_mut(), MESSAGE_LIMIT).await.map_err(Fault::Ended)?;
        if body.trim_ascii().is_empty() {
            let status = answer.status;
            return Err(Fault::Senseless(format!("an answer without content (status {status})")));
        }
        if !kind.starts_with("application/json") {
            return Err(Fault::Senseless(format!("{} of type `{kind}`", quote(&body))));
        }
        let messages = message::read(&body)
            .map_err(|problem| Fault::Senseless(format!("{}: {problem}", quote(&body))))?;
        let ours = messages.into_iter().find_map(|message| self.sort(id, revision, message));
        ours.unwrap_or_else(|| Err(Fault::Senseless("it answers another request".to_owned())))
    }

    /// Sorts a message: returns the awaited response, and handles everything else.
    fn sort(
        self: &Arc<Self>,
        expected: u64,
        revision: Option<&Era>,
        message: Message,
    ) -> Option<Result<Value, Fault>> {
        match message {
            Message::Answer { id, answer } if id == expected => return Some(answer.map_err(Fault::Refused)),
            // The exchange has only one request, so an error without an id is about it.
            Message::Complaint(refusal) => return Some(Err(Fault::Refused(refusal))),
            other => self.overhear(revision, other),
        }
        None
    }

    /// Handles a message that is not the awaited response.
    fn overhear(self: &Arc<Self>, revision: Option<&Era>, message: Message) {
        match message {
            Message::Answer { .. } => {
                self.handler.notes.add("it answered something that nobody waits for (any more)");
            }
            Message::Complaint(RpcError { message, .. }) => {
                self.handler.notes.add(&format!("it complained: {message}"));
            }
            Message::Notification { method, .. } => self.handler.hear(&method),
            Message::Request { id, method, params } => {
                let (web, revision) = (Arc::downgrade(self), revision.cloned());
                let handler = Arc::clone(&self.handler);
                self.beside(async move {
                    let answer = handler.answer(&method, &params).await;
                    let Some(web) = web.upgrade() else { return };
                    // If the server does not accept the answer, it is not sent again.
                    let _ = web.say(revision.as_ref(), message::answer(&id, answer)).await;
                });
            }
        }
    }

    /// Runs a bounded number of tasks beside requests.
    fn beside(&self, aside: impl Future<Output = ()> + Send + 'static) {
        let mut asides = lock(&self.asides);
        while asides.try_join_next().is_some() {}
        if asides.len() < ASIDES {
            asides.spawn(aside);
        } else {
            self.handler.notes.add("it asked too many things at a time");
        }
    }

    /// The fault of an error response, with as much of the reason as it gives.
    async fn refused(&self, mut answer: HttpAnswer) -> Fault {
        let status = answer.status;
        if status == 404 && lock(&self.session).is_some() {
            return Fault::SessionLost;
        }
        if status == 401 || status == 403 {
            return Fault::Unreachable(self.not_let_in(status));
        }
        // A body that cannot be read adds no reason.
        let body = collect(answer.body.as_mut(), REASON).await.unwrap_or_default();
        let messages = message::read(&body).unwrap_or_default();
        let refusal = messages.into_iter().find_map(|message| match message {
            Message::Answer { answer: Err(refusal), .. } | Message::Complaint(refusal) => Some(refusal),
            _ => None,
        });
        if let Some(refusal) = refusal {
            return Fault::Refused(refusal);
        }
        let said = if body.is_empty() { String::new() } else { format!(": {}", quote(&body)) };
        Fault::TurnedAway(format!("{} answered with status {status}{said}", self.place()))
    }

    fn not_let_in(&self, status: u16) -> String {
        let (place, server) = (self.place(), &self.handler.server);
        match &self.address.bearer {
            Some(bearer) => format!(
                "{place} did not let us in (status {status}): it refused the token in the variable `{}`, which \
                 `bearer_token_env_var` of [mcp_servers.{server}] names",
                bearer.variable
            ),
            None => format!(
                "{place} did not let us in (status {status}): put a token into a variable and name that with \
                 `bearer_token_env_var` in [mcp_servers.{server}]"
            ),
        }
    }

    /// The URL without the parts that may be secret.
    fn place(&self) -> &str {
        let url = &self.address.url;
        &url[..url.find(['?', '#']).unwrap_or(url.len())]
    }
}

/// A request that waits for its response. Dropped before that, it cancels the request at the server.
struct OpenCall<'a> {
    web: &'a Arc<Web>,
    id: u64,
    revision: Option<&'a Era>,
    open: bool,
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        // Without a session, the end of the exchange is the cancellation.
        let Some(revision) = self.revision.filter(|revision| self.open && !revision.is_stateless()) else {
            return;
        };
        let (web, revision, said) =
            (Arc::downgrade(self.web), revision.clone(), message::cancellation(self.id));
        // Outside of a tokio runtime no task can send the cancellation, and the runtime's connections are gone.
        if tokio::runtime::Handle::try_current().is_ok() {
            self.web.beside(async move {
                if let Some(web) = web.upgrade() {
                    let _ = web.say(Some(&revision), said).await;
                }
            });
        }
    }
}

/// Reads a whole body, within a limit.
async fn collect(body: &mut dyn HttpBody, limit: usize) -> Result<Vec<u8>, Arc<str>> {
    let mut bytes = Vec::new();
    while let Some(piece) = body.next().await {
        let piece = piece.map_err(|error| format!("the connection broke within its answer: {error}"))?;
        if bytes.len() + piece.len() > limit {
            return Err(format!("its answer is longer than {limit} bytes").into());
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
