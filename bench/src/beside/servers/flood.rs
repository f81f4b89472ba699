//! Much output, sent to a client that reads as fast as it can and compares every byte: how fast, at what cost, and what
//! the server weighs meanwhile.

use super::dialect::{Io, ServerKind};
use super::known::{Known, Printer};
use super::server::{Enough, Server};
use crate::beside::RowContext;
use crate::beside::contest::{Contender, Finding, Who, figure, hold};
use crate::comparison::{Bar, Scale};
use anyhow::Result;
use std::cell::RefCell;
use std::time::Instant;

pub(super) const APP_PIPE: [&str; 3] = ["app-flood", "app-flood-cpu", "app-flood-memory"];
pub(super) const APP_TERMINAL: [&str; 2] = ["app-flood-terminal", "app-flood-terminal-cpu"];
pub(super) const APP_LINES: [&str; 2] = ["app-flood-lines", "app-flood-lines-cpu"];
pub(super) const EXEC_LINES: [&str; 2] = ["exec-flood-lines", "exec-flood-lines-cpu"];
pub(super) const EXEC_PIPE: [&str; 3] = ["exec-flood", "exec-flood-cpu", "exec-flood-memory"];
pub(super) const EXEC_TERMINAL: [&str; 2] = ["exec-flood-terminal", "exec-flood-terminal-cpu"];

const MIB: usize = 1 << 20;

/// A flood's figures besides its speed.
#[derive(Clone, Copy)]
struct Cost {
    who: Who,
    /// Seconds of processor time for a gigabyte of output.
    cpu: f64,
    /// The most that was ever resident, in MiB.
    memory: f64,
}

pub(super) fn through_pipes(around: &RowContext, dialect: ServerKind) -> Result<Vec<Finding>> {
    let [speed, cpu, memory] = if dialect == ServerKind::App { APP_PIPE } else { EXEC_PIPE };
    let size = match around.scale {
        Scale::Full => (64 * MIB, 16),
        Scale::Tiny => (MIB, 4),
    };
    let known = Known::write(around, Io::Output, size)?;
    let (figures, costs) = flood(around, dialect, (&known, Io::Output))?;
    let against = Some(dialect.peer());
    Ok(vec![
        Finding {
            name: speed,
            what: "1 GiB printed to a pipe and streamed",
            unit: "MB/s",
            figures,
            bar: Bar::LeastTimes(2.0),
            against,
        },
        Finding {
            name: cpu,
            what: "the server's processor time for that, per GB",
            unit: "s",
            figures: of(&costs, |cost| cost.cpu),
            bar: Bar::MostTimes(0.5),
            against,
        },
        Finding {
            name: memory,
            what: "the most that was resident meanwhile",
            unit: "MiB",
            figures: of(&costs, |cost| cost.memory),
            bar: Bar::Most(38.0),
            against: None,
        },
    ])
}

pub(super) fn through_terminals(
    around: &RowContext,
    dialect: ServerKind,
    printer: Printer,
) -> Result<Vec<Finding>> {
    let ([speed, cpu], what) = match (dialect, printer) {
        (ServerKind::App, Printer::AtOnce) => (APP_TERMINAL, "100 MB printed to a terminal and streamed"),
        (ServerKind::App, Printer::ByLine) => (APP_LINES, "the same, printed a line at a time"),
        (ServerKind::Exec, Printer::AtOnce) => (EXEC_TERMINAL, "100 MB printed to a terminal and streamed"),
        (ServerKind::Exec, Printer::ByLine) => (EXEC_LINES, "the same, printed a line at a time"),
    };
    let size = match around.scale {
        Scale::Full => (20_000_000, 5),
        Scale::Tiny => (200_000, 2),
    };
    let known = Known::write(around, Io::Terminal, size)?.printed_by(printer);
    let (figures, costs) = flood(around, dialect, (&known, Io::Terminal))?;
    let against = Some(dialect.peer());
    Ok(vec![
        Finding { name: speed, what, unit: "MB/s", figures, bar: Bar::LeastTimes(1.0), against },
        Finding {
            name: cpu,
            what: "the server's processor time for that, per GB",
            unit: "s",
            figures: of(&costs, |cost| cost.cpu),
            bar: Bar::MostTimes(0.6),
            against,
        },
    ])
}

type Figures = Vec<(Who, crate::rounds::Samples)>;

fn of(costs: &[Cost], value: fn(&Cost) -> f64) -> Figures {
    let mut all: Vec<Who> = costs.iter().map(|cost| cost.who).collect();
    all.sort_unstable();
    all.dedup();
    let of = |who: Who| costs.iter().filter(|cost| cost.who == who).map(value).collect();
    all.into_iter().map(|who| figure(who, of(who))).collect()
}

/// A server of its own for each flood, so that its memory is this flood's.
fn flood(around: &RowContext, dialect: ServerKind, what: (&Known, Io)) -> Result<(Figures, Vec<Cost>)> {
    let costs = RefCell::new(Vec::new());
    let contender = |who| {
        let costs = &costs;
        let once = move || {
            let mut server = Server::warm(around, who, dialect)?;
            let (speed, cpu) = once(&mut server, what)?;
            costs.borrow_mut().push(Cost { who, cpu, memory: server.memory_mib("VmHWM")? });
            server.end()?;
            Ok(speed)
        };
        Contender { who, times: around.times(1).min(5), once: Box::new(once) }
    };
    let figures = hold(around.sides(dialect.peer()).map(contender).collect())?;
    Ok((figures, costs.into_inner()))
}

/// MB per second, and seconds of processor time per GB.
fn once(server: &mut Server, (known, io): (&Known, Io)) -> Result<(f64, f64)> {
    let before = server.cpu_seconds()?;
    let begun = Instant::now();
    server.start(&known.argv(), io)?;
    let mut check = known.check();
    server.output(|bytes| check.take(bytes).map(|()| Enough::No))?;
    let took = begun.elapsed().as_secs_f64();
    let bytes = check.end()? as f64;
    let cpu = server.cpu_seconds()? - before;
    Ok((bytes / took / 1e6, cpu / (bytes / 1e9)))
}
