//! Writes a journal into files. It holds at most two descriptors, creates nothing before the first byte, and stops for
//! good at the first error: what is on disk stays, and the caller keeps later bytes in memory.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use windlass_output::Offset;

use super::disk::Disk;
use super::format::{HEADER_LEN, Header, Part, RECORD_LEN, Record};
use super::retention::{Budget, Fill, Retention, Step};
use super::scan::OpenFiles;
use super::segments::{Place, Segment, Segments};
use super::{Chunk, Degraded};
use crate::StreamBytes;

pub(crate) struct FileLog {
    place: Place,
    disk: Arc<dyn Disk>,
    budget: Budget,
    segments: Segments,
    /// The segment being written; always the last one.
    current: Option<Current>,
    /// Segments whose files were removed while they were written.
    unlinked: Vec<Unlinked>,
    /// Since when, and which file that was.
    removal: Option<Degraded>,
}

/// The open files of a segment that no name leads to any more: only these descriptors do, so they stay open.
pub(crate) struct Unlinked {
    start: Offset,
    data: Arc<File>,
    index: Arc<File>,
}

impl Unlinked {
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
    index_len: u64,
    fill: Fill,
    /// The newest records, the last of which is the one being filled: whoever follows closely needs no index.
    newest: VecDeque<Record>,
}

/// What a follower that is not slow may be behind: some milliseconds of output.
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

/// The disk refused: how many of the bytes it had taken before, and what it said.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) written: usize,
    pub(crate) reason: String,
}

impl FileLog {
    pub(crate) fn new(place: Place, disk: Arc<dyn Disk>, retention: Retention) -> Self {
        let budget = Budget::new(retention, Offset::ZERO);
        let (segments, unlinked) = (Segments::default(), Vec::new());
        Self { place, disk, budget, segments, current: None, unlinked, removal: None }
    }

    /// Appends at `from`, which is where the last append ended; `before` is what each stream had printed until then.
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

    /// Looks whether the file being written still has its name.
    pub(crate) fn check(&mut self) {
        let (Some(current), Some(segment)) = (&self.current, self.segments.last()) else { return };
        if self.removal.is_none() && is_unlinked(&current.data) {
            let path = self.place.path(segment.start, Part::Data);
            let reason = format!(
                "{} was removed while the session ran; this runtime still reads it, no other process can",
                path.display()
            );
            self.removal = Some(Degraded { at: segment.start, reason });
        }
    }

    /// The removal of a file that was being written, if that was noticed.
    pub(crate) fn removal(&self) -> Option<&Degraded> {
        self.removal.as_ref()
    }

    /// One `fstat` for each segment: a removed file that is closed is lost.
    fn close_current(&mut self) {
        self.check();
        let start = self.segments.last().map(|segment| segment.start);
        if let (Some(Current { data, index, .. }), Some(start)) = (self.current.take(), start)
            && is_unlinked(&data)
        {
            self.unlinked.push(Unlinked { start, data, index });
        }
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    pub(crate) fn segments(&self) -> &Segments {
        &self.segments
    }

    pub(crate) fn into_parts(mut self) -> (Segments, Vec<Unlinked>) {
        self.close_current();
        (self.segments, self.unlinked)
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

    /// Appends what fits into one segment, at least one byte.
    fn append_some(&mut self, from: Offset, chunk: Chunk<'_>, before: StreamBytes) -> Result<usize, Refused> {
        let record = Record { offset: from, at: chunk.at, stream: chunk.stream };
        match self.step(chunk) {
            Step::Roll => {
                self.roll(record, before)?;
                self.append_some(from, chunk, before)
            }
            Step::Record(count) => {
                self.write_record(record)?;
                self.write_data(&chunk.bytes[..count])
            }
            Step::Continue(count) => self.write_data(&chunk.bytes[..count]),
        }
    }

    fn step(&self, chunk: Chunk<'_>) -> Step {
        match &self.current {
            Some(current) => current.fill.step(chunk.stream, chunk.at, chunk.bytes.len()),
            None => Step::Roll,
        }
    }

    /// Begins the next segment, after the oldest have made room for it. The index comes first: see `format`.
    fn roll(&mut self, record: Record, before: StreamBytes) -> Result<(), Refused> {
        let start = record.offset;
        self.close_current();
        self.place.check_home().map_err(|reason| Refused { written: 0, reason })?;
        self.drop_oldest(start);
        let index = self.create(start, Part::Index)?;
        let mut opening = [0; HEADER_LEN + RECORD_LEN];
        opening[..HEADER_LEN].copy_from_slice(&Header { start, before }.encode());
        opening[HEADER_LEN..].copy_from_slice(&record.encode());
        self.write(&index, &opening, 0).map_err(|refused| self.failed(start, Part::Index, &refused.error))?;
        let data = self.create(start, Part::Data)?;
        let fill = Fill::begin(self.budget.of_segment(start), record);
        self.segments.push(Segment { start, len: 0, cost: fill.used() });
        let (index_len, newest) = (opening.len() as u64, VecDeque::from([record]));
        self.current = Some(Current { data, index, index_len, fill, newest });
        Ok(())
    }

    fn drop_oldest(&mut self, start: Offset) {
        while self.budget.is_exceeded(self.segments.cost(), start) {
            let is_tail = |segment: &&Segment| !self.budget.is_head(segment.start);
            let Some(oldest) = self.segments.iter().find(is_tail).map(|segment| segment.start) else {
                return;
            };
            self.segments.forget(oldest);
            self.unlinked.retain(|unlinked| unlinked.start != oldest);
            for part in [Part::Data, Part::Index] {
                // A file that cannot be removed is no reason to stop: it is no longer counted, and pruning tries again.
                let _ = self.disk.remove(&self.place.path(oldest, part));
            }
        }
    }

    fn write_record(&mut self, record: Record) -> Result<(), Refused> {
        let Some(current) = &self.current else { return Ok(()) };
        let written = self.write(&current.index, &record.encode(), current.index_len);
        written.map_err(|stopped| self.failed_current(Part::Index, &stopped.error))?;
        if let (Some(current), Some(segment)) = (&mut self.current, self.segments.last_mut()) {
            current.index_len += RECORD_LEN as u64;
            current.begin_record(record);
            segment.cost = current.fill.used();
        }
        Ok(())
    }

    fn write_data(&mut self, bytes: &[u8]) -> Result<usize, Refused> {
        let (Some(current), Some(segment)) = (&self.current, self.segments.last()) else { return Ok(0) };
        let written = self.write(&current.data, bytes, segment.len);
        let count = written.as_ref().map_or_else(|stopped| stopped.written, |()| bytes.len());
        self.count_data(count);
        match written {
            Ok(()) => Ok(count),
            Err(stopped) => {
                Err(Refused { written: count, ..self.failed_current(Part::Data, &stopped.error) })
            }
        }
    }

    fn count_data(&mut self, count: usize) {
        if let (Some(current), Some(segment)) = (&mut self.current, self.segments.last_mut()) {
            current.fill.add_bytes(count);
            segment.len += count as u64;
            segment.cost = current.fill.used();
        }
    }

    fn create(&self, start: Offset, part: Part) -> Result<Arc<File>, Refused> {
        let path = self.place.path(start, part);
        self.disk.create(&path).map(Arc::new).map_err(|error| refused("creating", &path, &error))
    }

    /// Writes everything, or says how far it came.
    fn write(&self, file: &File, bytes: &[u8], at: u64) -> Result<(), Stopped> {
        let mut written = 0;
        while written < bytes.len() {
            match self.disk.write_at(file, &bytes[written..], at + written as u64) {
                Ok(0) => return Err(Stopped { written, error: io::ErrorKind::WriteZero.into() }),
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Stopped { written, error }),
            }
        }
        Ok(())
    }

    fn failed_current(&self, part: Part, error: &io::Error) -> Refused {
        let start = self.segments.last().map_or(Offset::ZERO, |segment| segment.start);
        self.failed(start, part, error)
    }

    fn failed(&self, start: Offset, part: Part, error: &io::Error) -> Refused {
        refused("writing", &self.place.path(start, part), error)
    }
}

struct Stopped {
    written: usize,
    error: io::Error,
}

fn refused(doing: &str, path: &Path, error: &io::Error) -> Refused {
    Refused { written: 0, reason: format!("{doing} {}: {error}", path.display()) }
}

/// Whether no name leads to an open file any more. The look itself cannot fail on a descriptor that is open.
fn is_unlinked(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.nlink() == 0)
}
