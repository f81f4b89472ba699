//! A journal in memory: the same head and tail segments as on disk, as growing buffers. Nothing is allocated before
//! the first byte, and never more than the segment being written has room for.

use std::collections::VecDeque;

use windlass_output::{Offset, Span};

use super::Chunk;
use super::format::Record;
use super::retention::{Budget, Fill, Retention, RollStep};

pub(crate) struct MemoryLog {
    budget: Budget,
    segments: VecDeque<MemorySegment>,
}

struct MemorySegment {
    start: Offset,
    bytes: Vec<u8>,
    records: Vec<Record>,
    fill: Fill,
}

/// Bytes of one stream that arrived together.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) from: Offset,
    pub(crate) record: Record,
    pub(crate) bytes: &'a [u8],
}

impl MemoryLog {
    /// An empty journal whose first byte will have the offset `base`.
    pub(crate) fn new(retention: Retention, base: Offset) -> Self {
        Self { budget: Budget::new(retention, base), segments: VecDeque::new() }
    }

    pub(crate) fn append(&mut self, from: Offset, chunk: Chunk<'_>) {
        let mut written = 0;
        while written < chunk.bytes.len() {
            let rest = Chunk { bytes: &chunk.bytes[written..], ..chunk };
            written += self.append_some(from + written as u64, rest);
        }
    }

    /// The bytes at `at` that share one record; `None` if they are not kept.
    pub(crate) fn run(&self, at: Offset) -> Option<Run<'_>> {
        let after = self.segments.partition_point(|segment| segment.start <= at);
        self.segments.get(after.checked_sub(1)?)?.run(at)
    }

    /// The offset of the first kept byte after `at`.
    pub(crate) fn next_start(&self, at: Offset) -> Option<Offset> {
        let after = self.segments.partition_point(|segment| segment.start <= at);
        self.segments.get(after).map(|segment| segment.start)
    }

    /// The spans that are kept, in order; neighbours may touch.
    pub(crate) fn spans(&self) -> impl Iterator<Item = Span> {
        self.segments.iter().map(MemorySegment::span)
    }

    /// Appends as much as fits into one segment; if the segment is full, begins another and appends nothing.
    fn append_some(&mut self, from: Offset, chunk: Chunk<'_>) -> usize {
        let record = Record { offset: from, at: chunk.at, stream: chunk.stream };
        let step = match self.segments.back() {
            Some(segment) => segment.fill.step(chunk.stream, chunk.at, chunk.bytes.len()),
            None => RollStep::Roll,
        };
        match (step, self.segments.back_mut()) {
            (RollStep::Continue(count), Some(segment)) => segment.push(&chunk.bytes[..count]),
            (RollStep::Record(count), Some(segment)) => {
                segment.records.push(record);
                segment.fill.add_record(record);
                segment.push(&chunk.bytes[..count])
            }
            _ => {
                self.roll(record);
                0
            }
        }
    }

    /// Begins the next segment, in the buffers of a dropped one if there is one.
    fn roll(&mut self, record: Record) {
        let (mut bytes, mut records) = self.drop_oldest(record.offset).unwrap_or_default();
        bytes.clear();
        records.clear();
        records.push(record);
        let fill = Fill::begin(self.budget.of_segment(record.offset), record);
        self.segments.push_back(MemorySegment { start: record.offset, bytes, records, fill });
    }

    fn drop_oldest(&mut self, start: Offset) -> Option<(Vec<u8>, Vec<Record>)> {
        let mut buffers = None;
        while self.budget.is_exceeded(self.kept(), start) {
            let oldest = self.segments.iter().position(|segment| !self.budget.is_head(segment.start));
            let Some(segment) = oldest.and_then(|index| self.segments.remove(index)) else { break };
            buffers = Some((segment.bytes, segment.records));
        }
        buffers
    }

    fn kept(&self) -> u64 {
        self.segments.iter().map(|segment| segment.fill.used()).sum()
    }
}

impl MemorySegment {
    fn span(&self) -> Span {
        Span::new(self.start, self.start + self.bytes.len() as u64)
    }

    fn run(&self, at: Offset) -> Option<Run<'_>> {
        let after = self.records.partition_point(|record| record.offset <= at);
        let record = *self.records.get(after.checked_sub(1)?)?;
        let upto = self.records.get(after).map_or(self.bytes.len(), |next| self.index(next.offset));
        let bytes = self.bytes.get(self.index(at)..upto).filter(|bytes| !bytes.is_empty())?;
        Some(Run { from: at, record, bytes })
    }

    fn index(&self, at: Offset) -> usize {
        usize::try_from(at.get() - self.start.get()).unwrap_or(usize::MAX)
    }

    fn push(&mut self, bytes: &[u8]) -> usize {
        self.reserve(bytes.len());
        self.bytes.extend_from_slice(bytes);
        self.fill.add_bytes(bytes.len());
        bytes.len()
    }

    /// Doubles as a vector would, but not past the budget of the segment.
    fn reserve(&mut self, count: usize) {
        let len = self.bytes.len();
        if self.bytes.capacity() - len >= count {
            return;
        }
        let room = self.fill.room_for_bytes().saturating_add(len);
        let wanted = (len + count).max(len.saturating_mul(2)).min(room.max(len + count));
        self.bytes.reserve_exact(wanted - len);
    }
}
