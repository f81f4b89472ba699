//! `windlass exec-server`: starts processes and stores files for an agent that runs elsewhere. It runs until its client
//! disconnects or a signal ends it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::Result;
use windlass_engine::{Engine, EngineOptions, Guard, Pruning, RegistryLimits, Store, WhenFull};
use windlass_server::exec::{ExecEnvironment, ExecServer};
use windlass_server::listen::Listen;

use crate::args::ExecServe;
use crate::commands::run::clean_up;
use crate::commands::run::signals::Signals;
use crate::commands::{file_helper, guardian};
use crate::config::Config;
use crate::confinement::{self, NamedFiles};
use crate::failure::Exit;
use crate::remedies::Interface;
use crate::{listening, printing, sessions};

/// Far more sessions than a machine runs at once. One more is rejected, and none is ended to make room.
const MOST_RUNNING: usize = 16 * 1024;

/// Serves until the client disconnects or a signal arrives, and leaves nothing running.
pub(crate) async fn run(order: ExecServe, config: Config) -> Result<Exit> {
    let signals = Signals::catch()?;
    let listener = listening::bind(&order.listening, Listen::Stdio).await?;
    let store = config.open_store();
    drop(clean_up(store.as_ref()));
    let engine = engine(store, &order, &config)?;
    let server = ExecServer::new(engine.clone(), place(&config)?);
    if let Some(url) = listener.url() {
        printing::print(format!("{url}\n"))?;
        crate::printing::say!(
            "windlass: serving; commands may touch whatever this user may, unless their clients say less"
        );
    }
    server.serve(listener, signals.told_to_end()).await;
    engine.shutdown().await;
    Ok(Exit::SUCCESS)
}

fn engine(store: Option<Store>, order: &ExecServe, config: &Config) -> Result<Engine> {
    let (each, together) = (order.limits.each(), order.limits.together());
    let limits =
        RegistryLimits { running: MOST_RUNNING, full: WhenFull::Refuse, ..RegistryLimits::default() };
    let guard = Guard::Program(guardian::program);
    // A command that could read the token could call this server.
    let named = NamedFiles { secrets: listening::secrets(&order.listening)?, ..NamedFiles::default() };
    let grounds = Some(confinement::grounds_with(order.sandbox_layers, config, named, Interface::ExecServer));
    let pruning = Pruning::NowAndThen(sessions::may_be_alive);
    let options =
        EngineOptions { store, pruning, guard, limits, each, together, grounds, ..EngineOptions::default() };
    Ok(Engine::new(options)?)
}

fn place(config: &Config) -> Result<ExecEnvironment> {
    let path = |name: &str| config.variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let directory = Config::working_directory()?;
    Ok(ExecEnvironment {
        variables: config.environment.clone(),
        shell: shell(&config.shell),
        home: path("HOME"),
        temporary: path("TMPDIR").unwrap_or_else(|| "/tmp".into()),
        state_directory: directory.join(config.state_directory.as_deref().unwrap_or(Path::new("/"))),
        directory,
        file_helper: file_helper::program(),
    })
}

/// The user's shell, if clients support it; otherwise another one.
fn shell(asked: &OsStr) -> PathBuf {
    let asked = Path::new(asked);
    let is_known =
        asked.file_name().is_some_and(|name| ["bash", "zsh", "sh"].iter().any(|known| name == *known));
    let candidates = [asked, Path::new("/bin/bash")];
    let found =
        candidates.into_iter().skip(usize::from(!is_known)).find(|path| path.is_absolute() && path.exists());
    found.unwrap_or(Path::new("/bin/sh")).to_owned()
}
