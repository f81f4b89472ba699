//! `read_output`: any part of a session's output, again and as often as wanted. It never moves the unread position.

use std::borrow::Cow;
use std::convert::Infallible;

use serde_json::{Map, Value, json};
use windlass_engine::{Fitted, Journal, Missing, OutputPart, Reader, ReaderDemand, find_raw};
use windlass_output::{
    Context, Grep, GrepKind, GrepLine, LONGEST_SHOWN_LINE, LineNumber, LineRange, Offset, Pattern,
    RangeLines, Span, TailLines, Tokens, View,
};

use super::{CallContext, ToolError, note_lines, shape};
use crate::arguments::{Arguments, BadArgument, Field, Kind, schema};
use crate::call::Reply;
use crate::catalogue::{Hints, Tool};
use crate::live_session::{Number, Showing, ViewKind, screen_fitted};
use crate::readable::ReadableSession;
use crate::report;

pub(crate) const TOOL: Tool = Tool {
    name: "read_output",
    title: "Read a session's output",
    description: "Reads any part of a session's output again, also after it ended: a span that a truncation marker names \
                  (from, to), lines (from_line, lines), the last ones (tail_lines), or lines that match: \
                  {\"session_id\":1001,\"grep\":\"error\",\"context\":3}",
    hints: Hints { read_only: true, destructive: false, idempotent: true, open_world: false },
    input: || schema(&FIELDS, &["session_id"]),
    output: || shape(&json!({ "session": { "type": "integer" }, "output": { "type": "string" } })),
};

const FIELDS: [Field; 10] = [
    Field { name: "session_id", kind: Kind::Session, about: "" },
    Field { name: "from", kind: Kind::Whole, about: "byte offset" },
    Field { name: "to", kind: Kind::Whole, about: "" },
    Field { name: "from_line", kind: Kind::Whole, about: "1 is the first" },
    Field { name: "lines", kind: Kind::Whole, about: "" },
    Field { name: "tail_lines", kind: Kind::Whole, about: "" },
    Field { name: "grep", kind: Kind::Text, about: "regex" },
    Field { name: "context", kind: Kind::Whole, about: "lines around a match" },
    Field { name: "view", kind: Kind::Choice(&["text", "raw", "screen"]), about: "" },
    Field { name: "max_output_tokens", kind: Kind::Whole, about: "" },
];

/// The part that is wanted.
#[derive(Debug)]
enum Portion {
    Span(Span),
    Lines(LineRange),
    Tail(usize),
    Grep(Pattern, usize),
}

/// The most lines of context around a match.
const MOST_CONTEXT: u64 = 1000;
/// The most last lines that are looked for.
const MOST_TAIL: u64 = 1_000_000;

impl Portion {
    fn read(arguments: &mut Arguments) -> Result<Self, BadArgument> {
        let (from, to) = (arguments.whole("from")?, arguments.whole("to")?);
        let (from_line, lines) = (arguments.whole("from_line")?, arguments.whole("lines")?);
        let tail = arguments.whole("tail_lines")?;
        let grep = arguments.text("grep")?;
        let context = arguments.whole("context")?;
        let named = [
            (from.is_some() || to.is_some(), "from/to"),
            (from_line.is_some() || lines.is_some(), "from_line/lines"),
            (tail.is_some(), "tail_lines"),
            (grep.is_some(), "grep"),
        ];
        let chosen: Vec<&str> = named.iter().filter(|(given, _)| *given).map(|(_, name)| *name).collect();
        if let [_, second, ..] = chosen.as_slice() {
            let complaint = format!("cannot be combined with {}; give one of them", chosen[0]);
            return Err(BadArgument::new(*second, complaint));
        }
        if context.is_some() && grep.is_none() {
            return Err(BadArgument::new("context", "needs grep"));
        }
        match (from_line, lines, tail, grep) {
            (None, None, None, None) => Ok(Self::Span(span(from, to)?)),
            (None, None, Some(tail), _) => Ok(Self::Tail(count(tail.min(MOST_TAIL)))),
            (None, None, None, Some(grep)) => {
                let context = count(context.unwrap_or(0).min(MOST_CONTEXT));
                Pattern::new(&grep)
                    .map(|pattern| Self::Grep(pattern, context))
                    .map_err(|error| BadArgument::new("grep", error.to_string()))
            }
            (first, lines, ..) => line_range(first, lines).map(Self::Lines),
        }
    }
}

impl Portion {
    /// The missing output may contain a match.
    fn nothing_there(&self, journal: &Journal, view: ViewKind, missing: &[Missing]) -> Option<String> {
        let end = journal.end();
        match self {
            // The missing output may contain a match.
            Self::Grep(..) if !missing.is_empty() => Some("no line of what can be read matches".to_owned()),
            Self::Lines(_) | Self::Tail(_) if !missing.is_empty() => None,
            Self::Span(span) if span.from() >= end && end > Offset::ZERO => {
                Some(format!("the output has {end} bytes so far"))
            }
            Self::Lines(_) if end > Offset::ZERO => Some("the output has fewer lines so far".to_owned()),
            Self::Grep(pattern, _) => {
                let raw = if view == ViewKind::Text { find_raw(journal, pattern) } else { None };
                Some(raw.map_or_else(|| "no line matches".to_owned(), matches_raw))
            }
            Self::Span(_) | Self::Lines(_) | Self::Tail(_) => None,
        }
    }
}

/// The note about a match in the raw bytes that no line of the text has.
fn matches_raw(raw: Span) -> String {
    let (from, to) = (raw.from(), raw.to());
    format!(
        "no line of the text matches; the raw output does at {raw}, where it was overwritten or is part of an escape code \
         (from={from} to={to} view=raw)"
    )
}

fn span(from: Option<u64>, to: Option<u64>) -> Result<Span, BadArgument> {
    let (from, to) = (from.unwrap_or(0), to.unwrap_or(u64::MAX));
    if from > to {
        return Err(BadArgument::new("from", format!("is {from}, behind to, which is {to}")));
    }
    Ok(Span::new(Offset::new(from), Offset::new(to)))
}

fn line_range(first: Option<u64>, lines: Option<u64>) -> Result<LineRange, BadArgument> {
    if first == Some(0) {
        return Err(BadArgument::new("from_line", "is 0; lines count from 1"));
    }
    let first = LineNumber::new(first.unwrap_or(1));
    let range = LineRange::starting(first, lines.unwrap_or(u64::MAX));
    range.ok_or_else(|| BadArgument::new("lines", "is 0; ask for at least one"))
}

fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

pub(super) async fn call(mut visit: CallContext<'_>) -> Result<Reply, ToolError> {
    let session = visit.arguments.session("session_id")?;
    let part = Portion::read(&mut visit.arguments)?;
    let showing = visit.showing()?;
    let mut notes = visit.remarks();
    let remembered = visit.toolbox.remembered(&session)?;
    let number = remembered.number();
    // A large transcript takes a while: on a blocking thread, not on those that serve all calls.
    let read = move || read(&remembered, &part, showing);
    let excerpt = tokio::task::spawn_blocking(read).await.map_err(|error| ToolError(error.to_string()))??;
    notes.extend(excerpt.remarks.iter().cloned());
    notes.extend(visit.toolbox.announcements(None, &visit.call.delivery));
    Ok(reply(number, &excerpt, &notes))
}

/// The text that was read.
struct Excerpt {
    fitted: Fitted,
    missing: Vec<Missing>,
    remarks: Vec<String>,
}

fn read(remembered: &ReadableSession, part: &Portion, showing: Showing) -> Result<Excerpt, ToolError> {
    let journal = remembered.journal();
    let number = remembered.number();
    let fitting = showing.fitting(&number);
    let all = Span::new(Offset::ZERO, journal.end());
    // The span that was searched, where it is larger than the span that is shown.
    let mut looked_at = None;
    let fitted = match (showing.view, part) {
        (ViewKind::Screen, _) => {
            let text = remembered.screen().ok_or_else(|| {
                BadArgument::new("view", "\"screen\" needs a session started with tty=true")
            })?;
            screen_fitted(&fitting, text, all)
        }
        (_, Portion::Span(span)) => fitting.fit(journal, *span),
        (view, Portion::Lines(range)) => {
            let mut lines = RangeLines::new(*range);
            scan(journal, view, |text| {
                lines.feed(text);
                if lines.is_complete() { ReaderDemand::NoMore } else { ReaderDemand::More }
            });
            looked_at = (!lines.is_complete()).then_some(all);
            fit_lines(&fitting, &lines.take())
        }
        (view, Portion::Tail(count)) => {
            let mut tail = TailLines::new(*count);
            scan(journal, view, |text| {
                tail.feed(text);
                ReaderDemand::More
            });
            let fitted = fit_lines(&fitting, &tail.finish());
            let from = if fitted.text.is_empty() { Offset::ZERO } else { fitted.span.from() };
            looked_at = Some(Span::new(from, all.to()));
            fitted
        }
        (view, Portion::Grep(pattern, context)) => grep(journal, view, (pattern, *context), &fitting),
    };
    // After the read: unreadable parts are known by now.
    journal.check();
    let account = journal.account();
    let missing = account.missing_in(looked_at.unwrap_or(fitted.span));
    let by_line = matches!(part, Portion::Lines(_) | Portion::Grep(..)) && showing.view != ViewKind::Screen;
    let mut remarks = Vec::new();
    if by_line && !account.missing.is_empty() {
        remarks.push("lines are counted without those that are gone; byte offsets are exact".to_owned());
    }
    if let Some(degraded) = account.degraded.filter(|_| matches!(remembered, ReadableSession::Held(_))) {
        remarks.push(report::degraded(&degraded));
    }
    if fitted.text.is_empty() {
        remarks.extend(part.nothing_there(journal, showing.view, &missing));
    }
    Ok(Excerpt { missing, fitted, remarks })
}

fn fit_lines(fitting: &windlass_engine::Fitting<'_>, view: &View) -> Fitted {
    fitting.fit_view(view, view.raw_span(0..view.text().len()))
}

fn scan(journal: &Journal, view: ViewKind, mut take: impl FnMut(&View) -> ReaderDemand) {
    let mut reader = Reader::new(journal, Offset::ZERO, view.form());
    let mut take = |part: OutputPart<'_>| -> Result<ReaderDemand, Infallible> {
        Ok(match part {
            OutputPart::Text(view) => take(view),
            OutputPart::Gone(_) => ReaderDemand::More,
        })
    };
    let Ok(wanted) = reader.advance(journal.end(), &mut take);
    if wanted == ReaderDemand::More {
        let Ok(()) = reader.finish(&mut take);
    }
}

/// Matching lines from the first on, for as long as the budget lasts.
fn grep(
    journal: &Journal,
    view: ViewKind,
    (pattern, context): (&Pattern, usize),
    fitting: &windlass_engine::Fitting<'_>,
) -> Fitted {
    let mut search = Grep::new(pattern.clone(), Context { before: context, after: context });
    let mut found = MatchedLines { fitting, lines: Vec::new(), shown: 0, omitted: None, original: 0 };
    let mut lines = Vec::new();
    scan(journal, view, |text| {
        search.feed(text, &mut lines);
        lines.drain(..).for_each(|line| found.add(&line));
        ReaderDemand::More
    });
    search.finish(&mut lines);
    lines.iter().for_each(|line| found.add(line));
    found.finish(journal.end())
}

/// Lines that match, as many as the budget lasts for.
struct MatchedLines<'a> {
    fitting: &'a windlass_engine::Fitting<'a>,
    lines: Vec<FoundLine>,
    /// The tokens of the shown lines.
    shown: u64,
    /// The offset of the first line that is not shown. Once there is one, no later one is shown: the list has no holes.
    omitted: Option<Offset>,
    /// The tokens of all lines.
    original: u64,
}

struct FoundLine {
    text: String,
    cost: u64,
    begins: Offset,
}

impl MatchedLines<'_> {
    fn add(&mut self, line: &GrepLine) {
        let mark = if line.kind == GrepKind::Match { ':' } else { '-' };
        let shown = line.shown(LONGEST_SHOWN_LINE);
        // The address of the whole, if not all of it is shown.
        let address = match &shown {
            Cow::Borrowed(_) => String::new(),
            Cow::Owned(_) => format!(" (line at bytes {})", line.raw),
        };
        let text = format!("{}{mark}{shown}{address}\n", line.number);
        let cost = self.fitting.tokenizer.count(&text).get();
        self.original += cost;
        if self.omitted.is_none() && self.shown + cost <= self.fitting.budget.get() {
            self.shown += cost;
            self.lines.push(FoundLine { text, cost, begins: line.raw.from() });
        } else {
            self.omitted.get_or_insert(line.raw.from());
        }
    }

    fn finish(mut self, end: Offset) -> Fitted {
        let mut marker = String::new();
        while let Some(from) = self.omitted {
            marker = self.marker(Span::new(from, end));
            // The marker is charged to the budget like everything else.
            if self.shown + self.fitting.tokenizer.count(&marker).get() <= self.fitting.budget.get() {
                break;
            }
            let Some(last) = self.lines.pop() else { break };
            self.shown -= last.cost;
            self.omitted = Some(last.begins);
        }
        let tokens = Tokens::new(self.original - self.shown);
        let omitted = self.omitted.map(|from| (Span::new(from, end), tokens));
        let text = self.lines.into_iter().map(|line| line.text).collect::<String>() + &marker;
        Fitted { text, original: Tokens::new(self.original), span: Span::new(Offset::ZERO, end), omitted }
    }

    fn marker(&self, omitted: Span) -> String {
        let tokens = Tokens::new(self.original - self.shown);
        self.fitting.marker.text(omitted, tokens) + "\n"
    }
}

fn reply(number: Number, excerpt: &Excerpt, notes: &[String]) -> Reply {
    let Excerpt { fitted, missing, .. } = excerpt;
    let lost = missing.iter().map(|missing| report::missing(missing, None));
    let notes: Vec<String> = lost.chain(notes.iter().cloned()).collect();
    let mut text = format!("Session {number}, bytes {}\n", fitted.span);
    text += &note_lines(&notes);
    text += &format!("Original token count: {}\nOutput:\n", fitted.original);
    text += &fitted.text;
    let mut object = Map::new();
    object.insert("session".into(), number.into());
    object.insert("notes".into(), notes.into());
    if !missing.is_empty() {
        object.insert("missing".into(), report::missing_json(missing));
    }
    report::put_excerpt(fitted, &mut object);
    Reply::new(text, Value::Object(object))
}
