//! The calls between a runtime and the shim of a session that outlives it: one call per connection to a socket in the
//! state directory, as a line of JSON each way. Closing the connection cancels the call, never the session.
//!
//! Shims live for days, so caller and shim may be of different versions. Each call is preceded by a greeting on a
//! connection of its own, which the shim answers at once with its version; a shim of protocol 1, which knows no
//! greeting, replies at once that it has no such tool. Silence therefore always means that the shim does not work, and
//! the caller waits for a call only as long as the shim still answers greetings.

use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use windlass_engine::{DirectoryIdentity, HeldDirectory, Pid, is_stopped};
use windlass_tools::{Call, Delivery, Outcome, PassedOn, Reply, ShimFailure, Toolbox};

/// The directory of the shims' sockets, below the state directory.
pub const DOORS: &str = "keepers";
/// How long a shim keeps a session that is over, for a caller that has not got its end yet.
const LINGER: Duration = Duration::from_secs(600);
/// How long a caller may take to send its request, which it knows before it connects.
const REQUEST_PATIENCE: Duration = Duration::from_secs(30);
/// How long a reply may wait for its acknowledgement. The reply to a task waits for minutes until its client asks.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(600);
/// The byte that acknowledges a reply.
const ACKNOWLEDGMENT: u8 = b'\n';
/// The longest message that is read.
const LONGEST_MESSAGE: u64 = 32 << 20;
/// The protocol version of this Windlass. Fields may be added to messages within a version.
const PROTOCOL: u64 = 2;
/// The oldest version of callers and shims that this one understands.
const OLDEST_PROTOCOL: u64 = 1;
/// The tool name of a greeting, which a shim answers with its version.
const GREETING: &str = "hello";
/// How long a shim may take to answer a greeting: much more than it needs on an overloaded machine.
const GREETED_WITHIN: Duration = Duration::from_secs(3);
/// How often the caller checks whether a shim still works while it carries out a call.
const GREETED_EVERY: Duration = Duration::from_secs(5);

/// A call to a shim.
#[derive(Debug, Deserialize, Serialize)]
struct Request {
    tool: String,
    arguments: Map<String, Value>,
    ceiling_ms: u64,
    /// The device and number of the directory that a person approved the call for. The caller holds it.
    #[serde(default)]
    directory: Option<(u64, u64)>,
    /// The owner of the session that the call starts. A runtime from before there were owners does not say it.
    #[serde(default)]
    owner: Option<String>,
    /// Whether the caller acknowledges that its own client has the reply. Older runtimes do not.
    #[serde(default)]
    acknowledges: bool,
    /// Additional notes for the reply.
    #[serde(default)]
    remarks: Vec<String>,
    /// The protocol version of the caller; `None` from callers older than versions.
    #[serde(default)]
    protocol: Option<u64>,
}

impl Request {
    fn of(call: &Call) -> Self {
        Self {
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
            ceiling_ms: u64::try_from(call.ceiling.as_millis()).unwrap_or(u64::MAX),
            directory: call.directory.as_ref().map(|held| held.identity()).map(|it| (it.device, it.inode)),
            owner: call.owner.clone(),
            acknowledges: call.tool != GREETING,
            remarks: call.remarks.clone(),
            protocol: Some(PROTOCOL),
        }
    }
}

/// A shim's reply.
#[derive(Debug, Deserialize, Serialize)]
struct Response {
    text: String,
    structured: Value,
    is_error: bool,
    /// The session's number in the store.
    id: Option<u64>,
}

/// The directory in which shims have their sockets.
#[derive(Clone, Debug)]
pub struct Meeting {
    directory: PathBuf,
}

/// The reply of a shim.
#[derive(Debug)]
pub struct Answered {
    /// Its reply.
    pub reply: Reply,
    /// The session's number in the store, if the shim sent it.
    pub id: Option<u64>,
}

impl Meeting {
    /// The directory below a state directory.
    pub fn below(state: &Path) -> Self {
        Self { directory: state.join(DOORS) }
    }

    /// The numbers of detached sessions. One whose shim died a moment ago may still be among them.
    ///
    /// # Errors
    ///
    /// When the directory exists and cannot be listed: then the shims are unknown.
    pub fn kept(&self) -> io::Result<Vec<u64>> {
        let entries = match std::fs::read_dir(&self.directory) {
            // The first shim creates it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut kept = Vec::new();
        for entry in entries {
            let name = entry?.file_name();
            kept.extend(name.to_str().and_then(|name| name.strip_suffix(".sock")?.parse::<u64>().ok()));
        }
        Ok(kept)
    }

    /// The directory of the sockets.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Passes a call on to the shim of a session.
    pub async fn pass_on(&self, session: u64, call: &Call) -> PassedOn {
        let name = format!("{session}.sock");
        match self.converse(&name, call).await {
            Ok(answered) => PassedOn::Answered(answered.reply),
            Err(Unanswered::NotThere) => PassedOn::NotKept,
            Err(Unanswered::Dead) => PassedOn::Died,
            Err(Unanswered::Failed(failure)) => PassedOn::Failed(failure),
        }
    }

    /// Removes the socket of a shim that was killed, which cannot do it itself.
    pub fn forget(&self, session: u64) {
        let _ = std::fs::remove_file(self.directory.join(format!("{session}.sock")));
    }

    /// Greets a shim, then calls it, and checks again and again that it still answers greetings while it carries the
    /// call out.
    async fn converse(&self, name: &str, call: &Call) -> Result<Answered, Unanswered> {
        self.greet(name).await?;
        let mut answer = Box::pin(self.ask(name, call));
        loop {
            // timer: without it, a shim that was stopped meanwhile would keep the caller waiting for ever.
            match tokio::time::timeout(GREETED_EVERY, &mut answer).await {
                Ok(Ok(answered)) => return Ok(answered),
                // The shim ended during the call: the caller looks at the session's record then.
                Ok(Err(error)) if is_hang_up(&error) => {
                    self.greet(name).await?;
                    return Err(hung_up(None).into());
                }
                Ok(Err(error)) => return Err(Unanswered::of(&error, None)),
                Err(_) => self.greet(name).await?,
            }
        }
    }

    /// Asks a shim for its version, which it sends at once.
    async fn greet(&self, name: &str) -> Result<(), Unanswered> {
        // timer: a shim that is stopped, or stuck, accepts connections and never replies.
        let (mut stream, pid) = match tokio::time::timeout(GREETED_WITHIN, self.connect(name)).await {
            Ok(connected) => connected.map_err(|error| Unanswered::of(&error, None))?,
            Err(_) => return Err(silent(None).into()),
        };
        let greeting = Request::of(&Call::new(GREETING, Map::new()));
        match tokio::time::timeout(GREETED_WITHIN, exchange(&mut stream, &greeting)).await {
            Ok(Ok(Response { structured, .. })) => {
                check_version(&structured, pid).map_err(Unanswered::Failed)
            }
            // The shim has ended: it removes its socket before it closes the connections in its backlog.
            Ok(Err(error)) if is_hang_up(&error) && !self.may_be_there(name) => Err(Unanswered::NotThere),
            Ok(Err(error)) => Err(Unanswered::of(&error, pid)),
            Err(_) => Err(silent(pid).into()),
        }
    }

    fn may_be_there(&self, name: &str) -> bool {
        let found = std::fs::symlink_metadata(self.directory.join(name));
        !found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    }

    async fn connect(&self, name: &str) -> io::Result<(UnixStream, Option<u32>)> {
        let directory = std::fs::File::open(&self.directory)?;
        let stream = UnixStream::connect(short(&directory, name)).await?;
        // A process in another pid namespace has no number here.
        let pid = stream.peer_cred().ok().and_then(|peer| peer.pid()).and_then(|pid| u32::try_from(pid).ok());
        Ok((stream, pid.filter(|pid| *pid > 0)))
    }

    /// Calls the shim that listens under this name.
    pub async fn ask(&self, name: &str, call: &Call) -> io::Result<Answered> {
        let (mut stream, _) = self.connect(name).await?;
        let Response { text, structured, is_error, id } = exchange(&mut stream, &Request::of(call)).await?;
        Ok(Answered { reply: Reply { text, structured, is_error, delivery: acknowledging(stream) }, id })
    }

    /// Creates a listening socket under this name.
    pub fn open(&self, name: &str) -> io::Result<ShimSocket> {
        use std::os::unix::fs::DirBuilderExt;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        let directory = std::fs::File::open(&self.directory)?;
        let listener = UnixListener::bind(short(&directory, name))?;
        Ok(ShimSocket { listener, path: self.directory.join(name) })
    }
}

/// Forwards to a shim whether its reply was delivered. The shim notices a loss by the end of the connection.
fn acknowledging(stream: UnixStream) -> Delivery {
    let delivery = Delivery::new();
    delivery.on_settled(move |outcome| {
        if outcome == Outcome::Delivered {
            // A shim that is gone, or that expects no acknowledgement, has counted the reply as delivered.
            let _ = stream.try_write(&[ACKNOWLEDGMENT]);
        }
    });
    delivery
}

/// Why a shim did not reply.
#[derive(Debug)]
enum Unanswered {
    /// There is no such shim.
    NotThere,
    /// Its process is dead: its socket exists, but nothing listens there.
    Dead,
    /// It exists and failed.
    Failed(ShimFailure),
}

impl From<ShimFailure> for Unanswered {
    fn from(failure: ShimFailure) -> Self {
        Self::Failed(failure)
    }
}

impl Unanswered {
    fn of(error: &io::Error, pid: Option<u32>) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotThere,
            io::ErrorKind::ConnectionRefused => Self::Dead,
            // Its backlog of connections is full.
            io::ErrorKind::WouldBlock => silent(pid).into(),
            _ if is_hang_up(error) => hung_up(pid).into(),
            _ => {
                let problem = format!("gives no answer that this windlass understands: {error}");
                let remedy = "use the windlass of that version, or end it with `windlass stop`".to_owned();
                ShimFailure { pid, problem, remedy }.into()
            }
        }
    }
}

fn is_hang_up(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

fn hung_up(pid: Option<u32>) -> ShimFailure {
    let problem = "closed the connection without an answer".to_owned();
    ShimFailure { pid, problem, remedy: "ask again, or end it with `windlass stop`".to_owned() }
}

/// The failure of a shim that accepts connections and does not reply.
fn silent(pid: Option<u32>) -> ShimFailure {
    let late = ShimFailure { pid, ..ShimFailure::late(GREETED_WITHIN) };
    match pid.filter(|pid| is_stopped(Pid::new(*pid))) {
        Some(number) => ShimFailure {
            pid,
            problem: "does not answer: it is stopped".to_owned(),
            remedy: format!("`kill -CONT {number}` lets it go on; `windlass stop` ends the session"),
        },
        None => late,
    }
}

/// The reply to a greeting.
fn greeting() -> Reply {
    let version = env!("CARGO_PKG_VERSION");
    let structured = json!({ "protocol": PROTOCOL, "oldest_protocol": OLDEST_PROTOCOL, "version": version });
    Reply::new(String::new(), structured)
}

/// Checks the version in a reply to a greeting. A reply without one comes from protocol 1.
fn check_version(structured: &Value, pid: Option<u32>) -> Result<(), ShimFailure> {
    let number = |name: &str, otherwise: u64| structured[name].as_u64().unwrap_or(otherwise);
    let newest = number("protocol", 1);
    let oldest = number("oldest_protocol", newest);
    if oldest <= PROTOCOL && newest >= OLDEST_PROTOCOL {
        return Ok(());
    }
    let version = structured["version"].as_str().unwrap_or("of an unknown version");
    let ours = env!("CARGO_PKG_VERSION");
    Err(ShimFailure {
        pid,
        problem: format!(
            "is windlass {version} and speaks protocol {newest}, which this windlass ({ours}) does not"
        ),
        remedy: format!("use windlass {version} for it, or end it with `windlass stop`"),
    })
}

/// The address of a socket is limited to about a hundred bytes, which a path easily exceeds; a path through an open
/// directory never does.
fn short(directory: &std::fs::File, name: &str) -> PathBuf {
    Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name)
}

/// The listening socket of a shim. Removed on drop.
#[derive(Debug)]
pub struct ShimSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl ShimSocket {
    /// Renames the socket after its session, so that callers find it.
    pub fn rename(&mut self, session: u64) -> io::Result<()> {
        let path = self.path.with_file_name(format!("{session}.sock"));
        std::fs::rename(&self.path, &path)?;
        self.path = path;
        Ok(())
    }

    /// Serves callers until the session is over and its end was delivered, or no caller has asked for it for long
    /// enough. `first` is the reply to the call that started the session.
    pub async fn serve(
        &self,
        toolbox: &Toolbox,
        first: impl Future<Output = ()> + Send + 'static,
        over: impl Future<Output = ()>,
    ) -> io::Result<()> {
        let mut calls = JoinSet::new();
        calls.spawn(first);
        let mut over = std::pin::pin!(over);
        let mut is_over = false;
        while !(is_over && toolbox.has_told_everything()) {
            tokio::select! {
                caller = self.knock() => drop(calls.spawn(serve(caller?, toolbox.clone()))),
                Some(_) = calls.join_next() => {}
                () = &mut over, if !is_over => is_over = true,
                // timer: a caller that asks later finds the end in the store.
                () = tokio::time::sleep(LINGER), if is_over && calls.is_empty() => break,
            }
        }
        while calls.join_next().await.is_some() {}
        Ok(())
    }

    /// Accepts the next caller.
    pub async fn knock(&self) -> io::Result<Caller> {
        Ok(Caller { stream: crate::caller::accept(&self.listener).await?, acknowledges: false })
    }
}

impl Drop for ShimSocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn serve(caller: Caller, toolbox: Toolbox) {
    // A caller that disconnected gets no reply.
    let _ = caller.serve(&toolbox).await;
}

/// One connection to a shim.
#[derive(Debug)]
pub struct Caller {
    stream: UnixStream,
    acknowledges: bool,
}

impl Caller {
    /// Reads the request.
    pub async fn call(&mut self) -> io::Result<Call> {
        // timer: a caller that sends nothing must not keep its connection.
        let request = tokio::time::timeout(REQUEST_PATIENCE, receive(&mut self.stream)).await;
        let Request { tool, arguments, ceiling_ms, directory, owner, acknowledges, remarks, protocol: _ } =
            request??;
        self.acknowledges = acknowledges;
        let mut call = Call::new(tool, arguments);
        let held = directory.map(|(device, inode)| DirectoryIdentity { device, inode });
        call.directory = held.map(|identity| Arc::new(HeldDirectory::of_other_process(identity)));
        call.owner = owner;
        call.remarks = remarks;
        call.ceiling = Duration::from_millis(ceiling_ms);
        Ok(call)
    }

    /// Sends the reply. Returns when it is known whether the reply was delivered.
    pub async fn answer(mut self, reply: Reply, id: Option<u64>) -> io::Result<()> {
        let Reply { text, structured, is_error, delivery } = reply;
        let mut line = serde_json::to_vec(&Response { text, structured, is_error, id })?;
        line.push(b'\n');
        // timer: a caller that reads nothing must not keep its connection.
        tokio::time::timeout(ACKNOWLEDGED_WITHIN, async {
            self.stream.write_all(&line).await?;
            if self.acknowledges {
                self.stream.read_u8().await?;
            }
            delivery.confirm();
            Ok(())
        })
        .await?
    }

    /// Carries one call out, unless the caller disconnects first.
    pub async fn serve(mut self, toolbox: &Toolbox) -> io::Result<()> {
        let call = self.call().await?;
        if call.tool == GREETING {
            return self.answer(greeting(), None).await;
        }
        let reply = tokio::select! {
            reply = toolbox.call(call) => reply.unwrap_or_else(Reply::error),
            () = gone(&mut self.stream) => return Ok(()),
        };
        self.answer(reply, None).await
    }
}

/// Waits until the caller is gone. Callers send one request: any further byte, or the end, means that they have gone.
async fn gone(stream: &mut UnixStream) {
    let _ = stream.read_u8().await;
}

/// Sends a request and reads the response.
async fn exchange(stream: &mut UnixStream, request: &Request) -> io::Result<Response> {
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    stream.write_all(&line).await?;
    receive(stream).await
}

async fn receive<T: for<'a> Deserialize<'a>>(stream: &mut UnixStream) -> io::Result<T> {
    let mut line = Vec::new();
    let limited = AsyncReadExt::take(&mut *stream, LONGEST_MESSAGE);
    BufReader::new(limited).read_until(b'\n', &mut line).await?;
    if line.last() != Some(&b'\n') {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_slice(&line)?)
}
