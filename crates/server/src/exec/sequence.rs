//! The events of one process and their numbers: output, the exit, and the end of all output.
//!
//! An event gets its number when it is first sent or read, so output that no client has seen stays together and is
//! numbered in large pieces later. This module stores an index from numbers to offsets; the bytes are the journal's.

use std::collections::VecDeque;

use windlass_engine::{Exit, Journal, JournalPiece, Offset, Progress, Span, Stream};

/// The most bytes of one event.
pub(super) const CHUNK: usize = 32 * 1024;

/// The most events that are remembered of one process: two megabytes of index. Output in two streams that alternate
/// byte by byte has more; the oldest then cannot be read again.
const REMEMBERED: usize = 128 * 1024;

/// The most bytes that are numbered for one request, whether they are returned or not.
const AT_ONCE: u64 = 16 * 1024 * 1024;

/// The index of numbered events.
#[derive(Debug)]
pub(super) struct Sequence {
    entries: VecDeque<EventEntry>,
    /// The number of the first entry.
    first: u64,
    /// Where the first entry begins.
    start: Offset,
    /// The offset up to which output has numbers.
    numbered: Offset,
    exited: Option<Exited>,
    closed: bool,
}

#[derive(Clone, Copy, Debug)]
struct EventEntry {
    /// Its end; it begins at the end of the entry before it.
    to: Offset,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Output(Stream),
    Exited,
    Closed,
}

/// How the process exited, and the number of that event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exited {
    pub(super) seq: u64,
    pub(super) exit: Exit,
}

/// An event of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ProcessEvent {
    Output(Output),
    Exited(Exited),
    Closed { seq: u64 },
}

/// Bytes of one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Output {
    pub(super) seq: u64,
    pub(super) stream: Stream,
    pub(super) bytes: Vec<u8>,
    /// The number of further bytes, which retention dropped.
    pub(super) dropped: u64,
}

/// A range of events.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventRange {
    /// The events with greater numbers.
    pub(super) after: u64,
    /// The most bytes of output. One event is returned whatever its length.
    pub(super) most: u64,
}

/// Consecutive events.
#[derive(Debug)]
pub(super) struct Batch {
    wanted: EventRange,
    pub(super) events: Vec<ProcessEvent>,
    bytes: u64,
    /// Whether more events were available than the range allows.
    pub(super) is_cut: bool,
    /// The offset at which the output of these events ends.
    pub(super) reached: Offset,
}

impl Default for Sequence {
    fn default() -> Self {
        Self {
            entries: VecDeque::new(),
            first: 1,
            start: Offset::ZERO,
            numbered: Offset::ZERO,
            exited: None,
            closed: false,
        }
    }
}

impl Sequence {
    /// The number of the next event.
    pub(super) fn next(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    /// The exit, once it has a number.
    pub(super) fn exited(&self) -> Option<Exited> {
        self.exited
    }

    /// Whether all events have numbers.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// The events in a range, as far as the process has got. The caller must have read `progress` before this call.
    pub(super) fn collect(&mut self, journal: &Journal, progress: &Progress, wanted: EventRange) -> Batch {
        let mut batch = Batch::of(wanted);
        self.recall(journal, &mut batch);
        self.number(journal, progress, &mut batch);
        batch
    }

    /// Adds events that have numbers already.
    fn recall(&self, journal: &Journal, batch: &mut Batch) {
        let skipped = usize::try_from(batch.wanted.after.saturating_add(1).saturating_sub(self.first))
            .unwrap_or(usize::MAX);
        let before = skipped.checked_sub(1).and_then(|last| self.entries.get(last));
        let mut from = before.map_or(self.start, |entry| entry.to);
        for (place, entry) in self.entries.iter().enumerate().skip(skipped) {
            let span = Span::new(from, entry.to);
            if batch.is_full(span.len()) {
                batch.is_cut = true;
                return;
            }
            let seq = self.first + place as u64;
            batch.add(self.event(seq, entry.what, || kept(journal, span)), entry.to);
            from = entry.to;
        }
    }

    fn event(&self, seq: u64, what: What, kept: impl FnOnce() -> (Vec<u8>, u64)) -> ProcessEvent {
        match what {
            What::Output(stream) => {
                let (bytes, dropped) = kept();
                ProcessEvent::Output(Output { seq, stream, bytes, dropped })
            }
            What::Exited => ProcessEvent::Exited(self.exited.unwrap_or(Exited { seq, exit: Exit::Unknown })),
            What::Closed => ProcessEvent::Closed { seq },
        }
    }

    /// Numbers what happened since, in as few events as possible.
    fn number(&mut self, journal: &Journal, progress: &Progress, batch: &mut Batch) {
        let furthest = self.numbered + AT_ONCE;
        while !batch.is_cut && self.numbered < furthest {
            let end = self.output_before_next_event(progress);
            if self.numbered < end {
                let reading = journal.read(Span::new(self.numbered, end), CHUNK);
                joined(reading.pieces).into_iter().for_each(|part| self.number_part(part, batch));
            } else if let Some(receipt) = progress.receipt.as_ref().filter(|_| self.exited.is_none()) {
                self.exited = Some(Exited { seq: self.next(), exit: receipt.exit });
                self.number_event(What::Exited, batch);
            } else if progress.closed && !self.closed {
                self.closed = true;
                self.number_event(What::Closed, batch);
            } else {
                return;
            }
        }
    }

    /// The exit comes after the output of the process itself, and before later output of processes that it left
    /// running.
    fn output_before_next_event(&self, progress: &Progress) -> Offset {
        match &progress.receipt {
            Some(receipt) if self.exited.is_none() => Offset::new(receipt.bytes.total()),
            _ => progress.end,
        }
    }

    fn number_part(&mut self, part: PendingOutput, batch: &mut Batch) {
        let (seq, to) = (self.next(), part.to);
        self.remember(EventEntry { to, what: What::Output(part.stream) });
        if seq <= batch.wanted.after {
            return;
        }
        if batch.is_cut || batch.is_full(part.bytes.len() as u64) {
            batch.is_cut = true;
            return;
        }
        let PendingOutput { stream, bytes, dropped, .. } = part;
        batch.add(ProcessEvent::Output(Output { seq, stream, bytes, dropped }), to);
    }

    fn number_event(&mut self, what: What, batch: &mut Batch) {
        let seq = self.next();
        self.remember(EventEntry { to: self.numbered, what });
        if seq > batch.wanted.after {
            let event = self.event(seq, what, Default::default);
            batch.add(event, self.numbered);
        }
    }

    fn remember(&mut self, entry: EventEntry) {
        self.numbered = entry.to;
        self.entries.push_back(entry);
        if self.entries.len() > REMEMBERED
            && let Some(oldest) = self.entries.pop_front()
        {
            self.first += 1;
            self.start = oldest.to;
        }
    }
}

impl Batch {
    /// The number of the last event in the batch.
    pub(super) fn last(&self) -> Option<u64> {
        self.events.last().map(ProcessEvent::seq)
    }

    fn of(wanted: EventRange) -> Self {
        Self { wanted, events: Vec::new(), bytes: 0, is_cut: false, reached: Offset::ZERO }
    }

    fn is_full(&self, more: u64) -> bool {
        self.bytes > 0 && self.bytes + more > self.wanted.most
    }

    fn add(&mut self, event: ProcessEvent, reached: Offset) {
        if let ProcessEvent::Output(output) = &event {
            // An event without bytes counts as one, or a batch of dropped output could be endless.
            self.bytes += (output.bytes.len() as u64).max(1);
        }
        self.reached = reached;
        self.events.push(event);
    }
}

impl ProcessEvent {
    pub(super) fn seq(&self) -> u64 {
        match self {
            Self::Output(output) => output.seq,
            Self::Exited(exited) => exited.seq,
            Self::Closed { seq } => *seq,
        }
    }
}

/// Output that is about to get a number.
struct PendingOutput {
    to: Offset,
    stream: Stream,
    bytes: Vec<u8>,
    dropped: u64,
}

/// Joins consecutive pieces of one stream.
fn joined(pieces: Vec<JournalPiece>) -> Vec<PendingOutput> {
    let mut parts: Vec<PendingOutput> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let to = piece.span().to();
        match (piece, parts.last_mut()) {
            (JournalPiece::Bytes { stream, bytes, .. }, Some(last)) if last.stream == stream => {
                last.bytes.extend_from_slice(&bytes);
                last.to = to;
            }
            (JournalPiece::Bytes { stream, bytes, .. }, _) => {
                parts.push(PendingOutput { to, stream, bytes, dropped: 0 });
            }
            // The stream of dropped bytes is not known any more.
            (gone, last) => {
                let stream = last.map_or(Stream::Stdout, |last| last.stream);
                parts.push(PendingOutput { to, stream, bytes: Vec::new(), dropped: gone.span().len() });
            }
        }
    }
    parts
}

/// The bytes of a span that the journal still has, and the number of those it dropped.
fn kept(journal: &Journal, span: Span) -> (Vec<u8>, u64) {
    let (mut kept, mut dropped) = (Vec::new(), 0);
    for piece in journal.read(span, usize::try_from(span.len()).unwrap_or(usize::MAX)).pieces {
        match piece {
            JournalPiece::Bytes { bytes, .. } if kept.is_empty() => kept = bytes,
            JournalPiece::Bytes { bytes, .. } => kept.extend_from_slice(&bytes),
            gone => dropped += gone.span().len(),
        }
    }
    (kept, dropped)
}
