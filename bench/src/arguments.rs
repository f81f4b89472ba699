//! The command line.

use crate::beside::Company;
use crate::comparison::Scale;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

/// Measures the engine beside the bare system calls, and prints a table of ratios.
#[derive(Debug, Parser)]
#[command(name = "windlass-bench")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,
    #[command(flatten)]
    pub(crate) bench: BenchArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Our side of one round, in a process of its own.
    #[command(hide = true)]
    Ours {
        /// The work and its settings.
        words: Vec<String>,
    },
    /// Measures `windlass mcp` beside other programs that agents use for the same work.
    Mcp(BesideArguments),
    /// Measures `windlass app-server` and `windlass exec-server` beside those of Codex.
    Codex(BesideArguments),
    /// Measures `windlass agent` beside `codex exec`, with the same scripted model.
    Agent(BesideArguments),
    /// Mixed random load with faults on `windlass app-server`: nothing lost, nothing left, memory flat.
    Soak(SoakArguments),
}

#[derive(Debug, Args)]
pub(crate) struct BesideArguments {
    /// Where the results are kept [default: bench/beside.json, codex.json or agent.json in the build directory].
    #[arg(long, value_name = "PATH")]
    pub(crate) json: Option<PathBuf>,
    /// Where the picture goes [default: bench/beside.svg, codex.svg or agent.svg in the build directory].
    #[arg(long, value_name = "PATH")]
    pub(crate) plot: Option<PathBuf>,
    /// Measures only rows whose name contains this, and those measured with them.
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Option<String>,
    /// How many rounds.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_ROUNDS)]
    rounds: usize,
    /// Runs everything once and small, and judges nothing.
    #[arg(long)]
    tiny: bool,
    /// Without the peers: only windlass and what the system brings.
    #[arg(long)]
    alone: bool,
}

impl BesideArguments {
    pub(crate) fn rounds(&self) -> usize {
        self.rounds.max(1)
    }

    pub(crate) fn scale(&self) -> Scale {
        if self.tiny { Scale::Tiny } else { Scale::Full }
    }

    pub(crate) fn company(&self) -> Company {
        if self.alone { Company::Alone } else { Company::Peers }
    }
}

#[derive(Debug, Args)]
pub(crate) struct BenchArguments {
    /// Where the results are kept [default: bench/latest.json in the build directory].
    #[arg(long, value_name = "PATH")]
    pub(crate) json: Option<PathBuf>,
    /// Measures only rows whose name contains this.
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Option<String>,
    /// How often each side is run; the median of the rounds counts [default: 11].
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Runs everything once and small, and judges nothing: whether it works, not how fast.
    #[arg(long)]
    pub(crate) tiny: bool,
    /// Worker threads of our runtime; 0 runs everything on the calling thread.
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) workers: usize,
}

const DEFAULT_ROUNDS: usize = 11;

impl BenchArguments {
    pub(crate) fn rounds(&self) -> usize {
        let default = if self.tiny { 1 } else { DEFAULT_ROUNDS };
        self.rounds.unwrap_or(default).max(1)
    }

    pub(crate) fn scale(&self) -> Scale {
        if self.tiny { Scale::Tiny } else { Scale::Full }
    }
}

#[derive(Debug, Args)]
pub(crate) struct SoakArguments {
    /// For how long.
    #[arg(long, value_name = "N", default_value_t = 10.0)]
    minutes: f64,
    /// How many clients at a time.
    #[arg(long, value_name = "N", default_value_t = 6)]
    clients: u64,
    /// Where chance begins [default: a number of this process, which is printed].
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Where the results are kept; nowhere unless said.
    #[arg(long, value_name = "PATH")]
    pub(crate) json: Option<PathBuf>,
    /// Two clients for a few seconds: does it work?
    #[arg(long)]
    tiny: bool,
}

impl SoakArguments {
    pub(crate) fn length(&self) -> Duration {
        if self.tiny {
            Duration::from_secs(4)
        } else {
            Duration::from_secs_f64(self.minutes.max(0.01) * 60.0)
        }
    }

    pub(crate) fn clients(&self) -> u64 {
        if self.tiny { 2 } else { self.clients.max(1) }
    }
}
