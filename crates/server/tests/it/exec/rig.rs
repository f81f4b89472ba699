//! The fixture of these tests: a server over an engine of its own, and clients on pairs of pipes.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use windlass_engine::sandbox::HelperProgram;
use windlass_engine::{Engine, EngineOptions, KillDelays, Session};
use windlass_server::exec::{AfterLoss, ExecEnvironment, ExecServer};
use windlass_testkit::{HANG, Scratch, base64, survivors};

/// The capacity of the pipes between client and server.
const PIPE: usize = 64 * 1024;

/// A server, a directory, and a token in the environment of all started processes, by which the test finds survivors.
pub(super) struct Bench {
    pub(super) scratch: Scratch,
    _state: Scratch,
    pub(super) token: String,
    server: ExecServer,
    engine: Engine,
}

impl Bench {
    pub(super) fn new(name: &str) -> Self {
        Self::with_grace(name, Duration::from_secs(30))
    }

    /// A fixture whose sessions wait this long for a lost client.
    pub(super) fn with_grace(name: &str, grace: Duration) -> Self {
        let patience = KillDelays { grace: Duration::from_millis(300), ..KillDelays::default() };
        let options = EngineOptions { patience, ..EngineOptions::default() };
        let engine = Engine::new(options).expect("an engine can be made");
        let (scratch, state) = (Scratch::new(name), Scratch::new(&format!("{name}-state")));
        let variables = [("PATH", "/usr/bin:/bin"), ("FOO", "bar"), ("API_TOKEN", "hush")];
        let place = ExecEnvironment {
            variables: variables.map(|(name, value)| (name.into(), value.into())).to_vec(),
            shell: "/bin/bash".into(),
            home: Some("/nobody/home".into()),
            directory: scratch.path().into(),
            temporary: "/tmp".into(),
            state_directory: state.path().into(),
            // The helper is never started: the engine has no sandboxes.
            file_helper: HelperProgram { program: c"/nobody/files".into(), arguments: Vec::new() },
        };
        let server = ExecServer::with_grace(engine.clone(), place, grace);
        Self { scratch, _state: state, token: survivors::token(name), server, engine }
    }

    /// A client that has not sent anything yet.
    pub(super) fn stranger(&self, after_loss: AfterLoss) -> Client {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let (stop, stopped) = oneshot::channel::<()>();
        let (pipes, server) = (tokio::io::split(theirs), self.server.clone());
        let served = tokio::spawn(async move {
            server.serve_pipes(pipes, after_loss, async { drop(stopped.await) }).await;
        });
        let (output, input) = tokio::io::split(ours);
        let lines = BufReader::new(output).lines();
        Client { lines, input, served, stop: Some(stop), last: 0, kept: VecDeque::new() }
    }

    /// A client after the handshake, whose session ends with it.
    pub(super) async fn client(&self) -> Client {
        let mut client = self.stranger(AfterLoss::Ends);
        client.greet(json!({ "clientName": "test" })).await;
        client
    }

    /// The parameters of a process that runs this in the directory, with the token in its environment.
    pub(super) fn argv<const N: usize>(&self, id: &str, argv: [&str; N]) -> Value {
        json!({
            "processId": id, "argv": argv.as_slice(), "cwd": self.uri(""), "tty": false,
            "env": { "PATH": "/usr/bin:/bin", survivors::TOKEN_VARIABLE: self.token },
        })
    }

    pub(super) fn sh(&self, id: &str, script: &str) -> Value {
        self.argv(id, ["/bin/sh", "-c", script])
    }

    /// The URI of a path in the directory.
    pub(super) fn uri(&self, name: &str) -> String {
        format!("file://{}/{name}", self.scratch.path().display())
    }

    /// The sessions of the engine, oldest first.
    pub(super) fn runs(&self) -> Vec<Session> {
        self.engine.sessions()
    }

    /// Ends everything, and fails if a process is left.
    pub(super) async fn end(self) {
        self.server.shutdown().await;
        self.engine.shutdown().await;
        assert_eq!(survivors::bearing(&self.token), Vec::<String>::new());
    }
}

/// The same request with another member.
pub(super) fn with(mut params: Value, name: &str, value: impl Into<Value>) -> Value {
    params[name] = value.into();
    params
}

/// A client that sends arbitrary lines.
pub(super) struct Client {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    input: WriteHalf<DuplexStream>,
    served: JoinHandle<()>,
    stop: Option<oneshot::Sender<()>>,
    last: i64,
    /// Messages that arrived during a wait for another one.
    kept: VecDeque<Value>,
}

impl Client {
    /// Performs the handshake and returns the session's id.
    pub(super) async fn greet(&mut self, params: Value) -> String {
        let answer = self.request("initialize", params).await;
        self.say(&json!({ "method": "initialized" })).await;
        answer["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("no session in {answer}")).to_owned()
    }

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

    /// Sends a request that must fail with this error.
    pub(super) async fn refused(&mut self, method: &str, params: Value, (code, message): (i64, &str)) {
        let answer = self.request(method, params.clone()).await;
        assert_eq!(
            answer["error"],
            json!({ "code": code, "message": message }),
            "{method} {params}: {answer}"
        );
    }

    /// The reply to a request; other messages are kept.
    pub(super) async fn answer(&mut self, id: i64) -> Value {
        self.find(|message| message["id"] == id && message.get("method").is_none()).await
    }

    /// The next event of a process; other messages are kept.
    pub(super) async fn event(&mut self, process: &str) -> Value {
        self.find(|message| message["params"]["processId"] == process).await
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
        let line =
            tokio::time::timeout(HANG, self.lines.next_line()).await.expect("the server says something");
        line.expect("it can be read").map(|line| serde_json::from_str(&line).expect("a line of JSON"))
    }

    /// Collects the events of a process to its end.
    pub(super) async fn story(&mut self, process: &str) -> Story {
        let mut story = Story::default();
        while !story.closed {
            let event = self.event(process).await;
            story.add(&event);
        }
        story
    }

    /// Waits until a process has printed this.
    pub(super) async fn printed(&mut self, process: &str, text: &str) -> Story {
        let mut story = Story::default();
        while !story.text().contains(text) {
            let event = self.event(process).await;
            assert_ne!(event["method"], "process/closed", "{text} was not printed, but {:?}", story.text());
            story.add(&event);
        }
        story
    }

    /// Disconnects, and waits until the server has noticed and cleaned up.
    pub(super) async fn vanish(self) {
        let Self { lines, input, served, stop, .. } = self;
        drop((lines, input));
        tokio::time::timeout(HANG, served).await.expect("the server ends").expect("and does not panic");
        drop(stop);
    }
}

/// The events of a process.
#[derive(Debug, Default)]
pub(super) struct Story {
    /// The output of both streams or of the terminal.
    pub(super) bytes: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    pub(super) numbers: Vec<u64>,
    pub(super) exit_code: Option<i64>,
    /// The number of bytes received before the exit.
    pub(super) before_exit: usize,
    pub(super) closed: bool,
}

impl Story {
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    pub(super) fn add(&mut self, event: &Value) {
        let params = &event["params"];
        self.numbers.push(params["seq"].as_u64().expect("a number"));
        match event["method"].as_str() {
            Some("process/output") => {
                let bytes = bytes_of(&params["chunk"]);
                if params["stream"] == "stderr" {
                    self.stderr.extend_from_slice(&bytes);
                }
                self.bytes.extend_from_slice(&bytes);
            }
            Some("process/exited") => {
                self.exit_code = params["exitCode"].as_i64();
                self.before_exit = self.bytes.len();
            }
            Some("process/closed") => self.closed = true,
            _ => panic!("what is {event}?"),
        }
    }

    /// Checks that the numbers begin at `first` and have no gap.
    pub(super) fn check_numbers(&self, first: u64) {
        let expected: Vec<u64> = (first..).take(self.numbers.len()).collect();
        assert_eq!(self.numbers, expected);
    }
}

pub(super) fn bytes_of(chunk: &Value) -> Vec<u8> {
    base64::decode(chunk.as_str().expect("a text").as_bytes()).expect("base64")
}

/// The bytes of all chunks in a reply to `process/read`.
pub(super) fn chunks(answer: &Value) -> Vec<u8> {
    let chunks = answer["chunks"].as_array().expect("a list");
    chunks.iter().flat_map(|chunk| bytes_of(&chunk["chunk"])).collect()
}
