//! Choosing lines from a stream of settled text: by number, the last ones, or those that match. Memory is bounded
//! by what is chosen; of a matching line longer than [`LONGEST_FOUND_LINE`] only what is around the match is held.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;
use std::str::FromStr;

use thiserror::Error;

use crate::offset::{Offset, Span};
use crate::pattern::Pattern;
use crate::view::{LineNumber, View, ViewLine};

/// The longest line that is found whole.
pub const LONGEST_FOUND_LINE: usize = 64 << 10;

/// The longest found line that is shown whole to a reader with a budget.
pub const LONGEST_SHOWN_LINE: usize = 2 << 10;

/// The longest line that is searched to its end. The rest of a longer one is skipped.
pub const LONGEST_SEARCHED_LINE: usize = 16 << 20;

/// The lines from `first` to `last`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRange {
    /// The first line.
    pub first: LineNumber,
    /// The last line.
    pub last: LineNumber,
}

/// The error for a text that is not a range of lines.
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
        if let Some(torn) = self.lengths.back_mut().filter(|_| self.mid_line && line.begins) {
            *torn += 1;
            self.mid_line = false;
        }
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
    /// The text, without the newline; of a line longer than [`LONGEST_FOUND_LINE`], so much around the match, or so
    /// much from the beginning of one that does not match.
    pub text: String,
    /// The ends of the line that the text lacks.
    pub cut: Cut,
    /// The bytes that the whole line came from.
    pub raw: Span,
    /// Why it is shown.
    pub kind: GrepKind,
    /// Where in the text the first match is; at its beginning, if none is.
    hit: Range<usize>,
}

/// Which ends of a line are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Its beginning.
    pub before: bool,
    /// Its end.
    pub after: bool,
}

impl Cut {
    /// Whether either is.
    #[must_use]
    pub fn any(self) -> bool {
        self.before || self.after
    }
}

impl GrepLine {
    fn begun(piece: &ViewLine<'_>) -> Self {
        Self {
            number: piece.number,
            text: String::new(),
            cut: Cut::default(),
            raw: Span::empty(piece.raw.from()),
            kind: GrepKind::Context,
            hit: 0..0,
        }
    }

    /// Joins the next piece of the line. What makes it longer than can be searched is passed over.
    fn join(&mut self, piece: &ViewLine<'_>) {
        let room = LONGEST_SEARCHED_LINE.saturating_sub(self.text.len());
        let taken = piece.text.floor_char_boundary(room);
        self.text.push_str(&piece.text[..taken]);
        self.cut.after |= taken < piece.text.len();
        self.raw = self.raw.cover(piece.raw);
    }

    /// Searches the line for the pattern. While part of the line is missing, its end is not known, so patterns that
    /// depend on the end do not match.
    fn search(&mut self, pattern: &Pattern) -> bool {
        let Some(found) = pattern.find(&self.text) else { return false };
        if self.cut.after && !self.matches_whatever_follows(pattern) {
            return false;
        }
        (self.kind, self.hit) = (GrepKind::Match, found);
        true
    }

    fn matches_whatever_follows(&mut self, pattern: &Pattern) -> bool {
        // A letter, and what is none: the one or the other changes the mind of whatever looks ahead.
        ['x', ' '].into_iter().all(|next| {
            let known = self.text.len();
            self.text.push(next);
            let matches = pattern.is_match_within(&self.text, known);
            self.text.truncate(known);
            matches
        })
    }

    /// With at most so many bytes of text: what is around the match, or the beginning.
    #[must_use]
    pub fn within(mut self, most: usize) -> Self {
        let kept = self.around(most);
        if kept.len() < self.text.len() {
            self.cut.before |= kept.start > 0;
            self.cut.after |= kept.end < self.text.len();
            let inside = |at: usize| at.clamp(kept.start, kept.end) - kept.start;
            self.hit = inside(self.hit.start)..inside(self.hit.end);
            self.text = self.text[kept].to_owned();
        }
        self
    }

    /// The text in at most so many bytes around the match, or from the beginning on, with an ellipsis where more of the
    /// line is.
    #[must_use]
    pub fn shown(&self, most: usize) -> Cow<'_, str> {
        let kept = self.around(most);
        let before = self.cut.before || kept.start > 0;
        let after = self.cut.after || kept.end < self.text.len();
        if !before && !after {
            return Cow::Borrowed(&self.text);
        }
        let sign = |cut: bool| if cut { "…" } else { "" };
        Cow::Owned(format!("{}{}{}", sign(before), &self.text[kept], sign(after)))
    }

    /// The part of the text that is shown in so many bytes: the match in the middle, unless an end of the text is near.
    fn around(&self, most: usize) -> Range<usize> {
        let room = most.saturating_sub(self.hit.len()) / 2;
        let latest = self.text.len().saturating_sub(most);
        let earliest = self.text.ceil_char_boundary(self.hit.start.saturating_sub(room).min(latest));
        let start = earliest.min(self.text.floor_char_boundary(self.hit.start));
        start..self.text.floor_char_boundary(start.saturating_add(most))
    }
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
            let mut whole = match self.partial.take() {
                Some(begun) if !line.begins => begun,
                torn => {
                    if let Some(mut torn) = torn {
                        torn.cut.after = true;
                        self.look_at(torn, found);
                    }
                    GrepLine::begun(&line)
                }
            };
            whole.join(&line);
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

    fn look_at(&mut self, mut line: GrepLine, found: &mut Vec<GrepLine>) {
        if line.search(&self.pattern) {
            found.extend(self.before.drain(..));
            found.push(line.within(LONGEST_FOUND_LINE));
            self.after_left = self.context.after;
        } else if self.after_left > 0 {
            self.after_left -= 1;
            found.push(line.within(LONGEST_FOUND_LINE));
        } else if self.context.before > 0 {
            if self.before.len() == self.context.before {
                self.before.pop_front();
            }
            self.before.push_back(line.within(LONGEST_FOUND_LINE));
        }
    }
}

/// A line that begins where another has not ended is behind something that is missing.
fn push_line(chosen: &mut View, line: &ViewLine<'_>) {
    if line.begins && chosen.ends_mid_line() {
        chosen.push_newline();
    }
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

    /// The same with a hole in it: the text before and behind it, as a reader hands them out.
    fn torn(before: &str, behind: &str) -> [View; 2] {
        let mut view = View::verbatim(before, Offset::ZERO);
        let first = view.clone();
        view.clear();
        view.break_line();
        view.push(behind, Offset::new(1000));
        view.reach(Offset::new(1000 + behind.len() as u64));
        [first, view]
    }

    /// Regression: the two lines were joined into one that the command had never printed.
    #[test]
    fn lines_on_both_sides_of_a_hole_are_not_joined() {
        let views = torn("one\ntwo: err", "or three\nfour\n");
        let mut range = RangeLines::new("2..4".parse().unwrap());
        views.iter().for_each(|view| range.feed(view));
        assert_eq!(range.take().text(), "two: err\nor three\nfour\n");
        let mut pieces = RangeLines::new("2..4".parse().unwrap());
        let mut lines = Vec::new();
        for view in &views {
            pieces.feed(view);
            lines.extend(
                pieces.take().lines().map(|line| (line.number.get(), line.text.to_owned(), line.raw)),
            );
        }
        let numbers: Vec<u64> = lines.iter().map(|line| line.0).collect();
        assert_eq!(numbers, [2, 2, 3, 4], "{lines:?}");
        assert_eq!(lines[2].2, Span::new(Offset::new(1000), Offset::new(1009)));
        let mut tail = TailLines::new(2);
        views.iter().for_each(|view| tail.feed(view));
        assert_eq!(tail.finish().text(), "or three\nfour\n");
        let grep = |pattern: &str| {
            let (mut found, mut grep) =
                (Vec::new(), Grep::new(Pattern::new(pattern).unwrap(), Context::default()));
            views.iter().for_each(|view| grep.feed(view, &mut found));
            grep.finish(&mut found);
            found
        };
        assert_eq!(grep("error"), []);
        let [two] = grep("two").try_into().unwrap();
        assert_eq!((two.number.get(), two.text.as_str(), two.cut.any()), (2, "two: err", true));
        assert_eq!(grep("err").len(), 1, "what follows cannot change that");
        assert_eq!((grep("err$"), grep(r"err\b")), (vec![], vec![]), "what follows could");
        let [three] = grep("three").try_into().unwrap();
        assert_eq!((three.number.get(), three.text.as_str()), (3, "or three"));
    }

    fn grepped(bytes: &[u8], chunk: usize, pattern: &str) -> Vec<GrepLine> {
        let mut found = Vec::new();
        let mut grep = Grep::new(Pattern::new(pattern).unwrap(), Context::default());
        views(bytes, chunk).iter().for_each(|view| grep.feed(view, &mut found));
        grep.finish(&mut found);
        found
    }

    /// Only the first 64 KiB of a line were searched, and where they ended counted as the line's end.
    #[test]
    fn a_long_line_is_searched_to_its_end_and_found_around_the_match() {
        let line = format!("{}needle{}", "é".repeat(200_000), "y".repeat(100_000));
        for chunk in [1000, 1 << 20] {
            let text = format!("first\n{line}\nlast\n");
            let found = grepped(text.as_bytes(), chunk, "needle");
            let [found] = found.as_slice() else { panic!("{}", found.len()) };
            assert_eq!((found.number.get(), found.kind), (2, GrepKind::Match));
            assert!(found.text.len() <= LONGEST_FOUND_LINE && found.text.contains("éneedley"));
            assert_eq!(found.cut, Cut { before: true, after: true });
            assert_eq!(found.raw, Span::of_len(Offset::new(6), line.len() as u64 + 1));
            assert_eq!(found.shown(10), "…éneedleyy…");
            assert_eq!(found.shown(3), "…nee…");
            assert_eq!(grepped(text.as_bytes(), chunk, "é$").len(), 0);
            let found = grepped(text.as_bytes(), chunk, "^é");
            assert_eq!(found[0].cut, Cut { before: false, after: true });
            let found = grepped(text.as_bytes(), chunk, "y$");
            assert_eq!(found[0].cut, Cut { before: true, after: false });
            assert_eq!(found[0].shown(5), "…yyyyy");
            assert_eq!(grepped(text.as_bytes(), chunk, "last")[0].shown(2), "la…");
        }
    }

    #[test]
    fn of_a_line_too_long_to_be_searched_the_rest_is_passed_over_and_its_end_is_no_end() {
        let mut line = vec![b'x'; LONGEST_SEARCHED_LINE + 10];
        line.extend(b"needle\n");
        assert_eq!(grepped(&line, 1 << 20, "needle"), []);
        assert_eq!(grepped(&line, 1 << 20, "x$"), []);
        for matching in ["^x", "x+", "^x.*", "x$|xx"] {
            assert_eq!(grepped(&line, 1 << 20, matching).len(), 1, "{matching}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_shown_of_a_line_is_a_part_of_it_that_has_the_match(
            before in "[aé日\u{1F600}]{0,20}",
            after in "[aé日\u{1F600}]{0,20}",
            most in 0_usize..60,
        ) {
            let line = format!("{before}X{after}");
            let found = grepped(line.as_bytes(), 1000, "X");
            let shown = found[0].shown(most).into_owned();
            let inner = shown.trim_matches('…');
            proptest::prop_assert!(inner.len() <= most && line.contains(inner), "{shown}");
            proptest::prop_assert!(most < 1 || inner.contains('X'), "{shown}");
            // Of nothing it cannot be seen which side of the sign it is on.
            let (begins, ends) = (shown.starts_with('…'), shown.ends_with('…'));
            if most == 0 {
                proptest::prop_assert!(inner.is_empty() && begins && ends, "{shown}");
            } else {
                proptest::prop_assert_eq!((begins, ends), (!line.starts_with(inner), !line.ends_with(inner)));
            }
        }
    }
}
