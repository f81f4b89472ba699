//! The program people type: `windlass`.
#![forbid(unsafe_code)]

mod args;
mod clients;
mod commands;
mod config;
mod confinement;
mod failure;
mod listening;
mod other_runtimes;
mod printing;
mod remedies;
mod report;
mod rules_files;
mod secret_file;
mod server_places;
mod sessions;
mod toolbox;

use std::future::Future;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;
use windlass_protocol::schema;
use windlass_sys::limits;
use windlass_sys::process;
use windlass_sys::signal::{self, Signal};
use windlass_tools::looks_secret;

use crate::args::{AppServerArgs, ExecServerArgs, McpArgs, Verb, Windlass};
use crate::config::Config;
use crate::failure::Exit;

fn main() -> ExitCode {
    if let Some(family) = commands::guardian::asked_for() {
        return commands::guardian::run(family);
    }
    // A helper is executed through the kernel's link to this program; without this, the process table would show the
    // link's name.
    let _ = rustix::thread::set_name(c"windlass");
    if commands::confine::asked_for() {
        commands::confine::run();
        return ExitCode::SUCCESS;
    }
    if commands::file_helper::asked_for() {
        return commands::file_helper::run();
    }
    if commands::cell_helper::asked_for() {
        return commands::cell_helper::run();
    }
    if commands::patch_helper::asked_for() {
        return commands::patch_helper::run();
    }
    // Before anything is started that could look into this process. If the kernel refuses, windlass runs without this
    // protection.
    let _ = process::hide_from_others();
    let arguments = match Windlass::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return failure::explain_usage(&error).into(),
    };
    let config = Config::read();
    // Root can read the environment of any process, and `ps e` prints it. The needed values were copied.
    process::erase_variables(looks_secret);
    // A code of 1 would be taken for the command's own.
    let failed = match arguments.verb {
        Verb::Run(_) | Verb::Keep(_) => Exit::CANNOT_RUN,
        _ => Exit::FAILED,
    };
    match obey(arguments.verb, config) {
        Ok(exit) => exit.into(),
        Err(error) => failure::explain(&error, failed).into(),
    }
}

fn obey(verb: Verb, config: Config) -> Result<Exit> {
    match verb {
        Verb::Run(order) if order.detach => commands::keep::start(&order, &config),
        Verb::Run(mut order) => match order.server.take() {
            Some(endpoint) => on_runtime(commands::run::remote::run(order, endpoint, config)),
            None => on_runtime(commands::run::run(order, config)),
        },
        Verb::Log(order) => commands::log::run(&order, &config),
        Verb::Ps(order) => commands::ps::run(&order, &config),
        Verb::Top(order) => on_runtime(commands::top::run(order, config)),
        Verb::Stop(order) => commands::stop::run(&order, &config),
        Verb::Keep(order) => on_runtime(commands::keep::run(order, config)),
        Verb::Shim(order) => on_runtime(commands::shim::run(order, config)),
        Verb::Agent(order) => on_runtime(commands::agent::run(order, config)),
        Verb::Mcp(McpArgs { command: Some(instead), .. }) => commands::mcp::run(&instead, &config),
        Verb::Mcp(order) => on_runtime(commands::mcp::serve::run(order.serve, config)),
        Verb::AppServer(AppServerArgs { command: Some(instead), .. }) => {
            commands::dialect::run(&instead, &schema::app_server())
        }
        Verb::AppServer(order) => on_runtime(commands::app_server::run(order.serve, config)),
        Verb::ExecServer(ExecServerArgs { command: Some(instead), .. }) => {
            commands::dialect::run(&instead, &schema::exec_server())
        }
        Verb::ExecServer(order) => on_runtime(commands::exec_server::run(order.serve, config)),
        Verb::Sandbox(order) => commands::sandbox::run(&order.command, &config),
        Verb::Rules(order) => commands::rules::run(&order.command, &config),
        Verb::Doctor(order) => commands::doctor::run(&order, &config),
        Verb::Demo => on_runtime(commands::demo::run(config)),
        Verb::DemoServer => commands::demo::serve(),
        Verb::DemoStray { name } => commands::demo::stray(&name),
        Verb::Completions { shell } => commands::completions::run(shell),
        Verb::Docs => commands::docs::run(),
    }
}

/// Two workers are enough for one session and its readers.
const WORKERS: usize = 2;

/// The descriptors that a runtime with one session needs, and a few to spare.
const FEWEST_DESCRIPTORS: u64 = 48;

/// Raises the soft limit, and fails if the hard one is too low: tokio panics if it gets no descriptors for signals.
fn require_descriptors() -> Result<()> {
    limits::raise_open_files();
    let most = limits::most_open_files();
    if most < FEWEST_DESCRIPTORS {
        bail!(
            "too few file descriptors: the limit is {most}, and at least {FEWEST_DESCRIPTORS} are needed; raise it with `ulimit -n`"
        );
    }
    Ok(())
}

/// A lower limit on processes may leave no room for the threads of a runtime.
const PLENTY_OF_PROCESSES: u64 = 1024;

/// How many threads a runtime needs: its workers, and one each for files and for names.
const FEWEST_THREADS: usize = WORKERS + 2;

/// Says so if there is no room for the runtime's threads: tokio panics where it gets none.
fn require_threads() -> Result<()> {
    let most = limits::most_processes();
    if most >= PLENTY_OF_PROCESSES {
        return Ok(());
    }
    // All at once, each until the sender is gone.
    let (_held, threads): (Vec<_>, Vec<_>) = (0..FEWEST_THREADS)
        .map(|_| {
            let (hold, held) = std::sync::mpsc::channel::<()>();
            (hold, std::thread::Builder::new().spawn(move || held.recv().is_ok()))
        })
        .unzip();
    let refused = threads.into_iter().find_map(Result::err);
    refused.map_or(Ok(()), |error| {
        bail!(
            "too few processes: the limit is {most} for all of this user's, and {FEWEST_THREADS} more threads are needed ({error}); end \
             some, or raise it with `ulimit -u`"
        )
    })
}

/// Runs a command's future on a worker, never on the main thread: the kernel hangs orphans on the main thread, and as
/// long as no session is started from there, "has anything been left running?" is one glance at its list of children.
fn on_runtime(command: impl Future<Output = Result<Exit>> + Send + 'static) -> Result<Exit> {
    // With a limit on the size of files (`ulimit -f`), a write to a journal fails with an error, and the session goes
    // on in memory. By default the signal would end the process first. Commands start with the default again.
    signal::ignore(&[Signal::XFSZ]);
    require_descriptors()?;
    require_threads()?;
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(WORKERS).enable_all().build().context("cannot start the runtime")?;
    let ended = runtime.block_on(async { tokio::spawn(command).await });
    // A thread may still block in a write to a reader that has stopped reading: the exit does not wait for it.
    runtime.shutdown_background();
    ended.context("windlass failed in a way it should not have")?
}
