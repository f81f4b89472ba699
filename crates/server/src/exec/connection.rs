//! One connection: the handshake, and the dispatch of methods. Only work that must keep its order is done here; work
//! that can wait goes to tasks of its own.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use windlass_engine::Signal;
use windlass_protocol::envelope::{
    self, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, Message, Refusal, RequestId,
};
use windlass_protocol::exec::{
    CloseStdinParams, Done, EnvironmentStatus, EnvironmentStatusResponse, ExecParams, ExecResponse,
    InitializeParams, InitializeResponse, ListResponse, ProcessSignal, ReadParams, ResizeParams,
    SignalParams, TerminateParams, TerminateResponse, WriteParams, WriteResponse, WriteStatus,
};

use super::background_jobs::Errands;
use super::files::operation::{Operation, parse};
use super::files::{self, Handles};
use super::process::Process;
use super::reply::Reply;
use super::sessions::ExecSession;
use super::{AfterLoss, Shared, environment, read, start};
use crate::jsonrpc::connection::MESSAGE_LIMIT;
use crate::jsonrpc::{MessageHandler, Next, Peer};

/// The limit on reads of one connection that wait at a time; with more, the server stops reading the connection.
const READS: usize = 4096;

/// The longest id of a write: thousands are remembered.
const LONGEST_WRITE_ID: usize = 1024;

/// The id in an error about a message whose own id could not be read.
const NOBODY: RequestId = RequestId::Number(-1);

/// A connection and the state of its handshake.
pub(crate) struct Connection {
    server: Arc<Shared>,
    peer: Peer,
    after_loss: AfterLoss,
    stage: ExecConnectionState,
    reads: JoinSet<()>,
    /// One permit: large replies are made one at a time.
    turn: Arc<Semaphore>,
    errands: Errands,
    handles: Handles,
}

enum ExecConnectionState {
    /// Before `initialize`.
    New,
    /// `initialize` was answered.
    Attached(Arc<ExecSession>),
    /// The client sent `initialized`.
    Ready(Arc<ExecSession>),
}

/// A group of methods, named in the error for calling one of them too early.
#[derive(Clone, Copy)]
enum Family {
    Exec,
    FileSystem,
    EnvironmentInfo,
    EnvironmentStatus,
}

impl Family {
    fn name(self) -> &'static str {
        match self {
            Self::Exec => "exec",
            Self::FileSystem => "filesystem",
            Self::EnvironmentInfo => "environment info",
            Self::EnvironmentStatus => "environment status",
        }
    }
}

impl MessageHandler for Connection {
    async fn take(&mut self, message: &[u8]) -> Next {
        match envelope::read(message) {
            Ok(Message::Request { id, method, params }) => {
                let reply = Reply::new(&self.peer, id);
                if let Err(refusal) = self.request(&method, params, &reply).await {
                    reply.give(Err::<Done, _>(refusal));
                }
                Next::GoOn
            }
            Ok(Message::Notification { .. }) if has_an_id(message) => {
                let reason =
                    "failed to parse JSON-RPC message: the id is neither a string nor a whole number";
                self.peer.refuse(&NOBODY, &Refusal::new(INVALID_REQUEST, reason));
                Next::GoOn
            }
            Ok(Message::Notification { method, .. }) => self.notification(&method),
            // The server sends no requests, so a response is a protocol error.
            Ok(Message::Answer { .. }) => Next::HangUp,
            Err(no_message) => {
                let reason = format!("failed to parse JSON-RPC message: {}", no_message.reason);
                self.peer.refuse(&no_message.id.unwrap_or(NOBODY), &Refusal::new(INVALID_REQUEST, reason));
                Next::GoOn
            }
        }
    }

    fn too_long(&mut self, beginning: &[u8]) {
        let reason = format!("a message was longer than {MESSAGE_LIMIT} bytes and was skipped");
        let id = envelope::id_at_the_beginning(beginning).unwrap_or(NOBODY);
        self.peer.refuse(&id, &Refusal::new(INVALID_REQUEST, reason));
    }

    async fn close(mut self) {
        self.reads.shutdown().await;
        let (ExecConnectionState::Attached(session) | ExecConnectionState::Ready(session)) = &self.stage
        else {
            return;
        };
        match self.after_loss {
            AfterLoss::Waits => self.server.sessions.detach(session),
            AfterLoss::Ends => self.server.sessions.close(session).await,
        }
    }
}

/// Whether the message has an id, so that its sender expects a reply.
fn has_an_id(message: &[u8]) -> bool {
    serde_json::from_slice::<Value>(message).is_ok_and(|message| message.get("id").is_some())
}

impl Connection {
    pub(super) fn new(server: Arc<Shared>, peer: Peer, after_loss: AfterLoss) -> Self {
        Self {
            server,
            errands: Errands::for_peer(peer.clone()),
            peer,
            after_loss,
            stage: ExecConnectionState::New,
            reads: JoinSet::new(),
            turn: Arc::new(Semaphore::new(1)),
            handles: Handles::default(),
        }
    }

    fn notification(&mut self, method: &str) -> Next {
        match (method, &self.stage) {
            ("initialized", ExecConnectionState::Attached(session)) => {
                session.attach(self.peer.clone());
                self.stage = ExecConnectionState::Ready(Arc::clone(session));
                Next::GoOn
            }
            ("initialized", ExecConnectionState::Ready(_)) => Next::GoOn,
            // A notification that is unknown or out of place may matter to the client, so it must not be ignored.
            _ => Next::HangUp,
        }
    }

    /// Carries out a request, and answers it or passes the reply on to a task; the caller answers an error.
    async fn request(&mut self, method: &str, params: Value, reply: &Reply) -> Result<(), Refusal> {
        match method {
            "initialize" => self.initialize(parse(params)?, reply),
            _ if method.starts_with("process/") => self.process_request(method, params, reply).await,
            _ if method.starts_with("fs/") => self.file_request(method, params, reply).await,
            "environment/info" => {
                self.ready(Family::EnvironmentInfo)?;
                answer(reply, environment::info(&self.server.place))
            }
            "environment/status" => {
                self.ready(Family::EnvironmentStatus)?;
                answer(reply, EnvironmentStatusResponse { status: EnvironmentStatus::Ready })
            }
            _ => Err(unknown(method)),
        }
    }

    fn initialize(&mut self, params: InitializeParams, reply: &Reply) -> Result<(), Refusal> {
        if !matches!(self.stage, ExecConnectionState::New) {
            return Err(Refusal::new(INVALID_REQUEST, "initialize may only be sent once per connection"));
        }
        let sessions = &self.server.sessions;
        let session = match params.resume_session_id {
            Some(id) => sessions.resume(&id)?,
            None => sessions.open()?,
        };
        let session_id = session.id().to_owned();
        self.stage = ExecConnectionState::Attached(session);
        answer(
            reply,
            InitializeResponse { session_id, environment_info: environment::info(&self.server.place) },
        )
    }

    fn ready(&self, family: Family) -> Result<&Arc<ExecSession>, Refusal> {
        let family = family.name();
        let early = |what: &str| {
            Err(Refusal::new(INVALID_REQUEST, format!("client must {what} before using {family} methods")))
        };
        match &self.stage {
            ExecConnectionState::New => early("call initialize"),
            ExecConnectionState::Attached(_) => early("send initialized"),
            ExecConnectionState::Ready(session) => Ok(session),
        }
    }

    async fn process_request(&mut self, method: &str, params: Value, reply: &Reply) -> Result<(), Refusal> {
        match method {
            "process/start" => self.start(parse(params)?, reply).await,
            "process/read" => self.read(parse(params)?, reply).await,
            "process/write" => self.write(parse(params)?, reply),
            "process/closeStdin" => self.close_stdin(&parse(params)?, reply),
            "process/signal" => self.signal(&parse(params)?, reply),
            "process/resize" => self.resize(&parse(params)?, reply),
            "process/terminate" => self.terminate(&parse(params)?, reply),
            "process/list" => {
                let processes = self.ready(Family::Exec)?.all_processes();
                let processes = processes.iter().map(|process| process.listed()).collect();
                answer(reply, ListResponse { processes })
            }
            _ => Err(unknown(method)),
        }
    }

    async fn start(&mut self, params: ExecParams, reply: &Reply) -> Result<(), Refusal> {
        let session = Arc::clone(self.ready(Family::Exec)?);
        // A process may depend on file operations that the client requested before.
        self.errands.idle().await;
        let process = start::start(&self.server, &session, params)?;
        let (process_id, sandbox_type) = (process.id().to_owned(), process.sandbox_type());
        answer(reply, ExecResponse { process_id, sandbox_type })?;
        process.begin(&session);
        Ok(())
    }

    async fn read(&mut self, params: ReadParams, reply: &Reply) -> Result<(), Refusal> {
        let process = self.ready(Family::Exec)?.process(&params.process_id).ok_or_else(|| {
            Refusal::new(INVALID_REQUEST, format!("unknown process id {}", params.process_id))
        })?;
        while self.reads.try_join_next().is_some() {}
        while self.reads.len() >= READS {
            self.reads.join_next().await;
        }
        self.reads.spawn(read::read(process, params, Arc::clone(&self.turn), reply.clone()));
        Ok(())
    }

    fn write(&mut self, params: WriteParams, reply: &Reply) -> Result<(), Refusal> {
        let bytes = STANDARD.decode(&params.chunk);
        let bytes = bytes.map_err(|error| Refusal::new(INVALID_PARAMS, error.to_string()))?;
        let session = self.ready(Family::Exec)?;
        if params.write_id.is_empty() {
            return Err(Refusal::new(INVALID_PARAMS, "writeId must not be empty"));
        }
        if params.write_id.len() > LONGEST_WRITE_ID {
            let message = format!("writeId must not exceed {LONGEST_WRITE_ID} bytes");
            return Err(Refusal::new(INVALID_PARAMS, message));
        }
        match session.process(&params.process_id) {
            Some(process) => process.controls().write(params.write_id, bytes, reply.clone()),
            None => return answer(reply, WriteResponse { status: WriteStatus::UnknownProcess }),
        }
        Ok(())
    }

    fn close_stdin(&mut self, params: &CloseStdinParams, reply: &Reply) -> Result<(), Refusal> {
        match self.ready(Family::Exec)?.process(&params.process_id) {
            Some(process) => process.controls().close_input(reply.clone()),
            None => return answer(reply, WriteResponse { status: WriteStatus::UnknownProcess }),
        }
        Ok(())
    }

    fn signal(&mut self, params: &SignalParams, reply: &Reply) -> Result<(), Refusal> {
        match self.ready(Family::Exec)?.process(&params.process_id) {
            Some(process) => process.controls().signal(number(params.signal), reply.clone()),
            None => return answer(reply, Done {}),
        }
        Ok(())
    }

    fn resize(&mut self, params: &ResizeParams, reply: &Reply) -> Result<(), Refusal> {
        let session = self.ready(Family::Exec)?;
        let size = start::size(params.size)?;
        let unknown = || Refusal::new(INVALID_REQUEST, format!("unknown process id {}", params.process_id));
        session.process(&params.process_id).ok_or_else(unknown)?.controls().resize(size, reply.clone());
        Ok(())
    }

    /// Replies at once whether the process is running. Ending it takes as long as it takes, and overtakes its input.
    fn terminate(&mut self, params: &TerminateParams, reply: &Reply) -> Result<(), Refusal> {
        let session = self.ready(Family::Exec)?;
        let process = session.process(&params.process_id);
        let is_running = |process: &Arc<Process>| process.session().receipt().is_none();
        answer(reply, TerminateResponse { running: process.as_ref().is_some_and(is_running) })?;
        // Ends the processes that an exited process left running, too: they may keep the output open, and the name
        // taken.
        if let Some(process) = process.filter(|process| !process.session().progress().closed) {
            session.spawn(async move { drop(process.session().stop().await) });
        }
        Ok(())
    }

    async fn file_request(&mut self, method: &str, params: Value, reply: &Reply) -> Result<(), Refusal> {
        let (handles, server) = (self.handles.clone(), Arc::clone(&self.server));
        match method {
            "fs/open" => self.errand(params, reply, move |params| handles.open(&server, params)).await,
            "fs/readBlock" => self.errand(params, reply, move |params| handles.read_block(params)).await,
            "fs/close" => self.errand(params, reply, move |params| handles.close(params)).await,
            _ => {
                let operation = Operation::read(method, params).ok_or_else(|| unknown(method))??;
                self.ready(Family::FileSystem)?;
                let reply = reply.clone();
                self.errands.run(move || reply.give(files::perform(&server, operation))).await;
                Ok(())
            }
        }
    }

    async fn errand<P, R>(
        &self,
        params: Value,
        reply: &Reply,
        work: impl FnOnce(&P) -> Result<R, Refusal> + Send + 'static,
    ) -> Result<(), Refusal>
    where
        P: DeserializeOwned + Send + 'static,
        R: Serialize,
    {
        let params: P = parse(params)?;
        self.ready(Family::FileSystem)?;
        let reply = reply.clone();
        self.errands.run(move || reply.give(work(&params))).await;
        Ok(())
    }
}

fn answer(reply: &Reply, result: impl Serialize) -> Result<(), Refusal> {
    reply.clone().give(Ok(result));
    Ok(())
}

fn unknown(method: &str) -> Refusal {
    Refusal::new(METHOD_NOT_FOUND, format!("exec-server stub does not implement `{method}` yet"))
}

fn number(signal: ProcessSignal) -> Signal {
    match signal {
        ProcessSignal::Interrupt => Signal::INT,
        ProcessSignal::Terminate => Signal::TERM,
        ProcessSignal::Hangup => Signal::HUP,
        ProcessSignal::Quit => Signal::QUIT,
        ProcessSignal::Kill => Signal::KILL,
        ProcessSignal::Stop => Signal::STOP,
        ProcessSignal::Continue => Signal::CONT,
    }
}
