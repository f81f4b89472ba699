//! The words of limits: names that are typed and stored, amounts as people read them. Pure.

use super::{Amount, Crossed, LimitMechanism, Resource, Scope};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// No resource has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no limit `{name}`: use memory, processes, cpu-time, files, output, output-rate or disk")]
pub struct UnknownResource {
    /// The unknown name.
    pub name: String,
}

impl Resource {
    /// One word for it, as it is typed and stored.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Processes => "processes",
            Self::CpuTime => "cpu-time",
            Self::OpenFiles => "files",
            Self::Output => "output",
            Self::OutputRate => "output-rate",
            Self::Disk => "disk",
        }
    }

    /// As people say it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Processes => "process",
            Self::CpuTime => "CPU time",
            Self::OpenFiles => "open file",
            Self::Output => "output",
            Self::OutputRate => "output rate",
            Self::Disk => "disk",
        }
    }

    /// An amount of it as people read it.
    pub fn shown(self, amount: Amount) -> String {
        match self {
            Self::Memory | Self::Output | Self::Disk => bytes(amount.0),
            Self::OutputRate => format!("{}/s", bytes(amount.0)),
            Self::Processes | Self::OpenFiles => amount.0.to_string(),
            Self::CpuTime => seconds(amount.into()),
        }
    }
}

impl FromStr for Resource {
    type Err = UnknownResource;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|resource| resource.name() == name);
        found.ok_or_else(|| UnknownResource { name: name.to_owned() })
    }
}

impl Scope {
    /// One word, as it is stored.
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Runtime => "runtime",
        }
    }

    /// The scope that the word names.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Session, Self::Runtime].into_iter().find(|scope| scope.name() == name)
    }
}

impl LimitMechanism {
    /// One word, as it is stored.
    pub fn name(self) -> &'static str {
        match self {
            Self::CgroupV2 => "cgroup-v2",
            Self::CgroupV1 => "cgroup-v1",
            Self::ResourceLimit => "rlimit",
            Self::Watcher => "watcher",
            Self::Reader => "reader",
        }
    }

    /// The mechanism that the word names.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [Self::CgroupV2, Self::CgroupV1, Self::ResourceLimit, Self::Watcher, Self::Reader];
        all.into_iter().find(|means| means.name() == name)
    }
}

/// `memory limit of 512 MiB, peak 512 MiB`
impl fmt::Display for Crossed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (resource, limit, peak) = (self.resource.words(), self.limit, self.peak);
        let whose = match self.scope {
            Scope::Session => "",
            Scope::Runtime => " for all sessions together",
        };
        let (limit, peak) = (self.resource.shown(limit), self.resource.shown(peak));
        write!(f, "{resource} limit of {limit}{whose}, peak {peak}")
    }
}

/// Limits are given in powers of two, so they are shown in them: `512 MiB`, `1.5 GiB`.
fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if number < 1024 {
        return format!("{number} B");
    }
    let mut unit = 0;
    let mut whole = number >> 10;
    let mut rest = number & 1023;
    while whole >= 1024 && unit + 1 < UNITS.len() {
        rest = whole & 1023 | u64::from(rest > 0);
        whole >>= 10;
        unit += 1;
    }
    let tenths = rest * 10 / 1024;
    if tenths == 0 || whole >= 100 {
        format!("{whole} {}", UNITS[unit])
    } else {
        format!("{whole}.{tenths} {}", UNITS[unit])
    }
}

fn seconds(time: Duration) -> String {
    if time.subsec_millis() == 0 {
        format!("{} s", time.as_secs())
    } else {
        format!("{:.2} s", time.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_crossed_is_one_short_phrase() {
        let check = |resource, scope, limit, peak, expected: &str| {
            let (limit, peak) = (Amount(limit), Amount(peak));
            let crossed = Crossed { resource, scope, limit, peak, means: LimitMechanism::Watcher };
            assert_eq!(crossed.to_string(), expected);
        };
        let (session, runtime) = (Scope::Session, Scope::Runtime);
        check(Resource::Memory, session, 512 << 20, 512 << 20, "memory limit of 512 MiB, peak 512 MiB");
        check(Resource::Processes, session, 64, 65, "process limit of 64, peak 65");
        check(
            Resource::CpuTime,
            session,
            30_000_000_000,
            30_120_000_000,
            "CPU time limit of 30 s, peak 30.12 s",
        );
        check(
            Resource::OutputRate,
            session,
            10 << 20,
            3 << 29,
            "output rate limit of 10 MiB/s, peak 1.5 GiB/s",
        );
        check(
            Resource::Disk,
            runtime,
            1 << 30,
            1100 << 20,
            "disk limit of 1 GiB for all sessions together, peak 1 GiB",
        );
    }

    #[test]
    fn every_word_reads_back() {
        for resource in Resource::ALL {
            assert_eq!(resource.name().parse(), Ok(resource));
        }
        assert!("ram".parse::<Resource>().is_err_and(|error| error.to_string().contains("`ram`")));
        assert_eq!(Scope::from_name("runtime"), Some(Scope::Runtime));
        assert_eq!(LimitMechanism::from_name("rlimit"), Some(LimitMechanism::ResourceLimit));
        assert_eq!(LimitMechanism::from_name(""), None);
    }
}
