//! A journal that somebody else writes, or wrote: its segments are found by name and grow while we look.

use std::fs;
use std::io;
use std::path::PathBuf;

use windlass_output::Offset;

use super::Degraded;
use super::format::{HeaderFound, Part, SegmentFile};
use super::scan::SegmentView;
use super::segments::{Place, Segment, Segments};
use crate::{Receipt, SessionId, StreamBytes};

/// Why a journal could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenJournal {
    /// The state directory cannot be listed.
    #[error("listing {}", path.display())]
    List {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A later Windlass wrote it.
    #[error("journal of session {id} has format version {found}; this Windlass reads up to {known}")]
    UnknownVersion {
        /// The session.
        id: SessionId,
        /// The version in its index.
        found: u32,
        /// The newest version understood.
        known: u32,
    },
}

/// A writer that outruns this many looks is caught up with at the next one.
const MOST_LOOKS: usize = 16;

/// The files as they were when last looked at.
pub(crate) struct Opened {
    place: Place,
    segments: Segments,
    end: Offset,
    expected: Option<Expected>,
}

/// The fields of a receipt that describe the output.
struct Expected {
    bytes: StreamBytes,
    degraded: Option<Degraded>,
}

impl Opened {
    pub(crate) fn new(place: Place) -> Result<Self, OpenJournal> {
        let segments =
            list(&place).map_err(|source| OpenJournal::List { path: place.dir.to_path_buf(), source })?;
        let mut opened = Self { place, segments, end: Offset::ZERO, expected: None };
        opened.check_version()?;
        opened.measure_end();
        Ok(opened)
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    pub(crate) fn segments(&self) -> &Segments {
        &self.segments
    }

    pub(crate) fn into_segments(self) -> Segments {
        self.segments
    }

    /// One past the newest byte ever seen, or counted by the receipt; it never moves back, even if files vanish.
    pub(crate) fn end(&self) -> Offset {
        self.end.max(self.expected_end())
    }

    /// A receipt counts what was printed until it was written; processes that were left running may have printed more.
    pub(crate) fn expect(&mut self, receipt: &Receipt) {
        self.expected = Some(Expected { bytes: receipt.bytes, degraded: receipt.degraded.clone() });
    }

    fn expected_end(&self) -> Offset {
        self.expected.as_ref().map_or(Offset::ZERO, |expected| Offset::new(expected.bytes.total()))
    }

    /// Where the files end before the output does, and why.
    pub(crate) fn shortfall(&self) -> Option<Degraded> {
        let at = self.segments.last().map_or(Offset::ZERO, Segment::end);
        let total = self.end();
        if at >= total {
            return None;
        }
        let recorded = self.expected.as_ref().and_then(|expected| expected.degraded.clone());
        let guessed = || match self.segments.last() {
            Some(_) => format!(
                "the files of session {} end at byte {at} of {total}: the disk refused the rest, or a file was cut or removed",
                self.place.id
            ),
            None => {
                format!("no file {} is there: they were removed, or the disk refused them", self.pattern())
            }
        };
        Some(Degraded { at, reason: recorded.map_or_else(guessed, |degraded| degraded.reason) })
    }

    /// Why the beginning is missing.
    pub(crate) fn beheaded(&self) -> String {
        let first = self.place.path(Offset::ZERO, Part::Data);
        format!("{} is not there, and nothing removes it before the rest", first.display())
    }

    fn pattern(&self) -> String {
        self.place.dir.join(format!("{}-*.out", self.place.id)).display().to_string()
    }

    /// A reader found this segment's files gone: the writer has dropped it.
    pub(crate) fn forget(&mut self, start: Offset) {
        self.segments.forget(start);
    }

    /// Looks again. The next segment can only start where the last one ends, so following the tail is two `stat` calls
    /// and one failed lookup. What follows the head may have been dropped since: there only the directory knows. So it
    /// does when the writer dropped segments faster than we followed: then the last one we know is gone too.
    pub(crate) fn refresh(&mut self) {
        for _ in 0..MOST_LOOKS {
            if self.segments.len() <= 1 {
                self.list_again();
            }
            let held_on = self.grow_last();
            while let Some(next) = self.following() {
                self.segments.push(next);
            }
            if held_on && self.grow_last() {
                break;
            }
            self.list_again();
        }
        self.forget_vanished();
        self.measure_end();
    }

    /// What each stream had printed up to the end: the last index counts what came before it.
    pub(crate) fn bytes(&self) -> StreamBytes {
        if let Some(expected) =
            self.expected.as_ref().filter(|expected| expected.bytes.total() >= self.end.get())
        {
            return expected.bytes;
        }
        let Some(last) = self.segments.last() else { return StreamBytes::default() };
        let view = SegmentView { place: self.place.clone(), segment: *last, open: None };
        let before = match view.header() {
            HeaderFound::Good(header) => header.before,
            HeaderFound::Damaged | HeaderFound::Unknown { .. } => {
                StreamBytes { stdout: last.start.get(), ..StreamBytes::default() }
            }
        };
        view.runs(last.span()).fold(before, |total, (run, record)| record.stream.added_to(total, run.len()))
    }

    fn check_version(&self) -> Result<(), OpenJournal> {
        for segment in self.segments.iter() {
            let view = SegmentView { place: self.place.clone(), segment: *segment, open: None };
            if let HeaderFound::Unknown { version } = view.header() {
                let known = super::format::VERSION;
                return Err(OpenJournal::UnknownVersion { id: self.place.id, found: version, known });
            }
        }
        Ok(())
    }

    /// Measures the last segment. `false` if it is gone, and with it the thread we were following.
    fn grow_last(&mut self) -> bool {
        let Some(last) = self.segments.last_mut() else { return true };
        match measure(&self.place, last.start) {
            Ok(Some(len)) => {
                last.len = last.len.max(len);
                true
            }
            Ok(None) => false,
            // It says nothing about the file that we may not look at it now.
            Err(_) => true,
        }
    }

    fn following(&self) -> Option<Segment> {
        let start = self.segments.last().map_or(Offset::ZERO, Segment::end);
        // A failed look finds nothing new; the next one may.
        let len = measure(&self.place, start).ok().flatten()?;
        // An empty file is a segment whose first byte is still on its way, and would start where it ends.
        (len > 0).then_some(Segment { start, len, cost: 0 })
    }

    /// Retention removes the oldest first, either from the very beginning or from behind the head.
    fn forget_vanished(&mut self) {
        for index in [0, 1] {
            while let Some(start) = self.segments.start_of(index) {
                if !matches!(measure(&self.place, start), Ok(None)) {
                    break;
                }
                self.segments.forget(start);
            }
        }
    }

    /// A directory that cannot be listed now leaves us with what we knew.
    fn list_again(&mut self) {
        if let Ok(segments) = list(&self.place) {
            self.segments = segments;
        }
    }

    fn measure_end(&mut self) {
        let seen = self.segments.last().map_or(Offset::ZERO, Segment::end);
        self.end = self.end.max(seen);
    }
}

/// The length of a segment's data; `None` if there is no such file.
fn measure(place: &Place, start: Offset) -> io::Result<Option<u64>> {
    match fs::metadata(place.path(start, Part::Data)) {
        Ok(metadata) => Ok(Some(metadata.len())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn list(place: &Place) -> io::Result<Segments> {
    let mut starts = Vec::new();
    for entry in fs::read_dir(&place.dir)? {
        let name = entry?.file_name();
        let file = name.to_str().and_then(SegmentFile::parse);
        starts.extend(
            file.filter(|file| file.id == place.id && file.part == Part::Data).map(|file| file.start),
        );
    }
    starts.sort();
    measured(place, &starts)
}

/// The listed segments with their lengths; one that vanished meanwhile is left out, and none reaches into the next.
fn measured(place: &Place, starts: &[Offset]) -> io::Result<Segments> {
    let mut segments = Segments::default();
    for (index, &start) in starts.iter().enumerate() {
        if let Some(len) = measure(place, start)?.filter(|len| *len > 0) {
            let room = starts.get(index + 1).map_or(u64::MAX, |next| next.get() - start.get());
            segments.push(Segment { start, len: len.min(room), cost: 0 });
        }
    }
    Ok(segments)
}
