//! `windlass run`: runs a command as if it had been typed itself, remembers it, and leaves nothing of it behind.

mod front;
pub(crate) mod input;
pub(crate) mod plan;
pub(crate) mod remote;
pub(crate) mod signals;
mod stream;
mod telling;
mod turn;

use std::sync::Arc;

use anyhow::Result;
use windlass_engine::sandbox::Grounds;
use windlass_engine::{Engine, EngineOptions, Guard, Patience, StartError, Store};
use windlass_output::Tokenizer;

use self::front::Front;
use self::plan::Plan;
use self::signals::Signals;
use self::telling::Telling;
use crate::args::{Run, ServerLimitWords};
use crate::commands::guardian;
use crate::config::Config;
use crate::confinement;
use crate::failure::Exit;
use crate::sessions::{self, State};

/// Runs the command and exits as it did.
pub(crate) async fn run(order: Run, config: Config) -> Result<Exit> {
    let tokenizer = Tokenizer::from(order.shown.tokenizer);
    let sandbox = order.sandbox.clone();
    let mut plan = Plan::new(order, &config)?;
    let store = config.open_store();
    refuse_taken_name(plan.spec.name.as_deref(), store.as_ref())?;
    forget_the_oldest(store.as_ref());
    let signals = Signals::catch()?;
    let limits = ServerLimitWords::default();
    let grounds = confinement::grounds_of(&sandbox, &config);
    let engine = engine(store.clone(), Patience::default(), &limits, grounds)?;
    plan.spec.sandbox = confinement::plan(&sandbox, &plan.spec.directory, &config, &engine)?;
    let sandbox = plan.spec.sandbox.clone();
    let session = engine.start(plan.spec)?;
    for remark in sandbox.iter().flat_map(|sandbox| &sandbox.remarks) {
        crate::printing::say!("windlass: {remark}");
    }
    let mut front = Front::open(&session, plan.presentation, plan.keyboard, signals);
    let turn = front.attend(&plan.until).await;
    front.carry_out(&turn, &engine).await;
    let turn = front.close(turn).await;
    // What the session left running ends here.
    let swept = engine.shutdown().await;
    let telling = Telling { session: &session, store: store.as_ref(), turn: &turn, swept: &swept, tokenizer };
    telling.tell(plan.presentation)?;
    Ok(turn.exit())
}

/// An engine whose sessions end with this process, however it ends.
pub(crate) fn engine(
    store: Option<Store>,
    patience: Patience,
    limits: &ServerLimitWords,
    grounds: Arc<Grounds>,
) -> Result<Engine> {
    let guard = Guard::Program(guardian::program);
    let grounds = Some(grounds);
    let (each, together) = (limits.each(), limits.together());
    Ok(Engine::new(EngineOptions {
        store,
        guard,
        patience,
        grounds,
        each,
        together,
        ..EngineOptions::default()
    })?)
}

/// The engine knows the names of its own sessions only; other runtimes' are in the store.
pub(crate) fn refuse_taken_name(name: Option<&str>, store: Option<&Store>) -> Result<()> {
    let (Some(name), Some(store)) = (name, store) else { return Ok(()) };
    let holder = store.find_name(name)?.filter(|session| State::of(session).is_live());
    match holder {
        Some(holder) => Err(StartError::NameTaken { name: name.to_owned(), holder: holder.start.id }.into()),
        None => Ok(()),
    }
}

/// Housekeeping beside the command. What it does not get to, the next run does; an error then is for that one to meet.
pub(crate) fn forget_the_oldest(store: Option<&Store>) {
    if let Some(store) = store.cloned() {
        drop(tokio::task::spawn_blocking(move || store.prune(sessions::is_alive)));
    }
}
