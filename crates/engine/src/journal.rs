//! Every byte a session printed, with its offset, its stream and its time.
//!
//! One appender, any number of readers. The appender never fails and never waits for a reader: readers hold the lock
//! only to look up where bytes are, and read files without it. When the disk refuses, later bytes are kept in memory
//! and the account says so. Retention drops one exact span, and reading it yields `Dropped`.

mod disk;
#[cfg(test)]
mod faults;
mod file;
mod format;
mod lost;
mod memory;
mod missing;
mod opened;
mod read;
mod retention;
mod runtime_files;
mod scan;
mod segments;
mod sizes;

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use windlass_output::{Offset, Span};
use windlass_sys::pty::Size;

use self::disk::{Disk, RealDisk};
use self::file::{FileLog, Refused};
use self::format::SegmentPart;
use self::lost::Lost;
use self::memory::MemoryLog;
use self::missing::{Gaps, advice};
use self::opened::Opened;
use self::read::{Collect, Pieces, Stretch};
use self::scan::SegmentView;
use self::segments::{Segment, SegmentLookup, SegmentPaths};
use crate::{ProcessKey, Receipt, SessionId, StreamBytes};

pub(crate) use self::format::SegmentFile;
pub use self::missing::{Missing, Why};
pub use self::opened::OpenJournal;
pub use self::read::{BoundedRead, JournalPiece};
pub use self::retention::Retention;
pub(crate) use self::segments::DirectoryId;
pub use self::sizes::TerminalSizes;
pub(crate) use self::sizes::grid;

/// The stream that output came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// The pipe on fd 1.
    Stdout,
    /// The pipe on fd 2.
    Stderr,
    /// The terminal, which mixes both.
    Terminal,
}

impl Stream {
    /// The totals after `count` more bytes of this stream.
    pub(crate) fn added_to(self, mut totals: StreamBytes, count: u64) -> StreamBytes {
        match self {
            Self::Stdout => totals.stdout += count,
            Self::Stderr => totals.stderr += count,
            Self::Terminal => totals.terminal += count,
        }
        totals
    }
}

/// The spans that a journal holds and those that it no longer holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// One past the newest byte.
    pub end: Offset,
    /// Everything before this is still there.
    pub head_end: Offset,
    /// Everything from here to the end is still there.
    pub tail_start: Offset,
    /// The spans that are gone, in order: one where retention dropped output, and one for each loss.
    pub gaps: Vec<Span>,
    /// How many bytes that is, exactly.
    pub dropped: u64,
    /// The gaps, and the spans that could not be read so far, with the reasons.
    pub missing: Vec<Missing>,
    /// The first bytes that are not on the disk, with the reason.
    pub degraded: Option<Degraded>,
    /// Everything printed, dropped or not.
    pub bytes: StreamBytes,
}

impl Account {
    /// The missing parts of a span, in order.
    pub fn missing_in(&self, span: Span) -> Vec<Missing> {
        missing::within(&self.missing, span)
    }
}

/// From here on, bytes are not on the disk: it refused them, or their file was removed or truncated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Degraded {
    /// The first byte that is not on the disk.
    pub at: Offset,
    /// The operation and the error of the system.
    pub reason: String,
}

/// The journal of one session. A handle: clones share it.
#[derive(Clone)]
pub struct Journal {
    shared: Arc<Shared>,
}

struct Shared {
    /// A copy of the state's end, so that asking how far it got never waits for a write in progress.
    end: AtomicU64,
    /// The disk has refused output, and no record says so yet.
    is_newly_degraded: AtomicBool,
    /// Whether the state lists anything unreadable: a read that succeeds takes the lock only then.
    has_unreadable: AtomicBool,
    state: Mutex<State>,
    /// The sizes of the terminal that printed it; `None` where pipes did.
    sizes: Mutex<Option<TerminalSizes>>,
    /// Whether the program has ended.
    over: AtomicBool,
}

struct State {
    storage: Storage,
    end: Offset,
    bytes: StreamBytes,
    retention: Retention,
    /// Segments that could not be read when a reader last tried.
    unreadable: Vec<Missing>,
}

enum Storage {
    Memory(MemoryLog),
    Files(FileLog),
    Degraded(Box<DegradedStorage>),
    Opened(Opened),
}

/// Files up to `note.at`, memory from there on.
struct DegradedStorage {
    files: FileLog,
    memory: MemoryLog,
    note: Degraded,
}

/// Bytes that arrived together.
#[derive(Clone, Copy)]
pub(crate) struct Chunk<'a> {
    stream: Stream,
    at: Duration,
    bytes: &'a [u8],
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal").field("end", &self.end()).finish_non_exhaustive()
    }
}

impl Journal {
    /// A journal that never touches a disk.
    pub fn in_memory(retention: Retention) -> Self {
        Self::with(Storage::Memory(MemoryLog::new(retention, Offset::ZERO)), retention)
    }

    /// A journal in files in `dir`, created with the first byte. If the directory cannot be written, that is noticed
    /// then, and the account says so.
    pub fn on_disk(dir: &Path, id: SessionId, retention: Retention) -> Self {
        Self::on_disk_shared((dir.into(), None), id, retention)
    }

    /// The same without a copy of the path: a thousand journals share one directory. Given its identity, nothing is
    /// written into another directory of that name: the session numbers there are those of other sessions.
    pub(crate) fn on_disk_shared(
        (dir, home): (Arc<Path>, Option<DirectoryId>),
        id: SessionId,
        retention: Retention,
    ) -> Self {
        Self::on(Arc::new(RealDisk), SegmentPaths { dir, id, home }, retention)
    }

    /// Opens a journal to read it, whether its writer has ended or is still at work; see [`Journal::refresh`]. A
    /// session that printed nothing has no files: its journal is empty, which is not an error.
    pub fn open(dir: &Path, id: SessionId) -> Result<Self, OpenJournal> {
        Self::open_from(dir, id, None)
    }

    /// The same, with the files that its runtime has open: they say how much it wrote, and lead to files that were
    /// removed.
    pub(crate) fn open_from(
        dir: &Path,
        id: SessionId,
        runtime: Option<ProcessKey>,
    ) -> Result<Self, OpenJournal> {
        let opened = Opened::new(SegmentPaths { dir: dir.into(), id, home: None }, runtime)?;
        let journal = Self::with(Storage::Opened(opened), Retention::default());
        journal.adopt_end(&mut journal.lock());
        Ok(journal)
    }

    /// Compares the files with a receipt, which counts every byte: bytes that are in no file are reported as missing
    /// from now on. Only an opened journal needs it.
    pub fn expect(&self, receipt: &Receipt) {
        let mut state = self.lock();
        if let Storage::Opened(opened) = &mut state.storage {
            opened.expect(receipt);
            self.adopt_end(&mut state);
        }
    }

    /// Notes that the disk refused output of a session that still runs. Only an opened journal needs it.
    pub fn expect_degraded(&self, degraded: &Degraded) {
        if let Storage::Opened(opened) = &mut self.lock().storage {
            opened.expect_degraded(degraded);
        }
    }

    /// The reason why the disk has refused output since the last call, if it has.
    pub fn take_new_degradation(&self) -> Option<Degraded> {
        // A load first: this is checked after every append, and a swap would make each of them write to the shared
        // line.
        let is_new = self.shared.is_newly_degraded.load(Ordering::Acquire)
            && self.shared.is_newly_degraded.swap(false, Ordering::AcqRel);
        is_new.then(|| self.lock().degraded()).flatten()
    }

    /// Appends bytes that arrived `at` this time after the session began, and returns their span.
    ///
    /// On a journal that was opened for reading the bytes go to memory: the files belong to another writer.
    pub fn append(&self, stream: Stream, at: Duration, bytes: &[u8]) -> Span {
        let mut state = self.lock();
        let from = state.end;
        if !bytes.is_empty() {
            let was_degraded = state.is_degraded();
            state.append(Chunk { stream, at, bytes });
            if state.is_degraded() && !was_degraded {
                self.shared.is_newly_degraded.store(true, Ordering::Release);
            }
            self.shared.end.store(state.end.get(), Ordering::Release);
        }
        Span::new(from, state.end)
    }

    /// One past the newest byte.
    pub fn end(&self) -> Offset {
        Offset::new(self.shared.end.load(Ordering::Acquire))
    }

    /// The sizes of the terminal that printed it; `None` if pipes did.
    pub fn terminal(&self) -> Option<TerminalSizes> {
        self.sizes().clone()
    }

    /// Sets the sizes of the terminal that prints it.
    pub fn set_terminal(&self, sizes: TerminalSizes) {
        *self.sizes() = Some(sizes);
    }

    /// Notes that the terminal has another size from here on, and returns the offset.
    pub fn resized(&self, size: Size) -> Offset {
        let end = self.end();
        self.sizes().get_or_insert_default().change(end, size);
        end
    }

    /// Notes that the program that printed it has ended. Processes that it left running may still print.
    pub fn set_over(&self) {
        self.shared.over.store(true, Ordering::Release);
    }

    /// Whether the program that printed it has ended, as far as is known here.
    pub fn is_over(&self) -> bool {
        self.shared.over.load(Ordering::Acquire)
    }

    fn sizes(&self) -> MutexGuard<'_, Option<TerminalSizes>> {
        self.shared.sizes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that no more output is expected, and closes the files: an ended session holds no descriptor, except of a
    /// file that was removed, which no name leads to any more.
    pub fn seal(&self) {
        if let Storage::Files(files) = &mut self.lock().storage {
            files.seal();
        }
    }

    /// Checks whether the file being written was removed or truncated; the account says so from then on. One `fstat`,
    /// and none for a journal that is not being written to a file.
    pub fn check(&self) {
        if let Storage::Files(files) = &mut self.lock().storage {
            let _ = files.check();
        }
    }

    /// Looks for bytes that another process appended, and returns the new end. Only an opened journal needs it.
    pub fn refresh(&self) -> Offset {
        let mut state = self.lock();
        if let Storage::Opened(opened) = &mut state.storage {
            opened.refresh();
            self.adopt_end(&mut state);
        }
        state.end
    }

    /// Reads up to `limit` bytes of a span, with stream and time. Missing parts are reported, and cost nothing of the
    /// limit.
    pub fn read(&self, span: Span, limit: usize) -> BoundedRead {
        let mut pieces = Pieces::new(span.from(), limit);
        self.walk(span.to(), &mut pieces);
        pieces.finish()
    }

    /// Adds up to `limit` bytes of the first kept stretch of a span to `into`, and returns where they are: a start
    /// later than the span's means that the bytes before it are gone or cannot be read (the account says which); an
    /// empty span, that there are none.
    pub fn read_into(&self, span: Span, limit: usize, into: &mut Vec<u8>) -> Span {
        let mut stretch = Stretch::new(span.from(), limit, into);
        self.walk(span.to(), &mut stretch);
        stretch.finish()
    }

    /// The account of kept and missing output.
    pub fn account(&self) -> Account {
        let state = self.lock();
        let (gaps, degraded) = (state.gaps(), state.degraded());
        Account {
            end: state.end,
            head_end: gaps.first().map_or(state.end, |gap| gap.from()),
            tail_start: gaps.last().map_or(Offset::ZERO, |gap| gap.to()),
            dropped: gaps.iter().map(|gap| gap.len()).sum(),
            missing: state.missing(&gaps),
            gaps,
            degraded,
            bytes: state.bytes(),
        }
    }

    fn on(disk: Arc<dyn Disk>, place: SegmentPaths, retention: Retention) -> Self {
        Self::with(Storage::Files(FileLog::new(place, disk, retention)), retention)
    }

    fn with(storage: Storage, retention: Retention) -> Self {
        let (bytes, unreadable) = (StreamBytes::default(), Vec::new());
        let state = State { storage, end: Offset::ZERO, bytes, retention, unreadable };
        Self {
            shared: Arc::new(Shared {
                end: AtomicU64::new(0),
                is_newly_degraded: AtomicBool::new(false),
                has_unreadable: AtomicBool::new(false),
                state: Mutex::new(state),
                sizes: Mutex::default(),
                over: AtomicBool::new(false),
            }),
        }
    }

    /// The end of an opened journal follows from its files, or from its receipt.
    fn adopt_end(&self, state: &mut State) {
        if let Storage::Opened(opened) = &state.storage {
            state.end = opened.end();
            self.shared.end.store(state.end.get(), Ordering::Release);
        }
    }

    /// A panic in another thread must not lose the output, so a poisoned lock is used like any other.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Feeds the kept output between the collector's position and `to` to the collector. The lock is held for one step
    /// at a time.
    fn walk(&self, to: Offset, collector: &mut dyn Collect) {
        let to = to.min(self.end());
        while let Some((from, left)) = collector.wanted().filter(|(from, _)| *from < to) {
            let step = self.lock().step(Span::new(from, to), left, collector);
            if let NextStep::ReadSegment(view) = step {
                self.read_segment(&view, Span::new(from, to), collector);
            }
        }
    }

    /// Reads as much of one segment as is wanted, or finds out why it cannot be read.
    fn read_segment(&self, view: &SegmentView, span: Span, collector: &mut dyn Collect) {
        let Some((from, left)) = collector.wanted() else { return };
        let upto = span.to().min(view.segment.end());
        let wanted = Span::new(from, upto.min(from + left.min(upto.get() - from.get())));
        match collector.segment(view, wanted) {
            Ok(()) if !self.shared.has_unreadable.load(Ordering::Relaxed) => {}
            Ok(()) => self.lock().note_readable(view.segment),
            Err(error) => {
                let mut state = self.lock();
                if view.data_len().is_ok_and(|len| state.shorten(view.segment.start, len)) {
                    // The next step finds the remainder of the segment, and a gap.
                    return;
                }
                if state.is_lost(view, &error) {
                    let path = view.place.path(view.segment.start, SegmentPart::Data);
                    let reason = format!("reading {}: {error}{}", path.display(), advice(&error));
                    state.note_unreadable(view.segment, reason.clone());
                    self.shared.has_unreadable.store(true, Ordering::Relaxed);
                    collector.unreadable(Span::new(from, upto), reason);
                }
            }
        }
    }
}

/// The work that remains after the lock is released.
enum NextStep {
    /// Nothing: the collector has moved on.
    Done,
    ReadSegment(SegmentView),
}

impl State {
    fn is_degraded(&self) -> bool {
        matches!(self.storage, Storage::Degraded(_))
    }

    fn append(&mut self, chunk: Chunk<'_>) {
        let (from, before) = (self.end, self.bytes);
        match &mut self.storage {
            Storage::Memory(memory) => memory.append(from, chunk),
            Storage::Degraded(degraded) => degraded.memory.append(from, chunk),
            Storage::Files(files) => {
                if let Err(refused) = files.append(from, chunk, before) {
                    self.degrade(refused, chunk);
                }
            }
            Storage::Opened(_) => {
                self.bytes = self.bytes();
                let reason = String::from("the journal was opened for reading only");
                self.degrade(Refused { written: 0, reason }, chunk);
            }
        }
        self.end = from + chunk.bytes.len() as u64;
        self.bytes = chunk.stream.added_to(self.bytes, chunk.bytes.len() as u64);
    }

    /// Leaves the files as they are and keeps the bytes that the disk refused, and all that follow, in memory.
    fn degrade(&mut self, refused: Refused, chunk: Chunk<'_>) {
        let at = self.end + refused.written as u64;
        let mut memory = MemoryLog::new(self.retention.degraded(), at);
        memory.append(at, Chunk { bytes: &chunk.bytes[refused.written..], ..chunk });
        let placeholder = Storage::Memory(MemoryLog::new(self.retention, at));
        let files = match std::mem::replace(&mut self.storage, placeholder) {
            Storage::Files(mut files) => {
                files.seal();
                files
            }
            Storage::Opened(opened) => opened.into_files(self.retention),
            already @ (Storage::Memory(_) | Storage::Degraded(_)) => return self.storage = already,
        };
        let note = Degraded { at, reason: refused.reason };
        self.storage = Storage::Degraded(Box::new(DegradedStorage { files, memory, note }));
    }

    /// Moves the collector past whatever is at `span.from()`: a hole, or bytes in memory. Files are left to the caller.
    fn step(&self, span: Span, left: u64, collector: &mut dyn Collect) -> NextStep {
        match &self.storage {
            Storage::Memory(memory) => self.copy(memory, (span, left), collector),
            Storage::Files(files) => self.in_files(files, span, collector),
            Storage::Opened(opened) => match opened.segments().find(span.from()) {
                SegmentLookup::Gap { next } => self.hole(span, next, collector),
                SegmentLookup::In(segment) => NextStep::ReadSegment(opened.view(segment)),
            },
            Storage::Degraded(degraded) if span.from() < degraded.note.at => {
                let on_disk = Span::new(span.from(), span.to().min(degraded.note.at));
                self.in_files(&degraded.files, on_disk, collector)
            }
            Storage::Degraded(degraded) => self.copy(&degraded.memory, (span, left), collector),
        }
    }

    fn in_files(&self, files: &FileLog, span: Span, collector: &mut dyn Collect) -> NextStep {
        match files.segments().find(span.from()) {
            SegmentLookup::Gap { next } => self.hole(span, next, collector),
            SegmentLookup::In(segment) => {
                let open = files.open_files(segment.start, span.from());
                NextStep::ReadSegment(SegmentView { place: files.place().clone(), segment, open })
            }
        }
    }

    fn copy(&self, memory: &MemoryLog, (span, left): (Span, u64), collector: &mut dyn Collect) -> NextStep {
        let Some(mut run) = memory.run(span.from()) else {
            return self.hole(span, memory.next_start(span.from()), collector);
        };
        let most = left.min(COPIED_AT_ONCE).min(span.len());
        run.bytes = &run.bytes[..run.bytes.len().min(usize::try_from(most).unwrap_or(usize::MAX))];
        collector.run(run);
        NextStep::Done
    }

    /// Reports the reason for the hole up to the next kept byte, or up to the place where the reason changes.
    fn hole(&self, span: Span, next: Option<Offset>, collector: &mut dyn Collect) -> NextStep {
        let hole = Span::new(span.from(), next.unwrap_or(span.to()).min(span.to()));
        match self.lost().and_then(|lost| lost.split(hole).into_iter().next()) {
            Some((part, Some(why))) => collector.unreadable(part, why.reason()),
            Some((part, None)) => collector.dropped(part),
            None => collector.dropped(hole),
        }
        NextStep::Done
    }

    fn lost(&self) -> Option<&Lost> {
        match &self.storage {
            Storage::Memory(_) => None,
            Storage::Files(files) => Some(files.lost()),
            Storage::Degraded(degraded) => Some(degraded.files.lost()),
            Storage::Opened(opened) => Some(opened.lost()),
        }
    }

    /// Notes that the file of a segment is shorter than the bytes written to it.
    fn shorten(&mut self, start: Offset, len: u64) -> bool {
        match &mut self.storage {
            Storage::Memory(_) => false,
            Storage::Files(files) => files.shorten(start, len),
            Storage::Degraded(degraded) => degraded.files.shorten(start, len),
            Storage::Opened(opened) => opened.shorten(start, len),
        }
    }

    /// Whether a segment that could not be read is still listed, and so has been lost rather than dropped.
    fn is_lost(&mut self, view: &SegmentView, error: &io::Error) -> bool {
        let start = view.segment.start;
        match &mut self.storage {
            Storage::Memory(_) => false,
            Storage::Files(files) => files.segments().contains(start),
            Storage::Degraded(degraded) => degraded.files.segments().contains(start),
            Storage::Opened(opened) => {
                // The writer is another process; that its retention removed the file is the one way to learn of it.
                let is_gone = error.kind() == io::ErrorKind::NotFound;
                if is_gone {
                    opened.forget(start);
                }
                !is_gone
            }
        }
    }

    fn gaps(&self) -> Vec<Span> {
        let mut gaps = Gaps::default();
        match &self.storage {
            Storage::Memory(memory) => memory.spans().for_each(|span| gaps.keep(span)),
            Storage::Files(files) => files.segments().iter().for_each(|segment| gaps.keep(segment.span())),
            Storage::Opened(opened) => opened.segments().iter().for_each(|segment| gaps.keep(segment.span())),
            Storage::Degraded(degraded) => {
                degraded.files.segments().iter().for_each(|segment| gaps.keep(segment.span()));
                degraded.memory.spans().for_each(|span| gaps.keep(span));
            }
        }
        gaps.keep(Span::new(self.end, self.end));
        gaps.found
    }

    fn degraded(&self) -> Option<Degraded> {
        match &self.storage {
            Storage::Degraded(degraded) => Some(degraded.note.clone()),
            Storage::Files(files) => files.degraded(),
            Storage::Opened(opened) => opened.degraded(),
            Storage::Memory(_) => None,
        }
    }

    fn missing(&self, gaps: &[Span]) -> Vec<Missing> {
        let why = |gap: Span| match &self.storage {
            // Of the files of this process, each loss is listed: retention dropped the rest.
            Storage::Degraded(storage) if gap.from() >= storage.note.at => {
                Why::Unsaved(storage.note.reason.clone())
            }
            Storage::Opened(opened) => opened.why(gap),
            _ => Why::Dropped,
        };
        let parts = |gap: &Span| self.lost().map_or_else(|| vec![(*gap, None)], |lost| lost.split(*gap));
        let gone = gaps.iter().flat_map(parts);
        let gone = gone.map(|(span, known)| Missing { span, why: known.unwrap_or_else(|| why(span)) });
        // An unreadable segment that retention has dropped since is among the gaps already.
        let still = |missing: &&Missing| gaps.iter().all(|gap| gap.intersect(missing.span).is_empty());
        gone.chain(self.unreadable.iter().filter(still).cloned()).collect()
    }

    fn note_unreadable(&mut self, segment: Segment, reason: String) {
        self.note_readable(segment);
        self.unreadable.push(Missing { span: segment.span(), why: Why::Unreadable(reason) });
    }

    /// The segment can be read again: an error such as too many open files passes.
    fn note_readable(&mut self, segment: Segment) {
        self.unreadable.retain(|missing| missing.span.from() != segment.start);
    }

    fn bytes(&self) -> StreamBytes {
        match &self.storage {
            Storage::Opened(opened) => opened.bytes(),
            Storage::Memory(_) | Storage::Files(_) | Storage::Degraded(_) => self.bytes,
        }
    }
}

/// How much is copied out of memory while the appender may have to wait: a few microseconds' worth.
const COPIED_AT_ONCE: u64 = 64 << 10;
