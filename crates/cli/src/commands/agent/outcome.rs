//! The end of a task, and the exit code of windlass for it.

use std::path::Path;

use anyhow::Result;
use serde_json::Value;
use windlass_agent::Status;
use windlass_engine::ProcessLine;
use windlass_sys::signal::Signal;

use super::answer_file::AnswerFile;
use super::answer_schema;
use super::text::clean;
use crate::args::AgentOptions;
use crate::config::{Config, Terminals};
use crate::failure::{Exit, Usage};
use crate::printing;

/// How a task ended.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    /// The task ended by itself.
    Settled(Status),
    /// A signal ended it.
    Signal(Signal),
    /// The agent's task stopped without a result, which should not happen, or the reader of the events has gone.
    Gone,
}

impl Outcome {
    /// The answer, if the task completed with one.
    pub(super) fn answer(&self) -> Option<&str> {
        match self {
            Self::Settled(Status::Completed(answer)) => answer.as_deref(),
            Self::Settled(_) | Self::Signal(_) | Self::Gone => None,
        }
    }

    pub(super) fn exit(&self) -> Exit {
        match self {
            Self::Settled(Status::Completed(_)) => Exit::SUCCESS,
            Self::Settled(_) | Self::Gone => Exit::FAILED,
            Self::Signal(signal) => Exit::of_command(128 + signal.number()),
        }
    }
}

/// Hands over the last message.
pub(super) fn hand_over(
    (options, config): (&AgentOptions, &Config),
    file: Option<&AnswerFile>,
    text: Option<&str>,
) -> Result<()> {
    // Printed first: a file that cannot be written must not cost the answer.
    if let Some(text) = text.filter(|_| !options.json) {
        print_last_message(text, config.terminals)?;
    }
    write_last_message(file, text)
}

/// Reports an answer that does not fit the requested schema, and returns the exit code for that.
pub(super) fn misfit(ended: &Outcome, schema: Option<&Value>) -> Option<Exit> {
    let (Outcome::Settled(Status::Completed(answer)), Some(schema)) = (ended, schema) else { return None };
    let misfit = answer_schema::check(answer.as_deref().unwrap_or_default(), schema).err()?;
    printing::say!("windlass: the answer does not fit the schema of --output-schema: {misfit}");
    Some(Exit::UNFIT_ANSWER)
}

/// Names the processes that could not be ended with the agent.
pub(super) fn name_remaining(remaining: &[ProcessLine]) {
    for process in remaining {
        printing::say!("windlass: could not end process {}", clean(&process.to_string()));
    }
}

/// Rejects a file for the last message that could not be written later, before the model costs money.
pub(super) fn check_output_file(options: &AgentOptions) -> Result<()> {
    let Some(path) = &options.output_last_message else { return Ok(()) };
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.is_dir() {
        return Err(Usage(format!("-o {}: this is a directory; name a file", path.display())).into());
    }
    if !directory.is_dir() {
        let directory = directory.display();
        return Err(Usage(format!(
            "-o {}: there is no directory {directory}; make it first",
            path.display()
        ))
        .into());
    }
    Ok(())
}

/// Writes the last message to the file that was asked for.
pub(super) fn write_last_message(file: Option<&AnswerFile>, text: Option<&str>) -> Result<()> {
    file.map_or(Ok(()), |file| file.write(text.unwrap_or_default()))
}

/// Prints the message unchanged for programs; a person who saw it on the same terminal does not get it again.
fn print_last_message(text: &str, terminals: Terminals) -> Result<()> {
    let text = match terminals {
        Terminals { stdout: Some(_), stderr: true, .. } => return Ok(()),
        Terminals { stdout: Some(_), .. } => clean(text),
        Terminals { stdout: None, .. } => text.to_owned(),
    };
    printing::print(if text.ends_with('\n') { text } else { text + "\n" })
}
