//! One line that can still change. It is plain text for as long as it only grows, and becomes a row of cells the
//! first time something writes into its middle; almost no line of a log ever does.

use unicode_width::UnicodeWidthChar as _;

use crate::offset::Offset;
use crate::view::{Anchor, View};

/// A line longer than this is handed out in pieces: bytes while plain, columns once rewritten.
pub(crate) const LONGEST_LINE: usize = 4096;

/// Inside a line, places are remembered at most this often.
const ANCHOR_EVERY: usize = 256;

/// More distinct combinations of marks than this in one line are not kept.
const MOST_MARKS: usize = 256;
const LONGEST_MARKS: usize = 64;

const TAB_WIDTH: usize = 8;

/// The second half of a wide character.
const CONTINUATION: char = '\0';

#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    start: Offset,
    text: String,
    anchors: Vec<Anchor>,
    expected: Offset,
    /// Present once the line was rewritten; `text` is empty then.
    row: Option<Row>,
}

#[derive(Clone, Debug, Default)]
struct Row {
    cells: Vec<Cell>,
    marks: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Cell {
    what: char,
    /// One more than the index of its combining marks, or zero.
    marks: u16,
}

const BLANK: Cell = Cell { what: ' ', marks: 0 };

impl Line {
    pub(crate) fn start(&self) -> Offset {
        self.start
    }

    /// Makes this an empty line that begins at `start`, keeping its memory.
    pub(crate) fn reset(&mut self, start: Offset) {
        self.start = start;
        self.expected = start;
        self.erase();
    }

    /// Removes everything on the line.
    pub(crate) fn erase(&mut self) {
        self.text.clear();
        self.anchors.clear();
        self.row = None;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.row.as_ref().is_none_or(|row| row.cells.is_empty())
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.row.is_none()
    }

    /// Its length in bytes while it is plain.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// Whether each byte of a plain line is one column.
    pub(crate) fn is_narrow(&self) -> bool {
        self.text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
    }

    /// How many bytes of text still fit while it is plain.
    pub(crate) fn room(&self) -> usize {
        LONGEST_LINE.saturating_sub(self.text.len())
    }

    /// Appends to a plain line.
    #[inline]
    pub(crate) fn append(&mut self, text: &str, raw: Offset) {
        if raw != self.expected {
            self.anchor(raw);
        }
        self.text.push_str(text);
        self.expected = raw + text.len() as u64;
    }

    fn anchor(&mut self, raw: Offset) {
        let at = self.text.len();
        if at >= self.anchors.last().map_or(0, |anchor| anchor.at) + ANCHOR_EVERY {
            self.anchors.push(Anchor { at, raw });
        }
    }

    /// The number of columns; rewrites the line as cells, so that asking again costs nothing.
    pub(crate) fn width(&mut self) -> usize {
        if self.is_empty() { 0 } else { self.row().cells.len() }
    }

    /// The last character before `column`, for repetition.
    pub(crate) fn char_before(&mut self, column: usize) -> Option<char> {
        let cells = &self.row().cells;
        let before = cells.get(..column.min(cells.len()))?;
        before.iter().rev().map(|cell| cell.what).find(|&what| what != CONTINUATION)
    }

    /// Writes one character over what is at `column` and returns the column after it.
    pub(crate) fn put(&mut self, column: usize, what: char) -> usize {
        let row = self.row();
        if what.is_ascii() && row.put_ascii(column, what) {
            return column + 1;
        }
        let width = what.width().unwrap_or(0);
        if width == 0 {
            row.mark(column, what);
            return column;
        }
        row.clear_cells(column, column + width);
        row.cells[column] = Cell { what, marks: 0 };
        if width == 2 {
            row.cells[column + 1] = Cell { what: CONTINUATION, marks: 0 };
        }
        column + width
    }

    /// The column to which a tab at `column` moves.
    pub(crate) fn tab_stop(column: usize) -> usize {
        (column / TAB_WIDTH + 1) * TAB_WIDTH
    }

    /// Erases from `column` to the end.
    pub(crate) fn erase_after(&mut self, column: usize) {
        if column == 0 {
            return self.erase();
        }
        let row = self.row();
        if column < row.cells.len() {
            row.clear_cells(column, column + 1);
            row.cells.truncate(column);
        }
    }

    /// Erases `from..to`, leaving blanks.
    pub(crate) fn blank(&mut self, from: usize, to: usize) {
        let row = self.row();
        let to = to.min(row.cells.len());
        if from < to {
            row.clear_cells(from, to);
        }
    }

    /// Makes room for `count` columns at `column`.
    pub(crate) fn insert(&mut self, column: usize, count: usize) {
        let row = self.row();
        if column < row.cells.len() {
            row.split_at(column);
            row.cells.splice(column..column, std::iter::repeat_n(BLANK, count));
            row.cells.truncate(LONGEST_LINE);
        }
    }

    /// Takes `count` columns at `column` away.
    pub(crate) fn delete(&mut self, column: usize, count: usize) {
        let row = self.row();
        let to = column.saturating_add(count).min(row.cells.len());
        if column < to {
            row.split_at(column);
            row.split_at(to);
            row.cells.drain(column..to);
        }
    }

    /// Takes away what lies behind so many columns.
    pub(crate) fn truncate(&mut self, columns: usize) {
        let row = self.row();
        if columns < row.cells.len() {
            row.split_at(columns);
            row.cells.truncate(columns);
        }
    }

    /// Makes it at least so many columns long.
    pub(crate) fn pad(&mut self, columns: usize) {
        let row = self.row();
        row.cells.resize(columns.max(row.cells.len()), BLANK);
    }

    /// Whether it has nothing but blanks.
    pub(crate) fn is_blank(&self) -> bool {
        match &self.row {
            None => self.text.bytes().all(|byte| matches!(byte, b' ' | b'\t')),
            Some(row) => row.cells.iter().all(|cell| *cell == BLANK),
        }
    }

    /// Appends the line, without a newline, to `out`. Blanks at the end of a rewritten line were never meant to be
    /// read, except those before `keep`, where a prompt's cursor stands.
    pub(crate) fn write_to(&self, out: &mut View, keep: usize) {
        let Some(row) = &self.row else {
            return self.write_plain(out);
        };
        let mut text = String::new();
        row.write_to(&mut text, keep);
        out.push_piece(&text, self.start);
    }

    #[inline]
    fn write_plain(&self, out: &mut View) {
        let mut from = 0;
        let mut raw = self.start;
        for anchor in &self.anchors {
            out.push_piece(&self.text[from..anchor.at], raw);
            (from, raw) = (anchor.at, anchor.raw);
        }
        out.push_piece(&self.text[from..], raw);
    }

    fn row(&mut self) -> &mut Row {
        let text = &mut self.text;
        let anchors = &mut self.anchors;
        self.row.get_or_insert_with(|| {
            let row = Row::from_text(text);
            text.clear();
            anchors.clear();
            row
        })
    }
}

impl Row {
    fn from_text(text: &str) -> Self {
        let mut row = Self { cells: Vec::with_capacity(text.len()), marks: Vec::new() };
        for what in text.chars() {
            row.push(what);
        }
        row
    }

    fn push(&mut self, what: char) {
        if what == '\t' {
            return self.cells.resize(Line::tab_stop(self.cells.len()), BLANK);
        }
        match what.width().unwrap_or(0) {
            0 => self.mark(self.cells.len(), what),
            1 => self.cells.push(Cell { what, marks: 0 }),
            _ => self.cells.extend([Cell { what, marks: 0 }, Cell { what: CONTINUATION, marks: 0 }]),
        }
    }

    /// Writes over a narrow character or at the end; returns whether that was possible.
    #[inline]
    fn put_ascii(&mut self, column: usize, what: char) -> bool {
        let next_is_free = self.cells.get(column + 1).is_none_or(|next| next.what != CONTINUATION);
        let width = self.cells.len();
        match self.cells.get_mut(column) {
            Some(cell) if next_is_free && cell.what != CONTINUATION => *cell = Cell { what, marks: 0 },
            None if column == width => self.cells.push(Cell { what, marks: 0 }),
            _ => return false,
        }
        true
    }

    /// Adds a mark of no width to the character before `column`.
    fn mark(&mut self, column: usize, what: char) {
        let Some(mut base) = column.min(self.cells.len()).checked_sub(1) else { return };
        if self.cells[base].what == CONTINUATION && base > 0 {
            base -= 1;
        }
        let cell = &mut self.cells[base];
        if cell.marks == 0 {
            if self.marks.len() == MOST_MARKS {
                return;
            }
            self.marks.push(String::new());
            cell.marks = self.marks.len() as u16;
        }
        let marks = &mut self.marks[usize::from(cell.marks) - 1];
        if marks.len() < LONGEST_MARKS {
            marks.push(what);
        }
    }

    /// Makes `from..to` blank, and the other half of any wide character cut by it; grows as needed.
    fn clear_cells(&mut self, from: usize, to: usize) {
        if self.cells.len() < to {
            self.cells.resize(to, BLANK);
        }
        self.split_at(from);
        self.split_at(to);
        self.cells[from..to].fill(BLANK);
    }

    /// Blanks both halves of a wide character that lies across `column`.
    fn split_at(&mut self, column: usize) {
        if column > 0 && self.cells.get(column).is_some_and(|cell| cell.what == CONTINUATION) {
            self.cells[column - 1] = BLANK;
            self.cells[column] = BLANK;
        }
    }

    fn write_to(&self, text: &mut String, keep: usize) {
        let used = self.cells.iter().rposition(|cell| *cell != BLANK).map_or(0, |last| last + 1);
        let used = used.max(keep.min(self.cells.len()));
        for cell in &self.cells[..used] {
            if cell.what != CONTINUATION {
                text.push(cell.what);
            }
            if let Some(marks) = usize::from(cell.marks).checked_sub(1) {
                text.push_str(&self.marks[marks]);
            }
        }
    }
}
