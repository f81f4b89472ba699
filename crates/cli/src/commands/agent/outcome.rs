//! How a task ended, and what windlass exits with.

use anyhow::{Context, Result};
use windlass_agent::Status;
use windlass_sys::signal::Signal;

use super::watch::Shown;
use crate::args::AgentOptions;
use crate::failure::Exit;
use crate::printing;

/// How a task ended.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    /// By itself.
    Settled(Status),
    /// Somebody ended it.
    Signal(Signal),
    /// The agent went away, which it does not do, or nobody reads what is told any more.
    Gone,
}

/// Hands over the last message, and says how it went.
pub(super) fn finish(options: &AgentOptions, outcome: Outcome, shown: Shown) -> Result<Exit> {
    if let Some(path) = &options.output_last_message {
        let text = shown.last_message.as_deref().unwrap_or_default();
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if let (false, Some(text)) = (options.json, &shown.last_message) {
        printing::print(if text.ends_with('\n') { text.clone() } else { format!("{text}\n") })?;
    }
    Ok(match outcome {
        Outcome::Settled(Status::Completed(_)) => Exit::SUCCESS,
        Outcome::Settled(_) | Outcome::Gone => Exit::FAILED,
        Outcome::Signal(signal) => Exit::of_command(128 + signal.number()),
    })
}
