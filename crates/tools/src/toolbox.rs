//! One caller's view of an engine.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::broadcast;
use windlass_engine::Engine;

use crate::call::{Call, Event, Reply, SessionSummary, UnknownTool};
use crate::catalogue::{Profile, Tool};

/// How a toolbox works.
#[derive(Clone, Debug, Default)]
pub struct ToolboxOptions {
    /// Which tools there are.
    pub profile: Profile,
}

/// The tools, over the sessions of one caller. A cheap handle.
#[derive(Clone, Debug)]
pub struct Toolbox {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    engine: Engine,
    tools: Vec<Tool>,
    events: broadcast::Sender<Event>,
}

/// Events that a listener may be late by.
const EVENT_QUEUE: usize = 256;

impl Toolbox {
    /// The tools over this engine.
    pub fn new(engine: Engine, _options: ToolboxOptions) -> Self {
        let inner = Inner { engine, tools: Vec::new(), events: broadcast::Sender::new(EVENT_QUEUE) };
        Self { inner: Arc::new(inner) }
    }

    /// The tools, in the order they are listed in.
    pub fn tools(&self) -> &[Tool] {
        &self.inner.tools
    }

    /// Calls a tool. Dropping the future ends the wait, never the session.
    pub async fn call(&self, call: Call) -> Result<Reply, UnknownTool> {
        Err(UnknownTool(call.tool))
    }

    /// What happens to the sessions.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.inner.events.subscribe()
    }

    /// The sessions, oldest first.
    pub fn sessions(&self) -> Vec<SessionSummary> {
        Vec::new()
    }

    /// What a session printed, within a bound.
    pub fn transcript(&self, _id: &str) -> Option<String> {
        None
    }

    /// What a session's terminal shows.
    pub fn screen(&self, _id: &str) -> Option<String> {
        None
    }

    /// What happened to a session.
    pub fn history(&self, _id: &str) -> Option<Value> {
        None
    }

    /// Ends every session that does not outlive its runtime.
    pub async fn shutdown(&self) {
        self.inner.engine.shutdown().await;
    }
}
