//! Writes a journal into files. It holds at most two descriptors, creates nothing before the first byte, and stops at
//! the first error: bytes on disk stay, and the caller keeps later bytes in memory.
//!
//! Other processes may truncate or remove the files meanwhile. Each append looks at its file before, and at its own
//! position after, and begins another segment if the file is not the one that it left: the bytes that are gone are a
//! gap between two segments, for every reader, and never zeros in the middle of one.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use windlass_output::{Offset, Span};

use super::disk::{Disk, RealDisk};
use super::format::{HEADER_LEN, Header, RECORD_LEN, Record, SegmentPart};
use super::lost::Lost;
use super::retention::{Budget, Fill, Retention, RollStep};
use super::scan::OpenFiles;
use super::segments::{Segment, SegmentPaths, Segments};
use super::{Chunk, Degraded};
use crate::StreamBytes;

pub(crate) struct FileLog {
    place: SegmentPaths,
    disk: Arc<dyn Disk>,
    budget: Budget,
    segments: Segments,
    /// The segment being written; always the last one.
    current: Option<Current>,
    /// Segments whose files were removed while they were being written.
    unlinked: Vec<Unlinked>,
    /// Where the output begins that no name leads to, with the file.
    removal: Option<Degraded>,
    /// Output that other processes removed from the files.
    lost: Lost,
}

/// Each removed segment holds two descriptors. Beyond this many, the newest is written further although it has no name.
const MOST_UNLINKED: usize = 16;

/// The open files of a segment that no name leads to any more: only these descriptors do, so they stay open.
pub(crate) struct Unlinked {
    start: Offset,
    data: Arc<File>,
    index: Arc<File>,
}

impl Unlinked {
    pub(crate) fn new(start: Offset, data: Arc<File>, index: Arc<File>) -> Self {
        Self { start, data, index }
    }

    pub(crate) fn start(&self) -> Offset {
        self.start
    }

    pub(crate) fn len(&self) -> io::Result<u64> {
        Ok(self.data.metadata()?.len())
    }

    pub(crate) fn find(among: &[Self], start: Offset) -> Option<OpenFiles> {
        let found = among.iter().find(|unlinked| unlinked.start == start)?;
        let (data, index) = (Arc::clone(&found.data), Arc::clone(&found.index));
        Some(OpenFiles { data, index, newest: Vec::new() })
    }
}

/// The open files of the segment being written.
struct Current {
    data: Arc<File>,
    index: Arc<File>,
    /// The number of bytes written to each: the files' lengths, unless another process changed them.
    data_len: u64,
    index_len: u64,
    fill: Fill,
    /// The newest records, the last of which is the one being filled: a reader that follows closely needs no index.
    newest: VecDeque<Record>,
}

/// How far a reader that keeps up may be behind: some milliseconds of output.
const NEWEST: usize = 64;

impl Current {
    /// The records that describe everything from `at` on, if they are among the newest; else none.
    fn records_from(&self, at: Offset) -> Vec<Record> {
        let after = self.newest.partition_point(|record| record.offset <= at);
        match after.checked_sub(1) {
            Some(first) => self.newest.range(first..).copied().collect(),
            None => Vec::new(),
        }
    }

    fn begin_record(&mut self, record: Record) {
        if self.newest.len() == NEWEST {
            self.newest.pop_front();
        }
        self.newest.push_back(record);
        self.fill.add_record(record);
    }
}

/// The disk refused: how many bytes it had taken before, and its error.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) written: usize,
    pub(crate) reason: String,
}

impl FileLog {
    pub(crate) fn new(place: SegmentPaths, disk: Arc<dyn Disk>, retention: Retention) -> Self {
        let budget = Budget::new(retention, Offset::ZERO);
        let (segments, unlinked) = (Segments::default(), Vec::new());
        Self { place, disk, budget, segments, current: None, unlinked, removal: None, lost: Lost::default() }
    }

    /// The segments of a journal that another process writes.
    pub(crate) fn adopt(place: SegmentPaths, segments: Segments, retention: Retention) -> Self {
        Self { segments, ..Self::new(place, Arc::new(RealDisk), retention) }
    }

    /// Appends at `from`, where the last append ended; `before` is how much each stream had printed until then.
    pub(crate) fn append(
        &mut self,
        from: Offset,
        chunk: Chunk<'_>,
        before: StreamBytes,
    ) -> Result<(), Refused> {
        let mut written = 0;
        while written < chunk.bytes.len() {
            let rest = Chunk { bytes: &chunk.bytes[written..], ..chunk };
            let totals = chunk.stream.added_to(before, written as u64);
            match self.append_some(from + written as u64, rest, totals) {
                Ok(count) => written += count,
                Err(refused) => return Err(Refused { written: written + refused.written, ..refused }),
            }
        }
        Ok(())
    }

    /// Closes the files. A later append, should there be one, begins another segment.
    pub(crate) fn seal(&mut self) {
        self.close_current();
    }

    /// Checks whether the file being written still has its name and its length: one `fstat`. `false` if it must not be
    /// written any more.
    pub(crate) fn check(&mut self) -> bool {
        let (Some(current), Some(segment)) = (&self.current, self.segments.last()) else { return true };
        let (start, written) = (segment.start, current.data_len);
        // `fstat` cannot fail on a descriptor that is open.
        let Ok(found) = current.data.metadata() else { return true };
        self.shorten(start, found.len());
        if found.nlink() > 0 {
            return found.len() == written;
        }
        if self.removal.is_none() {
            let path = self.place.path(start, SegmentPart::Data);
            let reason = format!(
                "{} was removed while the session ran; this runtime still reads it, no other process can",
                path.display()
            );
            self.removal = Some(Degraded { at: start, reason });
        }
        // If no other file can be created, the one without a name is still written: it takes more than memory would.
        let is_last_resort = self.unlinked.len() >= MOST_UNLINKED || !self.place.is_there();
        found.len() == written && is_last_resort
    }

    /// Notes that the file of a segment has only so many bytes left. `false` if that is all that was written to it.
    pub(crate) fn shorten(&mut self, start: Offset, len: u64) -> bool {
        let Some(lost) = self.segments.shorten(start, len) else { return false };
        self.lost.add(lost, truncated(&self.place.path(start, SegmentPart::Data), len));
        true
    }

    /// The first output that is on no disk, or that no name leads to, and the reason.
    pub(crate) fn degraded(&self) -> Option<Degraded> {
        let lost = self.lost.first().map(|part| Degraded { at: part.span.from(), reason: part.why.reason() });
        self.removal.clone().into_iter().chain(lost).min_by_key(|degraded| degraded.at)
    }

    pub(crate) fn lost(&self) -> &Lost {
        &self.lost
    }

    /// Closes the segment being written. Its last record says where it ends: a reader of a file that is shorter knows
    /// that it was truncated. A removed file that is closed is lost.
    fn close_current(&mut self) {
        self.check();
        let Some(start) = self.segments.last().map(|segment| segment.start) else { return };
        let Some(current) = self.current.take() else { return };
        let end = Record { offset: start + current.data_len, ..current.fill.record };
        // Without the record readers find the same output, and know less about the fate of the rest.
        let _ = self.disk.append(&current.index, &end.encode());
        if let Some(segment) = self.segments.last_mut() {
            segment.cost += RECORD_LEN as u64;
        }
        let Current { data, index, .. } = current;
        if data.metadata().is_ok_and(|found| found.nlink() == 0) {
            self.unlinked.push(Unlinked { start, data, index });
        }
    }

    pub(crate) fn place(&self) -> &SegmentPaths {
        &self.place
    }

    pub(crate) fn segments(&self) -> &Segments {
        &self.segments
    }

    /// The open files of a segment that is being written, or whose files were removed.
    pub(crate) fn open_files(&self, start: Offset, from: Offset) -> Option<OpenFiles> {
        let is_last = self.segments.last().is_some_and(|segment| segment.start == start);
        let current = self.current.as_ref().filter(|_| is_last).map(|current| OpenFiles {
            data: Arc::clone(&current.data),
            index: Arc::clone(&current.index),
            newest: current.records_from(from),
        });
        current.or_else(|| Unlinked::find(&self.unlinked, start))
    }

    /// Appends as much as fits into one segment; nothing, if the file was truncated meanwhile and another segment must
    /// begin.
    fn append_some(&mut self, from: Offset, chunk: Chunk<'_>, before: StreamBytes) -> Result<usize, Refused> {
        let record = Record { offset: from, at: chunk.at, stream: chunk.stream };
        if !self.check() {
            self.close_current();
        }
        match self.step(chunk) {
            RollStep::Roll => {
                self.roll(record, before)?;
                self.append_some(from, chunk, before)
            }
            RollStep::Record(count) => match self.write_record(record)? {
                Landed::InPlace => self.write_data(&chunk.bytes[..count]),
                Landed::Elsewhere { .. } => {
                    self.close_current();
                    Ok(0)
                }
            },
            RollStep::Continue(count) => self.write_data(&chunk.bytes[..count]),
        }
    }

    fn step(&self, chunk: Chunk<'_>) -> RollStep {
        match &self.current {
            Some(current) => current.fill.step(chunk.stream, chunk.at, chunk.bytes.len()),
            None => RollStep::Roll,
        }
    }

    /// Begins the next segment, after the oldest have made room for it. The index comes first: see `format`.
    fn roll(&mut self, record: Record, before: StreamBytes) -> Result<(), Refused> {
        let start = record.offset;
        self.close_current();
        self.place.check_home().map_err(|reason| Refused { written: 0, reason })?;
        self.drop_oldest(start);
        let index = self.create(start, SegmentPart::Index)?;
        let mut opening = [0; HEADER_LEN + RECORD_LEN];
        opening[..HEADER_LEN].copy_from_slice(&Header { start, before }.encode());
        opening[HEADER_LEN..].copy_from_slice(&record.encode());
        self.write(&index, &opening, 0)
            .map_err(|refused| self.failed(start, SegmentPart::Index, &refused.error))?;
        let data = self.create(start, SegmentPart::Data)?;
        // The record that closes the segment must have room.
        let fill = Fill::begin(self.budget.of_segment(start).saturating_sub(RECORD_LEN as u64), record);
        self.segments.push(Segment { start, len: 0, cost: fill.used() });
        let (index_len, newest) = (opening.len() as u64, VecDeque::from([record]));
        self.current = Some(Current { data, index, data_len: 0, index_len, fill, newest });
        Ok(())
    }

    fn drop_oldest(&mut self, start: Offset) {
        while self.budget.is_exceeded(self.segments.cost(), start) {
            let is_tail = |segment: &&Segment| !self.budget.is_head(segment.start);
            let mut tail = self.segments.iter().filter(is_tail).map(|segment| segment.start).take(2);
            let (oldest, next) = (tail.next(), tail.next());
            drop(tail);
            let Some(oldest) = oldest else { return };
            self.segments.forget(oldest);
            self.lost.forget(Span::new(oldest, next.unwrap_or(start)));
            self.unlinked.retain(|unlinked| unlinked.start != oldest);
            for part in [SegmentPart::Data, SegmentPart::Index] {
                // A file that cannot be removed is no reason to stop: it does not count any more, and pruning tries
                // again.
                let _ = self.disk.remove(&self.place.path(oldest, part));
            }
        }
    }

    fn write_record(&mut self, record: Record) -> Result<Landed, Refused> {
        let Some(current) = &self.current else { return Ok(Landed::InPlace) };
        let written = self.write(&current.index, &record.encode(), current.index_len);
        let landed = written.map_err(|stopped| self.failed_current(SegmentPart::Index, &stopped.error))?;
        if let (Some(current), Some(segment)) = (&mut self.current, self.segments.last_mut()) {
            current.index_len += RECORD_LEN as u64;
            current.begin_record(record);
            segment.cost = current.fill.used();
        }
        Ok(landed)
    }

    fn write_data(&mut self, bytes: &[u8]) -> Result<usize, Refused> {
        let Some(current) = &self.current else { return Ok(0) };
        let written = self.write(&current.data, bytes, current.data_len);
        let count = match &written {
            Ok(Landed::InPlace) => bytes.len(),
            Ok(Landed::Elsewhere { before, .. }) => *before,
            Err(stopped) => stopped.written,
        };
        self.count_data(count);
        match written {
            Ok(Landed::InPlace) => Ok(count),
            Ok(Landed::Elsewhere { at, .. }) => {
                self.take_back(at);
                Ok(count)
            }
            Err(stopped) => {
                Err(Refused { written: count, ..self.failed_current(SegmentPart::Data, &stopped.error) })
            }
        }
    }

    /// Removes bytes that landed where others had been, because the file was truncated a moment before; the caller
    /// writes them again, to another segment.
    fn take_back(&mut self, at: u64) {
        let (Some(current), Some(segment)) = (&self.current, self.segments.last()) else { return };
        let start = segment.start;
        let _ = current.data.set_len(at);
        self.shorten(start, at);
        self.close_current();
    }

    fn count_data(&mut self, count: usize) {
        if let (Some(current), Some(segment)) = (&mut self.current, self.segments.last_mut()) {
            current.fill.add_bytes(count);
            current.data_len += count as u64;
            segment.len += count as u64;
            segment.cost = current.fill.used();
        }
    }

    fn create(&self, start: Offset, part: SegmentPart) -> Result<Arc<File>, Refused> {
        let path = self.place.path(start, part);
        self.disk.create(&path).map(Arc::new).map_err(|error| refused("creating", &path, &error))
    }

    /// Writes everything to the end of a file, which should be at `end`, or returns how far it got. The file's position
    /// shows where the bytes went, whatever other processes do to the file meanwhile.
    fn write(&self, mut file: &File, bytes: &[u8], end: u64) -> Result<Landed, Stopped> {
        let mut written = 0;
        while written < bytes.len() {
            match self.disk.append(file, &bytes[written..]) {
                Ok(0) => return Err(Stopped { written, error: io::ErrorKind::WriteZero.into() }),
                Ok(count) => {
                    let expected = end + (written + count) as u64;
                    let position = file.stream_position().unwrap_or(expected);
                    if position != expected {
                        let at = position.saturating_sub(count as u64);
                        return Ok(Landed::Elsewhere { before: written, at });
                    }
                    written += count;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Stopped { written, error }),
            }
        }
        Ok(Landed::InPlace)
    }

    fn failed_current(&self, part: SegmentPart, error: &io::Error) -> Refused {
        let start = self.segments.last().map_or(Offset::ZERO, |segment| segment.start);
        self.failed(start, part, error)
    }

    fn failed(&self, start: Offset, part: SegmentPart, error: &io::Error) -> Refused {
        refused("writing", &self.place.path(start, part), error)
    }
}

struct Stopped {
    written: usize,
    error: io::Error,
}

/// The position of bytes that were written to the end of a file.
enum Landed {
    /// Behind those that were written before.
    InPlace,
    /// At this position in the file: it was truncated. So many bytes had been written before that.
    Elsewhere { before: usize, at: u64 },
}

fn refused(doing: &str, path: &Path, error: &io::Error) -> Refused {
    Refused { written: 0, reason: format!("{doing} {}: {error}", path.display()) }
}

/// Why output is missing from a file that has only so many bytes left.
pub(crate) fn truncated(path: &Path, len: u64) -> String {
    format!("{} was truncated to {len} bytes; only a copy of it brings this output back", path.display())
}
