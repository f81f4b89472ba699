//! A toolbox to test with: its own engine, its own scratch directory as home, and nothing left of it afterwards, also
//! when the test fails.

use std::ffi::OsString;
use std::future::poll_fn;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use serde_json::{Map, Value, json};
use windlass_engine::{Engine, EngineOptions, KillDelays, Retention, Store, StoreLimits};
use windlass_testkit::{Scratch, survivors};
use windlass_tools::{
    Approval, Approved, Call, Person, Profile, Question, Reply, Toolbox, ToolboxOptions, UserReplyFuture,
};

/// Long enough that no test ever reaches it: any earlier reply was caused by an event.
pub(crate) const LONG: u64 = 30_000;

/// Starts a process in the background and continues once it has its final name: between fork and exec it has the
/// shell's own.
pub(crate) const SLEEPER: &str = "sleep 61 & until grep -q sleep /proc/$!/comm; do :; done";

/// A toolbox, with its surroundings.
pub(crate) struct Workbench {
    toolbox: Toolbox,
    scratch: Scratch,
    pub(crate) engine: Engine,
    pub(crate) store: Store,
}

impl Deref for Workbench {
    type Target = Toolbox;

    fn deref(&self) -> &Toolbox {
        &self.toolbox
    }
}

/// A test with the usual toolbox.
pub(crate) fn bench(body: impl AsyncFnOnce(&Workbench)) {
    bench_with(|_| {}, body);
}

/// A test with a toolbox whose options are changed first.
pub(crate) fn bench_with(change: impl FnOnce(&mut ToolboxOptions), body: impl AsyncFnOnce(&Workbench)) {
    bench_over(EngineOptions::default(), change, body);
}

/// A test over an engine with these options.
pub(crate) fn bench_over(
    engine: EngineOptions,
    change: impl FnOnce(&mut ToolboxOptions),
    body: impl AsyncFnOnce(&Workbench),
) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let bench = Workbench::new(engine, change);
        let mut test = pin!(body(&bench));
        let outcome =
            poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| test.as_mut().poll(context))) {
                Ok(Poll::Pending) => Poll::Pending,
                Ok(Poll::Ready(())) => Poll::Ready(Ok(())),
                Err(panic) => Poll::Ready(Err(panic)),
            })
            .await;
        // Whether the test passed or failed, nothing of it goes on.
        bench.toolbox.shutdown().await;
        let left = survivors::bearing(&bench.home().display().to_string());
        if let Err(panic) = outcome {
            resume_unwind(panic);
        }
        assert_eq!(left, Vec::<String>::new(), "left behind");
    });
}

impl Workbench {
    fn new(engine: EngineOptions, change: impl FnOnce(&mut ToolboxOptions)) -> Self {
        let scratch = Scratch::new("tools");
        let store = Store::open(&scratch.path().join("state"), StoreLimits::default()).unwrap();
        let patience = KillDelays { grace: Duration::from_millis(300), ..KillDelays::default() };
        let options = EngineOptions { store: Some(store.clone()), patience, ..engine };
        let engine = Engine::new(options).unwrap();
        let home = scratch.path().join("home");
        std::fs::create_dir(&home).unwrap();
        let mut options = ToolboxOptions::new(&home, environment(&home));
        options.shell = "/bin/bash".into();
        options.profile = Profile::Classic;
        options.store = Some(store.clone());
        change(&mut options);
        Self { toolbox: Toolbox::new(engine.clone(), options), scratch, engine, store }
    }

    /// The default directory of commands, and their home.
    pub(crate) fn home(&self) -> PathBuf {
        self.scratch.path().join("home")
    }

    /// Writes a file into the home.
    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.home().join(name), text).unwrap();
    }

    /// The contents of a file in the home; empty if there is none.
    pub(crate) fn contents(&self, name: &str) -> String {
        std::fs::read_to_string(self.home().join(name)).unwrap_or_default()
    }

    /// Calls a tool with a call that is changed first.
    pub(crate) async fn call_with(
        &self,
        tool: &str,
        arguments: Value,
        change: impl FnOnce(&mut Call),
    ) -> Reply {
        let mut call = Call::new(tool, object(arguments));
        call.ceiling = windlass_testkit::HANG;
        change(&mut call);
        let reply = self.toolbox.call(call).await.unwrap();
        reply.delivery.confirm();
        reply
    }

    /// Calls a tool that is not expected to refuse.
    pub(crate) async fn ask(&self, tool: &str, arguments: Value) -> Reply {
        let reply = self.call_with(tool, arguments, |_| {}).await;
        assert!(!reply.is_error, "{}", reply.text);
        reply
    }

    /// Calls a tool that is expected to refuse, and returns its message.
    pub(crate) async fn refused(&self, tool: &str, arguments: Value) -> String {
        let reply = self.call_with(tool, arguments, |_| {}).await;
        assert!(reply.is_error, "{}", reply.text);
        assert!(reply.text.starts_with(reply.structured["error"].as_str().unwrap()), "{}", reply.text);
        reply.text
    }

    /// `exec_command` with these arguments.
    pub(crate) async fn run(&self, arguments: Value) -> Reply {
        self.ask("exec_command", arguments).await
    }

    /// Runs a script to its end.
    pub(crate) async fn exec(&self, cmd: &str) -> Reply {
        self.run(json!({ "cmd": cmd, "until": { "exit": true } })).await
    }

    /// Starts a script on pipes and returns once it has printed the pattern.
    pub(crate) async fn start(&self, cmd: &str, pattern: &str) -> u64 {
        let reply = self.run(json!({ "cmd": cmd, "until": { "pattern": pattern } })).await;
        assert_eq!(reply.structured["met"], "pattern", "{}", reply.text);
        session(&reply)
    }

    /// The same on a terminal.
    pub(crate) async fn start_on_terminal(&self, cmd: &str, pattern: &str) -> u64 {
        let reply = self.run(json!({ "cmd": cmd, "tty": true, "until": { "pattern": pattern } })).await;
        assert_eq!(reply.structured["met"], "pattern", "{}", reply.text);
        session(&reply)
    }

    /// Starts a script on a terminal and returns once it waits for input.
    pub(crate) async fn start_waiting(&self, cmd: &str) -> u64 {
        let reply = self.run(json!({ "cmd": cmd, "tty": true, "until": { "input": true } })).await;
        assert_eq!(reply.structured["met"], "input", "{}", reply.text);
        session(&reply)
    }

    /// Polls until the session has exited.
    pub(crate) async fn finish(&self, id: u64) -> Reply {
        self.ask("write_stdin", json!({ "session_id": id, "until": { "exit": true } })).await
    }

    /// Waits for a session's end without marking its output or its end as received.
    pub(crate) async fn ended(&self, id: u64) {
        let session = self.engine.session(windlass_engine::SessionId::new(id)).unwrap();
        session.exited().await.unwrap();
    }

    /// Types a line, and returns when the program waits again.
    pub(crate) async fn types(&self, id: u64, chars: &str) -> Reply {
        let arguments = json!({ "session_id": id, "chars": chars, "until": { "input": true } });
        self.ask("write_stdin", arguments).await
    }

    /// Types an empty line, and waits for the end.
    pub(crate) async fn types_and_ends(&self, id: u64) -> Reply {
        let arguments = json!({ "session_id": id, "chars": "\n", "until": { "exit": true } });
        self.ask("write_stdin", arguments).await
    }

    pub(crate) async fn read(&self, id: u64, part: Value) -> Reply {
        let mut arguments = object(part);
        arguments.insert("session_id".into(), id.into());
        self.ask("read_output", Value::Object(arguments)).await
    }

    pub(crate) async fn stop(&self, id: u64) -> Reply {
        self.ask("stop_session", json!({ "session_id": id })).await
    }

    /// The entry of a session in the list.
    pub(crate) async fn listed(&self, id: u64) -> Value {
        let list = self.ask("list_sessions", json!({})).await.structured;
        let all = list["sessions"].as_array().unwrap();
        all.iter().find(|entry| entry["session"] == id).cloned().unwrap_or_default()
    }

    /// A pipe in the home at which a script waits (`read x < NAME`) until the test opens it.
    pub(crate) fn gate(&self, name: &str) -> Gate {
        let path = self.home().join(name);
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        Gate(path)
    }
}

/// A named pipe that holds up its reader.
pub(crate) struct Gate(PathBuf);

impl Gate {
    /// Lets the script go on.
    pub(crate) async fn open(&self) {
        let path = self.0.clone();
        tokio::task::spawn_blocking(move || std::fs::write(path, "\n").unwrap()).await.unwrap();
    }
}

/// The part of the tests' own environment that commands may see: a path to find programs in.
fn environment(home: &Path) -> Vec<(OsString, OsString)> {
    let mut variables: Vec<_> = std::env::vars_os().filter(|(name, _)| name == "PATH").collect();
    variables.push(("HOME".into(), home.into()));
    variables
}

pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no object"),
    }
}

/// The output of a reply.
pub(crate) fn output(reply: &Reply) -> &str {
    reply.structured["output"].as_str().unwrap()
}

/// The session of a reply.
pub(crate) fn session(reply: &Reply) -> u64 {
    reply.structured["session"].as_u64().unwrap()
}

/// The session's state in a reply, without how long it has been silent: on a busy machine that may be mentioned.
pub(crate) fn state(reply: &Reply) -> &str {
    let state = reply.structured["state"].as_str().unwrap();
    match state.rsplit_once(", idle ") {
        Some((before, _)) => before,
        None if state.starts_with("idle ") => "running",
        None => state,
    }
}

/// An engine that keeps only so much of each session's output.
pub(crate) fn keeping(bytes: u64) -> EngineOptions {
    EngineOptions { retention: Retention::new(bytes), ..EngineOptions::default() }
}

/// Whether a process is there and not a zombie.
pub(crate) fn is_alive(pid: u64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z') && !rest.starts_with('X'))
}

/// A person with prepared answers, who records the questions.
#[derive(Default)]
pub(crate) struct Answering {
    answers: Mutex<Vec<&'static str>>,
    pub(crate) asked: Mutex<Vec<Question>>,
    /// The commands that it was asked to approve. It approves if its next answer is `yes`.
    pub(crate) proposed: Mutex<Vec<Approval>>,
}

impl Answering {
    pub(crate) fn with(answers: &[&'static str]) -> Arc<Self> {
        Arc::new(Self {
            answers: answers.to_vec().into(),
            asked: Mutex::default(),
            proposed: Mutex::default(),
        })
    }
}

impl Person for Answering {
    fn ask(&self, question: Question) -> UserReplyFuture<'_> {
        self.asked.lock().unwrap().push(question);
        let answer = self.next();
        Box::pin(async move { answer })
    }

    fn approve(&self, approval: Approval) -> Approved<'_> {
        self.proposed.lock().unwrap().push(approval);
        let answer = self.next();
        Box::pin(async move { answer.as_deref() == Some("yes") })
    }
}

impl Answering {
    fn next(&self) -> Option<String> {
        let mut answers = self.answers.lock().unwrap();
        if answers.is_empty() { None } else { Some(answers.remove(0).to_owned()) }
    }
}
