//! `windlass agent`: runs an agent on a task, at a terminal or in a pipe.

mod answer_file;
mod answer_schema;
mod cells;
mod certificates;
pub(crate) mod context;
mod deps;
mod git;
mod input;
mod json;
pub(crate) mod model;
mod notify;
mod outcome;
mod passphrase;
mod portable;
mod private_directory;
mod programs;
mod proxies;
mod settings;
mod task_words;
mod terminal;
mod text;
mod threads;
mod tools;
mod watch;
mod web;

use std::convert::Infallible;

use anyhow::{Context, Result};
use tokio::sync::{mpsc, oneshot};
use windlass_agent::{Beginning, Team, ThreadId};

pub(crate) use self::context::users_settings;
use self::deps::{Outside, Workshop};
use self::notify::{Notifier, NotifyContext};
use self::outcome::Outcome;
use self::task_words::one_task;
pub(crate) use self::tools::sandbox;
use self::watch::EventPrinter;
use crate::args::{AgentArgs, AgentCommand, AgentOptions};
use crate::commands::run::signals::{OutsideSignal, Signals};
use crate::config::Config;
use crate::failure::{Exit, Usage};

/// The capacity of the queue of events that wait to be shown.
const EVENTS: usize = 1024;

/// Works on a task, or runs the subcommand that was given.
pub(crate) async fn run(order: AgentArgs, config: Config) -> Result<Exit> {
    if let Some((what, file)) = order.portable.asked()? {
        return portable::run(&portable::PortableRequest { what, file, options: &order.portable }, &config);
    }
    match order.command {
        None => {
            refuse_misplaced_command(order.work.prompt.as_deref())?;
            let prompt = one_task("windlass agent", &order.work.words(), &order.work.options)?;
            work(Job { beginning: Beginning::New, prompt, options: order.work.options }, config).await
        }
        Some(AgentCommand::Resume(order)) => {
            let (id, prompt) = threads::resumed(&order, &config)?;
            work(Job { beginning: Beginning::Resume(id), prompt, options: order.options }, config).await
        }
        Some(AgentCommand::Fork(order)) => {
            let command = format!("windlass agent fork {}", order.id);
            let prompt = one_task(&command, &order.words(), &order.options)?;
            let id = ThreadId::parse(&order.id)
                .ok_or_else(|| Usage(format!("`{}` names no conversation", order.id)))?;
            work(Job { beginning: Beginning::Fork(id), prompt, options: order.options }, config).await
        }
        Some(AgentCommand::Threads(order)) => threads::list(&order, &config),
        Some(AgentCommand::Config(order)) => settings::show(&order.options, &config),
        Some(AgentCommand::Trust(order)) => context::trust(&order, &config),
    }
}

/// Rejects a subcommand behind options: it would be taken for a task and sent to a model.
fn refuse_misplaced_command(prompt: Option<&str>) -> Result<(), Usage> {
    const COMMANDS: [&str; 5] = ["resume", "fork", "threads", "config", "trust"];
    match prompt.filter(|prompt| COMMANDS.contains(prompt)) {
        Some(command) => Err(Usage(format!(
            "`{command}` is a command, and options stand behind it: windlass agent {command} [OPTIONS]; a task has more words"
        ))),
        None => Ok(()),
    }
}

/// A task and its starting point.
struct Job {
    beginning: Beginning,
    prompt: Option<String>,
    options: AgentOptions,
}

async fn work(job: Job, config: Config) -> Result<Exit> {
    outcome::check_output_file(&job.options)?;
    if terminal::is_wanted(&job, &config) {
        return terminal::converse(job, &config).await;
    }
    let mut signals = Signals::catch()?;
    let task = input::task(job.prompt.as_deref(), &job.options, &config)?;
    let settings = context::load(&job.options, &config, None)?;
    let (events, received) = mpsc::channel(EVENTS);
    let outside = Outside { events, prompter: None, elicitor: None };
    let workshop = Workshop::open(&settings, &job.options, (&config, outside)).await?;
    // After the tools are set up, which say what may be read.
    let words = input::entries(task, &settings, threads::told(&job.beginning, &config, &settings));
    let watcher = EventPrinter::new(&settings, &job.options, &config)?;
    let Workshop { deps, engine, foreign, answer_file } = workshop;
    let schema = deps.config.output_schema.clone();
    let (received, notifier) = Notifier::listen(received, NotifyContext::of(&settings, &config, &engine)?);
    let started = Team::start(deps, &job.beginning);
    let (team, root) = started.context("cannot begin the conversation")?;
    let (watched, unwatched) = oneshot::channel();
    let watching = tokio::spawn(watcher.watch(root.clone(), (received, watched)));
    team.say_entries(&root, words).await;
    let ended = until_done(&team, &root, (&mut signals, unwatched)).await;
    // Before anything is closed: ending what still runs takes seconds, and nothing may come between an answer and its reader.
    let hand_over = |text| outcome::hand_over((&job.options, &config), answer_file.as_ref(), text);
    let handed_over = ended.answer().map(|answer| hand_over(Some(answer)));
    team.close().await;
    drop(team);
    notifier.finish().await;
    outcome::name_remaining(&engine.shutdown().await.remaining);
    if let Some(foreign) = foreign {
        foreign.shutdown().await;
    }
    let shown = watching.await.context("showing what happened failed")??;
    match handed_over {
        Some(handed_over) => handed_over?,
        None => hand_over(shown.last_message.as_deref())?,
    }
    Ok(outcome::misfit(&ended, schema.as_ref()).unwrap_or(ended.exit()))
}

/// Waits for the end of the task or for a signal that ends it; returns also when the reader of the events has gone.
async fn until_done(
    team: &Team,
    root: &ThreadId,
    (signals, mut unwatched): (&mut Signals, oneshot::Receiver<Infallible>),
) -> Outcome {
    let Some(mut status) = team.watch(root) else { return Outcome::Gone };
    loop {
        tokio::select! {
            told = signals.next() => match told {
                OutsideSignal::Resized => {}
                OutsideSignal::Interrupt(signal) | OutsideSignal::End(signal) => return Outcome::Signal(signal),
            },
            _ = &mut unwatched => return Outcome::Gone,
            settled = status.wait_for(windlass_agent::Status::is_settled) => {
                return settled.map_or(Outcome::Gone, |status| Outcome::Settled(status.clone()));
            }
        }
    }
}
