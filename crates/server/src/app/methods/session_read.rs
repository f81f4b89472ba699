//! `session/read`: output by its address: a span of bytes, lines by number, or lines that match.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use windlass_engine::{Form, Journal, Offset, Part, Piece, Reader, Span, Wanted};
use windlass_output::{Context, Grep, GrepKind, GrepLine, LineNumber, LineRange, Pattern, RangeLines, View};
use windlass_protocol::app::{
    LineChoice, OutputChunk, OutputLine, OutputSpan, SessionReadParams, SessionReadResult, SpanChoice,
};
use windlass_protocol::envelope::{INTERNAL_ERROR, INVALID_PARAMS, Refusal};

use super::target;
use crate::app::connection::{Connection, Request};
use crate::app::output::Channel;
use crate::app::process::Process;

/// What an answer holds of the output unless it is said otherwise.
const DEFAULT_BYTES: usize = 1024 * 1024;

/// What an answer holds at most.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// The most lines around a match.
const MOST_CONTEXT: usize = 1000;

pub(super) fn call(connection: &mut Connection, mut request: Request) -> Result<(), Refusal> {
    let params: SessionReadParams = request.read()?;
    connection.client()?;
    let limit = params.max_bytes.unwrap_or(DEFAULT_BYTES).min(MOST_BYTES);
    let choice = Choice::of(&params)?;
    let process = target::find(connection, params.target)?;
    let (peer, turn) = (connection.peer.clone(), Arc::clone(&connection.reading));
    let reading = async move {
        // Answers are large: they are made one at a time, and not before the client has taken the earlier ones. Nobody
        // closes the semaphore.
        let _turn = turn.acquire().await;
        if peer.room().await.is_err() {
            return;
        }
        // A large output takes a while: not on the threads that serve everyone.
        match tokio::task::spawn_blocking(move || read(&process, &choice, limit)).await {
            Ok(result) => peer.answer(&request.id, &result),
            Err(error) => peer.refuse(&request.id, &Refusal::new(INTERNAL_ERROR, error.to_string())),
        }
    };
    connection.run_errand(reading).map(drop)
}

/// What is to be read.
enum Choice {
    Span(SpanChoice),
    Lines(LineRange),
    Grep(Box<Grep>),
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
                Ok(Self::Grep(Box::new(Grep::new(pattern, context))))
            }
            _ => Err(refused("session/read takes at most one of span, lines and grep")),
        }
    }
}

fn range(lines: LineChoice) -> Result<LineRange, Refusal> {
    let LineChoice { first, last } = lines;
    let last = last.unwrap_or(u64::MAX);
    if first == 0 || last < first {
        return Err(refused("session/read lines count from 1, and the last is not before the first"));
    }
    Ok(LineRange { first: LineNumber::new(first), last: LineNumber::new(last) })
}

fn refused(message: impl Into<String>) -> Refusal {
    Refusal::new(INVALID_PARAMS, message)
}

fn read(process: &Arc<Process>, choice: &Choice, limit: usize) -> SessionReadResult {
    let session = &process.session;
    // Before the journal is looked at: what was closed then prints no more.
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
        Choice::Grep(grep) => read_matches(journal, grep, (limit, &mut result)),
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
            Piece::Bytes { span, stream, at, bytes } => result.chunks.push(OutputChunk {
                offset: span.from().get(),
                stream: Channel::of(stream).into(),
                at_us: microseconds(at),
                delta_base64: STANDARD.encode(bytes),
            }),
            Piece::Dropped { span } | Piece::Unreadable { span, .. } => result.dropped.push(gone(span)),
        }
    }
    result.truncated = reading.next < to;
    // Who asks for what is not printed yet goes on there, not before it.
    result.next = Some(reading.next.get().max(span.from));
}

fn gone(span: Span) -> OutputSpan {
    OutputSpan { from: span.from().get(), to: span.to().get() }
}

fn microseconds(at: Duration) -> u64 {
    u64::try_from(at.as_micros()).unwrap_or(u64::MAX)
}

fn read_lines(journal: &Journal, range: LineRange, (limit, result): (usize, &mut SessionReadResult)) {
    let mut lines = RangeLines::new(range);
    let mut held = 0;
    let mut chosen: Vec<View> = Vec::new();
    scan(journal, result, |view| {
        lines.feed(view);
        let some = lines.take();
        held += some.text().len();
        chosen.push(some);
        if lines.is_complete() || held > limit { Wanted::NoMore } else { Wanted::More }
    });
    let mut sum = Lines { limit, result };
    for line in chosen.iter().flat_map(View::lines) {
        sum.add_part(&line);
    }
}

fn read_matches(journal: &Journal, grep: &Grep, (limit, result): (usize, &mut SessionReadResult)) {
    let (mut grep, mut found, mut matches) = (grep.clone(), Vec::new(), Vec::new());
    let mut held = 0;
    scan(journal, result, |view| {
        grep.feed(view, &mut found);
        held += found.iter().map(|line: &GrepLine| line.text.len()).sum::<usize>();
        matches.append(&mut found);
        if held > limit { Wanted::NoMore } else { Wanted::More }
    });
    grep.finish(&mut matches);
    let mut sum = Lines { limit, result };
    for line in matches {
        sum.add(OutputLine {
            number: line.number.get(),
            text: line.text,
            matches: line.kind == GrepKind::Match,
        });
    }
}

/// Lines, as many as may be.
struct Lines<'a> {
    limit: usize,
    result: &'a mut SessionReadResult,
}

impl Lines<'_> {
    /// Adds a line, or its next part.
    fn add_part(&mut self, line: &windlass_output::ViewLine<'_>) {
        let number = line.number.get();
        match self.result.lines.last_mut().filter(|last| last.number == number) {
            Some(last) if line.text.len() <= self.limit => {
                self.limit -= line.text.len();
                last.text.push_str(line.text);
            }
            Some(_) => self.result.truncated = true,
            None => self.add(OutputLine { number, text: line.text.to_owned(), matches: false }),
        }
    }

    fn add(&mut self, line: OutputLine) {
        if self.result.truncated || line.text.len() > self.limit {
            self.result.truncated = true;
        } else {
            self.limit -= line.text.len();
            self.result.lines.push(line);
        }
    }
}

/// Shows everything that was printed, as a terminal would finally show it, and notes what is gone.
fn scan(journal: &Journal, result: &mut SessionReadResult, mut take: impl FnMut(&View) -> Wanted) {
    let mut reader = Reader::new(journal, Offset::ZERO, Form::Settled);
    let mut take = |part: Part<'_>| -> Result<Wanted, Infallible> {
        Ok(match part {
            Part::Text(view) => take(view),
            Part::Gone(span) => {
                result.dropped.push(gone(span));
                Wanted::More
            }
        })
    };
    let Ok(wanted) = reader.advance(Offset::new(u64::MAX), &mut take);
    if wanted == Wanted::More {
        let Ok(()) = reader.finish(&mut take);
    }
}
