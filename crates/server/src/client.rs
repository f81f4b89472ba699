//! A client of the app-server: starts processes on a server and follows, controls and reads them.
//!
//! The server may be a program that is started for it, a WebSocket on an address or at a path, or an engine in this
//! very process. One task reads each connection and puts output into a bounded queue for each consumer; [`Slowness`]
//! says what happens if a consumer does not take it. A client that asked for [`ClientOptions::grace`] and loses its
//! connection reconnects and takes its processes over, and the output continues at the byte at which it stopped.
//!
//! It works with a Codex app-server, too, within that server's limits: without `session/*` a client can neither read
//! output again nor resume.

mod endpoint;
mod error;
mod handshake;
mod link;
mod output;
mod process;
mod queue;
mod returning;
mod routes;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::Deserialize;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use windlass_protocol::app::{
    Capabilities, ClientInfo, CommandExecParams, CommandExecResult, Done, InitializeParams, InitializeResult,
    Method, ProcessKillParams, Resumable, ResumeRequest, SessionEndAllParams, SessionInfo, SessionListParams,
    SessionListResult, SessionReadParams, SessionReadResult, SessionSubscribeParams, SessionSubscribeResult,
    SessionTarget, SessionUnsubscribeParams, notification,
};

pub use self::endpoint::{Encryption, Endpoint, NoEndpoint};
pub use self::error::ClientError;
pub use self::output::{ClientPiece, Output};
pub use self::process::{Exit, Io, Process, Start};
pub use self::queue::Slowness;
pub use windlass_protocol::app as shapes;

use self::endpoint::Wires;
use self::link::{AfterLoss, Link};
use self::queue::{Fate, LastOf, Queue};
use self::routes::{OutputInterest, Routes};
use crate::gate::Token;

/// The options of a client.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Its name, for programs.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The token for a server that asks for one.
    pub token: Option<Token>,
    /// The certificate authorities (PEM) that verify an encrypted server, instead of those that this machine trusts.
    pub authorities: Option<String>,
    /// How long processes go on without a connection, ten minutes at most. Without a grace they end with it.
    pub grace: Option<Duration>,
    /// Whether the client reconnects by itself or its user does. Without `grace` no client can resume.
    pub coming_back: ComingBack,
    /// The [`Client::resume_token`] of an earlier client, whose processes this one takes over.
    pub resume: Option<String>,
}

impl ClientOptions {
    /// Options with this name, under which processes end with the client's connection.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            token: None,
            authorities: None,
            grace: None,
            coming_back: ComingBack::ByItself,
            resume: None,
        }
    }

    fn introduction(&self, token: Option<String>) -> InitializeParams {
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let resume = (self.grace.is_some() || token.is_some())
            .then(|| ResumeRequest { grace_ms: self.grace.map(milliseconds), token });
        InitializeParams {
            client_info: ClientInfo { name: self.name.clone(), title: None, version: self.version.clone() },
            capabilities: Some(Capabilities { experimental_api: true, resume, ..Capabilities::default() }),
        }
    }
}

/// How a lost connection is made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComingBack {
    /// The client reconnects, for as long as the server keeps the processes. Waits for output or an end go on as if the
    /// connection had not been lost, and new requests wait meanwhile; only requests under way fail.
    ByItself,
    /// The user of the client calls [`Client::reconnect`]. Until then every request fails with [`ClientError::Lost`].
    WhenAsked,
}

/// A client. Cheap to clone; the connection ends with the last of its clones, processes and outputs.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    /// The address of the server; `None` if the client was given streams.
    endpoint: Option<Endpoint>,
    options: ClientOptions,
    routes: Arc<Routes>,
    current: watch::Sender<Current>,
    /// Held while the connection is made anew.
    returning: tokio::sync::Mutex<()>,
    after_loss: AfterLoss,
    handles: AtomicU64,
    /// The prefix of handles, which makes them differ from those of an earlier client.
    prefix: String,
}

/// The connection, and the server's reply to `initialize`.
#[derive(Clone)]
struct Current {
    link: Arc<Link>,
    server: InitializeResult,
    /// Set when the client will not reconnect any more.
    given_up: bool,
}

/// The server's reply to `process/spawn`. Both members are absent from a server that keeps no sessions.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spawned {
    session_id: Option<u64>,
    pid: Option<u32>,
}

impl Client {
    /// Connects and sends `initialize`.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached, or rejects this client.
    pub async fn connect(endpoint: Endpoint, options: ClientOptions) -> Result<Self, ClientError> {
        let wires = endpoint.open(&options).await?;
        Self::over(wires, Some(endpoint), options).await
    }

    /// Talks to the server at the other end of these streams, one message per line. Such a client cannot reconnect.
    ///
    /// # Errors
    ///
    /// When there is no server at the other end.
    pub async fn on_streams<R, W>((source, sink): (R, W), options: ClientOptions) -> Result<Self, ClientError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        Self::over(endpoint::lines(Box::new(source), Box::new(sink)), None, options).await
    }

    async fn over(
        wires: Wires,
        endpoint: Option<Endpoint>,
        options: ClientOptions,
    ) -> Result<Self, ClientError> {
        let routes = Arc::new(Routes::default());
        let resumable = endpoint.is_some() && options.coming_back == ComingBack::ByItself;
        let grace = options.grace.filter(|_| resumable);
        let after_loss = if grace.is_some() { AfterLoss::Kept } else { AfterLoss::Told };
        let link = Link::new(wires, Arc::clone(&routes), after_loss);
        let server = introduce(&link, &options.introduction(options.resume.clone())).await?;
        if options.resume.is_some() && !is_resumed(&server) {
            return Err(ClientError::NotResumed);
        }
        link.take_over();
        let shared = Arc::new(Shared {
            endpoint,
            options,
            routes,
            current: watch::Sender::new(Current { link: Arc::new(link), server, given_up: false }),
            returning: tokio::sync::Mutex::new(()),
            after_loss,
            handles: AtomicU64::new(0),
            prefix: random_prefix(),
        });
        if let Some(grace) = grace {
            // The task ends with the client.
            drop(tokio::spawn(returning::keep_connected(Arc::downgrade(&shared), grace)));
        }
        Ok(Self { shared })
    }

    /// The server's reply to `initialize`.
    pub fn server(&self) -> InitializeResult {
        self.shared.current().server
    }

    /// The token with which another client takes over the processes of this one; see [`ClientOptions::resume`]. Its
    /// bearer controls the processes.
    pub fn resume_token(&self) -> Option<String> {
        self.shared.current().server.resume.map(|resume| resume.token)
    }

    /// Connects again after the connection was lost and takes the processes over. All waits for output continue where
    /// they stopped. Does nothing if the connection is not lost.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached, or has given up the processes; that a client did not ask for
    /// [`ClientOptions::grace`] is a case of the latter.
    pub async fn reconnect(&self) -> Result<(), ClientError> {
        let _one_at_a_time = self.shared.returning.lock().await;
        let former = self.shared.current();
        if !former.link.is_lost() {
            return Ok(());
        }
        let endpoint = self.shared.endpoint.as_ref().ok_or(ClientError::Lost)?;
        let Resumable { token, .. } = former.server.resume.ok_or(ClientError::NotResumed)?;
        let wires = endpoint.open(&self.shared.options).await?;
        let link = Link::new(wires, Arc::clone(&self.shared.routes), self.shared.after_loss);
        let server = introduce(&link, &self.shared.options.introduction(Some(token))).await?;
        if !is_resumed(&server) {
            return Err(ClientError::NotResumed);
        }
        former.link.stand_back();
        self.shared.routes.connection(&Fate::Running);
        link.take_over();
        self.shared.current.send_replace(Current { link: Arc::new(link), server, given_up: false });
        // Ask on this very connection: if it is lost again, the next reconnect has to start over.
        self.go_on(&self.shared.current().link).await
    }

    /// Asks for the output that consumers have missed.
    async fn go_on(&self, link: &Link) -> Result<(), ClientError> {
        for session in self.shared.routes.begin_anew() {
            match self.ask_for_output(link, session).await {
                // The server has forgotten the session, and will not report its end.
                Err(ClientError::Refused(_)) => self.shared.routes.forget(session),
                asked => asked?,
            }
        }
        Ok(())
    }

    /// Ends every process that this client started, with everything they started. Without this call they go on for the
    /// grace, if there is one, when the client is dropped.
    ///
    /// # Errors
    ///
    /// When the connection is lost.
    pub async fn close(self) -> Result<(), ClientError> {
        match self.call(Method::SessionEndAll, &SessionEndAllParams {}).await {
            // Codex's server lacks this method, and cannot end processes left running anyway.
            Err(ClientError::Refused(_)) => self.kill_all().await,
            ended => ended.map(|Done {}| ()),
        }
    }

    async fn kill_all(&self) -> Result<(), ClientError> {
        for handle in self.shared.routes.handles() {
            match self.call(Method::ProcessKill, &ProcessKillParams { process_handle: handle }).await {
                // A refusal means that the process has ended meanwhile.
                Ok(Done {}) | Err(ClientError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Starts a process.
    ///
    /// # Errors
    ///
    /// When it cannot be started; the server says why.
    pub async fn start(&self, start: Start) -> Result<(Process, Output), ClientError> {
        let number = self.shared.handles.fetch_add(1, Ordering::Relaxed);
        let handle = format!("{}{number}", self.shared.prefix);
        let queue = Arc::new(Queue::new(Some(0), LastOf::Exit, start.slowness));
        // If the caller drops this future, the output is discarded with it.
        let mut output = Output::new(self.clone(), Arc::clone(&queue));
        // Output may arrive before the reply.
        self.shared.routes.add_handle(&handle, &queue);
        let spawned = self.call(Method::ProcessSpawn, &start.params(handle.clone())).await;
        let Spawned { session_id: session, pid } = spawned.inspect_err(|_| {
            self.shared.routes.remove_handle(&handle);
        })?;
        match session {
            Some(session) => {
                self.shared.routes.name_session(&handle, session);
                output.is_of(session, 0);
            }
            None => queue.is_not_counted(),
        }
        Ok((Process { client: self.clone(), handle, session, pid, queue }, output))
    }

    /// Takes over a process that [`Client::sessions`] lists, with its output from an offset on. For a client that resumes
    /// what another one started.
    ///
    /// # Errors
    ///
    /// When the server does not know it, or it was not started as a process with a handle.
    pub async fn adopt(&self, info: &SessionInfo, from: u64) -> Result<(Process, Output), ClientError> {
        let handle = info.process_handle.clone().ok_or(ClientError::NoSessions)?;
        let output = self.follow(info.session_id, from, LastOf::Exit).await?;
        let queue = output.queue();
        if let Some(exit) = &info.exit {
            queue.exited(exit.clone().into());
        }
        let session = Some(info.session_id);
        Ok((Process { client: self.clone(), handle, session, pid: Some(info.pid), queue }, output))
    }

    /// Follows a session from an offset on, until nothing can be printed any more. A session has one such follower on a
    /// connection.
    ///
    /// # Errors
    ///
    /// When the server does not know the session, or keeps none at all.
    pub async fn subscribe(&self, session: u64, from: u64) -> Result<Output, ClientError> {
        self.follow(session, from, LastOf::Close).await
    }

    async fn follow(&self, session: u64, from: u64, last: LastOf) -> Result<Output, ClientError> {
        let queue = Arc::new(Queue::new(Some(from), last, Slowness::CatchUp));
        let mut output = Output::new(self.clone(), Arc::clone(&queue));
        output.is_of(session, from);
        self.shared.routes.add_session(session, &queue);
        let link = self.link().await?;
        let asked = self.ask_for_output(&link, session).await;
        if asked.is_err() {
            self.shared.routes.remove_session(session, &queue);
        }
        asked.map(|()| output)
    }

    /// Removes a consumer of a session, and unsubscribes after the last one.
    fn leave(&self, session: u64, queue: &Arc<Queue>) {
        if self.shared.routes.remove_session(session, queue) == OutputInterest::ByNobody {
            let target = SessionTarget { session_id: Some(session), ..SessionTarget::default() };
            let params = SessionUnsubscribeParams { target };
            self.shared.current().link.ask(Method::SessionUnsubscribe.name(), &params);
        }
    }

    /// Asks for all output that any consumer misses: a subscription replaces the one before.
    async fn ask_for_output(&self, link: &Link, session: u64) -> Result<(), ClientError> {
        let Some(from) = self.shared.routes.missing(session) else { return Ok(()) };
        let target = SessionTarget { session_id: Some(session), ..SessionTarget::default() };
        let params = SessionSubscribeParams { target, from: Some(from) };
        let asked = link.call(Method::SessionSubscribe.name(), &params).await;
        asked.map(|_: SessionSubscribeResult| ())
    }

    /// Runs a command to its end and returns its output.
    ///
    /// # Errors
    ///
    /// When it cannot be run; the server says why.
    pub async fn exec(&self, params: &CommandExecParams) -> Result<CommandExecResult, ClientError> {
        self.call(Method::CommandExec, params).await
    }

    /// The sessions that this connection runs, and the latest that have ended.
    ///
    /// # Errors
    ///
    /// When the server keeps no sessions.
    pub async fn sessions(&self) -> Result<Vec<SessionInfo>, ClientError> {
        let listed: SessionListResult = self.call(Method::SessionList, &SessionListParams {}).await?;
        Ok(listed.sessions)
    }

    /// Reads a session's output: by span, by lines, or by matching.
    ///
    /// # Errors
    ///
    /// When the server does not know the session, or keeps none at all.
    pub async fn read(&self, params: &SessionReadParams) -> Result<SessionReadResult, ClientError> {
        self.call(Method::SessionRead, params).await
    }

    /// Calls any method of the dialect.
    ///
    /// # Errors
    ///
    /// When the server refuses, the connection is lost, or the answer has another shape.
    pub async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        params: &impl Serialize,
    ) -> Result<T, ClientError> {
        self.link().await?.call(method.name(), params).await
    }

    /// The connection; waits for a new one while the client reconnects.
    async fn link(&self) -> Result<Arc<Link>, ClientError> {
        let away = |current: &Current| {
            current.link.is_lost() && !current.given_up && self.shared.after_loss == AfterLoss::Kept
        };
        let mut changes = self.shared.current.subscribe();
        let current = changes.wait_for(|current| !away(current)).await.map_err(|_| ClientError::Lost)?;
        Ok(Arc::clone(&current.link))
    }
}

impl Shared {
    fn current(&self) -> Current {
        self.current.borrow().clone()
    }

    /// Stops reconnecting: all waits fail from now on.
    fn give_up(&self) {
        self.current.send_modify(|current| current.given_up = true);
        self.routes.connection(&Fate::Lost);
    }
}

/// Performs the handshake on a new connection.
async fn introduce(link: &Link, introduction: &InitializeParams) -> Result<InitializeResult, ClientError> {
    let server = link.call(Method::Initialize.name(), introduction).await?;
    link.tell(notification::INITIALIZED, &json!({}));
    Ok(server)
}

/// Whether the server moved the processes of an earlier connection to this one.
fn is_resumed(server: &InitializeResult) -> bool {
    server.resume.as_ref().is_some_and(|resume| resume.resumed)
}

/// Random, because the handles of a client that resumes another one's connection must differ from that one's.
fn random_prefix() -> String {
    let bytes = handshake::random::<4>().unwrap_or_default();
    format!("w{:08x}-", u32::from_ne_bytes(bytes))
}

/// Runs the example in the manual as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/clients.md")]
pub struct Manual;

#[cfg(test)]
mod tests;
