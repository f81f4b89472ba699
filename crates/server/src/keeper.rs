//! How a runtime talks to the keeper of a session that outlives it: one call per connection to a socket in the state
//! directory, as a line of JSON each way. Closing the connection cancels the call, never the session.

use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use windlass_tools::{Call, Reply, Toolbox};

/// Where keepers are reached, below the state directory.
pub const DOORS: &str = "keepers";
/// How long a session that is over is kept for somebody who still has to hear of its end.
const LINGER: Duration = Duration::from_secs(600);
/// The longest message that is read.
const LONGEST_MESSAGE: u64 = 32 << 20;

/// A call on its way to a keeper.
#[derive(Debug, Deserialize, Serialize)]
struct Request {
    tool: String,
    arguments: Map<String, Value>,
    ceiling_ms: u64,
    /// The owner of the session that the call starts. A runtime from before there were owners does not say it.
    #[serde(default)]
    owner: Option<String>,
}

/// A keeper's answer.
#[derive(Debug, Deserialize, Serialize)]
struct Response {
    text: String,
    structured: Value,
    is_error: bool,
    /// The session's number in the store.
    id: Option<u64>,
}

/// The place where keepers are reached.
#[derive(Clone, Debug)]
pub struct Meeting {
    directory: PathBuf,
}

/// What came back from a keeper.
#[derive(Debug)]
pub struct Answered {
    /// Its reply.
    pub reply: Reply,
    /// The session's number in the store, where the keeper said so.
    pub id: Option<u64>,
}

impl Meeting {
    /// The meeting place of a state directory.
    pub fn below(state: &Path) -> Self {
        Self { directory: state.join(DOORS) }
    }

    /// The sessions somebody keeps. One whose keeper died a moment ago may still be among them.
    pub fn kept(&self) -> Vec<u64> {
        let Ok(entries) = std::fs::read_dir(&self.directory) else { return Vec::new() };
        let number = |entry: io::Result<std::fs::DirEntry>| {
            entry.ok()?.file_name().to_str()?.strip_suffix(".sock")?.parse().ok()
        };
        entries.filter_map(number).collect()
    }

    /// Passes a call on to the keeper of a session. `None`: there is no such keeper.
    pub async fn pass_on(&self, session: u64, call: &Call) -> Option<Reply> {
        let name = format!("{session}.sock");
        match self.ask(&name, call).await {
            Ok(answered) => Some(answered.reply),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                // Its keeper was killed. Nobody else would take the file away.
                let _ = std::fs::remove_file(self.directory.join(name));
                None
            }
            Err(_) => None,
        }
    }

    /// Calls whoever listens under this name.
    pub async fn ask(&self, name: &str, call: &Call) -> io::Result<Answered> {
        let directory = std::fs::File::open(&self.directory)?;
        let mut stream = UnixStream::connect(short(&directory, name)).await?;
        let request = Request {
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
            ceiling_ms: u64::try_from(call.ceiling.as_millis()).unwrap_or(u64::MAX),
            owner: call.owner.clone(),
        };
        let mut line = serde_json::to_vec(&request)?;
        line.push(b'\n');
        stream.write_all(&line).await?;
        let response: Response = receive(&mut stream).await?;
        let Response { text, structured, is_error, id } = response;
        Ok(Answered { reply: Reply { text, structured, is_error }, id })
    }

    /// Opens a door under a name of its own.
    pub fn open(&self, name: &str) -> io::Result<Door> {
        use std::os::unix::fs::DirBuilderExt;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        let directory = std::fs::File::open(&self.directory)?;
        let listener = UnixListener::bind(short(&directory, name))?;
        Ok(Door { listener, path: self.directory.join(name) })
    }
}

/// The address of a socket may have about a hundred bytes, which a path easily exceeds; the way through an open directory
/// never does.
fn short(directory: &std::fs::File, name: &str) -> PathBuf {
    Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name)
}

/// Where a keeper is called. Gone with its owner.
#[derive(Debug)]
pub struct Door {
    listener: UnixListener,
    path: PathBuf,
}

impl Door {
    /// From now on this is where that session is reached.
    pub fn rename(&mut self, session: u64) -> io::Result<()> {
        let path = self.path.with_file_name(format!("{session}.sock"));
        std::fs::rename(&self.path, &path)?;
        self.path = path;
        Ok(())
    }

    /// Serves callers until the session is over and its end was told, or nobody asked for it for long enough.
    pub async fn serve(&self, toolbox: &Toolbox, over: impl Future<Output = ()>) -> io::Result<()> {
        let mut calls = JoinSet::new();
        let mut over = std::pin::pin!(over);
        let mut is_over = false;
        while !(is_over && toolbox.has_told_everything()) {
            tokio::select! {
                caller = self.knock() => drop(calls.spawn(serve(caller?, toolbox.clone()))),
                Some(_) = calls.join_next() => {}
                () = &mut over, if !is_over => is_over = true,
                // timer: an end that nobody asks for is in the store for everybody.
                () = tokio::time::sleep(LINGER), if is_over && calls.is_empty() => break,
            }
        }
        while calls.join_next().await.is_some() {}
        Ok(())
    }

    /// Somebody who calls.
    pub async fn knock(&self) -> io::Result<Caller> {
        Ok(Caller { stream: crate::caller::accept(&self.listener).await? })
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn serve(caller: Caller, toolbox: Toolbox) {
    // A caller that went away needs no answer.
    let _ = caller.serve(&toolbox).await;
}

/// One connection to a keeper.
#[derive(Debug)]
pub struct Caller {
    stream: UnixStream,
}

impl Caller {
    /// Reads the call.
    pub async fn call(&mut self) -> io::Result<Call> {
        let Request { tool, arguments, ceiling_ms, owner } = receive(&mut self.stream).await?;
        let mut call = Call::new(tool, arguments);
        call.owner = owner;
        call.ceiling = Duration::from_millis(ceiling_ms);
        Ok(call)
    }

    /// Answers it.
    pub async fn answer(mut self, reply: Reply, id: Option<u64>) -> io::Result<()> {
        let Reply { text, structured, is_error } = reply;
        let mut line = serde_json::to_vec(&Response { text, structured, is_error, id })?;
        line.push(b'\n');
        self.stream.write_all(&line).await
    }

    /// Carries one call out, unless the caller goes away first.
    pub async fn serve(mut self, toolbox: &Toolbox) -> io::Result<()> {
        let call = self.call().await?;
        let reply = tokio::select! {
            reply = toolbox.call(call) => reply.unwrap_or_else(Reply::error),
            () = gone(&mut self.stream) => return Ok(()),
        };
        self.answer(reply, None).await
    }
}

/// Callers say one thing: anything more, or the end, means that they have gone.
async fn gone(stream: &mut UnixStream) {
    let _ = stream.read_u8().await;
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
