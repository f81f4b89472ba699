//! How much of a session's output is kept, and when a segment is full. Pure arithmetic, shared by files and memory.
//!
//! A journal keeps the beginning (one head segment) and the newest bytes (tail segments, the oldest dropped whole), so
//! the gap between them is one span. Index records count as kept bytes: a program that prints one byte every other
//! millisecond would otherwise fill the disk with its index.

use std::time::Duration;

use windlass_output::Offset;

use super::Stream;
use super::format::{HEADER_LEN, RECORD_LEN, Record};

/// The limits of one journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// The most bytes kept, output and index together. At least [`Retention::SMALLEST_LIMIT`] is used.
    pub limit: u64,
    /// How many of them are reserved for the beginning of the output. At most three quarters of the limit are used.
    pub head: u64,
}

impl Retention {
    /// The limit of a journal without settings.
    pub const DEFAULT_LIMIT: u64 = 256 << 20;
    /// A smaller limit would hold more index than output.
    pub const SMALLEST_LIMIT: u64 = 4 << 10;
    /// The retention in memory once the disk cannot be written: the first bytes after the failure and the newest.
    pub const DEGRADED: Self = Self { limit: (64 << 10) + (1 << 20), head: 64 << 10 };

    /// Keeps `limit` bytes, a quarter of them from the beginning.
    pub const fn new(limit: u64) -> Self {
        Self { limit, head: limit / 4 }
    }

    /// Never keeps more in memory than was allowed on disk.
    pub(crate) fn degraded(self) -> Self {
        let limit = self.limit.min(Self::DEGRADED.limit);
        Self { limit, head: Self::DEGRADED.head.min(limit / 4) }
    }
}

impl Default for Retention {
    fn default() -> Self {
        Self::new(Self::DEFAULT_LIMIT)
    }
}

/// The number of tail segments in the limit of a journal: a sixteenth of it is dropped at a time.
const SEGMENTS: u64 = 16;

/// The least part of a segment for which an append is split: less costs one more write, and every later one would
/// straddle the kernel's pages.
const CRUMB: u64 = 64;

/// Output of one stream within this time shares one record.
pub(crate) const RECORD_SPAN: Duration = Duration::from_millis(1);

/// A `Retention` made consistent, counted from the offset where its journal begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    base: Offset,
    limit: u64,
    head: u64,
    segment: u64,
}

impl Budget {
    pub(crate) fn new(retention: Retention, base: Offset) -> Self {
        let limit = retention.limit.max(Retention::SMALLEST_LIMIT);
        let segment = limit / SEGMENTS;
        let head = match retention.head {
            0 => 0,
            head => head.clamp(segment, limit / 4 * 3),
        };
        Self { base, limit, head, segment }
    }

    /// Whether the segment that starts here is the head, the one that is never dropped.
    pub(crate) fn is_head(&self, start: Offset) -> bool {
        self.head > 0 && start == self.base
    }

    /// How large the segment that starts here may become.
    pub(crate) fn of_segment(&self, start: Offset) -> u64 {
        if self.is_head(start) { self.head } else { self.segment }
    }

    /// Whether segments must be dropped before one that starts here may be added to the `kept` bytes.
    pub(crate) fn is_exceeded(&self, kept: u64, start: Offset) -> bool {
        kept.saturating_add(self.of_segment(start)) > self.limit
    }
}

/// The next step of the writer for the next bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RollStep {
    /// The segment is full: begin another one.
    Roll,
    /// This many bytes fit, under the current record.
    Continue(usize),
    /// This many bytes fit, after a new record.
    Record(usize),
}

/// How full the segment being written is, and the record its newest bytes belong to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fill {
    budget: u64,
    used: u64,
    pub(crate) record: Record,
}

impl Fill {
    /// A segment that holds its header and its first record, and no bytes yet.
    pub(crate) fn begin(budget: u64, record: Record) -> Self {
        Self { budget, used: (HEADER_LEN + RECORD_LEN) as u64, record }
    }

    /// The cost of the segment: header, records and bytes.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    /// How many more bytes the segment can take.
    pub(crate) fn room_for_bytes(&self) -> usize {
        usize::try_from(self.budget.saturating_sub(self.used)).unwrap_or(usize::MAX)
    }

    pub(crate) fn step(&self, stream: Stream, at: Duration, len: usize) -> RollStep {
        let continues = self.record.stream == stream && at.saturating_sub(self.record.at) <= RECORD_SPAN;
        let record = if continues { 0 } else { RECORD_LEN as u64 };
        let room = self.budget.saturating_sub(self.used + record);
        let taken = len.min(usize::try_from(room).unwrap_or(usize::MAX));
        let is_crumb = taken < len && (taken as u64) < self.budget / CRUMB;
        match continues {
            _ if taken == 0 || is_crumb => RollStep::Roll,
            true => RollStep::Continue(taken),
            false => RollStep::Record(taken),
        }
    }

    pub(crate) fn add_record(&mut self, record: Record) {
        self.record = record;
        self.used += RECORD_LEN as u64;
    }

    pub(crate) fn add_bytes(&mut self, count: usize) {
        self.used += count as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Record = Record { offset: Offset::ZERO, at: Duration::ZERO, stream: Stream::Stdout };

    #[test]
    fn a_record_is_shared_by_one_stream_for_a_millisecond() {
        let fill = Fill::begin(1000, FIRST);
        assert_eq!(fill.step(Stream::Stdout, RECORD_SPAN, 5), RollStep::Continue(5));
        assert_eq!(fill.step(Stream::Stdout, RECORD_SPAN + Duration::from_nanos(1), 5), RollStep::Record(5));
        assert_eq!(fill.step(Stream::Stderr, Duration::ZERO, 5), RollStep::Record(5));
    }

    #[test]
    fn records_count_towards_the_segment() {
        let mut fill = Fill::begin(100, FIRST);
        assert_eq!(fill.step(Stream::Stdout, Duration::ZERO, 1000), RollStep::Continue(28));
        assert_eq!(fill.step(Stream::Stderr, Duration::ZERO, 1000), RollStep::Record(4));
        fill.add_bytes(4);
        assert_eq!(fill.step(Stream::Stderr, Duration::ZERO, 1), RollStep::Roll);
    }

    #[test]
    fn an_append_is_not_split_for_the_crumbs_of_a_segment() {
        let mut fill = Fill::begin(6400 + 72, FIRST);
        fill.add_bytes(6300);
        assert_eq!(fill.step(Stream::Stdout, Duration::ZERO, 200), RollStep::Roll);
        assert_eq!(fill.step(Stream::Stdout, Duration::ZERO, 100), RollStep::Continue(100));
    }

    #[test]
    fn every_segment_has_room_for_output_however_small_the_limits() {
        for (limit, head) in [(0, 0), (0, 1), (1, u64::MAX), (u64::MAX / 2, 1), (5000, 5000)] {
            let budget = Budget::new(Retention { limit, head }, Offset::ZERO);
            for start in [Offset::ZERO, Offset::new(1)] {
                let fill = Fill::begin(budget.of_segment(start), FIRST);
                assert_ne!(fill.step(Stream::Stderr, Duration::ZERO, 1), RollStep::Roll, "{limit} {head}");
            }
            assert!(!budget.is_exceeded(budget.head, Offset::new(1)), "{limit} {head}");
        }
    }
}
