//! Reads one segment back from its two files, without the journal's lock. Trusts nothing it reads: the writer may be
//! another process, may have been killed in mid-write, or may be deleting the segment right now.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use windlass_output::{Offset, Span};
use windlass_sys::descriptor;

use super::format::{HEADER_LEN, Header, HeaderFound, RECORD_LEN, Record, SegmentPart};
use super::segments::{Segment, SegmentPaths};
use crate::regular_file;

/// A segment as it was when the lock was held, with the writer's open files where it still had them.
pub(crate) struct SegmentView {
    pub(crate) place: SegmentPaths,
    pub(crate) segment: Segment,
    pub(crate) open: Option<OpenFiles>,
}

pub(crate) struct OpenFiles {
    pub(crate) data: Arc<File>,
    pub(crate) index: Arc<File>,
    /// The records from the start of the read on, if the writer still has them in memory: then the index is not read.
    pub(crate) newest: Vec<Record>,
}

impl SegmentView {
    /// Adds the bytes of `span`, which lies inside the segment, to `into`: all of them, or none and the error.
    pub(crate) fn read_bytes(&self, span: Span, into: &mut Vec<u8>) -> io::Result<()> {
        let data = self.file(SegmentPart::Data)?;
        let (before, count) = (into.len(), length(span));
        let place = (span.from().get() - self.segment.start.get(), count);
        let read = descriptor::read_more_at(&*data, into, place);
        if read != Ok(count) {
            into.truncate(before);
        }
        match read {
            Ok(read) if read == count => Ok(()),
            Ok(_) => Err(io::Error::other("the file is shorter than what was written to it")),
            Err(errno) => Err(errno.into()),
        }
    }

    /// The stream and time of the bytes of `span`: records in order, the first of them covering `span.from()`.
    pub(crate) fn runs(&self, span: Span) -> Runs<'_> {
        let newest = self.open.as_ref().map_or(&[][..], |open| &open.newest);
        let known = newest.partition_point(|record| record.offset <= span.from());
        if let Some(first) = known.checked_sub(1) {
            let later = Later::Known(newest[known..].iter().copied());
            return Runs { span, current: newest[first], later };
        }
        // Without an index the bytes are still there: they read as standard output at time zero.
        Runs::covering(span, self.file(SegmentPart::Index).map_or_else(|_| Records::none(), Records::open))
    }

    /// The offset where the segment ends or up to which it was written at least, by its index: no record is written
    /// before the bytes in front of its offset.
    pub(crate) fn reached(&self) -> Offset {
        let mut records = self.file(SegmentPart::Index).map_or_else(|_| Records::none(), Records::open);
        records.seek(Offset::new(u64::MAX)).map_or(self.segment.start, |last| last.offset)
    }

    /// How many bytes its data file has now.
    pub(crate) fn data_len(&self) -> io::Result<u64> {
        Ok(self.file(SegmentPart::Data)?.metadata()?.len())
    }

    /// The header of the index, which counts the output before this segment.
    pub(crate) fn header(&self) -> HeaderFound {
        let mut bytes = [0; HEADER_LEN];
        match self.file(SegmentPart::Index).and_then(|file| file.read_exact_at(&mut bytes, 0)) {
            Ok(()) => Header::decode(&bytes),
            Err(_) => HeaderFound::Damaged,
        }
    }

    fn file(&self, part: SegmentPart) -> io::Result<Arc<File>> {
        match (&self.open, part) {
            (Some(open), SegmentPart::Data) => Ok(Arc::clone(&open.data)),
            (Some(open), SegmentPart::Index) => Ok(Arc::clone(&open.index)),
            (None, part) => regular_file::read(&self.place.path(self.segment.start, part)).map(Arc::new),
        }
    }
}

/// The bytes of a span, cut where the record changes.
pub(crate) struct Runs<'a> {
    /// The part that is not described yet.
    span: Span,
    current: Record,
    later: Later<'a>,
}

/// The source of the following records.
enum Later<'a> {
    Index(Box<Records>),
    Known(std::iter::Copied<std::slice::Iter<'a, Record>>),
}

impl Runs<'_> {
    fn covering(span: Span, mut records: Records) -> Self {
        let current = records.seek(span.from()).unwrap_or(Record::UNKNOWN);
        Self { span, current, later: Later::Index(Box::new(records)) }
    }

    fn following(&mut self) -> Option<Record> {
        match &mut self.later {
            Later::Index(records) => records.next(),
            Later::Known(records) => records.next(),
        }
    }
}

impl Iterator for Runs<'_> {
    type Item = (Span, Record);

    fn next(&mut self) -> Option<Self::Item> {
        if self.span.is_empty() {
            return None;
        }
        let record = self.current;
        let following = self.following().filter(|next| next.offset > self.span.from());
        let upto = following.map_or(self.span.to(), |next| next.offset.min(self.span.to()));
        let run = Span::new(self.span.from(), upto);
        self.span = Span::new(upto, self.span.to());
        self.current = following.unwrap_or(record);
        Some((run, record))
    }
}

/// How many records are read at a time when walking forward.
const BATCH: usize = 64;

/// The records of one index, one after the other. Ends at the first that is not good.
struct Records {
    file: Option<Arc<File>>,
    next: u64,
    count: u64,
    batch: [u8; BATCH * RECORD_LEN],
    /// The records the batch holds, by number.
    batched: std::ops::Range<u64>,
}

impl Records {
    fn none() -> Self {
        Self { file: None, next: 0, count: 0, batch: [0; BATCH * RECORD_LEN], batched: 0..0 }
    }

    fn open(file: Arc<File>) -> Self {
        let len = file.metadata().map_or(0, |metadata| metadata.len());
        let count = len.saturating_sub(HEADER_LEN as u64) / RECORD_LEN as u64;
        Self { file: Some(file), count, ..Self::none() }
    }

    /// Finds the last record at or before `at` and continues after it. Without one, continues with the first.
    fn seek(&mut self, at: Offset) -> Option<Record> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.single(middle) {
                Some(record) if record.offset <= at => low = middle + 1,
                _ => high = middle,
            }
        }
        self.next = low;
        self.single(low.checked_sub(1)?)
    }

    fn single(&self, number: u64) -> Option<Record> {
        let mut bytes = [0; RECORD_LEN];
        self.file.as_ref()?.read_exact_at(&mut bytes, position(number)).ok()?;
        Record::decode(&bytes)
    }

    fn next(&mut self) -> Option<Record> {
        if self.next >= self.count {
            return None;
        }
        if !self.batched.contains(&self.next) {
            self.fill_batch()?;
        }
        let at = usize::try_from(self.next - self.batched.start).ok()? * RECORD_LEN;
        let record = Record::decode(&self.batch[at..]);
        self.next = if record.is_some() { self.next + 1 } else { self.count };
        record
    }

    fn fill_batch(&mut self) -> Option<()> {
        let wanted = (self.count - self.next).min(BATCH as u64);
        let bytes = &mut self.batch[..usize::try_from(wanted).ok()? * RECORD_LEN];
        self.file.as_ref()?.read_exact_at(bytes, position(self.next)).ok()?;
        self.batched = self.next..self.next + wanted;
        Some(())
    }
}

fn position(number: u64) -> u64 {
    HEADER_LEN as u64 + number * RECORD_LEN as u64
}

fn length(span: Span) -> usize {
    usize::try_from(span.len()).unwrap_or(usize::MAX)
}
