//! End-to-end measurements: the engine beside a bare program that makes the same system calls and nothing more.
//!
//! Each side of each round is a process of its own, so that no measurement inherits the memory, threads or descriptors
//! of another: the bare one is `bare/bare.c`, compiled at the start; ours is this program again, as
//! `windlass-bench ours`.
#![forbid(unsafe_code)]

mod arguments;
mod bare;
mod beside;
mod comparison;
mod order;
mod ours;
mod place;
mod report;
mod rounds;
mod soak;

use anyhow::{Context, Result};
use arguments::{Arguments, BenchArguments, Verb};
use beside::Subject;
use clap::Parser;
use comparison::Comparison;
use place::BenchFolder;
use report::{Circumstances, Report};
use rounds::Bench;

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    match arguments.verb {
        Some(Verb::Ours { words }) => ours::measure(&order::parse(&words)?),
        Some(Verb::Mcp(arguments)) => beside::measure(Subject::Mcp, &arguments),
        Some(Verb::Codex(arguments)) => beside::measure(Subject::Codex, &arguments),
        Some(Verb::Agent(arguments)) => beside::measure(Subject::Agent, &arguments),
        Some(Verb::Soak(arguments)) => soak::run(&arguments),
        None => measure(&arguments.bench),
    }
}

fn measure(arguments: &BenchArguments) -> Result<()> {
    let place = BenchFolder::beside_this_program()?;
    let bare = bare::compile(&place)?;
    let bench = Bench { place: &place, bare: &bare, rounds: arguments.rounds(), workers: arguments.workers };
    let mut report = Report::begin(Circumstances::now(arguments));
    for comparison in chosen(arguments)? {
        report.add(bench.compare(&comparison).with_context(|| comparison.to_string())?);
    }
    report.end();
    report.write_json(&arguments.json.clone().unwrap_or_else(|| place.latest_json()))
}

/// The comparisons that have a row whose name contains what was asked for.
fn chosen(arguments: &BenchArguments) -> Result<Vec<Comparison>> {
    let mut all = comparison::all(arguments.scale());
    let wanted = arguments.only.as_deref().unwrap_or_default();
    all.retain(|comparison| comparison.rows.iter().any(|row| row.name.contains(wanted)));
    anyhow::ensure!(!all.is_empty(), "no row is named `{wanted}`");
    Ok(all)
}
