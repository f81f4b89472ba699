//! `windlass run`: runs a command as if it had been typed itself, remembers it, and leaves nothing of it behind.

mod input;
mod plan;
mod signals;
mod stream;
mod telling;
mod turn;

use std::io;
use std::time::Duration;

use anyhow::Result;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use windlass_engine::{
    Engine, EngineOptions, Guard, Lifetime, Patience, Session, StartError, Store, TreeEnd,
};
use windlass_output::Tokenizer;
use windlass_sys::terminal::RawMode;

use self::plan::{Keyboard, Plan, Presentation};
use self::signals::{Signals, Told};
use self::stream::{Goal, Streamed};
use self::turn::Turn;
use crate::args::Run;
use crate::commands::guardian;
use crate::config::{self, Config};
use crate::failure::Exit;
use crate::sessions::{self, State};

/// Runs the command and exits as it did.
pub(crate) async fn run(order: Run, config: Config) -> Result<Exit> {
    let tokenizer = Tokenizer::from(order.shown.tokenizer);
    let plan = Plan::new(order, &config)?;
    let store = config.open_store();
    refuse_taken_name(&plan, store.as_ref())?;
    forget_the_oldest(store.as_ref());
    let signals = Signals::catch()?;
    let engine = engine(store.clone(), Patience::default())?;
    let session = engine.start(plan.spec)?;
    let mut front = Front::open(&session, plan.presentation, plan.keyboard, signals);
    let turn = front.attend(&plan.until).await;
    front.carry_out(&turn, &engine).await;
    let streamed = front.close(&turn).await;
    let swept = sweep(&engine).await;
    let told = telling::Told {
        session: &session,
        store: store.as_ref(),
        turn: &turn,
        swept: &swept,
        streamed,
        tokenizer,
    };
    told.tell(plan.presentation)?;
    Ok(turn.exit().unless_missed(streamed))
}

impl Exit {
    /// The command does not wait for a slow reader, so beyond retention the reader may miss output. It must not take
    /// what it got for the whole.
    fn unless_missed(self, streamed: Option<Streamed>) -> Self {
        let missed = streamed.is_some_and(|streamed| streamed.missed > 0);
        if missed && self == Self::SUCCESS { Self::CANNOT_RUN } else { self }
    }
}

/// An engine whose sessions end with this process, however it ends.
pub(crate) fn engine(store: Option<Store>, patience: Patience) -> Result<Engine> {
    let guard = Guard::Program(guardian::program);
    Ok(Engine::new(EngineOptions { store, guard, patience, ..EngineOptions::default() })?)
}

/// The engine knows the names of its own sessions only; other runtimes' are in the store.
fn refuse_taken_name(plan: &Plan, store: Option<&Store>) -> Result<()> {
    let (Some(name), Some(store)) = (&plan.spec.name, store) else { return Ok(()) };
    let holder = store.find_name(name)?.filter(|session| State::of(session).is_live());
    match holder {
        Some(holder) => Err(StartError::NameTaken { name: name.clone(), holder: holder.start.id }.into()),
        None => Ok(()),
    }
}

/// Housekeeping beside the command. What it does not get to, the next run does; an error then is for that one to meet.
fn forget_the_oldest(store: Option<&Store>) {
    if let Some(store) = store.cloned() {
        drop(tokio::task::spawn_blocking(move || store.prune(sessions::is_alive)));
    }
}

/// Ends what the session left running, unless it is detached.
async fn sweep(engine: &Engine) -> TreeEnd {
    engine.shutdown().await
}

/// Between the session and whoever started windlass: keys, signals and sizes go in, output comes out.
struct Front {
    session: Session,
    signals: Signals,
    interrupts: u32,
    raw_mode: Option<RawMode>,
    keys: Option<JoinHandle<()>>,
    output: Option<JoinHandle<io::Result<Streamed>>>,
    goal: watch::Sender<Goal>,
}

impl Front {
    fn open(session: &Session, presentation: Presentation, keyboard: Keyboard, signals: Signals) -> Self {
        let (goal, goals) = watch::channel(Goal::Exit);
        let streaming = presentation == Presentation::Stream;
        let raw = keyboard == Keyboard::Raw;
        Self {
            session: session.clone(),
            signals,
            interrupts: 0,
            // A terminal that refuses raw mode is still good for lines.
            raw_mode: raw.then(|| RawMode::enter(rustix::stdio::stdin()).ok()).flatten(),
            keys: (keyboard != Keyboard::Unused).then(|| tokio::spawn(input::forward(session.clone()))),
            output: streaming.then(|| tokio::spawn(stream::stream(session.clone(), goals))),
            goal,
        }
    }

    /// Waits until there is a reason to stop waiting, obeying whoever has something to say meanwhile.
    async fn attend(&mut self, until: &windlass_engine::Until) -> Turn {
        let session = self.session.clone();
        let mut wait = std::pin::pin!(session.wait(until));
        loop {
            tokio::select! {
                biased;
                told = self.signals.next() => {
                    if let Some(turn) = self.obey(told).await {
                        return turn;
                    }
                }
                met = &mut wait => return Turn::from(met),
                () = reader_gone(&mut self.output) => return Turn::ReaderGone,
            }
        }
    }

    async fn obey(&mut self, told: Told) -> Option<Turn> {
        match told {
            Told::End(signal) => return Some(Turn::Ended(signal)),
            Told::Interrupt(signal) if self.interrupts > 0 => return Some(Turn::Stopped(signal)),
            Told::Interrupt(signal) => {
                self.interrupts += 1;
                // One that has exited meanwhile needs no signal.
                let _ = self.session.signal(signal).await;
            }
            Told::Resized => {
                // A session on pipes has no size.
                let _ = self.session.resize(config::own_size()).await;
            }
        }
        None
    }

    /// What the turn means for the session.
    async fn carry_out(&self, turn: &Turn, engine: &Engine) {
        let detached = self.session.facts().lifetime == Lifetime::Detached;
        match turn {
            Turn::Exited(_) => {}
            Turn::Met(_) | Turn::ReaderGone if detached => {}
            Turn::Met(_) | Turn::Stopped(_) | Turn::ReaderGone => drop(self.session.stop().await),
            Turn::Ended(_) => drop(engine.shutdown().await),
        }
    }

    /// Waits for the last output to be taken, unless we are told not to, and gives the terminal back.
    async fn close(mut self, turn: &Turn) -> Option<Streamed> {
        if let Some(keys) = self.keys.take() {
            keys.abort();
        }
        if self.session.receipt().is_none() {
            self.goal.send_replace(Goal::Offset(self.session.journal().end()));
        }
        let streamed = match (self.output.take(), turn) {
            (None, _) | (_, Turn::ReaderGone) => None,
            // Who was told to end does not wait long for a reader that does not read.
            (Some(output), Turn::Ended(_)) => {
                tokio::time::timeout(LAST_WORDS, self.last_output(output)).await.ok().flatten()
            }
            (Some(output), _) => self.last_output(output).await,
        };
        drop(self.raw_mode.take());
        streamed
    }

    async fn last_output(&mut self, mut output: JoinHandle<io::Result<Streamed>>) -> Option<Streamed> {
        loop {
            tokio::select! {
                streamed = &mut output => return streamed.ok()?.ok(),
                told = self.signals.next() => {
                    if told != Told::Resized {
                        return None;
                    }
                }
            }
        }
    }
}

/// How long the last output may take to be written once we were told to end.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Ends when output cannot be written any more; never, while it can or when none is.
async fn reader_gone(output: &mut Option<JoinHandle<io::Result<Streamed>>>) {
    match output {
        Some(writing) => {
            let broken = writing.await.is_ok_and(|streamed| streamed.is_err());
            *output = None;
            if !broken {
                std::future::pending::<()>().await;
            }
        }
        None => std::future::pending().await,
    }
}
