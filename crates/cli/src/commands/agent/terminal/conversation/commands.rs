//! The effects of slash commands.

use windlass_agent::{Beginning, ThreadId};

use super::super::command::{Command, help};
use super::super::lines::{Line, Paint};
use super::super::{Ended, TerminalContext, view};
use super::Conversation;
use crate::commands::agent::{deps, git, threads};
use crate::report;

/// The most lines of a difference that are shown.
const MOST_DIFF: usize = 400;
/// The most conversations that are listed.
const MOST_LISTED: usize = 10;

impl Conversation<'_> {
    /// The lines before the first message: the directory, and the last messages of a resumed conversation.
    pub(super) fn greeting(&self, beginning: &Beginning) -> Vec<Line> {
        let mut lines = vec![
            Line::of(Paint::Bold, "windlass agent").and(Paint::Dim, &format!("  {}", self.surroundings())),
            Line::of(Paint::Dim, "/help lists what can be said to windlass itself"),
        ];
        let (Beginning::Resume(id) | Beginning::Fork(id)) = beginning else { return lines };
        for (who, text) in self.last_words(id) {
            lines.push(Line::blank());
            lines.extend(Line::all(Paint::Dim, &format!("{who}{text}")));
        }
        lines
    }

    pub(super) async fn command(&mut self, command: Command) -> Option<Ended> {
        let lines = match command {
            Command::Quit => return Some(Ended::Left),
            Command::New => return Some(Ended::Next(Beginning::New)),
            Command::Resume(Some(id)) => match self.resumable(&id) {
                Ok(id) => return Some(Ended::Next(Beginning::Resume(id))),
                Err(line) => vec![line],
            },
            Command::Resume(None) => self.earlier(),
            Command::Help => help(),
            Command::Status => self.standing(),
            Command::Model(name) => self.model(name).await,
            Command::Compact => self.compact().await,
            Command::Plan => or_nothing(view::plan(&self.view.plan), "there is no plan"),
            Command::Agents => or_nothing(self.view.agents(), "there are no sub-agents"),
            Command::Diff => self.diff().await,
            Command::Unknown(name) => {
                vec![Line::of(Paint::Red, &format!("there is no /{name}; /help lists what there is"))]
            }
        };
        let lines = self.view.note(lines);
        self.lines.extend(lines);
        None
    }

    fn surroundings(&self) -> String {
        let settings = &self.parts.stage.configured.loaded.settings;
        let directory = &self.parts.stage.configured.directory;
        let place = crate::config::below_home(directory, &self.parts.stage.config.environment);
        let (sandbox, approval) = (settings.sandbox_mode.word(), settings.approval_policy.word());
        format!("{} in {place} (sandbox {sandbox}, asks {approval})", self.view.model)
    }

    fn standing(&self) -> Vec<Line> {
        let kept = self.files().map_or("is not kept", |_| "is kept");
        vec![
            Line::of(Paint::Plain, &self.surroundings()),
            Line::of(Paint::Plain, &format!("conversation {} {kept}", self.parts.root)),
            Line::of(Paint::Plain, &self.view.spent().unwrap_or_else(|| "nothing was spent yet".into())),
        ]
    }

    async fn model(&mut self, name: Option<String>) -> Vec<Line> {
        let Some(name) = name else { return vec![Line::of(Paint::Plain, &self.view.model)] };
        self.parts.team.use_model(&self.parts.root, name.clone()).await;
        self.view.prices = self.parts.stage.configured.loaded.settings.prices_of(&name);
        self.view.model = name;
        vec![Line::of(Paint::Dim, &format!("{} answers from the next step on", self.view.model))]
    }

    async fn compact(&mut self) -> Vec<Line> {
        self.parts.team.compact(&self.parts.root).await;
        let when = if self.view.is_working() { "once this turn is over" } else { "now" };
        vec![Line::of(Paint::Dim, &format!("the conversation is summed up {when}"))]
    }

    async fn diff(&self) -> Vec<Line> {
        let TerminalContext { configured, config, .. } = self.parts.stage;
        match git::difference(configured, config, &self.parts.engine).await {
            Ok(text) => difference(&text),
            Err(reason) => Line::all(Paint::Red, &reason),
        }
    }

    fn files(&self) -> Option<windlass_agent::Threads> {
        let stage = self.parts.stage;
        deps::threads(&stage.configured.loaded.settings, stage.options, stage.config)
    }

    fn resumable(&self, id: &str) -> Result<ThreadId, Line> {
        let unknown = || Line::of(Paint::Red, &format!("`{id}` names no conversation; /resume lists them"));
        let id = ThreadId::parse(id).ok_or_else(unknown)?;
        let files = self.files().ok_or_else(unknown)?;
        files.facts(&id).map(|_| id.clone()).map_err(|_| unknown())
    }

    fn earlier(&self) -> Vec<Line> {
        let Some(files) = self.files() else {
            return vec![Line::of(Paint::Dim, "conversations are not kept here")];
        };
        let here = &self.parts.stage.configured.directory;
        let listed = files
            .list()
            .into_iter()
            .filter(|id| *id != self.parts.root)
            .filter(|id| {
                files.facts(id).is_ok_and(|facts| facts.parent.is_none() && facts.directory == *here)
            })
            .filter(|id| files.has_user_message(id))
            .take(MOST_LISTED);
        let line = |id: ThreadId| {
            let words = threads::first_words(&files, &id);
            Line::of(Paint::Bold, id.as_str()).and(Paint::Plain, &format!("  {words}")).hanging(2)
        };
        or_nothing(listed.map(line).collect(), "there is no earlier conversation of this directory")
    }

    /// The last messages of both sides.
    fn last_words(&self, id: &ThreadId) -> Vec<(&'static str, String)> {
        let Some(thread) = self.files().and_then(|files| files.load(id).ok()) else { return Vec::new() };
        threads::last_words(&thread)
    }
}

fn or_nothing(lines: Vec<Line>, nothing: &str) -> Vec<Line> {
    if lines.is_empty() { vec![Line::of(Paint::Dim, nothing)] } else { lines }
}

/// A coloured difference, cut after [`MOST_DIFF`] lines.
fn difference(text: &str) -> Vec<Line> {
    let paint = |line: &str| match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => Paint::Bold,
        [b'd', b'i', b'f', b'f', ..] => Paint::Bold,
        [b'+', ..] => Paint::Green,
        [b'-', ..] => Paint::Red,
        [b'@', ..] => Paint::Cyan,
        _ => Paint::Plain,
    };
    let all: Vec<&str> = text.lines().collect();
    let mut lines: Vec<Line> =
        all.iter().take(MOST_DIFF).map(|line| Line::of(paint(line), line).hanging(1)).collect();
    if let Some(more) = all.len().checked_sub(MOST_DIFF).filter(|more| *more > 0) {
        lines.push(Line::of(Paint::Dim, &format!("and {} more", report::plural(more, "line"))));
    }
    or_nothing(lines, "nothing has changed")
}
