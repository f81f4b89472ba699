//! Measures the servers as a client sees them, beside the programs that people use for the same work: `windlass mcp`
//! and its peers, `windlass app-server` and `exec-server` beside Codex's, and `windlass agent` beside `codex exec`.
//!
//! All contenders are driven from this process, over pipes, in turns: a disturbance of the machine slows all of them.
//! A peer that is not installed ends the run with the command that installs it.

mod agents;
mod client;
mod codex;
mod commander;
mod contest;
mod flood;
mod late;
mod plot;
pub(crate) mod process;
mod quick;
mod servers;
mod start;
mod table;
mod tmux;
mod tokens;
mod typed;
mod windlass;

use crate::arguments::BesideArguments;
use crate::comparison::Scale;
use crate::place::BenchFolder;
use anyhow::{Context, Result};
use contest::{Finding, Who};
use std::path::{Path, PathBuf};
use table::Table;

/// The settings and folder that all rows share.
#[derive(Debug)]
pub(crate) struct RowContext {
    place: BenchFolder,
    scale: Scale,
    rounds: usize,
    /// Whether the peers take part, besides windlass and the bare system calls.
    company: Company,
}

/// Whether the peers take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Company {
    Peers,
    /// Windlass and what the system brings: for a machine without the peers.
    Alone,
}

/// Which servers are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// `windlass mcp`.
    Mcp,
    /// `windlass app-server` and `windlass exec-server`.
    Codex,
    /// `windlass agent`.
    Agent,
}

impl Subject {
    fn events(self) -> &'static [BenchRow] {
        match self {
            Self::Mcp => EVENTS,
            Self::Codex => servers::EVENTS,
            Self::Agent => agents::EVENTS,
        }
    }

    /// The base name of the files with the results.
    fn name(self) -> &'static str {
        match self {
            Self::Mcp => "beside",
            Self::Codex => "codex",
            Self::Agent => "agent",
        }
    }
}

/// A row or several that are measured together.
struct BenchRow {
    names: &'static [&'static str],
    measure: fn(&RowContext) -> Result<Vec<Finding>>,
}

const EVENTS: &[BenchRow] = &[
    BenchRow { names: start::NAMES, measure: start::measure },
    BenchRow { names: quick::NAMES, measure: quick::measure },
    BenchRow { names: typed::NAMES, measure: typed::measure },
    BenchRow { names: late::NAMES, measure: late::measure },
    BenchRow { names: flood::NAMES, measure: flood::measure },
    BenchRow { names: tokens::NAMES, measure: tokens::measure },
];

/// Measures the rows and prints them.
pub(crate) fn measure(subject: Subject, arguments: &BesideArguments) -> Result<()> {
    let around = RowContext {
        place: BenchFolder::beside_this_program()?,
        scale: arguments.scale(),
        rounds: arguments.rounds(),
        company: arguments.company(),
    };
    let wanted = arguments.only.as_deref().unwrap_or_default();
    let is_wanted = |event: &&BenchRow| event.names.iter().any(|name| name.contains(wanted));
    let events: Vec<&BenchRow> = subject.events().iter().filter(is_wanted).collect();
    anyhow::ensure!(!events.is_empty(), "no row is named `{wanted}`");
    let mut table = Table::begin(around.rounds, around.scale);
    for event in events {
        let findings = (event.measure)(&around).with_context(|| event.names.join(", "))?;
        table.add(findings);
    }
    table.end();
    let file = |kind: &str| around.place.file(&format!("{}.{kind}", subject.name()));
    table.write_json(&arguments.json.clone().unwrap_or_else(|| file("json")))?;
    plot::write(table.findings(), &arguments.plot.clone().unwrap_or_else(|| file("svg")))
}

impl RowContext {
    fn with_peers(&self) -> bool {
        self.company == Company::Peers
    }

    /// Windlass, and the peer if peers take part.
    fn sides(&self, peer: Who) -> impl Iterator<Item = Who> + use<> {
        std::iter::once(Who::Windlass).chain(self.with_peers().then_some(peer))
    }

    /// How often something is done: once when small.
    fn times(&self, each_round: usize) -> usize {
        match self.scale {
            Scale::Full => self.rounds * each_round,
            Scale::Tiny => 1,
        }
    }

    /// A folder of the caller's own, removed at the end of the run.
    fn folder(&self) -> Result<PathBuf> {
        self.place.state_directory()
    }
}

/// A file of a peer, or how to get it.
fn installed(path: PathBuf) -> Result<PathBuf> {
    anyhow::ensure!(path.exists(), "{} is missing: run `cargo xtask peers bench`", path.display());
    Ok(path)
}

/// The folder of the peers.
fn peers(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/peers").join(below)
}
