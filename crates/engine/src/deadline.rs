//! Moments in the future, however far.

use std::time::{Duration, Instant};

/// Longer than anything runs.
const FOR_EVER: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// That much later. Durations come from outside and may be absurd; the clock's arithmetic panics on overflow.
pub(crate) fn after(start: Instant, wait: Duration) -> Instant {
    start + wait.min(FOR_EVER)
}

#[cfg(test)]
mod tests {
    use super::after;
    use std::time::{Duration, Instant};

    #[test]
    fn no_duration_is_too_long() {
        let now = Instant::now();
        assert!(after(now, Duration::MAX) > now);
        assert_eq!(after(now, Duration::from_secs(1)), now + Duration::from_secs(1));
    }
}
