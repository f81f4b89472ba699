//! `/bin/true`: what a call costs beyond the process itself, one at a time and sixteen at once.

use super::dialect::ServerKind;
use super::server::Server;
use crate::beside::RowContext;
use crate::beside::contest::{Contender, Finding, Who, hold};
use crate::comparison::{Bar, Scale};
use crate::rounds::Samples;
use anyhow::{Result, ensure};
use std::process::{Command, Stdio};
use std::time::Instant;

pub(super) const APP: [&str; 4] = ["app-true", "app-true-bare", "app-true-16", "app-true-16-bare"];
pub(super) const EXEC: [&str; 4] = ["exec-true", "exec-true-bare", "exec-true-16", "exec-true-16-bare"];

/// How many are in flight.
const ABREAST: usize = 16;

pub(super) fn measure(around: &RowContext, dialect: ServerKind) -> Result<Vec<Finding>> {
    let names = if dialect == ServerKind::App { APP } else { EXEC };
    let mut findings = Vec::new();
    // Each by itself: a server that is still at work when it has answered would be on the other's account.
    for (who, bars, of) in [
        (dialect.peer(), [Bar::MostTimes(0.5), Bar::LeastTimes(2.0)], [names[0], names[2]]),
        (Who::Bare, [Bar::MostTimes(2.0), Bar::LeastTimes(0.5)], [names[1], names[3]]),
    ] {
        if who != Who::Bare && !around.with_peers() {
            continue;
        }
        let (one, many) = beside(around, dialect, who)?;
        let (what, what_many) = match who {
            Who::Bare => ("the same against posix_spawn", "16 in flight against posix_spawn, per second"),
            _ => ("/bin/true, asked for and answered", "/bin/true, 16 in flight, per second"),
        };
        let against = Some(who);
        findings.push(Finding { name: of[0], what, unit: "us", figures: one, bar: bars[0], against });
        findings.push(Finding {
            name: of[1],
            what: what_many,
            unit: "/s",
            figures: many,
            bar: bars[1],
            against,
        });
    }
    Ok(findings)
}

type Figures = Vec<(Who, Samples)>;

/// A contender that runs it, one after the other or many at once.
struct Runner {
    one: Box<dyn FnMut() -> Result<()>>,
    many: Box<dyn FnMut(usize) -> Result<()>>,
}

fn beside(around: &RowContext, dialect: ServerKind, other: Who) -> Result<(Figures, Figures)> {
    let mut runners = Vec::new();
    for who in [Who::Windlass, other] {
        runners.push((who, runner(around, who, dialect)?));
    }
    let (times, rounds) = (around.times(40), around.times(1));
    let count = match around.scale {
        Scale::Full => 400,
        Scale::Tiny => 2 * ABREAST,
    };
    let one = runners.iter_mut().map(|(who, runner)| {
        let once = Box::new(|| Ok(timed(&mut runner.one)? * 1e6));
        Contender { who: *who, times, once }
    });
    let one = hold(one.collect())?;
    let many = runners.iter_mut().map(|(who, runner)| {
        let once = Box::new(|| Ok(count as f64 / timed(|| (runner.many)(count))?));
        Contender { who: *who, times: rounds, once }
    });
    let many = hold(many.collect())?;
    Ok((one, many))
}

fn runner(around: &RowContext, who: Who, dialect: ServerKind) -> Result<Runner> {
    if who == Who::Bare {
        return Ok(Runner { one: Box::new(bare), many: Box::new(bare_abreast) });
    }
    let mut one = Server::warm(around, who, dialect)?;
    let mut many = Server::warm(around, who, dialect)?;
    Ok(Runner {
        one: Box::new(move || one.run_true()),
        many: Box::new(move |count| abreast(&mut many, count)),
    })
}

/// In seconds.
fn timed(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed().as_secs_f64())
}

/// Sends the next request as soon as one is answered.
fn abreast(server: &mut Server, count: usize) -> Result<()> {
    for _ in 0..ABREAST.min(count) {
        server.ask_for_true()?;
    }
    for answered in 1..=count {
        server.ended()?;
        if answered + ABREAST <= count {
            server.ask_for_true()?;
        }
    }
    Ok(())
}

/// From `posix_spawn`, which is what the standard library uses here, to the process reaped.
fn bare() -> Result<()> {
    let mut command = Command::new("/bin/true");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    ensure!(command.status()?.success(), "/bin/true failed");
    Ok(())
}

fn bare_abreast(count: usize) -> Result<()> {
    std::thread::scope(|scope| {
        let one_after_the_other = || (0..count / ABREAST).try_for_each(|_| bare());
        let workers: Vec<_> = (0..ABREAST).map(|_| scope.spawn(one_after_the_other)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(|_| Ok(())))
    })
}
