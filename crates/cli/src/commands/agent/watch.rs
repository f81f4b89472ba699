//! Prints the events of agents: as JSON for programs, as lines for people.

use std::convert::Infallible;

use anyhow::Result;
use tokio::sync::{mpsc, oneshot};
use windlass_agent::{AgentEvent, EventKind, ThreadId};

use super::context::Configured;
use super::json::JsonLines;
use super::text::Lines;
use crate::args::AgentOptions;
use crate::config::Config;

/// Prints events until they end.
pub(super) enum EventPrinter {
    Json(JsonLines),
    Text(Lines),
}

/// The result of printing.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) last_message: Option<String>,
}

impl EventPrinter {
    pub(super) fn new(configured: &Configured, options: &AgentOptions, config: &Config) -> Result<Self> {
        let prices = configured
            .loaded
            .settings
            .model
            .as_deref()
            .and_then(|model| configured.loaded.settings.prices_of(model));
        if options.json {
            return Ok(Self::Json(JsonLines::new(prices)));
        }
        Ok(Self::Text(Lines::new(configured, options, config, prices)))
    }

    /// Prints all events until no more can come. The holder of the other end of `_watched` learns when that is, or when
    /// printing has failed.
    pub(super) async fn watch(
        mut self,
        root: ThreadId,
        (mut events, _watched): (mpsc::Receiver<AgentEvent>, oneshot::Sender<Infallible>),
    ) -> Result<Shown> {
        let mut shown = Shown::default();
        while let Some(event) = events.recv().await {
            if let (EventKind::Message(text), true) = (&event.kind, event.agent == root) {
                shown.last_message = Some(text.clone());
            }
            match &mut self {
                Self::Json(lines) => lines.show(&root, &event)?,
                Self::Text(lines) => lines.show(&root, &event),
            }
        }
        if let Self::Json(lines) = &mut self {
            lines.finish()?;
        }
        Ok(shown)
    }
}
