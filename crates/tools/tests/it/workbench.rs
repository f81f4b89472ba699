//! A toolbox to test with: its own engine, its own scratch directory as home, and nothing left of it afterwards.

use std::ffi::OsString;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use windlass_engine::{Engine, EngineOptions, Patience, Retention, Store, StoreLimits};
use windlass_testkit::Scratch;
use windlass_tools::{Call, Profile, Reply, Toolbox, ToolboxOptions};

/// A toolbox, and what it lives in.
pub(crate) struct Workbench {
    toolbox: Toolbox,
    pub(crate) scratch: Scratch,
    pub(crate) engine: Engine,
}

impl Deref for Workbench {
    type Target = Toolbox;

    fn deref(&self) -> &Toolbox {
        &self.toolbox
    }
}

impl Workbench {
    /// The usual one.
    pub(crate) fn new(name: &str) -> Self {
        Self::with(name, |_| {})
    }

    /// One whose options are changed first.
    pub(crate) fn with(name: &str, change: impl FnOnce(&mut ToolboxOptions)) -> Self {
        Self::built(name, change, EngineOptions::default())
    }

    /// One over an engine that is told how to work.
    pub(crate) fn built(name: &str, change: impl FnOnce(&mut ToolboxOptions), engine: EngineOptions) -> Self {
        let scratch = Scratch::new(name);
        let store = Store::open(&scratch.path().join("state"), StoreLimits::default()).unwrap();
        let patience = Patience { grace: Duration::from_millis(300), ..Patience::default() };
        let options = EngineOptions { store: Some(store.clone()), patience, ..engine };
        let engine = Engine::new(options).unwrap();
        let home = scratch.path().join("home");
        std::fs::create_dir(&home).unwrap();
        let mut options = ToolboxOptions::new(&home, environment(&home));
        options.shell = "/bin/bash".into();
        options.profile = Profile::Classic;
        options.store = Some(store);
        change(&mut options);
        Self { toolbox: Toolbox::new(engine.clone(), options), scratch, engine }
    }

    /// Calls a tool that is not expected to refuse.
    pub(crate) async fn ask(&self, tool: &str, arguments: Value) -> Reply {
        let reply = self.call_with(tool, arguments, |_| {}).await;
        assert!(!reply.is_error, "{}", reply.text);
        reply
    }

    /// Calls a tool that is expected to refuse, and gives what it says.
    pub(crate) async fn refused(&self, tool: &str, arguments: Value) -> String {
        let reply = self.call_with(tool, arguments, |_| {}).await;
        assert!(reply.is_error, "{}", reply.text);
        reply.text
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
        self.toolbox.call(call).await.unwrap()
    }

    /// Runs a script to its end.
    pub(crate) async fn exec(&self, cmd: &str) -> Reply {
        self.ask("exec_command", json!({ "cmd": cmd, "until": { "exit": true } })).await
    }
}

/// What of the tests' own environment commands may see: a path to find programs in, and the test's token.
fn environment(home: &std::path::Path) -> Vec<(OsString, OsString)> {
    let token = windlass_testkit::survivors::TOKEN_VARIABLE;
    let keep = |(name, _): &(OsString, OsString)| name == "PATH" || name == token;
    let mut variables: Vec<_> = std::env::vars_os().filter(keep).collect();
    variables.push(("HOME".into(), home.into()));
    variables
}

pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no object"),
    }
}

/// The output of an answer.
pub(crate) fn output(reply: &Reply) -> &str {
    reply.structured["output"].as_str().unwrap()
}

/// The session an answer is about.
pub(crate) fn session(reply: &Reply) -> u64 {
    reply.structured["session"].as_u64().unwrap()
}

/// An engine that keeps only so much of each session's output.
pub(crate) fn keeping(bytes: u64) -> EngineOptions {
    EngineOptions { retention: Retention::new(bytes), ..EngineOptions::default() }
}

/// Waits until a file exists: the way scripts of tests say how far they are.
pub(crate) async fn appears(path: &std::path::Path) {
    let deadline = windlass_testkit::hang_deadline();
    while !path.exists() {
        assert!(std::time::Instant::now() < deadline, "{} did not appear", path.display());
        tokio::task::yield_now().await;
    }
}

/// A person with answers ready, who remembers what was asked.
#[derive(Default)]
pub(crate) struct Answering {
    pub(crate) answers: std::sync::Mutex<Vec<&'static str>>,
    pub(crate) asked: std::sync::Mutex<Vec<windlass_tools::Question>>,
}

impl Answering {
    pub(crate) fn with(answers: &[&'static str]) -> Arc<Self> {
        Arc::new(Self { answers: answers.to_vec().into(), asked: Default::default() })
    }
}

impl windlass_tools::Person for Answering {
    fn ask(&self, question: windlass_tools::Question) -> windlass_tools::Answer<'_> {
        self.asked.lock().unwrap().push(question);
        let mut answers = self.answers.lock().unwrap();
        let answer = if answers.is_empty() { None } else { Some(answers.remove(0).to_owned()) };
        Box::pin(async move { answer })
    }
}
