//! The words of limits: the same for one command and for all commands of a server.

use std::time::Duration;

use clap::Args;
use windlass_engine::{Amount, Bytes, BytesPerSecond, Count, Limits, Resource, RuntimeLimits};
use windlass_sys::limits as machine;

use super::values;

/// Under which help shows them.
const LIMITS: &str = "Limits (crossed, they end the command)";

/// What a command may use. Sizes are written 512M or 2G, in powers of two.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct LimitWords {
    /// Memory of everything it started, together; at least 1M
    #[arg(long, value_name = "SIZE", value_parser = values::memory, help_heading = LIMITS)]
    memory: Option<u64>,

    /// Processes and threads at a time
    #[arg(long, value_name = "N", value_parser = values::count, help_heading = LIMITS)]
    processes: Option<u64>,

    /// CPU time of everything it started, together
    #[arg(long, value_name = "TIME", value_parser = values::duration, help_heading = LIMITS)]
    cpu_time: Option<Duration>,

    /// Files that any of its processes has open at a time
    #[arg(long, value_name = "N", value_parser = values::count, help_heading = LIMITS)]
    files: Option<u64>,

    /// Bytes printed, whether or not they are kept
    #[arg(long, value_name = "SIZE", value_parser = values::bytes, help_heading = LIMITS)]
    output: Option<u64>,

    /// Bytes printed in a second, for longer than two
    #[arg(long, value_name = "SIZE", value_parser = values::bytes, help_heading = LIMITS)]
    output_rate: Option<u64>,

    /// Bytes written to disks
    #[arg(long, value_name = "SIZE", value_parser = values::bytes, help_heading = LIMITS)]
    disk: Option<u64>,
}

/// What the commands of a server may use.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ServerLimitWords {
    #[command(flatten)]
    pub(crate) each: LimitWords,

    /// The time any command may take
    #[arg(long, value_name = "TIME", value_parser = values::duration, help_heading = LIMITS)]
    pub(crate) wall: Option<Duration>,

    /// What all commands may use together, as memory=8G or processes=500; the names are those of the limits above. The one
    /// that uses most is ended. May be given several times, and then replaces the usual protection of the machine: four
    /// fifths of its memory, half of its processes. `none` limits nothing
    #[arg(long, value_name = "NAME=VALUE", value_parser = values::total, help_heading = LIMITS)]
    pub(crate) total: Vec<Total>,
}

/// A limit of all sessions together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Total {
    /// No limit, not even the usual ones.
    None,
    /// So much of this.
    Of(Resource, Amount),
}

impl LimitWords {
    /// As the engine takes them.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            memory: self.memory.map(Bytes),
            processes: self.processes.map(Count),
            cpu_time: self.cpu_time,
            open_files: self.files.map(Count),
            output: self.output.map(Bytes),
            output_rate: self.output_rate.map(BytesPerSecond),
            disk: self.disk.map(Bytes),
            wall: None,
        }
    }
}

impl ServerLimitWords {
    /// What each session may use.
    pub(crate) fn each(&self) -> Limits {
        Limits { wall: self.wall, ..self.each.limits() }
    }

    /// What all sessions may use together: unless it is said, what protects the machine and costs next to nothing.
    pub(crate) fn together(&self) -> RuntimeLimits {
        if self.total.is_empty() {
            return RuntimeLimits::protecting(machine::machine_memory(), machine::machine_processes());
        }
        let limits = self.total.iter().fold(Limits::default(), |limits, total| match total {
            Total::None => limits,
            Total::Of(resource, amount) => limits.with(*resource, Some(*amount)),
        });
        RuntimeLimits { limits, ..RuntimeLimits::default() }
    }

    /// What is to be told another process so that it limits in the same way.
    pub(crate) fn again(&self) -> Vec<(String, String)> {
        let time = |Amount(nanos): Amount| format!("{}ms", nanos / 1_000_000);
        let value = |resource, amount: Amount| match resource {
            Resource::CpuTime => time(amount),
            _ => amount.0.to_string(),
        };
        let each = self
            .each
            .limits()
            .iter()
            .map(|(resource, amount)| (format!("--{}", resource.name()), value(resource, amount)));
        let wall = self.wall.map(|wall| ("--wall".to_owned(), time(wall.into())));
        let total = self.total.iter().map(|total| match total {
            Total::None => "none".to_owned(),
            Total::Of(resource, amount) => format!("{}={}", resource.name(), value(*resource, *amount)),
        });
        each.chain(wall).chain(total.map(|total| ("--total".to_owned(), total))).collect()
    }
}
