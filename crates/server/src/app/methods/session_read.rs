//! `session/read`: output by its address: a span of bytes, lines by number, or lines that match.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use windlass_engine::{Form, Journal, JournalPiece, Missing, Offset, OutputPart, Reader, ReaderDemand, Span};
use windlass_output::{
    Context, Grep, GrepKind, GrepLine, LineNumber, LineRange, Pattern, RangeLines, View, ViewLine,
};
use windlass_protocol::app::{
    LineChoice, OutputChunk, OutputLine, OutputSpan, SessionReadParams, SessionReadResult, SpanChoice,
    UnreadableOutput,
};
use windlass_protocol::envelope::{INTERNAL_ERROR, INVALID_PARAMS, Refusal};

use super::target;
use crate::app::connection::{Connection, Request};
use crate::app::output::Channel;
use crate::app::process::Process;

/// The bytes of output in a reply unless the client asks for another number.
const DEFAULT_BYTES: usize = 1024 * 1024;

/// The largest number of bytes of output in a reply.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// The largest number of lines in a reply: short lines take more room than their text.
const MOST_LINES: usize = 65_536;

/// The most lines around a match.
const MOST_CONTEXT: usize = 1000;

pub(super) fn call(connection: &mut Connection, mut request: Request) -> Result<(), Refusal> {
    let params: SessionReadParams = request.read()?;
    connection.client()?;
    let limit = params.max_bytes.unwrap_or(DEFAULT_BYTES).min(MOST_BYTES);
    let choice = Choice::of(&params)?;
    let process = target::find(connection, params.target)?;
    let (peer, turn) = (connection.peer.clone(), Arc::clone(&connection.reading));
    let id = request.id.clone();
    let reading = async move {
        // Replies are large: they are made one at a time, and only after the client has taken the earlier ones. The
        // semaphore is never closed.
        let _turn = turn.acquire().await;
        if peer.room().await.is_err() {
            return;
        }
        // A large read takes a while: it must not block the threads that serve all connections.
        match tokio::task::spawn_blocking(move || read(&process, &choice, limit)).await {
            Ok(result) => peer.answer(&request.id, &result),
            Err(error) => peer.refuse(&request.id, &Refusal::new(INTERNAL_ERROR, error.to_string())),
        }
    };
    connection.run_answering(id, reading)
}

/// The part of the output to read.
enum Choice {
    Span(SpanChoice),
    Lines(LineRange),
    /// Lines that match, from this line on.
    Grep(Box<Grep>, LineNumber),
}

impl Choice {
    fn of(params: &SessionReadParams) -> Result<Self, Refusal> {
        match (&params.span, &params.lines, &params.grep) {
            (span, None, None) => Ok(Self::Span(span.unwrap_or_default())),
            (None, Some(lines), None) => range(*lines).map(Self::Lines),
            (None, None, Some(grep)) => {
                let pattern = Pattern::new(&grep.pattern)
                    .map_err(|error| refused(format!("session/read grep.pattern: {error}")))?;
                let around = grep.context.min(MOST_CONTEXT);
                let context = Context { before: around, after: around };
                let first = range(LineChoice { first: grep.first.unwrap_or(1), last: None })?.first;
                Ok(Self::Grep(Box::new(Grep::new(pattern, context)), first))
            }
            _ => Err(refused("session/read takes at most one of span, lines and grep")),
        }
    }
}

fn range(lines: LineChoice) -> Result<LineRange, Refusal> {
    let LineChoice { first, last } = lines;
    let last = last.unwrap_or(u64::MAX);
    if first == 0 {
        return Err(refused("session/read counts lines from 1"));
    }
    // A client that continues after the last line asks for an empty range, and gets one.
    if last < first - 1 {
        return Err(refused(format!("session/read lines: the last, {last}, is before the first, {first}")));
    }
    Ok(LineRange { first: LineNumber::new(first), last: LineNumber::new(last) })
}

fn refused(message: impl Into<String>) -> Refusal {
    Refusal::new(INVALID_PARAMS, message)
}

fn read(process: &Arc<Process>, choice: &Choice, limit: usize) -> SessionReadResult {
    let session = &process.session;
    // Read before the journal: a session that was closed by then prints no more.
    let closed = session.progress().closed;
    let journal = session.journal();
    let mut result = SessionReadResult {
        session_id: session.id().get(),
        end: journal.end().get(),
        closed,
        ..SessionReadResult::default()
    };
    match choice {
        Choice::Span(span) => read_span(journal, *span, (limit, &mut result)),
        Choice::Lines(range) => read_lines(journal, *range, (limit, &mut result)),
        Choice::Grep(grep, first) => read_matches(journal, (grep, *first), (limit, &mut result)),
    }
    result
}

fn read_span(journal: &Journal, span: SpanChoice, (limit, result): (usize, &mut SessionReadResult)) {
    let end = Offset::new(result.end);
    let from = Offset::new(span.from).min(end);
    let to = span.to.map_or(end, |to| Offset::new(to).min(end)).max(from);
    let reading = journal.read(Span::new(from, to), limit);
    for piece in reading.pieces {
        match piece {
            JournalPiece::Bytes { span, stream, at, bytes } => result.chunks.push(OutputChunk {
                offset: span.from().get(),
                stream: Channel::of(stream).into(),
                at_us: microseconds(at),
                delta_base64: STANDARD.encode(bytes),
            }),
            JournalPiece::Dropped { span } => result.dropped.push(span_of(span)),
            JournalPiece::Unreadable { span, reason } => {
                result.dropped.push(span_of(span));
                let (from, to) = (span.from().get(), span.to().get());
                result.unreadable.push(UnreadableOutput { from, to, reason });
            }
        }
    }
    result.truncated = reading.next < to;
    // A client that asks for output not yet printed continues at its offset, not before it.
    result.next = Some(reading.next.get().max(span.from));
}

fn span_of(span: Span) -> OutputSpan {
    OutputSpan { from: span.from().get(), to: span.to().get() }
}

fn microseconds(at: Duration) -> u64 {
    u64::try_from(at.as_micros()).unwrap_or(u64::MAX)
}

fn read_lines(journal: &Journal, range: LineRange, (limit, result): (usize, &mut SessionReadResult)) {
    let (mut wanted, mut lines) = (RangeLines::new(range), Lines::up_to(limit));
    scan(journal, result, |view| {
        let Some(view) = view else {
            lines.tear();
            return ReaderDemand::More;
        };
        wanted.feed(view);
        wanted.take().lines().for_each(|line| lines.add_part(&line));
        if wanted.is_complete() || lines.full { ReaderDemand::NoMore } else { ReaderDemand::More }
    });
    lines.fill(result);
}

fn read_matches(
    journal: &Journal,
    (grep, first): (&Grep, LineNumber),
    (limit, result): (usize, &mut SessionReadResult),
) {
    let (mut grep, mut found, mut lines) = (grep.clone(), Vec::new(), Lines::up_to(limit));
    let mut add = |found: &mut Vec<GrepLine>| {
        found.drain(..).filter(|line| line.number >= first).for_each(|line| {
            // Cut a line that is too long for any reply, or it would never be returned.
            lines.add(found_line(line.within(limit)));
        });
        if lines.full { ReaderDemand::NoMore } else { ReaderDemand::More }
    };
    let wanted = scan(journal, result, |view| {
        let Some(view) = view else { return ReaderDemand::More };
        grep.feed(view, &mut found);
        add(&mut found)
    });
    if wanted == ReaderDemand::More {
        grep.finish(&mut found);
        add(&mut found);
    }
    lines.fill(result);
}

fn found_line(line: GrepLine) -> OutputLine {
    OutputLine {
        number: line.number.get(),
        matches: line.kind == GrepKind::Match,
        span: span_of(line.raw),
        cut: line.cut.any(),
        text: line.text,
    }
}

/// Lines, as many as fit into a reply. The last of them is whole, so that a client which continues with the next misses
/// nothing; only a single line that is too long by itself is cut.
struct Lines {
    /// How many bytes of text may be added.
    left: usize,
    lines: Vec<OutputLine>,
    truncated: bool,
    /// Whether a line was left out for lack of room, so that no more are wanted.
    full: bool,
    /// Whether the last line has not ended yet.
    open: bool,
    /// The number of a line whose end was dropped.
    torn: Option<u64>,
}

impl Lines {
    fn up_to(limit: usize) -> Self {
        Self { left: limit, lines: Vec::new(), truncated: false, full: false, open: false, torn: None }
    }

    /// Adds a line, or its next part.
    fn add_part(&mut self, line: &ViewLine<'_>) {
        let number = line.number.get();
        if self.torn == Some(number) {
            return;
        }
        self.open = !line.ends;
        let is_only = self.lines.len() == 1;
        let Some(last) = self.lines.last_mut().filter(|last| last.number == number && !self.full) else {
            let (text, span) = (line.text.to_owned(), span_of(line.raw));
            return self.add(OutputLine { number, text, matches: false, span, cut: false });
        };
        last.span.to = line.raw.to().get();
        if line.text.len() <= self.left {
            self.left -= line.text.len();
            last.text.push_str(line.text);
        } else if is_only {
            last.text.push_str(&line.text[..line.text.floor_char_boundary(self.left)]);
            (self.left, last.cut, self.truncated) = (0, true, true);
        } else {
            self.lines.pop();
            self.is_full();
        }
    }

    /// Marks the last line as cut: the output after it is missing.
    fn tear(&mut self) {
        if let Some(last) = self.lines.last_mut().filter(|_| self.open && !self.full) {
            last.cut = true;
            self.torn = Some(last.number);
        }
    }

    fn add(&mut self, mut line: OutputLine) {
        let is_first = self.lines.is_empty();
        if self.full
            || self.truncated
            || self.lines.len() == MOST_LINES
            || (line.text.len() > self.left && !is_first)
        {
            return self.is_full();
        }
        if line.text.len() > self.left {
            line.text.truncate(line.text.floor_char_boundary(self.left));
            (self.left, line.cut, self.truncated) = (0, true, true);
        }
        self.left = self.left.saturating_sub(line.text.len());
        self.lines.push(line);
    }

    fn is_full(&mut self) {
        (self.full, self.truncated) = (true, true);
    }

    fn fill(self, result: &mut SessionReadResult) {
        (result.lines, result.truncated) = (self.lines, self.truncated);
    }
}

/// The span of output that is missing for another reason than retention.
fn unreadable(missing: &Missing) -> Option<UnreadableOutput> {
    let (from, to) = (missing.span.from().get(), missing.span.to().get());
    (!missing.is_expected()).then(|| UnreadableOutput { from, to, reason: missing.why.to_string() })
}

/// Renders everything that was printed as settled text, and collects the missing spans: they have no text.
fn scan(
    journal: &Journal,
    result: &mut SessionReadResult,
    mut take: impl FnMut(Option<&View>) -> ReaderDemand,
) -> ReaderDemand {
    let mut reader = Reader::new(journal, Offset::ZERO, Form::Settled);
    let mut take = |part: OutputPart<'_>| -> Result<ReaderDemand, Infallible> {
        Ok(match part {
            OutputPart::Text(view) => take(Some(view)),
            OutputPart::Gone(missing) => {
                result.dropped.push(span_of(missing.span));
                result.unreadable.extend(unreadable(missing));
                take(None)
            }
        })
    };
    let Ok(wanted) = reader.advance(Offset::new(u64::MAX), &mut take);
    if wanted == ReaderDemand::More {
        let Ok(()) = reader.finish(&mut take);
    }
    wanted
}
