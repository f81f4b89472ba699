//! A team whose model is a script, and what can be seen of it.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tokio::sync::mpsc;
use windlass_agent::{
    AgentConfig, AgentDeps, AgentEvent, Background, Beginning, EventKind, ModelClient, ModelParams,
    ResponseFuture, ResponseStream, Spoken, Status, Team, TeamLimits, ThreadId, Threads,
};
use windlass_engine::{Engine, EngineOptions, KillDelays};
use windlass_llm::{
    Call, CallId, Content, ContentPart, Failure, Input, Item, Request, ResponseEvent as Piece, Role, Usage,
};
use windlass_testkit::{HANG, Scratch};
use windlass_tools::{Policy, Toolbox, ToolboxOptions};

/// The scripted response to one request.
pub(crate) type Saying = Vec<Result<Piece, Failure>>;
type Script = Box<dyn FnMut(&Request) -> Saying + Send>;

/// A model client that follows a script, and records the requests.
pub(crate) struct Scripted {
    script: Mutex<Script>,
    pub(crate) asked: Mutex<Vec<Request>>,
}

impl ModelClient for Scripted {
    fn ask(&self, request: Request) -> ResponseFuture<'_> {
        let saying = self.script.lock().unwrap()(&request);
        self.asked.lock().unwrap().push(request);
        Box::pin(async move { Ok(Box::new(Said(saying.into())) as Box<dyn ResponseStream>) })
    }
}

struct Said(VecDeque<Result<Piece, Failure>>);

impl ResponseStream for Said {
    fn next(&mut self) -> Spoken<'_> {
        Box::pin(async move {
            match self.0.pop_front() {
                Some(piece) => piece.map(Some),
                // A stream that sends nothing more and does not end either.
                None => std::future::pending().await,
            }
        })
    }
}

/// A message, and the end of the response.
pub(crate) fn say(text: &str) -> Saying {
    vec![Ok(message(text)), done()]
}

pub(crate) fn message(text: &str) -> Piece {
    Piece::Item(Item::message(Role::Assistant, vec![ContentPart::Text(text.into())]))
}

/// Calls, and the end of the response.
pub(crate) fn calls(calls: &[(&str, &str, Value)]) -> Saying {
    calls.iter().map(|(id, name, arguments)| Ok(call(id, name, arguments))).chain([done()]).collect()
}

pub(crate) fn call(id: &str, name: &str, arguments: &Value) -> Piece {
    let input = Input::Arguments(arguments.to_string());
    Piece::Item(Item::call(Call { id: CallId(id.into()), name: name.into(), namespace: None, input }))
}

pub(crate) fn done() -> Result<Piece, Failure> {
    Ok(Piece::Completed(Usage { input: 10, output: 1, ..Usage::default() }))
}

/// A team at work.
pub(crate) struct Stage {
    pub(crate) team: Team,
    pub(crate) root: ThreadId,
    pub(crate) model: Arc<Scripted>,
    pub(crate) engine: Engine,
    events: mpsc::Receiver<AgentEvent>,
    pub(crate) seen: Vec<AgentEvent>,
    pub(crate) scratch: Scratch,
}

/// The options of a stage.
pub(crate) struct Setting {
    pub(crate) beginning: Beginning,
    pub(crate) change: fn(&mut AgentConfig),
    pub(crate) scratch: Scratch,
}

impl Default for Setting {
    fn default() -> Self {
        Self { beginning: Beginning::New, change: |_| {}, scratch: Scratch::new("agent") }
    }
}

impl Stage {
    pub(crate) fn playing(sayings: Vec<Saying>) -> Self {
        let mut sayings: VecDeque<Saying> = sayings.into();
        let next = move |_: &Request| sayings.pop_front().unwrap_or_else(|| say("the script is over"));
        Self::set(Setting::default(), next)
    }

    pub(crate) fn answering(script: impl FnMut(&Request) -> Saying + Send + 'static) -> Self {
        Self::set(Setting::default(), script)
    }

    pub(crate) fn set(setting: Setting, script: impl FnMut(&Request) -> Saying + Send + 'static) -> Self {
        let scratch = setting.scratch;
        let home = scratch.path().join("home");
        std::fs::create_dir_all(&home).unwrap();
        let patience = KillDelays { grace: Duration::from_millis(200), ..KillDelays::default() };
        let engine = Engine::new(EngineOptions { patience, ..EngineOptions::default() }).unwrap();
        let mut options = ToolboxOptions::new(&home, environment(&home));
        options.shell = "/bin/bash".into();
        let toolbox = Toolbox::new(engine.clone(), options);
        let model = Arc::new(Scripted { script: Mutex::new(Box::new(script)), asked: Mutex::default() });
        let (sender, events) = mpsc::channel(1024);
        let mut config = config(home);
        (setting.change)(&mut config);
        let deps = AgentDeps {
            model_client: model.clone(),
            toolbox: Box::new(move || toolbox.for_another_caller()),
            foreign: None,
            threads: Some(Threads::new(scratch.path().join("threads"))),
            clock: SystemTime::now,
            prompter: None,
            cells: None,
            events: sender,
            config,
        };
        let (team, root) = Team::start(deps, &setting.beginning).unwrap();
        Self { team, root, model, engine, events, seen: Vec::new(), scratch }
    }

    pub(crate) async fn say(&self, text: &str) {
        assert!(self.team.say(&self.root, vec![Item::user(text)]).await);
    }

    /// Sends a message and waits for the end of the turn.
    pub(crate) async fn work(&mut self, text: &str) -> Status {
        self.say(text).await;
        let root = self.root.clone();
        let ended = self.until(|event| event.agent == root && ends(&event.kind)).await;
        match ended {
            EventKind::TurnCompleted { .. } => Status::Completed(self.last_message()),
            EventKind::TurnFailed { message } => Status::Errored(message),
            _ => Status::Interrupted,
        }
    }

    /// Waits for an event.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&AgentEvent) -> bool) -> EventKind {
        let waiting = async {
            loop {
                let event = self.events.recv().await.expect("the team goes on");
                self.seen.push(event.clone());
                if wanted(&event) {
                    return event.kind;
                }
            }
        };
        match tokio::time::timeout(HANG, waiting).await {
            Ok(kind) => kind,
            Err(_) => panic!("nothing of the kind happened: {:#?}", self.seen),
        }
    }

    pub(crate) fn last_message(&self) -> Option<String> {
        let own = self.seen.iter().rev().filter(|event| event.agent == self.root);
        own.filter_map(|event| match &event.kind {
            EventKind::Message(text) => Some(text.clone()),
            _ => None,
        })
        .next()
    }

    /// The request of this number, of any agent.
    pub(crate) fn asked(&self, number: usize) -> Request {
        self.model.asked.lock().unwrap()[number].clone()
    }

    pub(crate) fn requests(&self) -> usize {
        self.model.asked.lock().unwrap().len()
    }

    /// Ends the team, and checks invariants that every request must satisfy.
    pub(crate) async fn end(self) -> Scratch {
        let closing = async {
            self.team.close().await;
            self.engine.shutdown().await;
        };
        // Drained, because agents wait while the event channel is full.
        let mut events = self.events;
        let draining = async { while events.recv().await.is_some() {} };
        tokio::select! { () = closing => {} , () = draining => {} }
        let asked = self.model.asked.lock().unwrap();
        for request in asked.iter() {
            check_pairs(request);
        }
        self.scratch
    }
}

/// Checks that every call has exactly one output after it, and every output its call.
fn check_pairs(request: &Request) {
    let mut open = Vec::new();
    for item in &request.items {
        match item.content() {
            Content::Call(call) => open.push(call.id.clone()),
            Content::Output { call, .. } => {
                let place = open.iter().position(|id| id == call);
                open.remove(place.unwrap_or_else(|| panic!("{call} has no call")));
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "{open:?} have no output");
}

fn ends(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::TurnCompleted { .. } | EventKind::TurnFailed { .. } | EventKind::TurnInterrupted
    )
}

/// The texts of the last results of tools in a request, in their order.
pub(crate) fn outputs(request: &Request) -> Vec<String> {
    let text = |part: &ContentPart| match part {
        ContentPart::Text(text) => text.clone(),
        ContentPart::Image(_) => "[picture]".to_owned(),
    };
    let output = |item: &Item| match item.content() {
        Content::Output { parts, .. } => Some(parts.iter().map(text).collect::<Vec<_>>().join("\n")),
        _ => None,
    };
    request.items.iter().filter_map(output).collect()
}

/// The texts of the user's and the program's messages in a request.
pub(crate) fn heard(request: &Request) -> Vec<String> {
    request.items.iter().filter_map(|item| item.words_of(Role::User)).collect()
}

pub(crate) fn has_heard(request: &Request, text: &str) -> bool {
    heard(request).iter().any(|words| words.contains(text))
}

fn environment(home: &Path) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    vec![("PATH".into(), "/usr/bin:/bin".into()), ("HOME".into(), home.into())]
}

fn config(directory: PathBuf) -> AgentConfig {
    AgentConfig {
        params: ModelParams { model: "scripted".into(), ..ModelParams::default() },
        directory,
        context: Vec::new(),
        compact_at: None,
        compact_prompt: None,
        most_tries: 2,
        output_limit: 10_000,
        output_schema: None,
        sandbox: Policy::FullAccess,
        patch_helper: None,
        approval: windlass_agent::ApprovalMode::Never,
        background: Background::Wait(HANG),
        web_search: false,
        sees: true,
        free_text: false,
        looks_at_files: true,
        excludes: Vec::new(),
        plans: true,
        code_mode: true,
        team: TeamLimits { most_open: 6, most_depth: 1 },
        roles: Vec::new(),
    }
}

/// The arguments of a command.
pub(crate) fn run(cmd: &str) -> Value {
    json!({ "cmd": cmd })
}
