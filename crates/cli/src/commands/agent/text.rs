//! Progress on standard error, for people and logs: messages, commands, changes, and cost.

use std::collections::HashMap;
use std::time::Duration;

use windlass_agent::{AgentEvent, CommandOutcome, EventKind, StepState, ThreadId};
use windlass_config::Prices;
use windlass_llm::Usage;

use windlass_tools::Shown;

use super::context::Configured;
use super::terminal::acts_on_others;
use crate::args::{AgentOptions, ColorName};
use crate::config::{Colour, Config};
use crate::{printing, report};

/// The most lines of a command's output that are shown.
const MOST_LINES: usize = 10;

/// The most characters of a command that are shown.
const MOST_COMMAND: usize = 16_000;

/// Writes lines about events.
pub(super) struct Lines {
    colour: bool,
    prices: Option<Prices>,
    model: String,
    sandbox: String,
    directory: String,
    nicknames: HashMap<ThreadId, String>,
}

impl Lines {
    pub(super) fn new(
        configured: &Configured,
        options: &AgentOptions,
        config: &Config,
        prices: Option<Prices>,
    ) -> Self {
        let settings = &configured.loaded.settings;
        let colour = match options.color {
            ColorName::Always => true,
            ColorName::Never => false,
            ColorName::Auto => config.colour == Colour::On,
        };
        Self {
            colour,
            prices,
            model: settings.model.clone().unwrap_or_default(),
            sandbox: settings.sandbox_mode.word().to_owned(),
            directory: configured.directory.display().to_string(),
            nicknames: HashMap::new(),
        }
    }

    /// Shows an event.
    pub(super) fn show(&mut self, root: &ThreadId, event: &AgentEvent) {
        if let EventKind::Born { nickname, .. } = &event.kind {
            self.nicknames.insert(event.agent.clone(), nickname.clone());
        }
        let own = event.agent == *root;
        let Some(text) = self.text(own, &event.kind) else { return };
        let who = self.nicknames.get(&event.agent).filter(|_| !own);
        let mut lines = String::new();
        for line in text.lines() {
            lines += &match who {
                Some(name) => format!("{} {line}\n", self.paint(Paint::Dim, &format!("[{name}]"))),
                None => format!("{line}\n"),
            };
        }
        // The work goes on even if the reader of the progress has gone.
        let _ = printing::write_all(rustix::stdio::stderr(), lines.as_bytes());
    }

    fn text(&self, own: bool, kind: &EventKind) -> Option<String> {
        Some(match kind {
            EventKind::Born { .. } if own => self.paint(
                Paint::Dim,
                &format!("windlass agent: {} in {} ({})", self.model, self.directory, self.sandbox),
            ),
            EventKind::Born { task, .. } => self.paint(Paint::Dim, &format!("started: {}", clean(task))),
            EventKind::Message(text) => clean(text),
            EventKind::Reasoning(text) => self.paint(Paint::Dim, &clean(text)),
            EventKind::CommandStarted(note) => {
                self.paint(Paint::Bold, &format!("$ {}", command(&note.script)))
            }
            EventKind::CommandEnded { command, outcome, output } => {
                let how = match outcome {
                    CommandOutcome::Exited(0) => return tail(output),
                    CommandOutcome::Exited(code) => {
                        format!("exited with {code}: {}", self::command(&command.script))
                    }
                    CommandOutcome::Declined => format!("not run: {}", self::command(&command.script)),
                    CommandOutcome::Ended => format!("ended: {}", self::command(&command.script)),
                };
                let tail = tail(output).map(|tail| tail + "\n").unwrap_or_default();
                tail + &self.paint(Paint::Red, &how)
            }
            EventKind::FilesChanged { changes, ok, .. } => {
                let verb = if *ok { "" } else { "failed: " };
                let lines = changes
                    .iter()
                    .map(|change| format!("{verb}{} {}", change.kind, Shown::of_path(&change.path)));
                self.paint(Paint::Bold, &lines.collect::<Vec<_>>().join("\n"))
            }
            EventKind::CallEnded { call, ok: false, answer, .. } => {
                let answer = tail(answer).unwrap_or_default();
                self.paint(Paint::Red, &format!("{} failed: {answer}", call.tool))
            }
            EventKind::Plan(steps) => {
                let mark = |state| match state {
                    StepState::Pending => "[ ]",
                    StepState::InProgress => "[>]",
                    StepState::Completed => "[x]",
                };
                let lines = steps.iter().map(|step| format!("{} {}", mark(step.state), clean(&step.text)));
                lines.collect::<Vec<_>>().join("\n")
            }
            EventKind::Warning(text) => self.paint(Paint::Yellow, &clean(text)),
            EventKind::TurnFailed { message } => {
                self.paint(Paint::Red, &format!("failed: {}", clean(message)))
            }
            EventKind::TurnInterrupted => self.paint(Paint::Red, "interrupted"),
            EventKind::Compacted { before, after } => self.paint(
                Paint::Dim,
                &format!(
                    "summed up: about {} tokens became {}",
                    report::count(*before),
                    report::count(*after)
                ),
            ),
            EventKind::Waiting(what) => {
                self.paint(Paint::Dim, &format!("waiting for {}", clean(&what.join(", "))))
            }
            EventKind::WaitExpired(limit) => self.paint(Paint::Yellow, &wait_expired(*limit)),
            EventKind::LeftRunning(what) => self.paint(Paint::Yellow, &clean(&left_running(what))),
            EventKind::TurnCompleted { thread, .. } if own => self.paint(Paint::Dim, &self.usage(*thread)),
            _ => return None,
        })
    }

    fn usage(&self, usage: Usage) -> String {
        let Usage { input, cached, output, .. } = usage;
        let mut text = format!(
            "tokens: {} in ({} cached), {} out",
            report::count(input),
            report::count(cached),
            report::count(output)
        );
        if let Some(prices) = self.prices {
            text += &format!(", ${:.4}", cost(prices, usage));
        }
        text
    }

    fn paint(&self, paint: Paint, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let code = match paint {
            Paint::Bold => "1",
            Paint::Dim => "2",
            Paint::Red => "31",
            Paint::Yellow => "33",
        };
        let lines = text.lines().map(|line| format!("\x1b[{code}m{line}\x1b[0m"));
        lines.collect::<Vec<_>>().join("\n")
    }
}

#[derive(Clone, Copy)]
enum Paint {
    Bold,
    Dim,
    Red,
    Yellow,
}

/// The message when `--wait-background` has reached its limit.
pub(super) fn wait_expired(limit: Duration) -> String {
    format!("--wait-background expired after {}", report::seconds(limit))
}

/// The message about work that ends with its agent.
pub(super) fn left_running(what: &[String]) -> String {
    format!("still running, ended with the agent: {}", what.join(", "))
}

/// The cost of a conversation in dollars.
pub(super) fn cost(prices: Prices, usage: Usage) -> f64 {
    let million = 1_000_000.0;
    let fresh = usage.input.saturating_sub(usage.cached) as f64;
    (fresh * prices.input + usage.cached as f64 * prices.cached_input + usage.output as f64 * prices.output)
        / million
}

/// The last lines of an output.
fn tail(output: &str) -> Option<String> {
    let lines: Vec<&str> = output.trim_end().lines().collect();
    if lines.is_empty() {
        return None;
    }
    let shown = lines[lines.len().saturating_sub(MOST_LINES)..].join("\n");
    let left_out = lines.len().saturating_sub(MOST_LINES);
    let head = if left_out > 0 { format!("[{left_out} lines before]\n") } else { String::new() };
    Some(head + &clean(&shown))
}

/// A command, escaped so that no other command looks the same.
fn command(script: &str) -> Shown {
    Shown::within(script, MOST_COMMAND)
}

/// Text of models and programs without characters that move the cursor or change colours.
pub(super) fn clean(text: &str) -> String {
    text.chars()
        .map(|char| if acts_on_others(char) && char != '\n' && char != '\t' { '\u{fffd}' } else { char })
        .collect()
}
