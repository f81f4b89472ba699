//! Choosing lines from a stream of settled text: by number, the last ones, or those that match. Memory is bounded
//! by what is chosen; a line longer than [`LONGEST_WHOLE_LINE`] is cut there when it must be held in one piece.

use std::collections::VecDeque;
use std::str::FromStr;

use thiserror::Error;

use crate::offset::{Offset, Span};
use crate::pattern::Pattern;
use crate::view::{LineNumber, View, ViewLine};

/// The longest line that is held in one piece.
pub const LONGEST_WHOLE_LINE: usize = 64 << 10;

/// The lines from `first` to `last`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRange {
    /// The first line.
    pub first: LineNumber,
    /// The last line.
    pub last: LineNumber,
}

/// Why a text is no range of lines.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("not a range of lines: {given:?} (write 10..20, 10.., ..20 or 10)")]
pub struct LineRangeError {
    /// The text as given.
    pub given: String,
}

impl LineRange {
    /// `count` lines from `first` on.
    #[must_use]
    pub fn starting(first: LineNumber, count: u64) -> Option<Self> {
        let more = count.checked_sub(1)?;
        Some(Self { first, last: first.down(more) })
    }

    /// Whether a line is inside.
    #[must_use]
    pub fn contains(self, line: LineNumber) -> bool {
        self.first <= line && line <= self.last
    }
}

impl FromStr for LineRange {
    type Err = LineRangeError;

    fn from_str(given: &str) -> Result<Self, LineRangeError> {
        let error = || LineRangeError { given: given.to_owned() };
        let number = |text: &str, missing: u64| match text.trim() {
            "" => Ok(missing),
            digits => digits.parse::<u64>().ok().filter(|n| *n > 0).ok_or_else(error),
        };
        let (first, last) = match given.split_once("..") {
            Some((first, last)) => (number(first, 1)?, number(last, u64::MAX)?),
            None => {
                let only = number(given, 0)?;
                (only, only)
            }
        };
        if first == 0 || last < first {
            return Err(error());
        }
        Ok(Self { first: LineNumber::new(first), last: LineNumber::new(last) })
    }
}

/// Takes the lines of a range out of a stream of views.
#[derive(Clone, Debug)]
pub struct RangeLines {
    range: LineRange,
    chosen: View,
    over: bool,
}

impl RangeLines {
    /// A choice of the lines inside `range`.
    #[must_use]
    pub fn new(range: LineRange) -> Self {
        Self { range, chosen: View::from_line(Offset::ZERO, range.first), over: false }
    }

    /// Looks at the next piece of the stream.
    pub fn feed(&mut self, view: &View) {
        self.over |= view.first_line() > self.range.last;
        if self.over || view.next_line() < self.range.first {
            return;
        }
        for line in view.lines().skip_while(|line| line.number < self.range.first) {
            if line.number > self.range.last {
                self.over = true;
                return;
            }
            push_line(&mut self.chosen, &line);
        }
    }

    /// Whether the range has passed, so that the rest of the stream need not be read.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.over
    }

    /// The chosen text so far, taken out.
    pub fn take(&mut self) -> View {
        let mut rest = self.chosen.clone();
        rest.clear();
        std::mem::replace(&mut self.chosen, rest)
    }
}

/// Keeps the last lines of a stream of views.
#[derive(Clone, Debug)]
pub struct TailLines {
    count: usize,
    kept: View,
    /// How long each kept line is, its newline included.
    lengths: VecDeque<usize>,
    /// How many bytes of `kept` have been given up; they are dropped in bulk.
    stale: usize,
    mid_line: bool,
}

impl TailLines {
    /// Keeps the last `count` lines; a line without an end counts.
    #[must_use]
    pub fn new(count: usize) -> Self {
        Self { count, kept: View::new(Offset::ZERO), lengths: VecDeque::new(), stale: 0, mid_line: false }
    }

    /// Looks at the next piece of the stream.
    pub fn feed(&mut self, view: &View) {
        if self.lengths.is_empty() {
            self.kept = View::from_line(Offset::ZERO, view.first_line());
            self.stale = 0;
        }
        for line in view.lines() {
            self.add(&line);
        }
    }

    /// The last lines.
    #[must_use]
    pub fn finish(mut self) -> View {
        self.kept.drop_front(self.stale);
        self.kept
    }

    fn add(&mut self, line: &ViewLine<'_>) {
        let len = line.text.len() + usize::from(line.ends);
        push_line(&mut self.kept, line);
        match self.lengths.back_mut() {
            Some(last) if self.mid_line => *last += len,
            _ => self.lengths.push_back(len),
        }
        self.mid_line = !line.ends;
        while self.lengths.len() > self.count {
            self.stale += self.lengths.pop_front().unwrap_or(0);
        }
        // Half of the text is the least that makes dropping it cost no more than adding it did.
        if self.stale > self.kept.text().len() / 2 {
            self.kept.drop_front(self.stale);
            self.stale = 0;
        }
    }
}

/// How many lines around a match are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// Lines before it.
    pub before: usize,
    /// Lines after it.
    pub after: usize,
}

/// A line that matched, or stands near one that did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrepLine {
    /// Its number.
    pub number: LineNumber,
    /// The text, without the newline.
    pub text: String,
    /// The bytes it came from.
    pub raw: Span,
    /// Why it is shown.
    pub kind: GrepKind,
}

/// Why a line is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrepKind {
    /// The pattern matches in it.
    Match,
    /// It stands near one that matches.
    Context,
}

/// Finds the lines of a stream of views that match a pattern.
#[derive(Clone, Debug)]
pub struct Grep {
    pattern: Pattern,
    context: Context,
    before: VecDeque<GrepLine>,
    after_left: usize,
    partial: Option<GrepLine>,
}

impl Grep {
    /// A search with this much context around each match.
    #[must_use]
    pub fn new(pattern: Pattern, context: Context) -> Self {
        Self { pattern, context, before: VecDeque::new(), after_left: 0, partial: None }
    }

    /// Looks at the next piece of the stream and appends what is to be shown to `found`.
    pub fn feed(&mut self, view: &View, found: &mut Vec<GrepLine>) {
        for line in view.lines() {
            if line.ends && self.partial.is_none() && self.is_dull(&line) {
                continue;
            }
            let whole = self.joined(&line);
            if line.ends {
                self.look_at(whole, found);
            } else {
                self.partial = Some(whole);
            }
        }
    }

    /// Ends the stream: a last line without a newline is looked at too.
    pub fn finish(mut self, found: &mut Vec<GrepLine>) {
        if let Some(last) = self.partial.take() {
            self.look_at(last, found);
        }
    }

    /// Whether a line will not be shown whatever follows, so that it need not be copied.
    fn is_dull(&self, line: &ViewLine<'_>) -> bool {
        self.after_left == 0 && self.context.before == 0 && !self.pattern.is_match(line.text)
    }

    fn joined(&mut self, piece: &ViewLine<'_>) -> GrepLine {
        let mut line = self.partial.take().unwrap_or_else(|| GrepLine {
            number: piece.number,
            text: String::new(),
            raw: Span::empty(piece.raw.from()),
            kind: GrepKind::Context,
        });
        let room = LONGEST_WHOLE_LINE.saturating_sub(line.text.len());
        line.text.push_str(&piece.text[..piece.text.floor_char_boundary(room)]);
        line.raw = line.raw.cover(piece.raw);
        line
    }

    fn look_at(&mut self, mut line: GrepLine, found: &mut Vec<GrepLine>) {
        if self.pattern.is_match(&line.text) {
            line.kind = GrepKind::Match;
            found.extend(self.before.drain(..));
            found.push(line);
            self.after_left = self.context.after;
        } else if self.after_left > 0 {
            self.after_left -= 1;
            found.push(line);
        } else if self.context.before > 0 {
            if self.before.len() == self.context.before {
                self.before.pop_front();
            }
            self.before.push_back(line);
        }
    }
}

fn push_line(chosen: &mut View, line: &ViewLine<'_>) {
    chosen.push_piece(line.text, line.raw.from());
    if line.ends {
        chosen.push_newline();
    }
    chosen.reach(line.raw.to());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Settler;

    fn views(bytes: &[u8], chunk: usize) -> Vec<View> {
        let mut settler = Settler::with_rows(Offset::ZERO, 2);
        let mut view = View::new(Offset::ZERO);
        let mut views = Vec::new();
        for chunk in bytes.chunks(chunk) {
            settler.feed(chunk, &mut view);
            views.push(view.clone());
            view.clear();
        }
        settler.finish(&mut view);
        views.push(view);
        views
    }

    fn log() -> Vec<u8> {
        (1..=30).map(|n| format!("\x1b[1mline {n}\x1b[0m\r\n")).collect::<String>().into_bytes()
    }

    fn check_range(range: &str, expected: &str) {
        for chunk in [1, 7, 1000] {
            let mut lines = RangeLines::new(range.parse().unwrap());
            views(&log(), chunk).iter().for_each(|view| lines.feed(view));
            assert_eq!(lines.take().text(), expected, "{range}");
        }
    }

    #[test]
    fn a_range_takes_its_first_and_its_last_line() {
        check_range("10..12", "line 10\nline 11\nline 12\n");
        check_range("29..", "line 29\nline 30\n");
        check_range("..1", "line 1\n");
        check_range("7", "line 7\n");
        check_range("31..40", "");
    }

    #[test]
    fn a_range_that_passed_needs_no_more_input() {
        let mut lines = RangeLines::new("1..2".parse().unwrap());
        lines.feed(&View::verbatim("a\nb\n", Offset::ZERO));
        assert!(!lines.is_complete());
        lines.feed(&View::from_line(Offset::new(4), LineNumber::new(3)));
        assert!(lines.is_complete());
        assert_eq!(lines.take().raw_span(2..4), Span::new(Offset::new(2), Offset::new(4)));
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for given in ["", "a", "0", "5..2", "1...3", "-1", "0..3"] {
            assert!(given.parse::<LineRange>().is_err(), "{given:?}");
        }
    }

    #[test]
    fn the_tail_has_the_last_lines_and_their_numbers() {
        for chunk in [1, 7, 1000] {
            let mut tail = TailLines::new(3);
            views(&log(), chunk).iter().for_each(|view| tail.feed(view));
            let tail = tail.finish();
            assert_eq!(tail.text(), "line 28\nline 29\nline 30\n");
            assert_eq!(tail.first_line().get(), 28);
            assert_eq!(tail.raw_at(0), Offset::new(9 * 16 + 18 * 17));
        }
    }

    #[test]
    fn the_tail_of_nothing_is_nothing() {
        assert!(TailLines::new(3).finish().is_empty());
        let mut none = TailLines::new(0);
        none.feed(&View::verbatim("a\nb", Offset::ZERO));
        assert!(none.finish().is_empty());
        let mut one = TailLines::new(1);
        one.feed(&View::verbatim("a\nb", Offset::ZERO));
        assert_eq!(one.finish().text(), "b");
    }

    #[test]
    fn grep_shows_matches_with_their_surroundings() {
        for chunk in [1, 7, 1000] {
            let mut found = Vec::new();
            let mut grep = Grep::new(Pattern::new("5$").unwrap(), Context { before: 1, after: 2 });
            views(&log(), chunk).iter().for_each(|view| grep.feed(view, &mut found));
            grep.finish(&mut found);
            let shown: Vec<_> = found.iter().map(|line| line.number.get()).collect();
            assert_eq!(shown, [4, 5, 6, 7, 14, 15, 16, 17, 24, 25, 26, 27]);
            let matched = found.iter().filter(|line| line.kind == GrepKind::Match).count();
            assert_eq!(matched, 3);
            assert_eq!(found[1].raw, Span::of_len(Offset::new(4 * 16), 16));
        }
    }
}
