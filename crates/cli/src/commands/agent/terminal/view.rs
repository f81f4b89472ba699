//! A person's view of a team at work: turns events into permanent lines, and renders the work in progress at any
//! moment. Pure: the caller passes in the time.

mod deeds;
mod live;
mod words;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Instant;

use windlass_agent::{
    AgentEvent, CallNote, CommandNote, CommandOutcome, EventKind, FileChange, PlanStep, ThreadId,
};
use windlass_config::Prices;
use windlass_llm::Usage;
use windlass_tools::Shown;

pub(super) use self::deeds::plan;
use self::deeds::{changed, first_line, one_line, seconds, tail};
use self::words::Words;
use super::lines::{Line, Paint};
use crate::report;

/// The most characters of a command that are read for its line.
const MOST_COMMAND: usize = 16_000;

/// The known state of a conversation.
#[derive(Debug)]
pub(super) struct View {
    pub(super) root: ThreadId,
    directory: PathBuf,
    pub(super) model: String,
    pub(super) prices: Option<Prices>,
    words: Words,
    running: Vec<RunningItem>,
    agents: Vec<Agent>,
    pub(super) plan: Vec<PlanStep>,
    usage: HashMap<ThreadId, Usage>,
    /// When it began to work; `None` if it is idle.
    working: Option<Instant>,
    waiting: Vec<String>,
    last: Block,
    pub(super) last_message: Option<String>,
}

/// A running call or command.
#[derive(Debug)]
struct RunningItem {
    agent: ThreadId,
    id: String,
    title: String,
    kind: Kind,
    since: Instant,
    tail: Vec<String>,
}

impl RunningItem {
    fn new((agent, id): (&ThreadId, &str), kind: Kind, title: String, since: Instant) -> Self {
        let (agent, id) = (agent.clone(), id.to_owned());
        Self { agent, id, title, kind, since, tail: Vec::new() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Call,
    Command,
    /// The call was answered, and its command goes on.
    Background,
}

/// A sub-agent.
#[derive(Debug)]
struct Agent {
    id: ThreadId,
    nickname: String,
    task: String,
    state: &'static str,
}

/// The kind of the last lines: lines of one kind stand together, and a blank line separates kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Block {
    #[default]
    Nothing,
    Words,
    Deeds,
    Notes,
}

impl View {
    /// A view of an agent that works in this directory: paths below it are shown relative to it.
    pub(super) fn new((root, directory): (ThreadId, PathBuf), model: String, prices: Option<Prices>) -> Self {
        Self {
            root,
            directory,
            model,
            prices,
            words: Words::default(),
            running: Vec::new(),
            agents: Vec::new(),
            plan: Vec::new(),
            usage: HashMap::new(),
            working: None,
            waiting: Vec::new(),
            last: Block::default(),
            last_message: None,
        }
    }

    /// Whether the root agent works.
    pub(super) fn is_working(&self) -> bool {
        self.working.is_some()
    }

    /// Whether anything on the screen changes as time passes.
    pub(super) fn is_busy(&self) -> bool {
        self.is_working() || !self.running.is_empty() || self.busy_agents().next().is_some()
    }

    /// The sub-agents that work.
    pub(super) fn busy_agents(&self) -> impl Iterator<Item = &ThreadId> {
        self.agents.iter().filter(|agent| agent.state == "working").map(|agent| &agent.id)
    }

    /// Applies an event and returns its permanent lines.
    pub(super) fn take(&mut self, event: &AgentEvent, now: Instant) -> Vec<Line> {
        let own = event.agent == self.root;
        let mut out = Vec::new();
        self.follow(event, now);
        match &event.kind {
            EventKind::Text(text) if own => {
                let lines = self.words.text(text);
                self.put(&mut out, Block::Words, lines);
            }
            EventKind::Thought(text) if own => self.words.thought(text),
            EventKind::Message(text) if own => {
                self.last_message = Some(text.clone());
                let lines = self.words.message(text);
                self.put(&mut out, Block::Words, lines);
            }
            EventKind::Message(text) => {
                let line = self.named(&event.agent).and(Paint::Plain, first_line(text));
                self.put(&mut out, Block::Deeds, vec![line]);
            }
            EventKind::Reasoning(text) if own => {
                self.words.thought_is_over();
                self.put(&mut out, Block::Notes, Line::all(Paint::Dim, text.trim()));
            }
            EventKind::Plan(steps) if own => {
                let lines = plan(steps);
                self.put(&mut out, Block::Notes, lines);
            }
            kind => {
                let (block, lines) = self.told(&event.agent, kind, now);
                self.put(&mut out, block, lines);
            }
        }
        out
    }

    /// Adds permanent lines that do not come from events: messages of the person, or remarks to them.
    pub(super) fn note(&mut self, lines: Vec<Line>) -> Vec<Line> {
        let mut out = Vec::new();
        self.last = Block::Nothing;
        out.push(Line::blank());
        out.extend(lines);
        out
    }

    /// The usage of this conversation and its sub-agents.
    pub(super) fn total(&self) -> Usage {
        self.usage.values().fold(Usage::default(), |all, one| all.and(*one))
    }

    /// The sub-agents as lines of text.
    pub(super) fn agents(&self) -> Vec<Line> {
        let line = |agent: &Agent| {
            Line::of(Paint::Bold, &agent.nickname)
                .and(Paint::Plain, &format!("  {}", agent.state))
                .and(Paint::Dim, &format!("  {}", first_line(&agent.task)))
        };
        self.agents.iter().map(line).collect()
    }

    /// Updates the state.
    fn follow(&mut self, event: &AgentEvent, now: Instant) {
        let own = event.agent == self.root;
        match &event.kind {
            EventKind::Born { nickname, task, .. } if !own => {
                let (nickname, task) = (nickname.clone(), task.clone());
                self.agents.retain(|agent| agent.id != event.agent);
                self.agents.push(Agent { id: event.agent.clone(), nickname, task, state: "working" });
            }
            EventKind::TurnStarted if own => self.working = Some(now),
            EventKind::TurnStarted => self.agent_is(&event.agent, "working"),
            EventKind::TurnCompleted { thread, .. } => {
                self.usage.insert(event.agent.clone(), *thread);
                self.turn_over(&event.agent, "done");
            }
            EventKind::TurnFailed { .. } => self.turn_over(&event.agent, "failed"),
            EventKind::TurnInterrupted => self.turn_over(&event.agent, "interrupted"),
            EventKind::Gone => self.turn_over(&event.agent, "closed"),
            EventKind::Plan(steps) if own => self.plan.clone_from(steps),
            EventKind::Waiting(what) if own => self.waiting.clone_from(what),
            EventKind::CallStarted(_) | EventKind::Text(_) if own => self.waiting.clear(),
            _ => {}
        }
        match &event.kind {
            EventKind::CallStarted(CallNote { id, tool, about }) => {
                let title = format!("{tool} {about}");
                self.begun(RunningItem::new((&event.agent, id), Kind::Call, title, now));
            }
            EventKind::CommandStarted(note) => {
                let title = format!("$ {}", Shown::within(&note.script, MOST_COMMAND));
                self.begun(RunningItem::new((&event.agent, &note.id), Kind::Command, title, now));
            }
            EventKind::CallProgress { call, tail, .. } => self.progress(&event.agent, call, tail),
            _ => {}
        }
    }

    fn turn_over(&mut self, agent: &ThreadId, state: &'static str) {
        self.running.retain(|running| running.agent != *agent || running.kind == Kind::Background);
        if *agent != self.root {
            return self.agent_is(agent, state);
        }
        self.working = None;
        self.waiting.clear();
    }

    fn agent_is(&mut self, id: &ThreadId, state: &'static str) {
        if let Some(agent) = self.agents.iter_mut().find(|agent| agent.id == *id) {
            agent.state = state;
        }
    }

    /// Adds a running item; a command replaces its call.
    fn begun(&mut self, running: RunningItem) {
        self.running.retain(|known| known.agent != running.agent || known.id != running.id);
        self.running.push(running);
    }

    /// Replaces the shown end of the output. Collecting the lines of several events would show one line of each,
    /// without the lines that were printed between them.
    fn progress(&mut self, agent: &ThreadId, call: &str, tail: &[String]) {
        let running = self.running.iter_mut().find(|running| running.agent == *agent && running.id == call);
        if let Some(running) = running {
            running.tail = tail.to_vec();
        }
    }

    /// Removes an item that is over; returns its kind and when it began.
    fn over(&mut self, agent: &ThreadId, id: &str) -> Option<(Kind, Instant)> {
        let place = self.running.iter().position(|running| running.agent == *agent && running.id == id)?;
        let running = self.running.remove(place);
        Some((running.kind, running.since))
    }

    /// The permanent lines for all other events.
    fn told(&mut self, agent: &ThreadId, kind: &EventKind, now: Instant) -> (Block, Vec<Line>) {
        let own = *agent == self.root;
        let deed = |lines| (Block::Deeds, lines);
        let note = |paint, text: &str| (Block::Notes, vec![Line::of(paint, text)]);
        match kind {
            EventKind::Born { task, .. } if !own => {
                deed(vec![self.named(agent).and(Paint::Dim, &format!("started: {}", first_line(task)))])
            }
            EventKind::CommandEnded { command, outcome, output } => {
                deed(self.command_ended((agent, now), command, (*outcome, output)))
            }
            EventKind::CallEnded { call, ok, answer, .. } => {
                deed(self.call_ended(agent, call, (*ok, answer)))
            }
            EventKind::FilesChanged { call, changes, ok } => {
                self.over(agent, call);
                deed(changes.iter().map(|change| self.changed(agent, change, *ok)).collect())
            }
            EventKind::WebSearch(raw) => {
                let query = raw.pointer("/action/query").and_then(|query| query.as_str()).unwrap_or_default();
                deed(vec![self.named(agent).and(Paint::Dim, &format!("searched the web: {query}"))])
            }
            EventKind::Warning(text) => {
                let mut lines = if own { self.words.broke() } else { Vec::new() };
                lines.push(self.named(agent).and(Paint::Yellow, text));
                (Block::Notes, lines)
            }
            EventKind::TurnFailed { message } => {
                (Block::Notes, vec![self.named(agent).and(Paint::Red, &format!("failed: {message}"))])
            }
            EventKind::TurnInterrupted => {
                let mut lines = if own { self.words.broke() } else { Vec::new() };
                lines.push(self.named(agent).and(Paint::Red, "interrupted"));
                (Block::Notes, lines)
            }
            EventKind::TurnCompleted { .. } if own => {
                self.words = Words::default();
                (Block::Nothing, Vec::new())
            }
            EventKind::Compacted { before, after } => {
                let (before, after) = (report::count(*before), report::count(*after));
                note(Paint::Dim, &format!("summed up: about {before} tokens became {after}"))
            }
            _ => (Block::Nothing, Vec::new()),
        }
    }

    fn command_ended(
        &mut self,
        (agent, now): (&ThreadId, Instant),
        command: &CommandNote,
        (outcome, output): (CommandOutcome, &str),
    ) -> Vec<Line> {
        let since = self.over(agent, &command.id).map(|(_, since)| since);
        let took = since.map(|since| now.saturating_duration_since(since)).filter(|took| took.as_secs() > 0);
        let took = took.map(|took| format!("  {}", seconds(took))).unwrap_or_default();
        let (paint, how) = match outcome {
            CommandOutcome::Exited(0) => (Paint::Dim, took),
            CommandOutcome::Exited(code) => (Paint::Red, format!("  exited with {code}{took}")),
            CommandOutcome::Declined => (Paint::Red, "  not run".to_owned()),
            CommandOutcome::Ended => (Paint::Red, format!("  ended{took}")),
        };
        let script = self.named(agent).and(
            Paint::Bold,
            &format!("$ {}", one_line(Shown::within(&command.script, MOST_COMMAND).text())),
        );
        let mut lines = vec![script.and(paint, &how)];
        if *agent == self.root {
            lines.extend(tail(output));
        }
        lines
    }

    fn changed(&self, agent: &ThreadId, change: &FileChange, ok: bool) -> Line {
        let path = change.path.strip_prefix(&self.directory).unwrap_or(&change.path).to_owned();
        changed(&FileChange { path, ..change.clone() }, ok, self.named(agent))
    }

    /// A call that was a command or a patch has already been shown by its own events.
    fn call_ended(&mut self, agent: &ThreadId, call: &CallNote, (ok, answer): (bool, &str)) -> Vec<Line> {
        match self.running.iter_mut().find(|running| running.agent == *agent && running.id == call.id) {
            Some(running) if running.kind != Kind::Call => {
                running.kind = Kind::Background;
                return Vec::new();
            }
            Some(_) => drop(self.over(agent, &call.id)),
            None => return Vec::new(),
        }
        let told = self.named(agent).and(Paint::Dim, &format!("{} {}", call.tool, one_line(&call.about)));
        if ok {
            return if call.tool == "update_plan" { Vec::new() } else { vec![told] };
        }
        vec![told.and(Paint::Red, &format!("  failed: {}", first_line(answer)))]
    }

    /// The beginning of a line about an agent: its name, or nothing for the root agent.
    fn named(&self, agent: &ThreadId) -> Line {
        let found = self.agents.iter().find(|known| known.id == *agent);
        match found {
            Some(agent) => Line::of(Paint::Cyan, &format!("[{}] ", agent.nickname)).hanging(2),
            None => Line::blank().hanging(2),
        }
    }

    fn put(&mut self, out: &mut Vec<Line>, block: Block, lines: Vec<Line>) {
        if lines.is_empty() {
            return;
        }
        if block != self.last {
            out.push(Line::blank());
        }
        self.last = block;
        out.extend(lines);
    }
}

#[cfg(test)]
mod tests;
