//! Our side of a round: one engine as the program has it, with its state directory on disk, and one work.

mod echo;
mod exit;
mod flood;
mod idle;
mod memory;
mod produced;
mod settle;
mod spawn;
mod tokens;

use crate::order::WorkSpec;
use anyhow::{Context, Result, bail, ensure};
use std::path::Path;
use windlass_engine::{
    CommandSpec, Engine, EngineOptions, Exit, Io, Receipt, Stdin, Store, StoreLimits, Terminal,
};

/// Does the work and prints its figures.
pub(crate) fn measure(order: &WorkSpec) -> Result<()> {
    match order.work.as_str() {
        "settle" => return settle::measure(order),
        "tokens" => return tokens::measure(order),
        _ => {}
    }
    let order = order.clone();
    // Sessions run on the workers, and so does the task that waits for them, as a server's connections do.
    runtime(order.number("workers")?)?.block_on(async { tokio::spawn(work(order)).await? })
}

fn runtime(workers: usize) -> Result<tokio::runtime::Runtime> {
    let mut builder = match workers {
        0 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    builder.worker_threads(workers.max(1)).enable_all().build().context("building the runtime")
}

async fn work(order: WorkSpec) -> Result<()> {
    let engine = engine(&order)?;
    match order.work.as_str() {
        "spawn" => spawn::measure(&engine, &order).await?,
        "flood" => flood::measure(&engine, &order).await?,
        "echo" => echo::measure(&engine, &order).await?,
        "idle" => idle::measure(&engine, &order).await?,
        "exit" => exit::measure(&engine, &order).await?,
        work => bail!("no work is called `{work}`"),
    }
    let end = engine.shutdown().await;
    ensure!(end.remaining.is_empty(), "processes remain: {:?}", end.remaining);
    Ok(())
}

fn engine(order: &WorkSpec) -> Result<Engine> {
    let store = Store::open(Path::new(order.text("state")?), StoreLimits::default())?;
    Ok(Engine::new(EngineOptions { store: Some(store), ..EngineOptions::default() })?)
}

/// A command with an empty environment, as the bare program gives its children.
fn command<const N: usize>(argv: [&str; N], io: Io) -> CommandSpec {
    CommandSpec { io, ..CommandSpec::new(argv, "/") }
}

/// The input and output of the command, by the order.
fn io(order: &WorkSpec, stdin: Stdin) -> Result<Io> {
    match order.text("io")? {
        "pipe" => Ok(Io::Pipes(stdin)),
        "terminal" => Ok(Io::Terminal(Terminal::default())),
        other => bail!("`io={other}` is neither pipe nor terminal"),
    }
}

fn figure(name: &str, value: f64) {
    println!("{name} {value:.6}");
}

fn ensure_success(receipt: &Receipt) -> Result<()> {
    ensure!(receipt.exit == Exit::Code(0), "the command failed: {:?}", receipt.exit);
    ensure!(receipt.left_running.is_empty(), "left running: {:?}", receipt.left_running);
    Ok(())
}
