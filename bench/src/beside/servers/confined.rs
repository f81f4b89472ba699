//! The cost of a sandbox: for the shortest program there is, beside bubblewrap and Codex's own, and for a program's
//! output.

use super::dialect::ServerKind;
use super::known::Known;
use super::server::{Enough, Server};
use crate::beside::RowContext;
use crate::beside::contest::{Contender, Finding, Who, figure, hold};
use crate::comparison::{Bar, Scale};
use crate::rounds::Samples;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::process::{Command, Stdio};
use std::time::Instant;

pub(super) const NAMES: [&str; 4] =
    ["confined-true", "confined-true-bwrap", "confined-true-codex", "confined-flood"];

pub(super) fn measure(around: &RowContext) -> Result<Vec<Finding>> {
    let mut findings = vec![against(around, NAMES[0], Who::Bare, Bar::MostTimes(2.5))?];
    if around.with_peers() {
        findings.push(against(around, NAMES[1], Who::Bubblewrap, Bar::MostTimes(0.25))?);
        findings.push(against(around, NAMES[2], Who::Codex, Bar::MostTimes(0.25))?);
    }
    findings.push(flood(around)?);
    Ok(findings)
}

/// The time that the sandbox adds to `/bin/true`, against the time that another sandbox adds, or against the bare
/// program itself.
fn against(around: &RowContext, name: &'static str, other: Who, bar: Bar) -> Result<Finding> {
    let mut ours = Server::warm(around, Who::Windlass, ServerKind::App)?;
    run(&mut ours, &confined())?;
    let mut theirs: Box<dyn FnMut() -> Result<f64>> = match other {
        Who::Bare => Box::new(|| timed(bare)),
        Who::Bubblewrap => Box::new(|| Ok(timed(in_bubblewrap)? - timed(bare)?)),
        _ => {
            let mut server = Server::warm(around, other, ServerKind::App)?;
            run(&mut server, &confined())?;
            Box::new(move || added(&mut server))
        }
    };
    let times = around.times(20);
    let figures = hold(vec![
        Contender { who: Who::Windlass, times, once: Box::new(|| added(&mut ours)) },
        Contender { who: other, times, once: Box::new(&mut theirs) },
    ])?;
    let what = match other {
        Who::Bare => "what a sandbox adds to /bin/true, against /bin/true itself",
        Who::Bubblewrap => "the same, against what bwrap adds",
        _ => "the same, against what Codex's sandbox adds",
    };
    Ok(Finding { name, what, unit: "us", figures, bar, against: Some(other) })
}

fn added(server: &mut Server) -> Result<f64> {
    let free = timed(|| run(server, &free()))?;
    Ok(timed(|| run(server, &confined()))? - free)
}

/// In microseconds.
fn timed(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed().as_secs_f64() * 1e6)
}

fn free() -> Value {
    json!({ "type": "dangerFullAccess" })
}

fn confined() -> Value {
    json!({ "type": "workspaceWrite" })
}

fn run(server: &mut Server, policy: &Value) -> Result<()> {
    server.ask_under(policy, &["/bin/true"])?;
    server.ended()
}

fn bare() -> Result<()> {
    succeeds(&mut Command::new("/bin/true"))
}

/// The same confinement by bubblewrap: everything read-only, devices, processes and a network of its own.
fn in_bubblewrap() -> Result<()> {
    let mut command = Command::new("bwrap");
    command.args(["--ro-bind", "/", "/", "--bind", "/tmp", "/tmp", "--dev", "/dev", "--proc", "/proc"]);
    succeeds(command.args(["--unshare-all", "/bin/true"]))
}

fn succeeds(command: &mut Command) -> Result<()> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().context("cannot be started; `cargo xtask peers` installs it")?;
    ensure!(status.success(), "{status}");
    Ok(())
}

/// A flood of a confined program against that of a free one, in turns.
fn flood(around: &RowContext) -> Result<Finding> {
    let size = match around.scale {
        Scale::Full => (64 << 20, 4),
        Scale::Tiny => (1 << 20, 1),
    };
    let known = Known::write(around, super::dialect::Io::Output, size)?;
    let mut server = Server::warm(around, Who::Windlass, ServerKind::App)?;
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for _ in 0..around.times(1) {
        inside.push(speed(&mut server, &known, &confined())?);
        outside.push(speed(&mut server, &known, &free())?);
    }
    let figures: Vec<(Who, Samples)> = vec![figure(Who::Windlass, inside), figure(Who::Unconfined, outside)];
    let what = "what a confined program prints, against a free one";
    Ok(Finding {
        name: NAMES[3],
        what,
        unit: "MB/s",
        figures,
        bar: Bar::LeastTimes(0.95),
        against: Some(Who::Unconfined),
    })
}

fn speed(server: &mut Server, known: &Known, policy: &Value) -> Result<f64> {
    let begun = Instant::now();
    server.stream_under(policy, &known.argv())?;
    let mut check = known.check();
    server.output(|bytes| check.take(bytes).map(|()| Enough::No))?;
    let length = check.end()?;
    Ok(length as f64 / begun.elapsed().as_secs_f64() / 1e6)
}
