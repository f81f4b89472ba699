//! `windlass app-server`: an engine for programs that speak the app-server dialect. It runs until its client
//! disconnects or a signal ends it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use windlass_config::{Layer, SandboxMode};
use windlass_engine::sandbox::{Base, Confined, NamespacePool, Policy};
use windlass_engine::{Ahead, Drain, Engine, EngineOptions, Guard, Pruning, RegistryLimits, Store, WhenFull};
use windlass_server::app::{AppOptions, AppServer};
use windlass_server::listen::Listen;

use crate::args::{AppServe, SandboxModeName, ServerLimitWords};
use crate::commands::run::clean_up;
use crate::commands::run::signals::Signals;
use crate::commands::{agent, guardian};
use crate::config::Config;
use crate::confinement::{self, NamedFiles};
use crate::failure::Exit;
use crate::listening;
use crate::remedies::Interface;
use crate::sessions;

/// How long to wait for the end of a command's output after its exit, as the dialect specifies it.
const DRAIN: Duration = Duration::from_secs(2);

/// Far more sessions than a machine runs at once. One more is rejected, and none is ended to make room.
const MOST_RUNNING: usize = 16 * 1024;

/// Serves until the client disconnects or a signal arrives, and leaves nothing running.
pub(crate) async fn run(order: AppServe, config: Config) -> Result<Exit> {
    let signals = Signals::catch()?;
    let listener = listening::bind(&order.listening, Listen::Stdio).await?;
    if let Some(url) = listener.url() {
        crate::printing::say!("windlass: listening on {url}");
    }
    let unstated = unstated_policies(&order, &config)?;
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
    let UnstatedPolicies { command: sandbox, process: process_sandbox } = unstated;
    let options = AppOptions { directory, environment, state_directory, sandbox, process_sandbox };
    let server = AppServer::new(engine.clone(), options);
    server.serve(listener, signals.told_to_end()).await;
    engine.shutdown().await;
    Ok(Exit::SUCCESS)
}

/// Commands that crash leave no core file in the user's workspace, as the dialect specifies it. A command that wants
/// one can raise the limit again.
fn dump_no_cores() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Core);
    // Lowering a limit is always allowed.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum });
}

/// The policies of requests that name none.
struct UnstatedPolicies {
    /// For `command/exec`.
    command: Policy,
    /// For `process/spawn`, whose requests cannot name one.
    process: Policy,
}

/// The policies are those of `--sandbox`, else of the user's `sandbox_mode`. If neither is given, the dialect decides:
/// a command is read-only without a network, and a process is not confined.
fn unstated_policies(order: &AppServe, config: &Config) -> Result<UnstatedPolicies> {
    let same = |policy: Policy| UnstatedPolicies { command: policy.clone(), process: policy };
    if let Some(name) = order.sandbox {
        return Ok(same(named_policy(name)));
    }
    let mut configured = agent::users_settings(config)
        .context("the sandbox of commands cannot be told; --sandbox names it without the settings")?;
    let origin = configured.loaded.origin("sandbox_mode").filter(|origin| origin.layer != Layer::BuiltIn);
    if let Some(origin) = origin {
        let mode = configured.loaded.settings.sandbox_mode;
        crate::printing::say!(
            "windlass: commands whose clients name no policy have sandbox_mode {mode} ({origin})"
        );
        return Ok(same(agent::sandbox(&configured)));
    }
    configured.loaded.settings.sandbox_mode = SandboxMode::ReadOnly;
    crate::printing::say!(
        "windlass: commands (command/exec) whose clients name no policy are read-only, without a network, and processes \
         (process/spawn) have no sandbox; sandbox_mode in the settings or --sandbox names one for both"
    );
    Ok(UnstatedPolicies { command: agent::sandbox(&configured), process: Policy::FullAccess })
}

fn named_policy(name: SandboxModeName) -> Policy {
    match name {
        SandboxModeName::FullAccess => Policy::FullAccess,
        SandboxModeName::External => Policy::External,
        SandboxModeName::ReadOnly => Policy::Confined(Confined::new(Base::ReadOnly)),
        SandboxModeName::WorkspaceWrite => Policy::Confined(Confined::new(Base::WorkspaceWrite)),
    }
}

fn engine(store: Option<Store>, words: &ServerLimitWords, grounds: Arc<NamespacePool>) -> Result<Engine> {
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
