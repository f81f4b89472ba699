//! The timers of a cell, ordered by the time when they are due.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// A timer of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TimerNumber(pub(crate) u32);

/// The timers that have not fired.
#[derive(Default)]
pub(crate) struct Timers {
    by_time: BTreeSet<(Instant, TimerNumber)>,
    by_number: BTreeMap<TimerNumber, Instant>,
    last: u32,
}

/// The limit of timers is reached.
#[derive(Debug, thiserror::Error)]
#[error("{} timers are running, and no more do at once", Timers::MOST)]
pub(crate) struct TooManyTimers;

impl Timers {
    const MOST: usize = 1000;
    /// The longest delay; a day is beyond any time limit.
    const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

    /// Starts a timer.
    pub(crate) fn start(&mut self, milliseconds: f64) -> Result<TimerNumber, TooManyTimers> {
        if self.by_time.len() >= Self::MOST {
            return Err(TooManyTimers);
        }
        let longest = Self::LONGEST.as_secs_f64();
        // A delay that is NaN or negative is due now.
        let seconds = (milliseconds / 1000.0).max(0.0).min(longest);
        let due = Instant::now() + Duration::from_secs_f64(seconds);
        self.last += 1;
        let number = TimerNumber(self.last);
        self.by_time.insert((due, number));
        self.by_number.insert(number, due);
        Ok(number)
    }

    /// Stops a timer, if it has not fired.
    pub(crate) fn stop(&mut self, number: TimerNumber) {
        if let Some(due) = self.by_number.remove(&number) {
            self.by_time.remove(&(due, number));
        }
    }

    /// The time when the next timer is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.by_time.first().map(|(due, _)| *due)
    }

    /// Removes and returns the next timer, if it is due.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<TimerNumber> {
        let (_, number) = *self.by_time.first().filter(|(due, _)| *due <= now)?;
        self.stop(number);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(delays: &[f64], after: Duration, expected: &[u32]) {
        let mut timers = Timers::default();
        for delay in delays {
            timers.start(*delay).expect("there is room");
        }
        let now = Instant::now() + after;
        let fired = std::iter::from_fn(|| timers.take_due(now)).map(|number| number.0);
        assert_eq!(fired.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn timers_fire_in_the_order_they_are_due() {
        check(&[3000.0, 1000.0, 2000.0], Duration::from_secs(10), &[2, 3, 1]);
        check(&[0.0, 0.0, 0.0], Duration::ZERO, &[1, 2, 3]);
    }

    #[test]
    fn odd_delays_are_now_or_a_long_time() {
        check(&[f64::NAN, -5.0, f64::NEG_INFINITY], Duration::ZERO, &[1, 2, 3]);
        check(&[f64::INFINITY, f64::MAX], Duration::from_secs(3600), &[]);
    }

    #[test]
    fn a_stopped_timer_does_not_fire() {
        let mut timers = Timers::default();
        let number = timers.start(0.0).expect("there is room");
        timers.stop(number);
        timers.stop(number);
        assert_eq!(timers.take_due(Instant::now()), None);
    }

    #[test]
    fn timers_are_bounded() {
        let mut timers = Timers::default();
        let started = (0..Timers::MOST + 1).filter(|_| timers.start(1e9).is_ok());
        assert_eq!(started.count(), Timers::MOST);
    }
}
