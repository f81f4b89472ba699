//! Fitting output into a budget: the beginning and the end are kept, the middle is replaced by a marker that says
//! how much is missing and where to read it.
//!
//! The marker is paid for first, and what remains of the budget is divided evenly between the two ends. Each end
//! takes whole lines; a line that could not fit into its share even alone is cut inside, at a character.

use std::fmt;

use crate::budget::{Budget, Meter};
use crate::offset::Span;
use crate::tokens::{Tokenizer, Tokens};
use crate::view::View;

/// The text of which an excerpt is made.
#[derive(Clone, Copy, Debug)]
pub enum ExcerptSource<'a> {
    /// All of the text.
    Whole(&'a View),
    /// The two ends of an output too large to load, and the size of the part between them.
    Ends {
        /// The beginning.
        head: &'a View,
        /// The part that was not loaded.
        gap: Gap,
        /// The end.
        tail: &'a View,
    },
}

/// A part of the output that was not loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Where it is.
    pub span: Span,
    /// How many tokens it has.
    pub tokens: Tokens,
}

/// How an excerpt is made.
#[derive(Clone, Copy)]
pub struct ExcerptOptions<'a> {
    /// How much may be shown.
    pub budget: Budget,
    /// How tokens are counted, in the marker and in a budget of tokens.
    pub tokenizer: Tokenizer,
    /// The kind of marker.
    pub marker: Marker<'a>,
}

/// The marker that replaces the omitted text.
#[derive(Clone, Copy)]
pub enum Marker<'a> {
    /// `…12 tokens truncated…`
    Count,
    /// `…12 tokens truncated (read_output session_id=7 from=16 to=64)…`
    Address {
        /// The session's id, as its reader would write it.
        session: &'a dyn fmt::Display,
    },
    /// As `Address`, but always with this span, wherever the text is cut: for text that was made from all of it, such
    /// as a screen.
    Made {
        /// The session's id, as its reader would write it.
        session: &'a dyn fmt::Display,
        /// The span from which the text was made.
        of: Span,
    },
    /// `…12 tokens truncated (windlass log 7 --span 16..64)…`
    Command {
        /// The session's id or name, as its reader would type it.
        session: &'a dyn fmt::Display,
    },
}

/// Text within a budget, and what it leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The text to show.
    pub text: String,
    /// How many tokens the whole has.
    pub original: Tokens,
    /// The part that was left out, if any.
    pub omitted: Option<Omitted>,
}

/// The part that an excerpt leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Omitted {
    /// Where to read it.
    pub span: Span,
    /// How many tokens it has.
    pub tokens: Tokens,
    /// How many bytes of text are kept before it.
    pub head: usize,
    /// How many bytes of text are kept after it.
    pub tail: usize,
}

/// Fits `source` into a budget. The result is never over it, except for a marker that is over it alone.
#[must_use]
pub fn excerpt(source: ExcerptSource<'_>, options: ExcerptOptions<'_>) -> Excerpt {
    let ends = Ends::of(source);
    let meter = Meter::new(options.budget, options.tokenizer);
    let original = ends.tokens(options.tokenizer);
    if ends.gap.is_none() && meter.cost_within(ends.head.text(), meter.limit()).is_some() {
        return Excerpt { text: ends.head.text().to_owned(), original, omitted: None };
    }
    Cutter { ends, meter, options }.cut(original)
}

/// Head and tail of the source: the same view twice when it is whole.
#[derive(Clone, Copy)]
struct Ends<'a> {
    head: &'a View,
    tail: &'a View,
    gap: Option<Gap>,
}

impl<'a> Ends<'a> {
    fn of(source: ExcerptSource<'a>) -> Self {
        match source {
            ExcerptSource::Whole(view) => Self { head: view, tail: view, gap: None },
            ExcerptSource::Ends { head, gap, tail } => Self { head, tail, gap: Some(gap) },
        }
    }

    fn tokens(self, tokenizer: Tokenizer) -> Tokens {
        let head = tokenizer.count(self.head.text());
        self.gap.map_or(head, |gap| head + gap.tokens + tokenizer.count(self.tail.text()))
    }

    /// The omitted part when so many bytes are kept at the two ends.
    fn omit(self, head: usize, tail: usize, tokenizer: Tokenizer) -> Omitted {
        let tail_start = self.tail.text().len() - tail;
        let span = Span::new(self.head.raw_at(head), self.tail.raw_at(tail_start));
        let tokens = match self.gap {
            None => tokenizer.count(&self.head.text()[head..tail_start]),
            Some(gap) => {
                let after_head = tokenizer.count(&self.head.text()[head..]);
                after_head + gap.tokens + tokenizer.count(&self.tail.text()[..tail_start])
            }
        };
        Omitted { span, tokens, head, tail }
    }
}

struct Cutter<'a> {
    ends: Ends<'a>,
    meter: Meter,
    options: ExcerptOptions<'a>,
}

impl Cutter<'_> {
    /// Tokens of parts do not quite add up to those of the whole, and the marker's own length depends on the
    /// number in it; so a result that is over is cut again with that much less to share.
    fn cut(&self, original: Tokens) -> Excerpt {
        const TRIES: usize = 12;
        let everything = self.ends.omit(0, 0, self.options.tokenizer);
        let mut share = self.meter.limit().saturating_sub(self.meter.cost(&(self.marker(everything) + "\n")));
        for _ in 0..TRIES {
            if share == 0 {
                break;
            }
            let omitted = self.divide(share);
            let text = self.assemble(omitted);
            let over = self.meter.cost(&text).saturating_sub(self.meter.limit());
            if over == 0 {
                return Excerpt { text, original, omitted: Some(omitted) };
            }
            share = share.saturating_sub(over);
        }
        Excerpt { text: self.marker(everything), original, omitted: Some(everything) }
    }

    fn divide(&self, share: u64) -> Omitted {
        let head_share = share / 2;
        let head = keep_head(self.meter, self.ends.head.text(), head_share);
        let rest = match self.ends.gap {
            None => &self.ends.tail.text()[head..],
            Some(_) => self.ends.tail.text(),
        };
        let tail = keep_tail(self.meter, rest, share - head_share);
        self.ends.omit(head, tail, self.options.tokenizer)
    }

    fn assemble(&self, omitted: Omitted) -> String {
        let head = &self.ends.head.text()[..omitted.head];
        let tail_text = self.ends.tail.text();
        let tail = &tail_text[tail_text.len() - omitted.tail..];
        let before = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
        let after = if tail.is_empty() { "" } else { "\n" };
        [head, before, &self.marker(omitted), after, tail].concat()
    }

    fn marker(&self, omitted: Omitted) -> String {
        self.options.marker.text(omitted.span, omitted.tokens)
    }
}

impl Marker<'_> {
    /// The text of the marker for this omitted part.
    #[must_use]
    pub fn text(self, span: Span, tokens: Tokens) -> String {
        match self {
            Marker::Count => format!("…{tokens} tokens truncated…"),
            Marker::Address { session } => address(tokens, session, span),
            Marker::Made { session, of } => address(tokens, session, of),
            Marker::Command { session } => {
                format!("…{tokens} tokens truncated (windlass log {session} --span {span})…")
            }
        }
    }
}

fn address(tokens: Tokens, session: &dyn fmt::Display, span: Span) -> String {
    let (from, to) = (span.from(), span.to());
    format!("…{tokens} tokens truncated (read_output session_id={session} from={from} to={to})…")
}

/// How many bytes of the beginning of `text` fit into `limit`.
fn keep_head(meter: Meter, text: &str, limit: u64) -> usize {
    let mut kept = 0;
    let mut left = limit;
    for line in text.split_inclusive('\n') {
        match meter.cost_within(line, limit) {
            Some(cost) if cost <= left => {
                kept += line.len();
                left -= cost;
            }
            Some(_) => break,
            None => {
                kept += cut_head(meter, line, left);
                break;
            }
        }
    }
    kept
}

/// How many bytes of the end of `text` fit into `limit`.
fn keep_tail(meter: Meter, text: &str, limit: u64) -> usize {
    let mut rest = text;
    let mut left = limit;
    while !rest.is_empty() {
        let before = rest.len() - 1;
        let start = memchr::memrchr(b'\n', &rest.as_bytes()[..before]).map_or(0, |at| at + 1);
        let line = &rest[start..];
        match meter.cost_within(line, limit) {
            Some(cost) if cost <= left => {
                rest = &rest[..start];
                left -= cost;
            }
            Some(_) => break,
            None => {
                rest = &rest[..rest.len() - cut_tail(meter, line, left)];
                break;
            }
        }
    }
    text.len() - rest.len()
}

/// Inside a line, so many bytes are measured at once.
const STEP: usize = 256;

fn cut_head(meter: Meter, line: &str, limit: u64) -> usize {
    let mut kept = 0;
    let mut left = limit;
    while kept < line.len() {
        let step = &line[kept..line.floor_char_boundary(kept + STEP)];
        match meter.cost_within(step, left) {
            Some(cost) => {
                kept += step.len();
                left -= cost;
            }
            None => {
                let fits =
                    |len: usize| meter.cost_within(&step[..step.floor_char_boundary(len)], left).is_some();
                return kept + step.floor_char_boundary(last_that_fits(step.len(), fits));
            }
        }
    }
    kept
}

fn cut_tail(meter: Meter, line: &str, limit: u64) -> usize {
    let mut end = line.len();
    let mut left = limit;
    while end > 0 {
        let step = &line[line.ceil_char_boundary(end.saturating_sub(STEP))..end];
        match meter.cost_within(step, left) {
            Some(cost) => {
                end -= step.len();
                left -= cost;
            }
            None => {
                let from = |len: usize| step.ceil_char_boundary(step.len() - len);
                let fits = |len: usize| meter.cost_within(&step[from(len)..], left).is_some();
                end -= step.len() - from(last_that_fits(step.len(), fits));
                break;
            }
        }
    }
    line.len() - end
}

/// The largest number below `len` that fits, given that smaller ones fit too.
fn last_that_fits(len: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, len);
    while low + 1 < high {
        let middle = usize::midpoint(low, high);
        if fits(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offset::Offset;

    fn plain(text: &str, budget: Budget) -> Excerpt {
        let view = View::verbatim(text, Offset::ZERO);
        let options = ExcerptOptions { budget, tokenizer: Tokenizer::Bytes4, marker: Marker::Count };
        excerpt(ExcerptSource::Whole(&view), options)
    }

    fn check(text: &str, budget: Budget, expected: &str) {
        assert_eq!(plain(text, budget).text, expected, "{text:?} {budget:?}");
    }

    fn twenty_lines() -> String {
        (1..=20).map(|n| format!("{n:03}\n")).collect()
    }

    #[test]
    fn twenty_lines_keep_four_at_each_end_in_64_bytes() {
        let expected = "001\n002\n003\n004\n…12 tokens truncated…\n017\n018\n019\n020\n";
        for budget in [Budget::Bytes(64), Budget::Tokens(Tokens::new(16))] {
            let result = plain(&twenty_lines(), budget);
            assert_eq!(result.text, expected);
            assert_eq!(result.original, Tokens::new(20));
            let omitted = result.omitted.unwrap();
            assert_eq!(omitted.span, Span::new(Offset::new(16), Offset::new(64)));
            assert_eq!(omitted.tokens, Tokens::new(12));
        }
    }

    #[test]
    fn sixteen_bytes_of_one_long_word_are_a_marker_only() {
        let word: String = ('a'..='z').chain('A'..='Z').chain('0'..='9').collect();
        let result = plain(&word, Budget::Bytes(16));
        assert_eq!(result.text, "…16 tokens truncated…");
        assert_eq!(result.original, Tokens::new(16));
    }

    #[test]
    fn within_budget_nothing_changes() {
        check(&twenty_lines(), Budget::Bytes(80), &twenty_lines());
        check("", Budget::Bytes(0), "");
        check("a\nb\n", Budget::Lines(2), "a\nb\n");
    }

    #[test]
    fn no_budget_leaves_the_marker_only() {
        check("abcdef", Budget::Bytes(0), "…2 tokens truncated…");
        check("abcdef", Budget::Lines(0), "…2 tokens truncated…");
        check("abcdef", Budget::Tokens(Tokens::ZERO), "…2 tokens truncated…");
    }

    #[test]
    fn a_long_line_is_cut_inside() {
        let line = "x".repeat(100);
        check(&line, Budget::Bytes(40), "xxxxxx\n…22 tokens truncated…\nxxxxxxx");
        check(&"€".repeat(40), Budget::Bytes(40), "€€\n…27 tokens truncated…\n€€");
        let text = format!("first\n{line}\nlast\n");
        check(&text, Budget::Bytes(50), "first\nxxxxx\n…23 tokens truncated…\nxxxxxx\nlast\n");
    }

    #[test]
    fn characters_are_a_budget_too() {
        check(&"€".repeat(40), Budget::Characters(40), &"€".repeat(40));
        check(&"€".repeat(41), Budget::Characters(40), "€€€€€€€€\n…18 tokens truncated…\n€€€€€€€€€");
    }

    #[test]
    fn lines_are_a_budget_too() {
        check(&twenty_lines(), Budget::Lines(5), "001\n002\n…16 tokens truncated…\n019\n020\n");
        check(&twenty_lines(), Budget::Lines(1), "…20 tokens truncated…");
    }

    #[test]
    fn the_marker_names_the_session_and_the_span() {
        let view = View::verbatim(twenty_lines(), Offset::new(1000));
        let marker = Marker::Address { session: &7 };
        let options = ExcerptOptions { budget: Budget::Bytes(120), tokenizer: Tokenizer::Bytes4, marker };
        let text = excerpt(ExcerptSource::Whole(&view), options).text;
        assert_eq!(text, twenty_lines());
        let options = ExcerptOptions { budget: Budget::Bytes(79), ..options };
        let text = excerpt(ExcerptSource::Whole(&view), options).text;
        assert_eq!(text, "001\n…18 tokens truncated (read_output session_id=7 from=1004 to=1076)…\n020\n");
        let of = Span::new(Offset::ZERO, Offset::new(5));
        let made = ExcerptOptions { marker: Marker::Made { session: &7, of }, ..options };
        let text = excerpt(ExcerptSource::Whole(&view), made).text;
        assert_eq!(text, "001\n…18 tokens truncated (read_output session_id=7 from=0 to=5)…\n020\n");
        let options = ExcerptOptions { marker: Marker::Command { session: &"web" }, ..options };
        let text = excerpt(ExcerptSource::Whole(&view), options).text;
        assert_eq!(text, "001\n002\n…16 tokens truncated (windlass log web --span 1008..1072)…\n019\n020\n");
    }

    #[test]
    fn two_loaded_ends_stand_for_an_output_of_any_size() {
        let head = View::verbatim("a1\na2\na3\n", Offset::ZERO);
        let end = 1 << 30;
        let tail = View::verbatim("z1\nz2\nz3\n", Offset::new(end - 9));
        let span = Span::new(head.end(), Offset::new(end - 9));
        let gap = Gap { span, tokens: Tokens::new(span.len() / 4) };
        let options =
            ExcerptOptions { budget: Budget::Bytes(50), tokenizer: Tokenizer::Bytes4, marker: Marker::Count };
        let result = excerpt(ExcerptSource::Ends { head: &head, gap, tail: &tail }, options);
        let omitted = result.omitted.unwrap();
        assert_eq!(result.text, format!("a1\na2\n…{} tokens truncated…\nz1\nz2\nz3\n", omitted.tokens));
        assert_eq!(omitted.span, Span::new(Offset::new(6), Offset::new(end - 9)));
        assert!(result.original > omitted.tokens);
    }
}
