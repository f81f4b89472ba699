//! The wall clock, for people. It may step at any time, so nothing is measured with it: durations come from `Instant`.

use std::mem::MaybeUninit;
use std::time::SystemTime;

/// The current date and time.
pub fn wall() -> SystemTime {
    SystemTime::now()
}

/// The date of a moment in the local time zone, as `2026-01-31`. The zone is the one of `TZ`, or else the machine's.
pub fn local_date(moment: SystemTime) -> String {
    let since = moment.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let seconds = libc::time_t::try_from(since.as_secs()).unwrap_or(libc::time_t::MAX);
    let mut local = MaybeUninit::<libc::tm>::zeroed();
    // SAFETY: both pointers are valid for the call. Zeroes are a valid `tm` (numbers and a pointer that may be null),
    // so it can be read even if a moment is too far away to be converted. Nothing here changes the environment, which
    // the call reads.
    let local = unsafe {
        libc::localtime_r(&raw const seconds, local.as_mut_ptr());
        local.assume_init()
    };
    format!("{:04}-{:02}-{:02}", i64::from(local.tm_year) + 1900, local.tm_mon + 1, local.tm_mday)
}

/// The time now, in nanoseconds since 1970, by the clock that gives files their times. It is some milliseconds behind
/// the wall clock, so only this clock can be compared with the times of files.
pub fn of_files() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    let (seconds, rest) = (u64::try_from(now.tv_sec), u64::try_from(now.tv_nsec));
    seconds.unwrap_or(0) * 1_000_000_000 + rest.unwrap_or(0)
}
