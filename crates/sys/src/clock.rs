//! The wall clock, for people. It may step at any time, so nothing is measured with it: durations come from `Instant`.

use std::time::SystemTime;

/// The date and time, now.
pub fn wall() -> SystemTime {
    SystemTime::now()
}
