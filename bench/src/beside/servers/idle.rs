//! A server that has nothing to do: how soon it is there, and what it weighs.

use super::dialect::ServerKind;
use super::server::Idle;
use crate::beside::RowContext;
use crate::beside::contest::{Contender, Finding, Who, figure, hold};
use crate::comparison::Bar;
use anyhow::Result;
use std::cell::RefCell;
use std::time::Instant;

pub(super) const APP: [&str; 2] = ["app-start", "app-idle-memory"];
pub(super) const EXEC: [&str; 2] = ["exec-start", "exec-idle-memory"];

pub(super) fn measure(around: &RowContext, dialect: ServerKind) -> Result<Vec<Finding>> {
    let [start, memory] = if dialect == ServerKind::App { APP } else { EXEC };
    let weights = RefCell::new(Vec::new());
    let contender = |who| {
        let weights = &weights;
        let once = move || {
            let (took, weight) = once(around, who, dialect)?;
            weights.borrow_mut().push((who, weight));
            Ok(took)
        };
        Contender { who, times: around.times(1), once: Box::new(once) }
    };
    let figures = hold(around.sides(dialect.peer()).map(contender).collect())?;
    let weights = weights.into_inner();
    let of = |who: Who| weights.iter().filter(|(of, _)| *of == who).map(|(_, weight)| *weight).collect();
    let weights = around.sides(dialect.peer()).map(|who| figure(who, of(who))).collect();
    let against = Some(dialect.peer());
    // Codex's exec-server is a small part of the same program, and quick to start.
    let bars = match dialect {
        ServerKind::App => [Bar::MostTimes(0.125), Bar::MostTimes(1.0 / 6.0)],
        ServerKind::Exec => [Bar::MostTimes(1.0), Bar::MostTimes(0.5)],
    };
    Ok(vec![
        Finding {
            name: start,
            what: "cold start to the answer of initialize",
            unit: "ms",
            figures,
            bar: bars[0],
            against,
        },
        Finding {
            name: memory,
            what: "resident memory then",
            unit: "MiB",
            figures: weights,
            bar: bars[1],
            against,
        },
    ])
}

/// Milliseconds and MiB.
fn once(around: &RowContext, who: Who, dialect: ServerKind) -> Result<(f64, f64)> {
    let idle = Idle::of(around, who, dialect)?;
    let begun = Instant::now();
    let server = idle.start()?;
    let took = begun.elapsed();
    let weight = server.memory_mib("VmRSS")?;
    server.end()?;
    Ok((took.as_secs_f64() * 1e3, weight))
}
