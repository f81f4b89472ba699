//! One conversation at the terminal: the loop that waits for all inputs, and the effect of each.

mod commands;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::sync::mpsc;
use tokio::time::{Interval, MissedTickBehavior, interval};
use windlass_agent::{AgentEvent, Beginning, HistoryEntry, Team, ThreadId};
use windlass_engine::Engine;
use windlass_llm::Item;

use super::command::Command;
use super::composer::Composer;
use super::dialog::{Dialog, DialogStep};
use super::front::{Heard, TerminalIo, Typing};
use super::hold::Dropped;
use super::keys::Key;
use super::lines::{Line, Paint};
use super::person::PendingPrompt;
use super::screen::{Area, Manner};
use super::view::View;
use super::{Ended, TerminalContext};
use crate::commands::agent::input::mentioned_skills;
use crate::commands::run::signals::{OutsideSignal, Signals};
use crate::report;

/// How often elapsed times on the screen are updated.
const TICK: Duration = Duration::from_secs(1);
/// The most events that one frame shows.
const MOST_AT_ONCE: usize = 256;

/// The text in the area below while a question does not take keys yet.
pub(super) const HELD: &str = "a question: rest your hands for a moment (what you type now is dropped)";

/// The parts from which a conversation is built.
pub(super) struct Parts<'a> {
    pub(super) stage: TerminalContext<'a>,
    pub(super) engine: Engine,
    pub(super) team: Team,
    pub(super) root: ThreadId,
    pub(super) events: mpsc::Receiver<AgentEvent>,
    pub(super) asked: mpsc::Receiver<PendingPrompt>,
}

/// A running conversation.
pub(super) struct Conversation<'a> {
    parts: Parts<'a>,
    view: View,
    composer: Composer,
    /// Open questions, the oldest first; only the first is asked.
    dialogs: VecDeque<Dialog>,
    keyboard: Keyboard,
    /// Permanent lines that are not drawn yet.
    lines: Vec<Line>,
    /// Whether the last key was Ctrl-C.
    leaving: bool,
    /// Ticks while something runs.
    clock: Interval,
}

/// The receiver of the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keyboard {
    /// The input line for the model.
    Line,
    /// No receiver yet: a question has just been shown.
    Held,
    /// The question.
    Question,
}

impl<'a> Conversation<'a> {
    pub(super) fn new(parts: Parts<'a>) -> Self {
        let settings = &parts.stage.configured.loaded.settings;
        let model = settings.model.clone().unwrap_or_default();
        let directory = parts.stage.configured.directory.clone();
        let view = View::new((parts.root.clone(), directory), model.clone(), settings.prices_of(&model));
        let (composer, dialogs, lines) = (Composer::default(), VecDeque::new(), Vec::new());
        let mut clock = interval(TICK);
        // A frame that was not drawn in time is not made up for later.
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let keyboard = Keyboard::Line;
        Self { parts, view, composer, dialogs, keyboard, lines, leaving: false, clock }
    }

    /// Runs the conversation until the person, a signal or the end of the input ends it.
    pub(super) async fn hold(
        &mut self,
        (front, signals): (&mut TerminalIo, &mut Signals),
        (beginning, items): (&Beginning, Vec<Item>),
    ) -> Result<Ended> {
        front.take()?;
        self.lines.extend(self.greeting(beginning));
        if let Some(ended) = self.typed_ahead(front).await {
            return Ok(ended);
        }
        if !items.is_empty() {
            let words = items.iter().filter_map(|item| item.words_of(windlass_llm::Role::User)).next();
            self.said(words.as_deref().unwrap_or_default());
            let words = words.unwrap_or_default();
            self.say(&words, items).await;
        }
        loop {
            self.draw(front)?;
            if let Some(ended) = self.wait(front, signals).await {
                self.draw(front)?;
                return Ok(ended);
            }
        }
    }

    /// Ends all agents, and shows the lines that this still produces. Returns the last message.
    pub(super) async fn close(self, front: &mut TerminalIo) -> Option<String> {
        let Self { parts, mut view, dialogs, .. } = self;
        let Parts { team, mut events, asked, .. } = parts;
        // Dropping the questions tells those who wait for an answer that there will be none.
        drop((dialogs, asked));
        let closing = async {
            team.close().await;
            drop(team);
        };
        let watching = async {
            while let Some(event) = events.recv().await {
                let lines = view.take(&event, Instant::now());
                // The terminal may have gone.
                let _ = front.draw(&lines, Area::default());
            }
        };
        tokio::join!(closing, watching);
        view.last_message
    }

    /// Waits for the next input; returns how the conversation ended, if it did.
    async fn wait(&mut self, front: &mut TerminalIo, signals: &mut Signals) -> Option<Ended> {
        let busy = self.view.is_busy();
        tokio::select! {
            biased;
            told = signals.next() => self.told(told, front).await,
            heard = front.heard() => match heard {
                Some(Heard::Keys(keys)) => self.keys(keys, front).await,
                Some(Heard::Rested(dropped)) => self.rested(&dropped, front),
                None => Some(Ended::Left),
            },
            Some(asked) = self.parts.asked.recv() => self.asked(asked, front),
            Some(event) = self.parts.events.recv() => self.events(&event),
            () = stale(&mut self.dialogs) => self.forget_stale(front),
            // timer: elapsed times on the screen advance while something runs.
            _ = self.clock.tick(), if busy => None,
        }
    }

    async fn told(&mut self, told: OutsideSignal, front: &mut TerminalIo) -> Option<Ended> {
        match told {
            OutsideSignal::Resized => {
                front.resized();
                None
            }
            // If the terminal edits lines itself, Ctrl-C arrives as a signal.
            OutsideSignal::Interrupt(_) => self.keys(vec![Key::Interrupt], front).await,
            OutsideSignal::End(signal) => Some(Ended::Told(signal)),
        }
    }

    /// Takes an event and all others that are ready, for one frame.
    fn events(&mut self, first: &AgentEvent) -> Option<Ended> {
        let now = Instant::now();
        self.lines.extend(self.view.take(first, now));
        for _ in 0..MOST_AT_ONCE {
            let Ok(event) = self.parts.events.try_recv() else { break };
            self.lines.extend(self.view.take(&event, now));
        }
        None
    }

    fn asked(&mut self, asked: PendingPrompt, front: &mut TerminalIo) -> Option<Ended> {
        let (dialog, lines) = Dialog::of(asked);
        // Only the first question is asked; the others are shown when it is their turn.
        let is_first = self.dialogs.is_empty();
        if is_first {
            self.ask(&dialog, lines, front);
        }
        self.dialogs.push_back(dialog);
        if is_first {
            self.hand_over(front);
        }
        None
    }

    /// Gives the keyboard to the open question once the input line is finished, or takes it back. Keys count for the
    /// question only after the keyboard has rested: keys that are typed while the question appears are no answer to it.
    fn hand_over(&mut self, front: &mut TerminalIo) {
        let asks = !self.dialogs.is_empty() && self.composer.is_empty();
        if asks && self.keyboard == Keyboard::Line {
            self.keyboard = Keyboard::Held;
            front.hold_keys();
        } else if !asks {
            self.keyboard = Keyboard::Line;
            if let Some(dropped) = front.stop_holding() {
                self.lines.extend(dropped_line(&dropped));
            }
        }
    }

    /// Gives the keyboard, which has rested, to the question.
    fn rested(&mut self, dropped: &Dropped, front: &mut TerminalIo) -> Option<Ended> {
        let dialog = self.dialogs.front()?;
        let line = if dialog.is_secret() { hidden_line(dropped) } else { dropped_line(dropped) };
        let hint = dialog.prompt().hint;
        self.lines.extend(line);
        if front.screen.manner() == Manner::Plain {
            self.lines.push(Line::of(Paint::Dim, &hint));
        }
        self.keyboard = Keyboard::Question;
        None
    }

    fn ask(&mut self, dialog: &Dialog, lines: Vec<Line>, front: &mut TerminalIo) {
        let lines = self.view.note(lines);
        self.lines.extend(lines);
        front.set_typing(if dialog.is_secret() { Typing::Hidden } else { Typing::Seen });
    }

    /// Asks the next question, if there is one.
    fn ask_next(&mut self, front: &mut TerminalIo) {
        front.set_typing(Typing::Seen);
        self.keyboard = Keyboard::Line;
        if let Some(dialog) = self.dialogs.pop_front() {
            let lines = dialog.lines();
            self.ask(&dialog, lines, front);
            self.dialogs.push_front(dialog);
        }
        self.hand_over(front);
    }

    fn forget_stale(&mut self, front: &mut TerminalIo) -> Option<Ended> {
        let first = self.dialogs.front().is_some_and(Dialog::is_stale);
        self.dialogs.retain(|dialog| !dialog.is_stale());
        if first {
            self.lines.push(Line::of(Paint::Dim, "no longer asked"));
            self.ask_next(front);
        }
        None
    }

    async fn keys(&mut self, keys: Vec<Key>, front: &mut TerminalIo) -> Option<Ended> {
        let mut keys = VecDeque::from(keys);
        while let Some(key) = keys.pop_front() {
            let before = self.keyboard;
            // Text that is typed for the model must not answer a question that comes up meanwhile.
            let asked = self.composer.is_empty() || matches!(key, Key::Escape | Key::Interrupt);
            let dialog = if asked { self.dialogs.pop_front() } else { None };
            let ended = match dialog {
                Some(dialog) => self.dialog_key(dialog, key, front).await,
                None => self.key(key).await,
            };
            if ended.is_some() {
                front.keep_ahead(keys.into());
                return ended;
            }
            self.hand_over(front);
            if self.keyboard != before {
                // The remaining keys were typed before the question had the keyboard.
                keys = front.passed(keys.into()).into();
            }
        }
        None
    }

    /// Puts the keys that were typed while the previous conversation ended into the input line. An Enter among them
    /// sends nothing: the person had not seen which conversation would receive it.
    async fn typed_ahead(&mut self, front: &mut TerminalIo) -> Option<Ended> {
        for key in front.typed_ahead() {
            let key = if key == Key::Enter { Key::NewLine } else { key };
            if let Some(ended) = self.key(key).await {
                return Some(ended);
            }
        }
        if front.screen.manner() == Manner::Live {
            self.composer.trim_end();
        } else if !self.composer.is_empty() {
            let text = self.composer.text().trim_end();
            let text = format!("typed before this conversation began, Enter sends it: {text}");
            self.lines.push(Line::of(Paint::Yellow, &text).hanging(2));
        }
        None
    }

    async fn dialog_key(&mut self, dialog: Dialog, key: Key, front: &mut TerminalIo) -> Option<Ended> {
        self.leaving = false;
        let (lines, stop) = match dialog.key(key) {
            DialogStep::Open(dialog, lines) => {
                self.lines.extend(lines);
                self.dialogs.push_front(dialog);
                return None;
            }
            DialogStep::Answered(lines) => (lines, false),
            DialogStep::Refused(lines) => (lines, true),
        };
        self.lines.extend(lines);
        if stop {
            self.interrupt().await;
        }
        self.ask_next(front);
        None
    }

    async fn key(&mut self, key: Key) -> Option<Ended> {
        let again = std::mem::take(&mut self.leaving);
        match key {
            Key::Interrupt if again => return Some(Ended::Left),
            Key::Interrupt => {
                self.leaving = true;
                if self.composer.is_empty() {
                    self.interrupt().await;
                } else {
                    self.composer.clear();
                }
            }
            Key::EndOfInput if self.composer.is_empty() => return Some(Ended::Left),
            Key::EndOfInput => drop(self.composer.key(Key::Delete)),
            Key::Escape => self.interrupt().await,
            key => {
                if let Some(text) = self.composer.key(key) {
                    return self.entered(&text).await;
                }
            }
        }
        None
    }

    /// Interrupts the root agent; if it is idle, the sub-agents.
    async fn interrupt(&mut self) {
        if self.view.is_working() {
            self.parts.team.interrupt(&self.parts.root).await;
            return;
        }
        let busy: Vec<ThreadId> = self.view.busy_agents().cloned().collect();
        for agent in busy {
            self.parts.team.interrupt(&agent).await;
        }
    }

    async fn entered(&mut self, text: &str) -> Option<Ended> {
        if let Some(command) = Command::parse(text) {
            return self.command(command).await;
        }
        self.said(text);
        self.say(text, vec![Item::user(text)]).await;
        None
    }

    /// Sends a message to the agent, with the skills that it names.
    async fn say(&self, words: &str, items: Vec<Item>) {
        let mut entries = mentioned_skills(words, self.parts.stage.configured);
        entries.extend(items.into_iter().map(HistoryEntry::user));
        self.parts.team.say_entries(&self.parts.root, entries).await;
    }

    fn said(&mut self, text: &str) {
        let first = |at: usize| if at == 0 { "› " } else { "  " };
        let line =
            |(at, text): (usize, &str)| Line::of(Paint::Cyan, first(at)).and(Paint::Bold, text).hanging(2);
        let mut lines: Vec<Line> = text.lines().enumerate().map(line).collect();
        if self.view.is_working() {
            lines.push(Line::of(Paint::Dim, "  (heard at the next step)"));
        }
        let lines = self.view.note(lines);
        self.lines.extend(lines);
    }

    fn draw(&mut self, front: &mut TerminalIo) -> Result<()> {
        let lines = std::mem::take(&mut self.lines);
        let area = self.area(front.screen.columns(), front.screen.room());
        front.draw(&lines, area)
    }

    /// The area below: work in progress, the question or the input line, and the status.
    fn area(&self, columns: usize, room: usize) -> Area {
        let now = Instant::now();
        let prompt = self.dialogs.front().map(Dialog::prompt);
        let waits = prompt.is_some() && !self.composer.is_empty();
        let (hint, line) = match prompt {
            Some(_) if self.keyboard == Keyboard::Held => (Some(HELD.to_owned()), None),
            Some(prompt) if !waits => (Some(prompt.hint), prompt.line),
            Some(_) => {
                (Some("first your line: Enter sends it, Ctrl-U deletes it".to_owned()), Some(&self.composer))
            }
            None => (None, Some(&self.composer)),
        };
        let below: Vec<Line> =
            hint.map(|hint| Line::of(Paint::Yellow, &hint).cut(columns)).into_iter().collect();
        let written = line.map(|line| line.rows(columns, (room / 3).max(1)));
        let height = below.len() + written.as_ref().map_or(0, |written| written.rows.len()) + 2;
        let mut rows = vec![Line::blank()];
        rows.extend(self.view.under_way(now, columns, room.saturating_sub(height + 1)));
        if rows.len() > 1 {
            rows.push(Line::blank());
        }
        rows.extend(below);
        let mut cursor = (rows.len() - 1, 0);
        if let Some(written) = written {
            cursor = (rows.len() + written.cursor.0, written.cursor.1);
            rows.extend(written.rows.iter().map(|row| Line::of(Paint::Plain, row)));
        }
        rows.push(self.status(now, columns));
        // A window of a few rows shows the end of it.
        let hidden = rows.len().saturating_sub(room);
        rows.drain(..hidden);
        Area { rows, cursor: Some((cursor.0.saturating_sub(hidden), cursor.1)) }
    }

    fn status(&self, now: Instant, columns: usize) -> Line {
        if self.leaving {
            return Line::of(Paint::Yellow, "Ctrl-C again leaves").cut(columns);
        }
        self.view.status(now, columns)
    }
}

/// A line about keys that were typed too early and dropped.
pub(super) fn dropped_line(dropped: &Dropped) -> Option<Line> {
    let text = shortened(&dropped.text)?;
    Some(Line::of(Paint::Yellow, &format!("dropped, typed before the question: {text}")).hanging(2))
}

/// The same without the text, which may have been a secret.
fn hidden_line(dropped: &Dropped) -> Option<Line> {
    let count = report::plural(dropped.text.chars().count(), "character");
    let line = Line::of(Paint::Yellow, &format!("dropped, typed before the question: {count}"));
    (!dropped.text.is_empty()).then_some(line)
}

/// The beginning of a text, enough for a person to recognise it.
fn shortened(text: &str) -> Option<String> {
    const MOST: usize = 200;
    let cut = text.char_indices().nth(MOST).map(|(at, _)| at);
    let more = cut.map(|at| format!("… and {} more", text[at..].chars().count())).unwrap_or_default();
    (!text.is_empty()).then(|| format!("{}{more}", &text[..cut.unwrap_or(text.len())]))
}

/// Completes when the asker no longer waits for the first question's answer; never, if no question is open.
async fn stale(dialogs: &mut VecDeque<Dialog>) {
    match dialogs.front_mut() {
        Some(dialog) => dialog.stale().await,
        None => std::future::pending().await,
    }
}
