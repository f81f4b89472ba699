//! The first question in a project about which the user has not decided: whether its configuration, instructions and
//! skills may be read. Until then they are ignored.

use anyhow::Result;
use windlass_config::{LeftOutKind, Trust, TrustLevel};
use windlass_tools::Shown;

use super::composer::Composer;
use super::conversation::{HELD, dropped_line};
use super::front::{Heard, TerminalIo};
use super::keys::Key;
use super::lines::{Line, Paint};
use super::screen::{Area, Manner};
use crate::args::AgentOptions;
use crate::commands::agent::context::{self, Configured};
use crate::commands::run::signals::{OutsideSignal, Signals};
use crate::config::Config;

const ANSWERS: &str = "yes + Enter trusts it, never + Enter never does, Esc not now";

/// The person's decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Yes,
    Never,
    NotNow,
    /// The person wants to leave.
    Leave,
}

/// Asks if the project needs a decision; returns the settings that apply then. `None` if the person leaves.
pub(super) async fn settle(
    front: &mut TerminalIo,
    signals: &mut Signals,
    (options, config): (&AgentOptions, &Config),
) -> Result<Option<Configured>> {
    let configured = context::load(options, config, None)?;
    let project = &configured.loaded.project;
    if project.trust != Trust::Unknown || project.left_out.is_empty() {
        return Ok(Some(configured));
    }
    front.take()?;
    let lines = question(&configured, options, config);
    let word = ask(front, signals, &lines).await?;
    front.give_back()?;
    let level = match word {
        Word::Yes => TrustLevel::Trusted,
        Word::Never => TrustLevel::Untrusted,
        Word::NotNow => return Ok(Some(configured)),
        Word::Leave => return Ok(None),
    };
    windlass_config::trust(&configured.places, &project.root, level)?;
    context::load(options, config, None).map(Some)
}

async fn ask(front: &mut TerminalIo, signals: &mut Signals, lines: &[Line]) -> Result<Word> {
    let mut answer = TrustInput::default();
    // Keys that were typed into the shell before are no answer.
    front.hold_keys();
    answer.draw(front, lines)?;
    loop {
        let lines = tokio::select! {
            heard = front.heard() => match heard {
                None => return Ok(Word::Leave),
                Some(Heard::Rested(dropped)) => {
                    answer.taken = true;
                    let hint = Line::of(Paint::Dim, ANSWERS);
                    let hint = (front.screen.manner() == Manner::Plain).then_some(hint);
                    dropped_line(&dropped).into_iter().chain(hint).collect()
                }
                Some(Heard::Keys(keys)) => match answer.keys(keys) {
                    Ok(word) => return Ok(word),
                    Err(lines) => lines,
                },
            },
            told = signals.next() => match told {
                OutsideSignal::Resized => {
                    front.resized();
                    Vec::new()
                }
                OutsideSignal::Interrupt(_) | OutsideSignal::End(_) => return Ok(Word::Leave),
            },
        };
        answer.draw(front, &lines)?;
    }
}

/// The input line for the answer.
#[derive(Default)]
struct TrustInput {
    line: Composer,
    /// Whether keys count yet.
    taken: bool,
}

impl TrustInput {
    /// The decision that the keys make, or lines that explain why they make none.
    fn keys(&mut self, keys: Vec<Key>) -> Result<Word, Vec<Line>> {
        let mut lines = Vec::new();
        for key in keys {
            match key {
                Key::Escape => return Ok(Word::NotNow),
                Key::Interrupt | Key::EndOfInput => return Ok(Word::Leave),
                key => {
                    let Some(said) = self.line.key(key) else { continue };
                    match said.trim().to_lowercase().as_str() {
                        "yes" => return Ok(Word::Yes),
                        "never" => return Ok(Word::Never),
                        other => {
                            let complaint = format!("\"{other}\" is no answer: {ANSWERS}");
                            lines.push(Line::of(Paint::Yellow, &complaint));
                        }
                    }
                }
            }
        }
        Err(lines)
    }

    fn draw(&self, front: &mut TerminalIo, lines: &[Line]) -> Result<()> {
        let columns = front.screen.columns();
        let hint = |text: &str| Line::of(Paint::Dim, text).cut(columns);
        let area = if self.taken {
            let written = self.line.rows(columns, 1);
            let mut rows = vec![hint(ANSWERS)];
            rows.extend(written.rows.iter().map(|row| Line::of(Paint::Plain, row)));
            Area { rows, cursor: Some((1 + written.cursor.0, written.cursor.1)) }
        } else {
            Area { rows: vec![hint(HELD)], cursor: Some((0, 0)) }
        };
        front.draw(lines, area)
    }
}

/// The contributions of the project, including the servers that would be started: the project chooses those programs.
fn question(configured: &Configured, options: &AgentOptions, config: &Config) -> Vec<Line> {
    let project = &configured.loaded.project;
    let title = format!("Do you trust {}? It would bring:", project.root.display());
    let mut lines = vec![Line::of(Paint::Yellow, &title)];
    for left_out in &project.left_out {
        let kind = match left_out.kind {
            LeftOutKind::Configuration => "settings",
            LeftOutKind::Instructions => "instructions",
            LeftOutKind::Skills => "skills",
        };
        let path = left_out.path.strip_prefix(&project.root).unwrap_or(&left_out.path);
        lines.push(Line::of(Paint::Plain, &format!("  {kind}: {}", path.display())).hanging(4));
    }
    match context::load(options, config, Some(Trust::Trusted)) {
        Ok(trusted) => lines.extend(servers(&trusted)),
        Err(error) => lines.push(Line::of(Paint::Red, &format!("  its settings have a fault: {error:#}"))),
    }
    lines
}

fn servers(trusted: &Configured) -> Vec<Line> {
    let servers = trusted.loaded.project_servers();
    let line = |name: &str| {
        let server = trusted.loaded.settings.mcp_servers.get(name);
        let what = server.map(|server| match &server.transport {
            windlass_config::McpTransport::Stdio { command, args, .. } => {
                format!("runs {} {}", Shown::whole(command), Shown::whole(&args.join(" ")))
            }
            windlass_config::McpTransport::Http { url, .. } => format!("talks to {}", Shown::whole(url)),
        });
        let text = format!("  MCP server {name}: {}", what.unwrap_or_default());
        Line::of(Paint::Bold, &text).hanging(4)
    };
    servers.into_iter().map(line).collect()
}
