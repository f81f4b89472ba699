//! Coalesces many small pieces of output that come close together: a wakeup for each of them costs more than reading
//! them, and slows the program that prints them. Pure.

use std::time::{Duration, Instant};

/// How long small pieces accumulate: too short to be noticed, and few programs print more in it than the kernel can
/// buffer.
pub(super) const PAUSE: Duration = Duration::from_micros(500);

/// So many small pieces within a period are worth coalescing.
const MANY: u32 = 16;
const SPELL: Duration = Duration::from_millis(4);

/// After so many pauses without any output, coalescing ends.
const DRY: u32 = 4;

/// A program that printed more than the buffer holds may have had to wait. Coalescing is not tried again for so long.
const ENOUGH: Duration = Duration::from_millis(250);

/// The recent pieces of a source.
#[derive(Debug)]
pub(super) struct ReadCoalescer {
    /// When the period began.
    since: Instant,
    count: u32,
    bytes: usize,
    dry_pauses: u32,
    /// Coalescing is not tried before this moment.
    not_before: Instant,
}

impl ReadCoalescer {
    pub(super) fn new(now: Instant) -> Self {
        Self { since: now, count: 0, bytes: 0, dry_pauses: 0, not_before: now }
    }

    /// A client may be waiting for the next piece: counting begins anew.
    pub(super) fn forget(&mut self, now: Instant) {
        *self = Self { not_before: self.not_before, ..Self::new(now) };
    }

    /// Counts a piece.
    pub(super) fn add(&mut self, now: Instant, bytes: usize) {
        if now.duration_since(self.since) > SPELL {
            self.forget(now);
        }
        self.count += 1;
        self.bytes += bytes;
    }

    pub(super) fn are_a_spate(&self, now: Instant) -> bool {
        self.count >= MANY && self.may_gather(now)
    }

    /// Whether coalescing is allowed: it did not overflow lately.
    pub(super) fn may_gather(&self, now: Instant) -> bool {
        now >= self.not_before
    }

    /// Whether the output of a pause will fit into the buffer, at the present rate.
    pub(super) fn fit_into(&self, room: usize, now: Instant) -> bool {
        let spell = now.duration_since(self.since).max(Duration::from_nanos(1));
        self.bytes as u128 * PAUSE.as_nanos() / spell.as_nanos() <= half(room)
    }

    /// Counts the bytes that accumulated in a pause, and returns whether to continue.
    pub(super) fn go_on_gathering(&mut self, now: Instant, bytes: usize, room: usize) -> bool {
        self.dry_pauses = if bytes == 0 { self.dry_pauses + 1 } else { 0 };
        let fits = bytes as u128 <= half(room);
        if !fits {
            self.overflowed(now);
        }
        self.dry_pauses < DRY && fits
    }

    /// More accumulated than the buffer holds, or nearly so.
    pub(super) fn overflowed(&mut self, now: Instant) {
        self.not_before = now + ENOUGH;
    }
}

/// Half of the buffer: a program that suddenly prints twice as fast must not have to wait yet.
fn half(room: usize) -> u128 {
    room as u128 / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: usize = 64 * 1024;

    /// Whether the last of so many pieces, this far apart, starts coalescing.
    fn last_of(count: u32, apart: Duration, bytes: usize) -> bool {
        let begun = Instant::now();
        let mut coalescer = ReadCoalescer::new(begun);
        (1..=count).for_each(|n| coalescer.add(begun + apart * n, bytes));
        coalescer.are_a_spate(begun + apart * count) && coalescer.fit_into(ROOM, begun + apart * count)
    }

    #[test]
    fn many_little_drops_close_together_are_gathered() {
        let apart = Duration::from_micros(20);
        assert!(last_of(MANY, apart, 80));
        assert!(!last_of(MANY - 1, apart, 80), "too few");
        assert!(!last_of(MANY * 100, SPELL / 10, 80), "too far apart");
    }

    #[test]
    fn what_would_fill_the_room_is_not_left_to_gather() {
        let apart = Duration::from_micros(20);
        let fits = ROOM / 2 / 25;
        assert!(last_of(MANY, apart, fits));
        assert!(!last_of(MANY, apart, fits + 1));
        let begun = Instant::now();
        let mut coalescer = ReadCoalescer::new(begun);
        assert!(coalescer.go_on_gathering(begun, ROOM / 2, ROOM));
        assert!(!coalescer.go_on_gathering(begun, ROOM / 2 + 2, ROOM));
        coalescer.forget(begun);
        (0..MANY).for_each(|_| coalescer.add(begun, 80));
        assert!(!coalescer.are_a_spate(begun), "not at once again");
        assert!(coalescer.are_a_spate(begun + ENOUGH));
    }

    #[test]
    fn drops_before_somebody_wrote_do_not_count() {
        let (begun, apart) = (Instant::now(), Duration::from_micros(20));
        let mut coalescer = ReadCoalescer::new(begun);
        (1..=MANY).for_each(|n| coalescer.add(begun + apart * n, 80));
        assert!(coalescer.are_a_spate(begun + apart * MANY));
        coalescer.forget(begun + apart * MANY);
        coalescer.add(begun + apart * (MANY + 1), 80);
        assert!(!coalescer.are_a_spate(begun + apart * (MANY + 1)));
    }

    #[test]
    fn a_spate_is_over_when_nothing_comes_for_a_while() {
        let now = Instant::now();
        let mut coalescer = ReadCoalescer::new(now);
        for _ in 1..DRY {
            assert!(coalescer.go_on_gathering(now, 0, ROOM));
        }
        assert!(coalescer.go_on_gathering(now, 1, ROOM), "it was not over yet");
        for _ in 1..DRY {
            assert!(coalescer.go_on_gathering(now, 0, ROOM));
        }
        assert!(!coalescer.go_on_gathering(now, 0, ROOM));
    }
}
