//! A journal that another process writes, or wrote: its segments are found by name and grow meanwhile. Facts that its
//! files do not show may come from the descriptors of its runtime.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_output::{Offset, Span};

use super::file::{FileLog, Unlinked, truncated};
use super::format::{HeaderFound, SegmentFile, SegmentPart};
use super::lost::Lost;
use super::missing::advice;
use super::runtime_files::RuntimeFiles;
use super::scan::SegmentView;
use super::segments::{Segment, SegmentPaths, Segments};
use super::{Degraded, Retention, Why};
use crate::regular_file::irregular;
use crate::{ProcessKey, Receipt, SessionId, StreamBytes};

/// Why a journal could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenJournal {
    /// The state directory cannot be listed.
    #[error("listing {}", path.display())]
    List {
        /// The directory.
        path: PathBuf,
        /// The error of the system.
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

/// How long a runtime may take to make the file of the output after that of the index.
const MADE_NEXT: Duration = Duration::from_secs(1);

/// A writer that outruns this many looks is caught up with at the next one.
const MOST_LOOKS: usize = 16;

/// The files as they were when last looked at.
pub(crate) struct Opened {
    place: SegmentPaths,
    runtime: Option<ProcessKey>,
    held: RuntimeFiles,
    segments: Segments,
    lost: Lost,
    end: Offset,
    expected: Option<Box<Expected>>,
    /// The note of a runtime whose disk refused output. Its session still runs, so there is no receipt yet.
    noted: Option<Box<Degraded>>,
    /// The first file of a segment that is something else than a file.
    irregular: Option<Box<Degraded>>,
}

/// The fields of a receipt that describe the output.
struct Expected {
    bytes: StreamBytes,
    degraded: Option<Degraded>,
}

impl Opened {
    pub(crate) fn new(place: SegmentPaths, runtime: Option<ProcessKey>) -> Result<Self, OpenJournal> {
        let (held, segments, lost) = (RuntimeFiles::default(), Segments::default(), Lost::default());
        let mut opened = Self {
            place,
            runtime,
            held,
            segments,
            lost,
            end: Offset::ZERO,
            expected: None,
            noted: None,
            irregular: None,
        };
        opened.look_at_runtime();
        opened
            .survey()
            .map_err(|source| OpenJournal::List { path: opened.place.dir.to_path_buf(), source })?;
        opened.check_version()?;
        Ok(opened)
    }

    pub(crate) fn segments(&self) -> &Segments {
        &self.segments
    }

    pub(crate) fn lost(&self) -> &Lost {
        &self.lost
    }

    /// A segment as it can be read, with its open files if it has no name.
    pub(crate) fn view(&self, segment: Segment) -> SegmentView {
        let open = Unlinked::find(&self.held.unlinked, segment.start);
        SegmentView { place: self.place.clone(), segment, open }
    }

    pub(crate) fn into_files(self, retention: Retention) -> FileLog {
        FileLog::adopt(self.place, self.segments, retention)
    }

    /// Notes that the file of a segment has only so many bytes left. `false` if no more were ever seen of it.
    pub(crate) fn shorten(&mut self, start: Offset, len: u64) -> bool {
        let Some(lost) = self.segments.shorten(start, len) else { return false };
        self.lost.add(lost, truncated(&self.place.path(start, SegmentPart::Data), len));
        true
    }

    /// One past the newest byte ever seen, or counted by the receipt; it never moves back, even if files vanish.
    pub(crate) fn end(&self) -> Offset {
        self.end.max(self.expected_end())
    }

    /// A receipt counts the output until it was written; processes that were left running may have printed more.
    pub(crate) fn expect(&mut self, receipt: &Receipt) {
        let expected = Expected { bytes: receipt.bytes, degraded: receipt.degraded.clone() };
        self.expected = Some(Box::new(expected));
    }

    pub(crate) fn expect_degraded(&mut self, degraded: &Degraded) {
        self.noted = Some(Box::new(degraded.clone()));
    }

    fn expected_end(&self) -> Offset {
        self.expected.as_ref().map_or(Offset::ZERO, |expected| Offset::new(expected.bytes.total()))
    }

    /// The first output that no file has, or that only the runtime's descriptors lead to, and the reason.
    pub(crate) fn degraded(&self) -> Option<Degraded> {
        let lost = self.lost.first().map(|part| Degraded { at: part.span.from(), reason: part.why.reason() });
        let held = self.held.unlinked.first().map(|unlinked| Degraded {
            at: unlinked.start(),
            reason: format!(
                "{} was removed; it is read from the session's windlass, which has it open, and is gone when that ends",
                self.place.path(unlinked.start(), SegmentPart::Data).display()
            ),
        });
        self.shortfall()
            .into_iter()
            .chain(lost)
            .chain(held)
            .chain(self.noted.as_deref().cloned())
            .chain(self.irregular.as_deref().cloned())
            .min_by_key(|degraded| degraded.at)
    }

    /// The offset at which the files end before the output does, and the reason.
    fn shortfall(&self) -> Option<Degraded> {
        let at = self.segments.last().map_or(Offset::ZERO, Segment::end);
        let total = self.end();
        if at >= total || !self.lost.split(Span::new(at, total)).iter().any(|(_, why)| why.is_none()) {
            return None;
        }
        let recorded = self.expected.as_ref().and_then(|expected| expected.degraded.clone());
        let recorded = recorded.or_else(|| self.noted.as_deref().cloned());
        let recorded = recorded.or_else(|| self.irregular.as_deref().cloned());
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

    /// Why a part of a hole is missing, if the files themselves do not show it.
    pub(crate) fn why(&self, part: Span) -> Why {
        if let Some(shortfall) = self.shortfall().filter(|shortfall| part.from() >= shortfall.at) {
            return Why::Unsaved(shortfall.reason);
        }
        let recorded = self.expected.as_ref().and_then(|expected| expected.degraded.as_ref());
        let recorded = recorded.or(self.noted.as_deref());
        if let Some(recorded) = recorded.filter(|recorded| part.from() >= recorded.at) {
            return Why::Unsaved(recorded.reason.clone());
        }
        // Retention drops the oldest behind the head, never the head.
        let is_older = |segment: &Segment| {
            segment.start > Offset::ZERO && segment.start < part.from() && segment.len > 0
        };
        match self.segments.iter().any(is_older) {
            _ if part.from() == Offset::ZERO => Why::Unsaved(self.beheaded()),
            true => Why::Unsaved(format!(
                "no file {} has them: the disk refused them, or a file was removed",
                self.pattern()
            )),
            false => Why::Dropped,
        }
    }

    /// Why the beginning is missing.
    fn beheaded(&self) -> String {
        let first = self.place.path(Offset::ZERO, SegmentPart::Data);
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
    /// and one failed lookup. The segment behind the head may have been dropped since: only the directory shows that.
    /// The same holds when the writer dropped segments faster than this reader followed: then the last known one is
    /// gone too.
    pub(crate) fn refresh(&mut self) {
        for _ in 0..MOST_LOOKS {
            if self.segments.len() <= 1 {
                self.survey_again();
            }
            let held_on = self.grow_last();
            while let Some(next) = self.following() {
                self.segments.push(next);
            }
            if held_on && self.grow_last() {
                break;
            }
            // It was removed or truncated: the descriptors of its runtime may be the only remaining source.
            self.look_at_runtime();
            self.survey_again();
        }
        self.forget_vanished();
        self.measure_end();
    }

    /// How much each stream had printed up to the end: the last index counts the bytes before it.
    pub(crate) fn bytes(&self) -> StreamBytes {
        if let Some(expected) =
            self.expected.as_ref().filter(|expected| expected.bytes.total() >= self.end.get())
        {
            return expected.bytes;
        }
        let Some(last) = self.segments.last() else { return StreamBytes::default() };
        let view = self.view(*last);
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
            if let HeaderFound::Unknown { version } = self.view(*segment).header() {
                let known = super::format::VERSION;
                return Err(OpenJournal::UnknownVersion { id: self.place.id, found: version, known });
            }
        }
        Ok(())
    }

    /// Measures the last segment. `false` if it is gone or shorter than it was, so that it cannot be followed further.
    fn grow_last(&mut self) -> bool {
        let Some(start) = self.segments.last().map(|last| last.start) else { return true };
        let measured = self.measure(start);
        let Some(last) = self.segments.last_mut() else { return true };
        match measured {
            Ok(Some(len)) if len < last.len => false,
            Ok(Some(len)) => {
                last.len = len;
                true
            }
            Ok(None) => false,
            // An error now, such as a missing permission, does not mean that the file is gone.
            Err(_) => true,
        }
    }

    fn following(&self) -> Option<Segment> {
        let start = self.segments.last().map_or(Offset::ZERO, Segment::end);
        // A failed look finds nothing new; the next one may.
        let len = self.measure(start).ok().flatten()?;
        // An empty file is a segment whose first byte has not been written yet; the next segment would start at the
        // same offset.
        (len > 0).then_some(Segment { start, len, cost: 0 })
    }

    /// Retention removes the oldest first, either from the very beginning or from behind the head.
    fn forget_vanished(&mut self) {
        for index in [0, 1] {
            while let Some(start) = self.segments.start_of(index) {
                if !matches!(self.measure(start), Ok(None)) {
                    break;
                }
                self.segments.forget(start);
            }
        }
    }

    fn look_at_runtime(&mut self) {
        if let Some(runtime) = self.runtime {
            self.held = RuntimeFiles::look(runtime, &self.place);
        }
    }

    /// Lists the directory again. If that fails, the known segments stay.
    fn survey_again(&mut self) {
        let _ = self.survey();
    }

    /// Finds the segments and compares each with the number of bytes known to have been written to it.
    fn survey(&mut self) -> io::Result<()> {
        let mut starts = list(&self.place)?;
        starts.extend(self.held.unlinked.iter().map(Unlinked::start));
        starts.sort();
        starts.dedup();
        let (mut segments, mut lost) = (Segments::default(), Lost::default());
        for (index, &start) in starts.iter().enumerate() {
            // No segment reaches into the next.
            let room = starts.get(index + 1).map_or(u64::MAX, |next| next.get() - start.get());
            // Before the measurement: a working writer can only have written more since.
            let written = self.written(start).min(room);
            // One that vanished meanwhile is left out.
            let Some(len) = self.measure(start)?.map(|len| len.min(room)) else { continue };
            let path = self.place.path(start, SegmentPart::Data);
            self.note_irregular(start);
            let replaced = irregular(&path);
            // The file was made for its first byte, whatever has its name now.
            let written = if replaced.is_some() && len == 0 { written.max(1) } else { written };
            if written > len {
                let why = replaced.map_or_else(|| truncated(&path, len), |error| odd(&path, &error));
                lost.add(Span::new(start + len, start + written), why);
            }
            self.end = self.end.max(start + len.max(written));
            if len > 0 {
                segments.push(Segment { start, len, cost: 0 });
            }
        }
        if starts.is_empty() && self.is_beheaded_unseen() {
            let data = self.place.path(Offset::ZERO, SegmentPart::Data);
            let why = format!(
                "{} was removed while the session runs; how much was in it is not known until that ends",
                data.display()
            );
            lost.add(Span::new(Offset::ZERO, Offset::new(1)), why);
            self.end = self.end.max(Offset::new(1));
        }
        (self.segments, self.lost) = (segments, lost);
        Ok(())
    }

    /// Whether there was output that no file has, and of which a runtime that hides its descriptors tells nothing: the first index
    /// is there, which is made for the first byte. Retention never drops it.
    fn is_beheaded_unseen(&self) -> bool {
        if !self.held.is_refused {
            return false;
        }
        let index = fs::symlink_metadata(self.place.path(Offset::ZERO, SegmentPart::Index));
        let made = index.ok().filter(fs::Metadata::is_file).and_then(|index| index.modified().ok());
        // The file of the output is made next: a runtime that was interrupted there has a moment for it.
        made.and_then(|made| made.elapsed().ok()).is_some_and(|age| age > MADE_NEXT)
    }

    /// Without its data a segment reads as empty, without its index as standard output of an unknown time: readers must learn why.
    fn note_irregular(&mut self, start: Offset) {
        if self.irregular.is_some() || self.held.len(start).is_some() {
            return;
        }
        let paths = [SegmentPart::Data, SegmentPart::Index].map(|part| self.place.path(start, part));
        let found = paths.iter().find_map(|path| Some((path, irregular(path)?)));
        self.irregular =
            found.map(|(path, error)| Box::new(Degraded { at: start, reason: odd(path, &error) }));
    }

    /// How many bytes are known to have been written to a segment, by its index and its runtime.
    fn written(&self, start: Offset) -> u64 {
        let reached = self.view(Segment { start, len: 0, cost: 0 }).reached();
        reached.since(start).max(self.held.written(start))
    }

    /// The length of a segment's data; `None` if there is no such file.
    fn measure(&self, start: Offset) -> io::Result<Option<u64>> {
        if let Some(len) = self.held.len(start) {
            return Ok(Some(len));
        }
        match fs::symlink_metadata(self.place.path(start, SegmentPart::Data)) {
            // Nothing else has output: see `irregular`.
            Ok(metadata) => Ok(Some(if metadata.is_file() { metadata.len() } else { 0 })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn measure_end(&mut self) {
        let seen = self.segments.last().map_or(Offset::ZERO, Segment::end);
        self.end = self.end.max(seen);
    }
}

/// Why output is missing where something else than a file has its name.
fn odd(path: &Path, error: &io::Error) -> String {
    format!("reading {}: {error}{}", path.display(), advice(error))
}

/// Where the segments of a session start that have a file, in no order.
fn list(place: &SegmentPaths) -> io::Result<Vec<Offset>> {
    let mut starts = Vec::new();
    for entry in fs::read_dir(&place.dir)? {
        let name = entry?.file_name();
        let file = name.to_str().and_then(SegmentFile::parse);
        starts.extend(
            file.filter(|file| file.id == place.id && file.part == SegmentPart::Data).map(|file| file.start),
        );
    }
    Ok(starts)
}
