//! The wall clock, for people. It may step at any time, so nothing is measured with it: durations come from `Instant`.

use std::time::SystemTime;

/// The date and time, now.
pub fn wall() -> SystemTime {
    SystemTime::now()
}

/// Now, by the clock that file systems stamp files with, in nanoseconds since 1970. It is some milliseconds behind the wall clock, so
/// only this one can be compared with when a file was made.
pub fn of_files() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    let (seconds, rest) = (u64::try_from(now.tv_sec), u64::try_from(now.tv_nsec));
    seconds.unwrap_or(0) * 1_000_000_000 + rest.unwrap_or(0)
}
