//! `windlass app-server`: an engine for programs that speak the app-server dialect, there until its client goes or
//! somebody ends it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use windlass_engine::sandbox::{Base, Confined, Grounds, Policy};
use windlass_engine::{Ahead, Drain, Engine, EngineOptions, Guard, Pruning, RegistryLimits, Store, WhenFull};
use windlass_server::app::{AppOptions, AppServer};
use windlass_server::listen::Listen;

use crate::args::{AppServe, SandboxName, ServerLimitWords};
use crate::commands::guardian;
use crate::commands::run::clean_up;
use crate::commands::run::signals::Signals;
use crate::config::Config;
use crate::confinement::{self, NamedFiles};
use crate::failure::Exit;
use crate::listening;
use crate::remedies::Interface;
use crate::sessions;

/// How long the end of a command's output is waited for after its exit, as the dialect has it.
const DRAIN: Duration = Duration::from_secs(2);

/// Far more than a machine runs at once. One more is refused, and nobody is ended for it.
const MOST_RUNNING: usize = 16 * 1024;

/// Serves until it is over, and leaves nothing running.
pub(crate) async fn run(order: AppServe, config: Config) -> Result<Exit> {
    let signals = Signals::catch()?;
    let listener = listening::bind(&order.listening, Listen::Stdio).await?;
    if let Some(url) = listener.url() {
        crate::printing::say!("windlass: listening on {url}");
    }
    if order.sandbox.is_none() {
        crate::printing::say!(
            "windlass: commands whose clients ask for no sandbox have none; --sandbox read-only, workspace-write or danger-full-access says so"
        );
    }
    dump_no_cores();
    let store = config.open_store();
    drop(clean_up(store.as_ref()));
    // A command that could read the token could call this server.
    let named = NamedFiles { secrets: listening::secrets(&order.listening)?, ..NamedFiles::default() };
    let grounds = confinement::grounds_with(order.sandbox_layers, &config, named, Interface::AppServer);
    let engine = engine(store, &order.limits, grounds)?;
    let directory = Config::working_directory()?;
    let state_directory = directory.join(config.state_directory.as_deref().unwrap_or(Path::new("/")));
    let environment = config.environment.clone();
    let server = AppServer::new(
        engine.clone(),
        AppOptions { directory, environment, state_directory, sandbox: policy(order.sandbox) },
    );
    server.serve(listener, signals.told_to_end()).await;
    engine.shutdown().await;
    Ok(Exit::SUCCESS)
}

/// Commands that crash leave no core file in somebody's workspace, as the dialect has it. Those that want one can raise the
/// limit again.
fn dump_no_cores() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Core);
    // Lowering a limit is always allowed.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum });
}

/// What commands may touch whose clients do not say.
fn policy(name: Option<SandboxName>) -> Policy {
    match name {
        None | Some(SandboxName::DangerFullAccess) => Policy::FullAccess,
        Some(SandboxName::ReadOnly) => Policy::Confined(Confined::new(Base::ReadOnly)),
        Some(SandboxName::WorkspaceWrite) => Policy::Confined(Confined::new(Base::WorkspaceWrite)),
    }
}

fn engine(store: Option<Store>, words: &ServerLimitWords, grounds: Arc<Grounds>) -> Result<Engine> {
    let grounds = Some(grounds);
    let ahead = Ahead::OneHelper;
    let (each, together) = (words.each(), words.together());
    let drain = Drain { silence: DRAIN, ceiling: DRAIN };
    let limits =
        RegistryLimits { running: MOST_RUNNING, full: WhenFull::Refuse, ..RegistryLimits::default() };
    let guard = Guard::Program(guardian::program);
    Ok(Engine::new(EngineOptions {
        store,
        pruning: Pruning::NowAndThen(sessions::may_be_alive),
        guard,
        drain,
        limits,
        grounds,
        ahead,
        each,
        together,
        ..EngineOptions::default()
    })?)
}
