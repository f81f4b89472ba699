//! Limits: the most that a session, or all sessions of a runtime together, may use. They are data here; the files
//! beside this one enforce them. A crossed limit ends the session by the same path as a stop, and the receipt names it,
//! with the measured peak.

mod bounds;
mod fence;
mod pace;
mod plan;
mod rate;
mod watcher;
mod words;

pub use fence::{Cgroups, RuntimeLimits, Watching};
pub use words::UnknownResource;

pub(crate) use bounds::{Bounds, KernelLimits};
pub(crate) use fence::{LimitEnforcer, LimitEnforcerOptions};
pub(crate) use watcher::watch;

use std::time::Duration;

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

/// A number of things: processes, files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count(pub u64);

/// A number of bytes in each second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BytesPerSecond(pub u64);

/// Limits on the use of resources. A field that is not set is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Memory of everything the command started, together.
    pub memory: Option<Bytes>,
    /// Processes and threads at a time.
    pub processes: Option<Count>,
    /// CPU time of all of them, together.
    pub cpu_time: Option<Duration>,
    /// Files that any one of them may have open at a time.
    pub open_files: Option<Count>,
    /// Bytes printed, retained or not.
    pub output: Option<Bytes>,
    /// How fast it may print for longer than a moment.
    pub output_rate: Option<BytesPerSecond>,
    /// Bytes written to disks.
    pub disk: Option<Bytes>,
    /// From its start to its end. When it is crossed, the cause is a timeout.
    pub wall: Option<Duration>,
}

/// The resources that can be limited and measured, besides time on the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resource {
    /// Memory.
    Memory,
    /// Processes and threads.
    Processes,
    /// CPU time.
    CpuTime,
    /// Open files of one process.
    OpenFiles,
    /// Bytes printed.
    Output,
    /// Bytes printed in a second.
    OutputRate,
    /// Bytes written to disks.
    Disk,
}

/// An amount of a resource, in its own unit: bytes, a number, nanoseconds, bytes a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(pub u64);

/// The scope of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The session's own.
    Session,
    /// That of all sessions of the runtime together.
    Runtime,
}

/// The mechanism that enforces a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitMechanism {
    /// A control group of version 2.
    CgroupV2,
    /// Control groups of version 1.
    CgroupV1,
    /// A resource limit of each process.
    ResourceLimit,
    /// The runtime samples again and again.
    Watcher,
    /// The runtime counts the bytes that it reads.
    Reader,
}

/// A limit that was crossed, and how far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossed {
    /// The limited resource.
    pub resource: Resource,
    /// The scope of the limit.
    pub scope: Scope,
    /// The limit.
    pub limit: Amount,
    /// The most that was measured.
    pub peak: Amount,
    /// The mechanism that noticed it.
    pub means: LimitMechanism,
}

/// A limit that was in force, and its mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enforced {
    /// The limited resource.
    pub resource: Resource,
    /// The scope of the limit.
    pub scope: Scope,
    /// The limit.
    pub limit: Amount,
    /// Its mechanism. One limit may have two: one enforces it, the other reports it.
    pub means: LimitMechanism,
}

/// The most that was measured of each resource, as far as it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peaks {
    amounts: [Option<Amount>; Resource::ALL.len()],
}

impl Resource {
    /// All resources, in the order in which they are shown.
    pub const ALL: [Self; 7] = [
        Self::Memory,
        Self::Processes,
        Self::CpuTime,
        Self::OpenFiles,
        Self::Output,
        Self::OutputRate,
        Self::Disk,
    ];

    fn place(self) -> usize {
        Self::ALL.iter().position(|resource| *resource == self).unwrap_or(0)
    }
}

impl Limits {
    /// The limit of one resource.
    pub fn of(&self, resource: Resource) -> Option<Amount> {
        let bytes = |limit: Option<Bytes>| limit.map(|Bytes(bytes)| Amount(bytes));
        let count = |limit: Option<Count>| limit.map(|Count(count)| Amount(count));
        match resource {
            Resource::Memory => bytes(self.memory),
            Resource::Processes => count(self.processes),
            Resource::CpuTime => self.cpu_time.map(Amount::from),
            Resource::OpenFiles => count(self.open_files),
            Resource::Output => bytes(self.output),
            Resource::OutputRate => self.output_rate.map(|BytesPerSecond(rate)| Amount(rate)),
            Resource::Disk => bytes(self.disk),
        }
    }

    /// The same with one resource limited so, or, without an amount, not limited.
    pub fn with(mut self, resource: Resource, amount: Option<Amount>) -> Self {
        let bytes = amount.map(|Amount(raw)| Bytes(raw));
        let count = amount.map(|Amount(raw)| Count(raw));
        match resource {
            Resource::Memory => self.memory = bytes,
            Resource::Processes => self.processes = count,
            Resource::CpuTime => self.cpu_time = amount.map(Duration::from),
            Resource::OpenFiles => self.open_files = count,
            Resource::Output => self.output = bytes,
            Resource::OutputRate => self.output_rate = amount.map(|Amount(raw)| BytesPerSecond(raw)),
            Resource::Disk => self.disk = bytes,
        }
        self
    }

    /// The resources that are limited, with their limits.
    pub fn iter(&self) -> impl Iterator<Item = (Resource, Amount)> + use<> {
        let limits = *self;
        Resource::ALL.into_iter().filter_map(move |resource| Some((resource, limits.of(resource)?)))
    }

    /// Whether nothing but time is limited.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// Whichever limit is the tighter one, of each resource.
    pub fn tightened(self, other: Self) -> Self {
        let tighter = |a: Option<Amount>, b: Option<Amount>| a.into_iter().chain(b).min();
        let wall = self.wall.into_iter().chain(other.wall).min();
        let limits = Resource::ALL.into_iter().fold(self, |limits, resource| {
            limits.with(resource, tighter(self.of(resource), other.of(resource)))
        });
        Self { wall, ..limits }
    }
}

impl Peaks {
    /// The most that was measured of a resource; `None`: it was not measured.
    pub fn of(&self, resource: Resource) -> Option<Amount> {
        self.amounts[resource.place()]
    }

    /// The measured resources, with their peaks.
    pub fn iter(&self) -> impl Iterator<Item = (Resource, Amount)> + use<> {
        let peaks = *self;
        Resource::ALL.into_iter().filter_map(move |resource| Some((resource, peaks.of(resource)?)))
    }

    /// Takes note of a measurement.
    pub fn note(&mut self, resource: Resource, amount: Amount) {
        let peak = &mut self.amounts[resource.place()];
        *peak = Some(peak.map_or(amount, |before| before.max(amount)));
    }
}

impl From<Duration> for Amount {
    fn from(time: Duration) -> Self {
        Self(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Amount> for Duration {
    fn from(amount: Amount) -> Self {
        Self::from_nanos(amount.0)
    }
}
