//! The fixture of these tests: a server over an engine of its own, and clients on pairs of pipes.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use windlass_engine::{Drain, Engine, EngineOptions, KillDelays, Limits, Retention, Session, SessionId};
use windlass_server::app::{AppOptions, AppServer};
use windlass_testkit::{HANG, Scratch, base64, survivors};

/// The capacity of the pipes between client and server.
const PIPE: usize = 64 * 1024;

/// A server, a directory, and a token in the environment of all started processes, by which the test finds survivors.
pub(super) struct Bench {
    pub(super) scratch: Scratch,
    pub(super) token: String,
    server: AppServer,
    engine: Engine,
}

impl Bench {
    pub(super) fn new(name: &str) -> Self {
        Self::limited(name, Limits::default())
    }

    /// A server with a directory for input that does not fit in memory.
    pub(super) fn with_a_disk(name: &str) -> Self {
        Self::furnished(Scratch::new(name), name, EngineOptions::default(), true)
    }

    /// A server whose every process has these limits.
    pub(super) fn limited(name: &str, each: Limits) -> Self {
        let options = EngineOptions { each, ..EngineOptions::default() };
        Self::furnished(Scratch::new(name), name, options, false)
    }

    /// A server with this retention.
    pub(super) fn keeping(name: &str, retention: Retention) -> Self {
        let options = EngineOptions { retention, ..EngineOptions::default() };
        Self::furnished(Scratch::new(name), name, options, false)
    }

    fn furnished(scratch: Scratch, name: &str, options: EngineOptions, has_a_disk: bool) -> Self {
        let drain = Duration::from_millis(300);
        let options = EngineOptions {
            patience: KillDelays { grace: Duration::from_millis(300), ..KillDelays::default() },
            drain: Drain { silence: drain, ceiling: drain },
            ..options
        };
        let engine = Engine::new(options).expect("an engine can be made");
        let token = survivors::token(name);
        let nowhere = PathBuf::from("/state");
        let variables = [
            ("PATH", "/usr/bin:/bin"),
            ("HOME", "/"),
            ("FOO", "bar"),
            (survivors::TOKEN_VARIABLE, token.as_str()),
        ];
        let options = AppOptions {
            directory: scratch.path().into(),
            environment: variables.map(|(name, value)| (name.into(), value.into())).to_vec(),
            state_directory: if has_a_disk { scratch.path().into() } else { nowhere },
            sandbox: windlass_engine::sandbox::Policy::FullAccess,
            process_sandbox: windlass_engine::sandbox::Policy::FullAccess,
        };
        let server = AppServer::new(engine.clone(), options);
        Self { scratch, token, server, engine }
    }

    /// A client that has not sent anything yet.
    pub(super) fn stranger(&self) -> Client {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let (stop, stopped) = oneshot::channel::<()>();
        let (pipes, server) = (tokio::io::split(theirs), self.server.clone());
        let served = tokio::spawn(async move {
            server.serve_streams(pipes, async { drop(stopped.await) }).await;
        });
        let (output, input) = tokio::io::split(ours);
        let lines = BufReader::new(output).lines();
        Client { lines, input, served, stop: Some(stop), last: 0, kept: VecDeque::new() }
    }

    /// A client that has sent `initialize` with these capabilities.
    pub(super) async fn client_with(&self, capabilities: Value) -> Client {
        let mut client = self.stranger();
        let info = json!({ "name": "test", "version": "1" });
        client.get("initialize", json!({ "clientInfo": info, "capabilities": capabilities })).await;
        client
    }

    /// A client with the experimental methods.
    pub(super) async fn client(&self) -> Client {
        self.client_with(json!({ "experimentalApi": true })).await
    }

    /// The session of this number, as the engine knows it.
    pub(super) fn session(&self, id: &Value) -> Session {
        let id = SessionId::new(id.as_u64().expect("a number"));
        self.engine.session(id).expect("it is known")
    }

    /// Ends everything, and fails if a process is left.
    pub(super) async fn end(self) {
        self.server.shutdown().await;
        self.engine.shutdown().await;
        assert_eq!(self.survivors(), Vec::<String>::new());
    }

    /// The processes started by this fixture that are still running.
    pub(super) fn survivors(&self) -> Vec<String> {
        survivors::bearing(&self.token)
    }
}

/// A script to run.
pub(super) fn sh(script: &str) -> Value {
    json!({ "command": ["sh", "-c", script] })
}

/// The same request with other members.
pub(super) fn with(mut params: Value, more: Value) -> Value {
    let (Value::Object(params_), Value::Object(more)) = (&mut params, more) else { panic!("not objects") };
    params_.extend(more);
    params
}

/// A script that streams its input and output under this name.
pub(super) fn streamed(id: &str, script: &str) -> Value {
    let streams = json!({ "processId": id, "streamStdin": true, "streamStdoutStderr": true });
    with(sh(script), streams)
}

/// A client that sends arbitrary lines.
pub(super) struct Client {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    input: WriteHalf<DuplexStream>,
    served: JoinHandle<()>,
    stop: Option<oneshot::Sender<()>>,
    last: i64,
    /// Messages that arrived during a wait for another one.
    pub(super) kept: VecDeque<Value>,
}

impl Client {
    pub(super) async fn say(&mut self, message: &Value) {
        self.say_bytes(format!("{message}\n").as_bytes()).await;
    }

    pub(super) async fn say_bytes(&mut self, bytes: &[u8]) {
        let said = tokio::time::timeout(HANG, self.input.write_all(bytes)).await;
        said.expect("the server listens").expect("the server takes it");
    }

    /// Sends a request without waiting for the reply.
    pub(super) async fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.last += 1;
        let id = self.last;
        self.say(&json!({ "id": id, "method": method, "params": params })).await;
        id
    }

    /// Sends a request, and returns the whole reply.
    pub(super) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params).await;
        self.answer(id).await
    }

    /// Sends a request that must succeed, and returns its result.
    pub(super) async fn get(&mut self, method: &str, params: Value) -> Value {
        let answer = self.request(method, params).await;
        answer.get("result").unwrap_or_else(|| panic!("{method}: {answer}")).clone()
    }

    /// The result of a request that must succeed.
    pub(super) async fn result(&mut self, id: i64) -> Value {
        let answer = self.answer(id).await;
        answer.get("result").unwrap_or_else(|| panic!("{answer}")).clone()
    }

    /// Writes to a command.
    pub(super) async fn write(&mut self, process: &str, bytes: &[u8]) {
        let params = json!({ "processId": process, "deltaBase64": base64::encode(bytes) });
        assert_eq!(self.get("command/exec/write", params).await, json!({}));
    }

    /// Sends a request that must fail with this error.
    pub(super) async fn refused(&mut self, method: &str, params: Value, (code, message): (i64, &str)) {
        let answer = self.request(method, params.clone()).await;
        let expected = json!({ "code": code, "message": message });
        assert_eq!(answer["error"], expected, "{method} {params}: {answer}");
    }

    /// The reply to a request; other messages are kept.
    pub(super) async fn answer(&mut self, id: i64) -> Value {
        self.find(|message| message["id"] == id && message.get("method").is_none()).await
    }

    /// The next notification of this kind; other messages are kept.
    pub(super) async fn notice(&mut self, method: &str) -> Value {
        self.find(|message| message["method"] == method).await["params"].take()
    }

    async fn find(&mut self, mut wanted: impl FnMut(&Value) -> bool) -> Value {
        if let Some(place) = self.kept.iter().position(&mut wanted) {
            return self.kept.remove(place).expect("it was there");
        }
        loop {
            let message = self.hear().await.expect("the server is there");
            if wanted(&message) {
                return message;
            }
            self.kept.push_back(message);
        }
    }

    /// The server's next message; `None` when it has closed the connection.
    pub(super) async fn hear(&mut self) -> Option<Value> {
        let line = tokio::time::timeout(HANG, self.lines.next_line()).await;
        let line = line.expect("the server says something").expect("it can be read")?;
        Some(serde_json::from_str(&line).expect("a line of JSON"))
    }

    /// Waits until a command or process has printed this, and returns all its output meanwhile.
    pub(super) async fn printed(&mut self, name: &str, text: &str) -> String {
        let mut printed = Vec::new();
        while !String::from_utf8_lossy(&printed).contains(text) {
            let is_its = |params: &Value| params["processId"] == name || params["processHandle"] == name;
            let delta = self.find(|message| is_its(&message["params"])).await;
            printed.extend(bytes_of(&delta["params"]));
        }
        String::from_utf8_lossy(&printed).into_owned()
    }

    /// Disconnects, and waits until the server has noticed and cleaned up.
    pub(super) async fn vanish(self) {
        let Self { lines, input, served, stop, .. } = self;
        drop((lines, input));
        tokio::time::timeout(HANG, served).await.expect("the server ends").expect("and does not panic");
        drop(stop);
    }
}

/// The bytes of a delta.
pub(super) fn bytes_of(params: &Value) -> Vec<u8> {
    let text = params["deltaBase64"].as_str().unwrap_or_else(|| panic!("no output in {params}"));
    base64::decode(text.as_bytes()).expect("it is base64")
}

/// The messages about a streamed command up to its reply.
#[derive(Debug, Default)]
pub(super) struct Heard {
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    pub(super) deltas: Vec<Value>,
    pub(super) result: Value,
}

impl Client {
    /// Runs a command to its end, and fails if any message about it comes after its reply.
    pub(super) async fn run(&mut self, params: Value) -> Heard {
        let id = self.ask("command/exec", params).await;
        let mut heard = Heard { result: self.result(id).await, ..Heard::default() };
        for message in self.kept.drain(..) {
            let params = &message["params"];
            let stream = if params["stream"] == "stderr" { &mut heard.stderr } else { &mut heard.stdout };
            stream.extend(bytes_of(params));
            heard.deltas.push(params.clone());
        }
        heard
    }
}
