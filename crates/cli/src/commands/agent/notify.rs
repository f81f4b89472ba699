//! Runs the user's own program when a turn of the root agent is over, with one JSON argument that describes the turn.
//!
//! The agent does not wait for the program while it works. The program runs in the engine like everything else, so it
//! does not outlive windlass: a program that still runs a moment after the last turn is ended.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use windlass_agent::{AgentEvent, EventKind};
use windlass_engine::{CommandSpec, Engine, Keeping};

use super::context::Configured;
use super::{programs, tools};
use crate::config::Config;

/// How long the last program may run after everything else is over.
const PATIENCE: Duration = Duration::from_secs(5);
/// The capacity of the queue of events that wait to be shown.
const EVENTS: usize = 1024;

/// How and in which directory the program runs.
pub(super) struct NotifyContext {
    argv: Vec<OsString>,
    workspace: PathBuf,
    directory: PathBuf,
    environment: Vec<(OsString, OsString)>,
    engine: Engine,
}

impl NotifyContext {
    pub(super) fn of(configured: &Configured, config: &Config, engine: &Engine) -> Result<Self> {
        let search = programs::search_path(configured, config);
        let mut argv: Vec<OsString> = configured.loaded.settings.notify.iter().map(OsString::from).collect();
        if let Some(program) = argv.first_mut()
            && let Some(found) = programs::found(program, &search)
        {
            *program = found.into();
        }
        let mut environment = tools::harmless_environment(configured, config)?;
        environment.retain(|(name, _)| name != "PATH");
        environment.push(("PATH".into(), search));
        Ok(Self {
            argv,
            workspace: configured.directory.clone(),
            directory: programs::directory(configured, config),
            environment,
            engine: engine.clone(),
        })
    }
}

/// Programs that were started and may still run.
#[derive(Default)]
pub(super) struct Notifier(JoinSet<JoinSet<()>>);

impl Notifier {
    /// Starts the program for events that end a turn, and forwards all events to the task that shows them.
    pub(super) fn listen(
        received: mpsc::Receiver<AgentEvent>,
        place: NotifyContext,
    ) -> (mpsc::Receiver<AgentEvent>, Self) {
        let mut notifier = Self::default();
        if place.argv.is_empty() {
            return (received, notifier);
        }
        let (sender, shown) = mpsc::channel(EVENTS);
        notifier.0.spawn(pass_on(received, sender, place));
        (shown, notifier)
    }

    /// Waits for the last program, for a limited time. No task is left that could cause another event.
    pub(super) async fn finish(mut self) {
        let ended = async {
            while let Some(Ok(mut programs)) = self.0.join_next().await {
                while programs.join_next().await.is_some() {}
            }
        };
        // timer: a program of the user's must not keep the agent running forever.
        if tokio::time::timeout(PATIENCE, ended).await.is_err() {
            crate::printing::say!(
                "windlass: the program in `notify` had not ended after {PATIENCE:?}, and is ended"
            );
        }
    }
}

async fn pass_on(
    mut received: mpsc::Receiver<AgentEvent>,
    shown: mpsc::Sender<AgentEvent>,
    place: NotifyContext,
) -> JoinSet<()> {
    let mut programs = JoinSet::new();
    let (mut root, mut last) = (None, None);
    while let Some(event) = received.recv().await {
        let first = root.get_or_insert_with(|| event.agent.clone());
        if *first == event.agent {
            match &event.kind {
                EventKind::TurnStarted => last = None,
                EventKind::Message(text) => last = Some(text.clone()),
                EventKind::TurnCompleted { .. } => {
                    let facts = json!({
                        "type": "agent-turn-complete",
                        "thread-id": event.agent.as_str(),
                        "cwd": place.workspace,
                        "last-assistant-message": last,
                    });
                    start(&place, &facts.to_string(), &mut programs);
                }
                _ => {}
            }
        }
        // An error means that the receiver no longer shows events; turns may still end.
        let _ = shown.send(event).await;
    }
    programs
}

fn start(place: &NotifyContext, facts: &str, programs: &mut JoinSet<()>) {
    let argv = place.argv.iter().cloned().chain([facts.into()]);
    let mut spec = CommandSpec::new(argv, &place.directory);
    spec.environment = place.environment.clone();
    spec.keeping = Keeping::Memory;
    match place.engine.start(spec) {
        Ok(session) => {
            programs.spawn(async move { drop(session.exited().await) });
        }
        Err(error) => crate::printing::say!("windlass: the program in `notify` cannot be started: {error}"),
    }
}
