//! The shortest command there is: what a call costs beyond the process itself, one at a time and sixteen at once.

use super::client::Client;
use super::contest::{Contender, Finding, Who, hold};
use super::{RowContext, codex, commander, windlass};
use crate::comparison::{Bar, Scale};
use anyhow::{Result, ensure};
use serde_json::json;
use std::process::{Command, Stdio};
use std::time::Instant;

pub(super) const NAMES: &[&str] = &["mcp-true", "mcp-true-16"];

/// How many are in flight.
const ABREAST: usize = 16;

pub(super) fn measure(around: &RowContext) -> Result<Vec<Finding>> {
    let mut server = windlass::warm(around)?;
    let one = one_at_a_time(around, &mut server)?;
    let many = many_at_once(around, &mut server)?;
    server.end()?;
    Ok(vec![
        Finding {
            name: NAMES[0],
            what: "a command that does nothing, one at a time",
            unit: "us",
            figures: one,
            bar: Bar::MostTimes(1.6),
            against: Some(Who::Bare),
        },
        Finding {
            name: NAMES[1],
            what: "the same, 16 in flight, per second",
            unit: "/s",
            figures: many,
            bar: Bar::LeastTimes(0.8),
            against: Some(Who::Bare),
        },
    ])
}

type Figures = Vec<(Who, crate::rounds::Samples)>;

/// Windlass and the bare call take turns by themselves: some peers are still at work when they have answered.
fn one_at_a_time(around: &RowContext, server: &mut Client) -> Result<Figures> {
    let times = around.times(40);
    let mut figures = hold(vec![
        Contender { who: Who::Windlass, times, once: Box::new(|| timed(|| windlass::run_true(server))) },
        Contender { who: Who::Bare, times, once: Box::new(|| timed(bare)) },
    ])?;
    if around.with_peers() {
        figures.extend(peers(around)?);
    }
    Ok(figures)
}

fn peers(around: &RowContext) -> Result<Figures> {
    let times = around.times(5);
    let mut codex = codex::connected(&mut codex::app_server(around)?)?;
    let to_codex = move || timed(|| codex::run(&mut codex, "true").map(drop));
    let mut commander = Client::mcp(&mut commander::command(around)?)?;
    let to_commander = move || timed(|| commander::run(&mut commander, "true").map(drop));
    hold(vec![
        Contender { who: Who::Codex, times, once: Box::new(to_codex) },
        Contender { who: Who::Commander, times, once: Box::new(to_commander) },
    ])
}

/// In microseconds.
fn timed(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed().as_secs_f64() * 1e6)
}

/// From `posix_spawn`, which is what the standard library uses here, to the process reaped.
fn bare() -> Result<()> {
    let mut command = Command::new("/bin/bash");
    command.args(["-c", "true"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    ensure!(command.status()?.success(), "bash -c true failed");
    Ok(())
}

fn many_at_once(around: &RowContext, server: &mut Client) -> Result<Figures> {
    let times = around.times(1);
    let count = match around.scale {
        Scale::Full => 400,
        Scale::Tiny => 2 * ABREAST,
    };
    hold(vec![
        Contender { who: Who::Windlass, times, once: Box::new(|| windlass_abreast(server, count)) },
        Contender { who: Who::Bare, times, once: Box::new(|| bare_abreast(count)) },
    ])
}

/// Sends the next request as soon as one is answered.
fn windlass_abreast(server: &mut Client, count: usize) -> Result<f64> {
    let order = json!({ "name": "exec_command", "arguments": { "cmd": "true" } });
    let begun = Instant::now();
    for _ in 0..ABREAST.min(count) {
        server.ask("tools/call", &order)?;
    }
    for answered in 1..=count {
        let (_, result) = server.answer()?;
        windlass::ensure_success(&result)?;
        if answered + ABREAST <= count {
            server.ask("tools/call", &order)?;
        }
    }
    Ok(count as f64 / begun.elapsed().as_secs_f64())
}

fn bare_abreast(count: usize) -> Result<f64> {
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let one_after_the_other = || (0..count / ABREAST).try_for_each(|_| bare());
        let workers: Vec<_> = (0..ABREAST).map(|_| scope.spawn(one_after_the_other)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(|_| Ok(())))
    })?;
    Ok((count / ABREAST * ABREAST) as f64 / begun.elapsed().as_secs_f64())
}
