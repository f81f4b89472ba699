//! A [`View`]: readable text made from printed bytes, together with where each part of it came from.
//!
//! The map is a short list of anchors. Between two anchors text and bytes advance in step, so a plain log of any
//! size needs a single anchor; that is what keeps the map free on the fast path.

use std::ops::Range;

use crate::offset::{Offset, Span};

/// The number of a line of settled text, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineNumber(u64);

impl LineNumber {
    /// The first line.
    pub const FIRST: Self = Self(1);

    /// The line with this number. Lines count from 1, so 0 means the first.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(if number == 0 { 1 } else { number })
    }

    /// The plain number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The line `lines` further down.
    #[must_use]
    pub const fn down(self, lines: u64) -> Self {
        Self(self.0.saturating_add(lines))
    }
}

impl std::fmt::Display for LineNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Text with addresses. Streams append to it; readers take what is there and [`clear`](View::clear) it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    text: String,
    anchors: Vec<Anchor>,
    expected: Offset,
    end: Offset,
    first_line: LineNumber,
    newlines: u64,
    mid_line: bool,
}

/// A position in the text and the raw offset it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Anchor {
    pub(crate) at: usize,
    pub(crate) raw: Offset,
}

/// One line of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewLine<'a> {
    /// Its number.
    pub number: LineNumber,
    /// The text, without the newline.
    pub text: &'a str,
    /// The bytes it came from, the newline included.
    pub raw: Span,
    /// Whether this is its beginning; a very long line arrives in pieces.
    pub begins: bool,
    /// Whether this is its end: a newline follows.
    pub ends: bool,
}

impl View {
    /// An empty view of the bytes from `base` on, whose first line is number 1.
    #[must_use]
    pub fn new(base: Offset) -> Self {
        Self::from_line(base, LineNumber::FIRST)
    }

    /// An empty view of the bytes from `base` on, whose first line has the given number.
    #[must_use]
    pub fn from_line(base: Offset, first_line: LineNumber) -> Self {
        Self {
            text: String::new(),
            anchors: Vec::new(),
            expected: base,
            end: base,
            first_line,
            newlines: 0,
            mid_line: false,
        }
    }

    /// A view of text that is its own raw form: position `n` came from byte `base + n`.
    #[must_use]
    pub fn verbatim(text: impl Into<String>, base: Offset) -> Self {
        let mut view = Self::new(base);
        let text = text.into();
        view.push(&text, base);
        view.end = base + text.len() as u64;
        view
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Gives the text away.
    #[must_use]
    pub fn into_text(self) -> String {
        self.text
    }

    /// Whether there is no text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The number of the line the text begins in.
    #[must_use]
    pub fn first_line(&self) -> LineNumber {
        self.first_line
    }

    /// Whether the text begins inside a line whose beginning was taken before.
    #[must_use]
    pub fn begins_mid_line(&self) -> bool {
        self.mid_line
    }

    /// The number of the line that the text ends in.
    #[must_use]
    pub fn next_line(&self) -> LineNumber {
        self.first_line.down(self.newlines)
    }

    /// Where the bytes that this text accounts for end.
    #[must_use]
    pub fn end(&self) -> Offset {
        self.end
    }

    /// The raw offset of a text position: exact at the beginnings of lines, never decreasing inside them.
    #[must_use]
    pub fn raw_at(&self, at: usize) -> Offset {
        if at >= self.text.len() {
            return self.end;
        }
        let next = self.anchors.partition_point(|anchor| anchor.at <= at);
        let limit = self.anchors.get(next).map_or(self.end, |anchor| anchor.raw.min(self.end));
        match next.checked_sub(1).and_then(|before| self.anchors.get(before)) {
            Some(anchor) => (anchor.raw + (at - anchor.at) as u64).min(limit),
            None => limit,
        }
    }

    /// The raw bytes behind a range of the text.
    #[must_use]
    pub fn raw_span(&self, range: Range<usize>) -> Span {
        Span::new(self.raw_at(range.start), self.raw_at(range.end))
    }

    /// The lines, first to last; the text after the last newline is one too.
    pub fn lines(&self) -> impl Iterator<Item = ViewLine<'_>> {
        let mut at = 0;
        self.text.split_inclusive('\n').enumerate().map(move |(index, piece)| {
            let text = piece.strip_suffix('\n');
            let line = ViewLine {
                number: self.first_line.down(index as u64),
                text: text.unwrap_or(piece),
                raw: self.raw_span(at..at + piece.len()),
                begins: index > 0 || !self.mid_line,
                ends: text.is_some(),
            };
            at += piece.len();
            line
        })
    }

    /// Forgets the text that was taken; numbers and addresses go on from here.
    pub fn clear(&mut self) {
        self.mid_line = match self.text.as_bytes().last() {
            Some(last) => *last != b'\n',
            None => self.mid_line,
        };
        self.first_line = self.first_line.down(self.newlines);
        self.newlines = 0;
        self.text.clear();
        self.anchors.clear();
    }

    /// Declares that the text that follows is not on the line in which the text before ended: something between them is
    /// missing. The text before must have been taken.
    pub fn break_line(&mut self) {
        if std::mem::take(&mut self.mid_line) {
            self.first_line = self.first_line.down(1);
        }
    }

    /// Appends whole lines that stand behind everything that was printed.
    pub fn push_closing(&mut self, lines: &str) {
        if self.ends_mid_line() {
            self.push_newline();
        }
        self.push(lines, self.end);
    }

    /// Whether the text ends inside of a line.
    pub(crate) fn ends_mid_line(&self) -> bool {
        self.text.as_bytes().last().map_or(self.mid_line, |last| *last != b'\n')
    }

    /// Appends a piece without a newline that came from `raw` on.
    pub(crate) fn push_piece(&mut self, text: &str, raw: Offset) {
        self.anchor(raw);
        self.text.push_str(text);
        self.expected = raw + text.len() as u64;
    }

    /// Appends the newline that ends the current line.
    pub(crate) fn push_newline(&mut self) {
        if self.text.is_empty() {
            self.anchor(self.expected);
        }
        self.text.push('\n');
        self.newlines += 1;
        self.expected += 1;
    }

    /// Appends text of any kind that came from `raw` on.
    pub(crate) fn push(&mut self, text: &str, raw: Offset) {
        self.push_piece(text, raw);
        self.newlines += memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64;
    }

    /// Declares that the bytes before `end` are accounted for.
    pub(crate) fn reach(&mut self, end: Offset) {
        self.end = self.end.max(end);
    }

    /// Appends the whole of `later`, which continues this view.
    pub(crate) fn append(&mut self, later: &View) {
        let shift = self.text.len();
        self.anchors.extend(later.anchors.iter().map(|a| Anchor { at: a.at + shift, raw: a.raw }));
        self.text.push_str(&later.text);
        self.newlines += later.newlines;
        self.expected = later.expected;
        self.reach(later.end);
    }

    /// Forgets the first `len` bytes of the text, which must end at a character boundary.
    pub(crate) fn drop_front(&mut self, len: usize) {
        if len == 0 {
            return;
        }
        let raw = self.raw_at(len);
        let dropped = &self.text.as_bytes()[..len];
        let newlines = memchr::memchr_iter(b'\n', dropped).count() as u64;
        self.mid_line = dropped.last() != Some(&b'\n');
        self.first_line = self.first_line.down(newlines);
        self.newlines -= newlines;
        self.text.drain(..len);
        self.anchors.retain(|anchor| anchor.at > len);
        self.anchors.iter_mut().for_each(|anchor| anchor.at -= len);
        if !self.text.is_empty() {
            self.anchors.insert(0, Anchor { at: 0, raw });
        }
    }

    fn anchor(&mut self, raw: Offset) {
        // A line that was rewritten late may contain positions that lie behind the beginning of the next one.
        for earlier in self.anchors.iter_mut().rev().take_while(|earlier| earlier.raw > raw) {
            earlier.raw = raw;
        }
        let anchor = Anchor { at: self.text.len(), raw };
        if (raw != self.expected || self.text.is_empty()) && self.anchors.last() != Some(&anchor) {
            self.anchors.push(anchor);
        }
    }
}
