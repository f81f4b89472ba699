//! A client of the app-server: starts processes on a server and follows, controls and reads them.
//!
//! The server may be a program that is started for it, a WebSocket on an address or at a path, or an engine in this very
//! process. One task reads each connection and puts output into a bounded queue for each consumer; [`Slowness`] says what
//! happens to who does not take it. Where the connection is lost, [`Client::reconnect`] takes the processes over and the
//! output goes on at the byte at which it stopped.
//!
//! It works with a Codex app-server, too, as far as that one goes: without `session/*` there is nothing to read again and
//! nothing to resume.

mod endpoint;
mod error;
mod handshake;
mod link;
mod output;
mod process;
mod queue;
mod routes;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use windlass_protocol::app::{
    Capabilities, ClientInfo, CommandExecParams, CommandExecResult, InitializeParams, InitializeResult,
    Method, Resumable, ResumeRequest, SessionInfo, SessionListParams, SessionListResult, SessionReadParams,
    SessionReadResult, SessionSubscribeParams, SessionSubscribeResult, SessionTarget, notification,
};

pub use self::endpoint::{Endpoint, NoEndpoint};
pub use self::error::ClientError;
pub use self::output::{Output, Piece};
pub use self::process::{Exit, Io, Process, Start};
pub use self::queue::Slowness;
pub use windlass_protocol::app as shapes;

use self::endpoint::Wires;
use self::link::Link;
use self::queue::{Fate, LastOf, Queue};
use self::routes::Routes;
use crate::gate::Token;

/// How a client introduces itself.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Its name, for programs.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it shows to a server that asks for a token.
    pub token: Option<Token>,
    /// How long processes shall go on without a connection. Without this they end with it.
    pub grace: Option<Duration>,
    /// What a client before this one had as [`Client::resume_token`]: its processes are taken over.
    pub resume: Option<String>,
}

impl ClientOptions {
    /// A client of this name, whose processes end with its connection.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            token: None,
            grace: None,
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

/// A client. Cheap to clone; the connection ends with the last of its clones, processes and outputs.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    /// Where the server is; nowhere, if it is at the other end of streams that were given.
    endpoint: Option<Endpoint>,
    options: ClientOptions,
    routes: Arc<Routes>,
    /// The connection, and how to come back after it.
    link: Mutex<(Arc<Link>, InitializeResult)>,
    handles: AtomicU64,
    /// What makes handles differ from those of a client before this one.
    prefix: String,
}

/// What a server says about a process that it started. One that keeps no sessions says nothing.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spawned {
    session_id: Option<u64>,
    pid: Option<u32>,
}

impl Client {
    /// Connects and introduces itself.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached, or does not let this client in.
    pub async fn connect(endpoint: Endpoint, options: ClientOptions) -> Result<Self, ClientError> {
        let wires = endpoint.open(options.token.as_ref()).await?;
        Self::over(wires, Some(endpoint), options).await
    }

    /// Talks to the server at the other end of these streams, a message on each line. There is no coming back after them.
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
        let introduction = options.introduction(options.resume.clone());
        let (link, server) = introduce(wires, &routes, &introduction).await?;
        if options.resume.is_some() && !server.resume.as_ref().is_some_and(|resume| resume.resumed) {
            return Err(ClientError::NotResumed);
        }
        link.take_over();
        let prefix = random_prefix();
        let link = Mutex::new((link, server));
        Ok(Self {
            shared: Arc::new(Shared { endpoint, options, routes, link, handles: AtomicU64::new(0), prefix }),
        })
    }

    /// What the server says about itself.
    pub fn server(&self) -> InitializeResult {
        self.current().1
    }

    /// What another client needs to take over the processes of this one; see [`ClientOptions::resume`]. Whoever has it has
    /// the processes.
    pub fn resume_token(&self) -> Option<String> {
        self.current().1.resume.map(|resume| resume.token)
    }

    /// Connects again after the connection was lost and takes the processes over. All that waits for output goes on where
    /// it stopped.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached, or has given up the processes; that a client did not ask for
    /// [`ClientOptions::grace`] is a case of the latter.
    pub async fn reconnect(&self) -> Result<(), ClientError> {
        let endpoint = self.shared.endpoint.as_ref().ok_or(ClientError::Lost)?;
        let Resumable { token, .. } = self.current().1.resume.ok_or(ClientError::NotResumed)?;
        let wires = endpoint.open(self.shared.options.token.as_ref()).await?;
        let introduction = self.shared.options.introduction(Some(token));
        let (link, server) = introduce(wires, &self.shared.routes, &introduction).await?;
        if !server.resume.as_ref().is_some_and(|resume| resume.resumed) {
            return Err(ClientError::NotResumed);
        }
        self.current().0.stand_back();
        self.shared.routes.connection(&Fate::Running);
        link.take_over();
        *self.shared.link.lock().unwrap_or_else(PoisonError::into_inner) = (link, server);
        for session in self.shared.routes.begin_anew() {
            match self.ask_for_output(session).await {
                // The server knows it no more, and will not say how it ended.
                Err(ClientError::Refused(_)) => self.shared.routes.forget(session),
                asked => asked?,
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
        // Output may come before the answer does.
        self.shared.routes.add_handle(&handle, &queue);
        let spawned: Result<Spawned, _> =
            self.call(Method::ProcessSpawn, &start.params(handle.clone())).await;
        let Spawned { session_id, pid } = match spawned {
            Ok(spawned) => spawned,
            Err(error) => {
                self.shared.routes.remove_handle(&handle);
                return Err(error);
            }
        };
        match session_id {
            Some(session) => self.shared.routes.name_session(&handle, session),
            None => queue.is_not_counted(),
        }
        let output = Output::new(self.clone(), session_id.map(|session| (session, 0)), Arc::clone(&queue));
        Ok((Process { client: self.clone(), handle, session: session_id, pid, queue }, output))
    }

    /// Takes over a process that [`Client::sessions`] lists, with its output from an offset on. For a client that resumes
    /// what another one started.
    ///
    /// # Errors
    ///
    /// When the server does not know it, or it was not started as a process with a handle.
    pub async fn adopt(&self, info: &SessionInfo, from: u64) -> Result<(Process, Output), ClientError> {
        let handle = info.process_handle.clone().ok_or(ClientError::NoSessions)?;
        let queue = self.follow(info.session_id, from, LastOf::Exit).await?;
        if let Some(exit) = &info.exit {
            queue.exited(exit.clone().into());
        }
        let session = Some(info.session_id);
        let output = Output::new(self.clone(), Some((info.session_id, from)), Arc::clone(&queue));
        Ok((Process { client: self.clone(), handle, session, pid: Some(info.pid), queue }, output))
    }

    /// Follows a session from an offset on, until nothing can be printed any more. A session has one such follower on a
    /// connection.
    ///
    /// # Errors
    ///
    /// When the server does not know the session, or keeps none at all.
    pub async fn subscribe(&self, session: u64, from: u64) -> Result<Output, ClientError> {
        let queue = self.follow(session, from, LastOf::Close).await?;
        Ok(Output::new(self.clone(), Some((session, from)), queue))
    }

    async fn follow(&self, session: u64, from: u64, last: LastOf) -> Result<Arc<Queue>, ClientError> {
        let queue = Arc::new(Queue::new(Some(from), last, Slowness::CatchUp));
        self.shared.routes.add_session(session, &queue);
        let asked = self.ask_for_output(session).await;
        if asked.is_err() {
            queue.abandon();
        }
        asked.map(|()| queue)
    }

    /// Asks for all that is missing to anybody: a subscription takes the place of the one before.
    async fn ask_for_output(&self, session: u64) -> Result<(), ClientError> {
        let Some(from) = self.shared.routes.missing(session) else { return Ok(()) };
        let target = SessionTarget { session_id: Some(session), ..SessionTarget::default() };
        let params = SessionSubscribeParams { target, from: Some(from) };
        self.call(Method::SessionSubscribe, &params).await.map(|_: SessionSubscribeResult| ())
    }

    /// Runs a command to its end and gives what it printed.
    ///
    /// # Errors
    ///
    /// When it cannot be run; the server says why.
    pub async fn exec(&self, params: &CommandExecParams) -> Result<CommandExecResult, ClientError> {
        self.call(Method::CommandExec, params).await
    }

    /// What this connection runs, and the latest that has ended.
    ///
    /// # Errors
    ///
    /// When the server keeps no sessions.
    pub async fn sessions(&self) -> Result<Vec<SessionInfo>, ClientError> {
        let listed: SessionListResult = self.call(Method::SessionList, &SessionListParams {}).await?;
        Ok(listed.sessions)
    }

    /// Reads what a session printed: by span, by lines, or by matching.
    ///
    /// # Errors
    ///
    /// When the server does not know the session, or keeps none at all.
    pub async fn read(&self, params: &SessionReadParams) -> Result<SessionReadResult, ClientError> {
        self.call(Method::SessionRead, params).await
    }

    /// Asks for anything that the dialect has a method for.
    ///
    /// # Errors
    ///
    /// When the server refuses, the connection is lost, or the answer has another shape.
    pub async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        params: &impl Serialize,
    ) -> Result<T, ClientError> {
        let link = self.current().0;
        link.call(method.name(), params).await
    }

    fn current(&self) -> (Arc<Link>, InitializeResult) {
        self.shared.link.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Begins a connection.
async fn introduce(
    wires: Wires,
    routes: &Arc<Routes>,
    introduction: &InitializeParams,
) -> Result<(Arc<Link>, InitializeResult), ClientError> {
    let link = Link::new(wires, Arc::clone(routes));
    let server = link.call(Method::Initialize.name(), introduction).await?;
    link.tell(notification::INITIALIZED, &json!({}));
    Ok((Arc::new(link), server))
}

/// Handles of a client that resumes another one's connection must not be that one's.
fn random_prefix() -> String {
    let bytes = handshake::random::<4>().unwrap_or_default();
    format!("w{:08x}-", u32::from_ne_bytes(bytes))
}

#[cfg(test)]
mod tests;
