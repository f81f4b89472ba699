//! How a task ended, and what windlass exits with.

use anyhow::{Context, Result};
use windlass_agent::Status;
use windlass_sys::signal::Signal;

use super::text::clean;
use super::watch::Shown;
use crate::args::AgentOptions;
use crate::config::{Config, Terminals};
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
pub(super) fn finish(
    (options, config): (&AgentOptions, &Config),
    outcome: &Outcome,
    shown: &Shown,
) -> Result<Exit> {
    write_last_message(options, shown.last_message.as_deref())?;
    if let (false, Some(text)) = (options.json, &shown.last_message) {
        print_last_message(text, config.terminals)?;
    }
    Ok(match outcome {
        Outcome::Settled(Status::Completed(_)) => Exit::SUCCESS,
        Outcome::Settled(_) | Outcome::Gone => Exit::FAILED,
        Outcome::Signal(signal) => Exit::of_command(128 + signal.number()),
    })
}

/// Writes the last message to the file that was asked for.
pub(super) fn write_last_message(options: &AgentOptions, text: Option<&str>) -> Result<()> {
    let Some(path) = &options.output_last_message else { return Ok(()) };
    std::fs::write(path, text.unwrap_or_default()).with_context(|| format!("cannot write {}", path.display()))
}

/// Programs get the message as it is; a person who saw it go by on the same terminal does not get it again.
fn print_last_message(text: &str, terminals: Terminals) -> Result<()> {
    let text = match terminals {
        Terminals { stdout: Some(_), stderr: true, .. } => return Ok(()),
        Terminals { stdout: Some(_), .. } => clean(text),
        Terminals { stdout: None, .. } => text.to_owned(),
    };
    printing::print(if text.ends_with('\n') { text } else { text + "\n" })
}
