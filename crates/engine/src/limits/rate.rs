//! How fast a quantity grows, over the last moment and not over its whole life. Pure: time is passed in.

use std::collections::VecDeque;
use std::time::Duration;

/// The time over which a rate is taken: a build that prints a page at once is no flood.
pub(super) const WINDOW: Duration = Duration::from_secs(2);
/// Amounts that came within this time are stored as one.
const GRAIN: Duration = Duration::from_millis(50);

/// Counts the recent growth of a sum.
#[derive(Debug, Default)]
pub(super) struct Rate {
    /// The sum at several moments, the oldest first.
    marks: VecDeque<(Duration, u64)>,
}

impl Rate {
    /// Notes the sum so far, and returns how much a second came within the window.
    pub(super) fn note(&mut self, now: Duration, sum: u64) -> u64 {
        while self.marks.get(1).is_some_and(|(at, _)| *at + WINDOW <= now) {
            self.marks.pop_front();
        }
        let begun = self.marks.front().map_or(0, |(_, sum)| *sum);
        if self.marks.back().is_none_or(|(at, _)| *at + GRAIN <= now) {
            self.marks.push_back((now, sum));
        }
        // The whole window counts, also at a session's beginning: a rate needs time to be one.
        let per_window = u128::from(sum.saturating_sub(begun)) * 1000;
        u64::try_from(per_window / WINDOW.as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(notes: &[(u64, u64)]) -> Vec<u64> {
        let mut rate = Rate::default();
        notes.iter().map(|(millis, sum)| rate.note(Duration::from_millis(*millis), *sum)).collect()
    }

    #[test]
    fn a_rate_is_what_came_in_the_last_window() {
        // A burst, silence, and then a steady thousand a second.
        assert_eq!(rates(&[(0, 2000)]), [1000]);
        assert_eq!(rates(&[(0, 0), (1000, 1000), (2000, 2000), (3000, 3000), (4000, 4000)])[4], 1000);
        assert_eq!(*rates(&[(0, 2000), (10_000, 2000), (20_000, 2000)]).last().unwrap(), 0);
        assert_eq!(rates(&[(0, 0), (2000, u64::MAX)])[1], u64::MAX / 2);
    }

    #[test]
    fn it_remembers_a_window_and_no_more() {
        let mut rate = Rate::default();
        for step in 0..100_000_u64 {
            rate.note(Duration::from_millis(step), step);
        }
        assert!(rate.marks.len() <= 42, "{}", rate.marks.len());
    }
}
