//! When the limit watcher samples next: as late as it can be done without missing a crossing by much. Pure.

use super::{Amount, Limits, Peaks, Resource};
use std::time::Duration;

/// The shortest pause: sampling more often costs more than it shows.
pub(super) const FASTEST: Duration = Duration::from_millis(20);
/// The longest pause, however far away every limit is.
pub(super) const SLOWEST: Duration = Duration::from_secs(1);
/// A rate is taken over seconds, however near its limit is.
const RATE: Duration = Duration::from_millis(250);
/// Sampling may take one part in so many of a processor's time.
const SHARE: u32 = 20;

/// The pause until the next look, from the use at this one and from how long it took.
pub(super) fn pause(limits: &Limits, used: &Peaks, processors: u64, cost: Duration) -> Duration {
    let soonest = limits.iter().map(|(resource, limit)| {
        if resource == Resource::OutputRate {
            return RATE;
        }
        let left = limit.0.saturating_sub(used.of(resource).unwrap_or(Amount(0)).0);
        Duration::from_millis(left.saturating_mul(1000) / fastest_growth(resource, processors).max(1))
    });
    let soonest = soonest.min().unwrap_or(SLOWEST);
    soonest.clamp(FASTEST, SLOWEST).max(cost * SHARE)
}

/// The most of a resource that can be used up in a second, roughly: a kernel hands out memory and processes only so
/// fast. Anything faster is limited by the kernel's own limits.
fn fastest_growth(resource: Resource, processors: u64) -> u64 {
    match resource {
        Resource::Memory => 2 << 30,
        Resource::Processes => 2_000,
        // Nanoseconds.
        Resource::CpuTime => processors * 1_000_000_000,
        Resource::OpenFiles => 100_000,
        Resource::Output | Resource::OutputRate => 2 << 30,
        Resource::Disk => 1 << 30,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{Bytes, BytesPerSecond, Count};

    fn check(limits: Limits, (resource, used): (Resource, u64), cost: u64, expected: u64) {
        let mut peaks = Peaks::default();
        peaks.note(resource, Amount(used));
        let pause = pause(&limits, &peaks, 2, Duration::from_millis(cost));
        assert_eq!(pause, Duration::from_millis(expected), "{limits:?} {used}");
    }

    #[test]
    fn looks_come_closer_together_as_a_limit_comes_near() {
        let memory = Limits { memory: Some(Bytes(1 << 30)), ..Limits::default() };
        check(memory, (Resource::Memory, 0), 0, 500);
        check(memory, (Resource::Memory, 1 << 29), 0, 250);
        check(memory, (Resource::Memory, 1 << 30), 0, 20);
        let cpu = Limits { cpu_time: Some(Duration::from_secs(60)), ..Limits::default() };
        check(cpu, (Resource::CpuTime, 0), 0, 1000);
        check(cpu, (Resource::CpuTime, 59_000_000_000), 0, 500);
        check(Limits::default(), (Resource::Disk, 0), 0, 1000);
        let rate = Limits { output_rate: Some(BytesPerSecond(1)), ..Limits::default() };
        check(rate, (Resource::OutputRate, 5), 0, 250);
    }

    #[test]
    fn looks_that_take_long_are_rare() {
        let processes = Limits { processes: Some(Count(10)), ..Limits::default() };
        check(processes, (Resource::Processes, 9), 1, 20);
        check(processes, (Resource::Processes, 9), 10, 200);
    }
}
