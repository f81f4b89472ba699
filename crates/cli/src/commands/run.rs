//! `windlass run`: runs a command as if it had been typed itself, records the session, and leaves none of its processes
//! behind.

mod front;
pub(crate) mod input;
pub(crate) mod plan;
pub(crate) mod remote;
mod report;
mod run_end;
pub(crate) mod signals;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use tokio::sync::oneshot;
use windlass_engine::sandbox::NamespacePool;
use windlass_engine::{
    Backlog, Engine, EngineOptions, Guard, KillDelays, Prune, SessionRecord, StartError, Store, with_causes,
};
use windlass_output::Tokenizer;

use self::front::LocalFront;
use self::plan::Plan;
use self::report::RunReport;
use self::signals::Signals;
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
    let housekeeping = clean_up(store.as_ref());
    let signals = Signals::catch()?;
    let limits = ServerLimitWords::default();
    let grounds = confinement::grounds_of(&sandbox, &config);
    let engine = engine(store.clone(), KillDelays::default(), &limits, grounds)?;
    plan.spec.sandbox = confinement::plan(&sandbox, &plan.spec.directory, &config, &engine)?;
    let sandbox = plan.spec.sandbox.clone();
    let session = engine.start(plan.spec)?;
    for remark in sandbox.iter().flat_map(|sandbox| &sandbox.remarks).chain(&engine.guard_trouble()) {
        crate::printing::say!("windlass: {remark}");
    }
    let mut front = LocalFront::open(&session, plan.presentation, plan.keyboard, signals);
    let turn = front.attend(&plan.until).await;
    front.carry_out(&turn, &engine).await;
    let turn = front.close(turn).await;
    // Processes that the session left running are ended here.
    let swept = engine.shutdown().await;
    let (store, until) = (store.as_ref(), &plan.until);
    let telling = RunReport { session: &session, store, turn: &turn, until, swept: &swept, tokenizer };
    telling.tell(plan.presentation)?;
    if let Some(housekeeping) = housekeeping {
        housekeeping.settle().await;
    }
    Ok(turn.exit(&plan.until))
}

/// An engine whose sessions end with this process, however it ends.
pub(crate) fn engine(
    store: Option<Store>,
    patience: KillDelays,
    limits: &ServerLimitWords,
    grounds: Arc<NamespacePool>,
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

/// Rejects a name that a session has already. The engine claims the name among the sessions of people only; a person
/// also sees the sessions of clients, and those of earlier versions, which have no claims.
pub(crate) fn refuse_taken_name(name: Option<&str>, store: Option<&Store>) -> Result<()> {
    let (Some(name), Some(store)) = (name, store) else { return Ok(()) };
    let sessions = sessions::list(store)?.sessions;
    let is_named = |session: &&SessionRecord| session.start.name.as_deref() == Some(name);
    match sessions.iter().filter(is_named).find(|session| State::of(session).is_live()) {
        Some(holder) if State::of(holder) == State::Elsewhere => bail!(
            "the name `{name}` is held by session {}, which may be running: its windlass is in another pid namespace, such as a \
             container, and cannot be seen from here; choose another --name, or stop the session there",
            holder.start.id
        ),
        Some(holder) => Err(StartError::NameTaken { name: name.to_owned(), holder: holder.start.id }.into()),
        None => Ok(()),
    }
}

/// Cleanup that runs beside the command.
pub(crate) struct Housekeeping {
    backlog: oneshot::Receiver<Backlog>,
    done: oneshot::Receiver<Option<Prune>>,
}

/// How long a finished command waits for the removal of a backlog.
const BACKLOG_LIMIT: Duration = Duration::from_secs(2);
/// How long it waits for the check of what dead runtimes left, which is complete after all records were read.
const RECORDS_LIMIT: Duration = Duration::from_millis(200);

/// Ends the processes of runtimes that died with their guardians, and removes the oldest sessions, both beside the
/// command. If this run ends before that is done, the next one continues.
pub(crate) fn clean_up(store: Option<&Store>) -> Option<Housekeeping> {
    let store = store?.clone();
    let (tell, backlog) = oneshot::channel();
    let (finish, done) = oneshot::channel();
    let prune = move || {
        // This comes first: a short command may end before all records have been read.
        let mut guardians = guardian::sweep_registered(&store);
        let pruned = store.prune_telling(sessions::may_be_alive, |found| {
            // A server has dropped the receiver.
            let _ = tell.send(found);
        });
        let (abandoned, failed) = match pruned {
            Ok((pruned, failed)) => (pruned.abandoned, failed),
            Err(failure) => (Vec::new(), Some(failure)),
        };
        if store.is_own() {
            guardians.extend(guardian::sweep(&abandoned));
        }
        let _ = finish.send(failed);
        for guardian in guardians {
            // The guardian is a child of this process; a server would keep its zombie.
            let _ = guardian.reap_blocking();
        }
    };
    drop(tokio::task::spawn_blocking(prune));
    Some(Housekeeping { backlog, done })
}

impl Housekeeping {
    /// Waits until processes that dead runtimes left have a guardian and, if there is a backlog, for its removal: a
    /// short run, as most are, would otherwise never get to either. A failed removal is reported then: there is no
    /// other report of why sessions pile up.
    pub(crate) async fn settle(self) {
        let is_large = self.backlog.await == Ok(Backlog::Large);
        let limit = if is_large { BACKLOG_LIMIT } else { RECORDS_LIMIT };
        // timer: the command is over, and its caller waits.
        if let Ok(Ok(Some(failure))) = tokio::time::timeout(limit, self.done).await
            && is_large
        {
            let reason = with_causes(&failure);
            crate::printing::say!("windlass: old sessions pile up because they cannot be removed: {reason}");
        }
    }
}
