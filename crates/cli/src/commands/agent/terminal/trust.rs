//! The first question in a project that nobody has spoken about: whether what it brings along may be read. Until then
//! nothing of it counts.

use anyhow::Result;
use windlass_settings::{LeftOutKind, Trust, TrustLevel};

use super::front::Front;
use super::keys::Key;
use super::lines::{Line, Paint};
use super::screen::Area;
use crate::args::AgentOptions;
use crate::commands::agent::context::{self, Configured};
use crate::commands::run::signals::{Signals, Told};
use crate::config::Config;

/// What the person said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Yes,
    Never,
    NotNow,
    /// They want to leave.
    Leave,
}

/// Asks if it has to be asked; the settings that hold then. Nothing, if the person leaves.
pub(super) async fn settle(
    front: &mut Front,
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
    windlass_settings::trust(&configured.places, &project.root, level)?;
    context::load(options, config, None).map(Some)
}

async fn ask(front: &mut Front, signals: &mut Signals, lines: &[Line]) -> Result<Word> {
    let hint = Line::of(Paint::Dim, "y trust it  n never  Esc not now").cut(front.screen.columns());
    let area = || Area { rows: vec![hint.clone()], cursor: Some((0, 0)) };
    front.draw(lines, area())?;
    loop {
        tokio::select! {
            keys = front.keys() => {
                let Some(keys) = keys else { return Ok(Word::Leave) };
                if let Some(word) = keys.iter().find_map(word) {
                    return Ok(word);
                }
            }
            told = signals.next() => match told {
                Told::Resized => {
                    front.resized();
                    front.draw(&[], area())?;
                }
                Told::Interrupt(_) | Told::End(_) => return Ok(Word::Leave),
            },
        }
    }
}

fn word(key: &Key) -> Option<Word> {
    match key {
        Key::Char('y' | 'Y') => Some(Word::Yes),
        Key::Char('n' | 'N') => Some(Word::Never),
        Key::Escape => Some(Word::NotNow),
        Key::Interrupt | Key::EndOfInput => Some(Word::Leave),
        _ => None,
    }
}

/// What the project would bring, with the servers that would be started: they are programs of its choice.
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
            windlass_settings::McpTransport::Stdio { command, args, .. } => {
                format!("runs {command} {}", args.join(" "))
            }
            windlass_settings::McpTransport::Http { url, .. } => format!("talks to {url}"),
        });
        let text = format!("  MCP server {name}: {}", what.unwrap_or_default());
        Line::of(Paint::Bold, &text).hanging(4)
    };
    servers.into_iter().map(line).collect()
}
