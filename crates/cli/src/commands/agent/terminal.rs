//! `windlass agent` with a person at a terminal: a conversation that goes on until the person leaves. Finished lines
//! scroll up into the terminal's own history; work in progress, the input line and the status are drawn below, in
//! place.
//!
//! One loop waits for keys, events, questions, signals and time; the logic by which it decides is pure and in the files
//! beside it.

mod command;
mod composer;
mod conversation;
mod dialog;
mod elicitation;
mod front;
mod hold;
mod keys;
mod lines;
mod person;
mod screen;
mod trust;
mod view;

use std::sync::Arc;

use anyhow::{Context, Result};
use tokio::sync::mpsc;
use windlass_agent::{Beginning, Team, ThreadId};
use windlass_llm::Item;
use windlass_sys::signal::Signal;

use self::conversation::{Conversation, Parts};
use self::front::TerminalIo;
use self::lines::Line;
pub(super) use self::lines::acts_on_others;
use self::person::TerminalPrompter;
use super::context::{self, Configured};
use super::deps::{Outside, Workshop};
use super::{EVENTS, Job, input, outcome};
use crate::args::AgentOptions;
use crate::commands::run::signals::{OutsideSignal, Signals};
use crate::config::Config;
use crate::failure::Exit;

/// How a conversation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// The person leaves.
    Left,
    /// A signal ended this process.
    Told(Signal),
    /// Another conversation replaces it.
    Next(Beginning),
}

/// Whether a person is at the terminal.
pub(super) fn is_wanted(job: &Job, config: &Config) -> bool {
    let at_terminal = config.terminals.stdin && config.terminals.stdout.is_some();
    at_terminal && !job.options.json && !job.options.once && job.prompt.as_deref() != Some("-")
}

/// Runs conversations until the person leaves.
pub(super) async fn converse(job: Job, config: &Config) -> Result<Exit> {
    let mut signals = Signals::catch()?;
    let mut task = match &job.prompt {
        Some(prompt) => Some(input::task(Some(prompt), &job.options, config)?),
        None => None,
    };
    let mut front = TerminalIo::open(&job.options, config);
    let mut beginning = job.beginning;
    let settled = trust::settle(&mut front, &mut signals, (&job.options, config)).await?;
    let Some(mut configured) = settled else { return Ok(Exit::SUCCESS) };
    loop {
        let items = task.take().map(|task| task.items).unwrap_or_default();
        let stage = TerminalContext { configured: &configured, options: &job.options, config };
        match stage.talk((&mut front, &mut signals), &beginning, items).await? {
            Ended::Left => return Ok(Exit::SUCCESS),
            Ended::Told(signal) => return Ok(Exit::of_command(128 + signal.number())),
            Ended::Next(next) => beginning = next,
        }
        configured = context::load(&job.options, config, None)?;
    }
}

/// The surroundings that conversations have in common.
#[derive(Clone, Copy)]
struct TerminalContext<'a> {
    configured: &'a Configured,
    options: &'a AgentOptions,
    config: &'a Config,
}

impl TerminalContext<'_> {
    /// One conversation, from its beginning to its end.
    async fn talk(
        self,
        (front, signals): (&mut TerminalIo, &mut Signals),
        beginning: &Beginning,
        items: Vec<Item>,
    ) -> Result<Ended> {
        let (person, mut asked) = TerminalPrompter::new();
        let (events, received) = mpsc::channel(EVENTS);
        let person = Arc::new(person);
        let outside = Outside { events, prompter: Some(person.clone()), elicitor: Some(person) };
        // The person cannot be asked yet: requests of MCP servers that ask before they are ready are declined.
        let declining = async {
            while let Some(question) = asked.recv().await {
                drop(question);
            }
        };
        let opened = tokio::select! {
            opened = Workshop::open(self.configured, self.options, (self.config, outside)) => opened?,
            signal = told_to_end(signals) => return Ok(Ended::Told(signal)),
            () = declining => return Ok(Ended::Left),
            () = front.until_left() => return Ok(Ended::Left),
        };
        let Workshop { deps, engine, foreign, answer_file } = opened;
        let started = Team::start(deps, beginning);
        let (team, root) = started.context("cannot begin the conversation")?;
        let parts =
            Parts { stage: self, engine: engine.clone(), team, root: root.clone(), events: received, asked };
        let mut conversation = Conversation::new(parts);
        let ended = conversation.hold((front, signals), (beginning, items)).await;
        let last_message = conversation.close(front).await;
        // The keyboard stays in raw mode between two conversations: a terminal in line mode would echo what is typed
        // meanwhile, and read Enter as another key.
        if !matches!(ended, Ok(Ended::Next(_))) {
            front.give_back()?;
        }
        outcome::name_remaining(&engine.shutdown().await.remaining);
        if let Some(foreign) = foreign {
            foreign.shutdown().await;
        }
        outcome::write_last_message(answer_file.as_ref(), last_message.as_deref())?;
        self.say_how_to_go_on(&root, front)?;
        ended
    }

    fn say_how_to_go_on(self, root: &ThreadId, front: &mut TerminalIo) -> Result<()> {
        let kept = super::deps::threads(&self.configured.loaded.settings, self.options, self.config);
        if kept.is_some_and(|threads| threads.has_user_message(root)) {
            let line = Line::of(lines::Paint::Dim, &format!("go on with: windlass agent resume {root}"));
            return front.say(&[Line::blank(), line]);
        }
        Ok(())
    }
}

async fn told_to_end(signals: &mut Signals) -> Signal {
    loop {
        if let OutsideSignal::Interrupt(signal) | OutsideSignal::End(signal) = signals.next().await {
            return signal;
        }
    }
}
