//! The results of reading a journal, and the two ways to collect them: pieces with stream and time, or bytes alone.

use std::io;
use std::time::Duration;

use windlass_output::{Offset, Span};

use super::Stream;
use super::memory::Run;
use super::scan::SegmentView;

/// A part of the span that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalPiece {
    /// Output of one stream that arrived within a millisecond of `at`.
    Bytes {
        /// The span of these bytes.
        span: Span,
        /// The stream that printed them.
        stream: Stream,
        /// When the first of them arrived, since the session began.
        at: Duration,
        /// The bytes; as many as the span is long.
        bytes: Vec<u8>,
    },
    /// Retention has dropped these.
    Dropped {
        /// The span of the dropped bytes.
        span: Span,
    },
    /// These should be on disk, but could not be read.
    Unreadable {
        /// The span of these bytes.
        span: Span,
        /// The error, with the file's name.
        reason: String,
    },
}

impl JournalPiece {
    /// The span that this piece covers.
    pub fn span(&self) -> Span {
        match self {
            Self::Bytes { span, .. } | Self::Dropped { span } | Self::Unreadable { span, .. } => *span,
        }
    }
}

/// A bounded read: pieces that follow one another without a hole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundedRead {
    /// In order; together they cover everything from the span's start to `next`.
    pub pieces: Vec<JournalPiece>,
    /// The offset to continue from. Equal to the end of the span, or of the journal, when there is nothing left.
    pub next: Offset,
}

/// Receives what a walk over the journal finds.
pub(super) trait Collect {
    /// Where to look next, and how many bytes are still wanted; `None` ends the walk.
    fn wanted(&self) -> Option<(Offset, u64)>;
    fn run(&mut self, run: Run<'_>);
    fn segment(&mut self, view: &SegmentView, span: Span) -> io::Result<()>;
    fn dropped(&mut self, span: Span);
    fn unreadable(&mut self, span: Span, reason: String);
}

/// Collects pieces.
pub(super) struct Pieces {
    reading: BoundedRead,
    left: u64,
}

impl Pieces {
    pub(super) fn new(from: Offset, limit: usize) -> Self {
        Self { reading: BoundedRead { pieces: Vec::new(), next: from }, left: limit as u64 }
    }

    pub(super) fn finish(self) -> BoundedRead {
        self.reading
    }

    fn push(&mut self, piece: JournalPiece) {
        self.reading.next = piece.span().to();
        if let JournalPiece::Bytes { bytes, .. } = &piece {
            self.left = self.left.saturating_sub(bytes.len() as u64);
        }
        match (self.reading.pieces.last_mut(), piece) {
            (Some(last), piece) if is_continued_by(last, &piece) => extend(last, piece),
            (_, piece) => self.reading.pieces.push(piece),
        }
    }
}

impl Collect for Pieces {
    fn wanted(&self) -> Option<(Offset, u64)> {
        (self.left > 0).then_some((self.reading.next, self.left))
    }

    fn run(&mut self, run: Run<'_>) {
        let span = Span::new(run.from, run.from + run.bytes.len() as u64);
        let (stream, at) = (run.record.stream, run.record.at);
        self.push(JournalPiece::Bytes { span, stream, at, bytes: run.bytes.to_vec() });
    }

    fn segment(&mut self, view: &SegmentView, span: Span) -> io::Result<()> {
        let mut bytes = Vec::new();
        view.read_bytes(span, &mut bytes)?;
        for (run, record) in view.runs(span) {
            let (stream, at) = (record.stream, record.at);
            // One record covers everything in the common case: its bytes are moved, not copied.
            let these =
                if run == span { std::mem::take(&mut bytes) } else { bytes[within(span, run)].to_vec() };
            self.push(JournalPiece::Bytes { span: run, stream, at, bytes: these });
        }
        Ok(())
    }

    fn dropped(&mut self, span: Span) {
        self.push(JournalPiece::Dropped { span });
    }

    fn unreadable(&mut self, span: Span, reason: String) {
        self.push(JournalPiece::Unreadable { span, reason });
    }
}

/// Collects the bytes of the first kept stretch.
pub(super) struct Stretch<'a> {
    into: &'a mut Vec<u8>,
    span: Span,
    left: u64,
}

impl<'a> Stretch<'a> {
    pub(super) fn new(from: Offset, limit: usize, into: &'a mut Vec<u8>) -> Self {
        Self { into, span: Span::new(from, from), left: limit as u64 }
    }

    pub(super) fn finish(self) -> Span {
        self.span
    }

    fn advance(&mut self, count: u64) {
        self.span = Span::new(self.span.from(), self.span.to() + count);
        self.left = self.left.saturating_sub(count);
    }

    /// A hole before the first byte moves the start; a hole after it ends the stretch.
    fn skip(&mut self, hole: Span) {
        if self.span.is_empty() {
            self.span = Span::new(hole.to(), hole.to());
        } else {
            self.left = 0;
        }
    }
}

impl Collect for Stretch<'_> {
    fn wanted(&self) -> Option<(Offset, u64)> {
        (self.left > 0).then_some((self.span.to(), self.left))
    }

    fn run(&mut self, run: Run<'_>) {
        self.into.extend_from_slice(run.bytes);
        self.advance(run.bytes.len() as u64);
    }

    fn segment(&mut self, view: &SegmentView, span: Span) -> io::Result<()> {
        view.read_bytes(span, self.into)?;
        self.advance(span.len());
        Ok(())
    }

    fn dropped(&mut self, span: Span) {
        self.skip(span);
    }

    fn unreadable(&mut self, span: Span, _reason: String) {
        self.skip(span);
    }
}

/// The range of a part of a span within the span's bytes.
fn within(span: Span, part: Span) -> std::ops::Range<usize> {
    let index = |at: Offset| usize::try_from(at.get() - span.from().get()).unwrap_or(usize::MAX);
    index(part.from())..index(part.to())
}

/// The end of a segment, or a lock that was released in between, does not concern readers: such pieces become one.
fn is_continued_by(last: &JournalPiece, piece: &JournalPiece) -> bool {
    match (last, piece) {
        (
            JournalPiece::Bytes { stream, at, .. },
            JournalPiece::Bytes { stream: next_stream, at: next_at, .. },
        ) => (stream, at) == (next_stream, next_at),
        (JournalPiece::Dropped { .. }, JournalPiece::Dropped { .. }) => true,
        _ => false,
    }
}

fn extend(last: &mut JournalPiece, piece: JournalPiece) {
    match (last, piece) {
        (JournalPiece::Bytes { span, bytes, .. }, JournalPiece::Bytes { span: next, bytes: more, .. }) => {
            *span = Span::new(span.from(), next.to());
            bytes.extend_from_slice(&more);
        }
        (JournalPiece::Dropped { span }, JournalPiece::Dropped { span: next }) => {
            *span = Span::new(span.from(), next.to());
        }
        _ => {}
    }
}
