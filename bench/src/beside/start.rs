//! From nothing to the first result, and what the server weighs then.

use super::contest::{Contender, Finding, Who, figure, hold};
use super::{RowContext, codex, commander, windlass};
use crate::comparison::Bar;
use anyhow::Result;
use std::cell::RefCell;
use std::time::Instant;

pub(super) const NAMES: &[&str] = &["mcp-start", "mcp-start-memory"];

/// Weights in MiB, by whom.
type Weights = RefCell<Vec<(Who, Vec<f64>)>>;

pub(super) fn measure(around: &RowContext) -> Result<Vec<Finding>> {
    let weights = Weights::default();
    let times = around.times(1);
    let mut contenders =
        vec![Contender { who: Who::Windlass, times, once: Box::new(|| start_windlass(around, &weights)) }];
    if around.with_peers() {
        let codex = Box::new(|| start_codex(around, &weights));
        contenders.push(Contender { who: Who::Codex, times, once: codex });
        let commander = Box::new(|| start_commander(around, &weights));
        contenders.push(Contender { who: Who::Commander, times: times.min(5), once: commander });
    }
    let figures = hold(contenders)?;
    let weights = weights.into_inner().into_iter().map(|(who, weights)| figure(who, weights)).collect();
    Ok(vec![
        Finding {
            name: NAMES[0],
            what: "cold start to the first result of `true`",
            unit: "ms",
            figures,
            bar: Bar::MostTimes(0.125),
            against: Some(Who::Codex),
        },
        Finding {
            name: NAMES[1],
            what: "resident memory after that",
            unit: "MiB",
            figures: weights,
            bar: Bar::Most(15.0),
            against: None,
        },
    ])
}

fn start_windlass(around: &RowContext, weights: &Weights) -> Result<f64> {
    let mut command = windlass::command(around)?;
    let begun = Instant::now();
    let mut client = super::client::Client::mcp(&mut command)?;
    windlass::run_true(&mut client)?;
    let took = begun.elapsed();
    note(weights, Who::Windlass, client.memory_kib("VmRSS")?);
    client.end()?;
    Ok(took.as_secs_f64() * 1e3)
}

fn start_codex(around: &RowContext, weights: &Weights) -> Result<f64> {
    let mut command = codex::app_server(around)?;
    let begun = Instant::now();
    let mut client = codex::connected(&mut command)?;
    codex::run(&mut client, "true")?;
    let took = begun.elapsed();
    note(weights, Who::Codex, client.memory_kib("VmRSS")?);
    Ok(took.as_secs_f64() * 1e3)
}

fn start_commander(around: &RowContext, weights: &Weights) -> Result<f64> {
    let mut command = commander::command(around)?;
    let begun = Instant::now();
    let mut client = super::client::Client::mcp(&mut command)?;
    commander::run(&mut client, "true")?;
    let took = begun.elapsed();
    note(weights, Who::Commander, client.memory_kib("VmRSS")?);
    Ok(took.as_secs_f64() * 1e3)
}

fn note(weights: &Weights, who: Who, kib: f64) {
    let mut weights = weights.borrow_mut();
    match weights.iter_mut().find(|(of, _)| *of == who) {
        Some((_, seen)) => seen.push(kib / 1024.0),
        None => weights.push((who, vec![kib / 1024.0])),
    }
}
