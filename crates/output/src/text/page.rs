//! The newest lines of output that has no terminal, which cursor movements can still reach and rewrite; older ones leave it for
//! good.
//!
//! The page is unbounded to the right: a long line is one line, not several rows, because a log has no width. What
//! is drawn on the alternate screen, or outside a scroll region (a status bar), is not log text and is dropped.

use std::collections::VecDeque;

use super::escape::ControlSequence;
use super::line::{LONGEST_LINE, Line};
use crate::offset::Offset;
use crate::view::View;

/// Cursor movements reach no further right than this, or the end of the line if that is further.
const FURTHEST_COLUMN: usize = 512;

#[derive(Clone, Debug)]
pub(crate) struct Page {
    lines: VecDeque<Line>,
    rows: usize,
    /// The cursor's row; may lie below the last line, which is made when something is written there.
    row: usize,
    place: Place,
    drawing: Drawing,
    /// Whether the cursor was just sent to the top left corner by address.
    homed: bool,
    /// How many lines have left the page.
    left: u64,
    saved: Option<Saved>,
    region: Option<Region>,
}

/// Where in its line the cursor is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// Behind the last character of a plain line, whatever column that is.
    End,
    Column(usize),
}

/// What the program is drawing on.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Drawing {
    Log,
    StatusBar,
    AlternateScreen,
}

#[derive(Clone, Copy, Debug)]
struct Saved {
    line: u64,
    place: Place,
    /// How long the line was, if the cursor was at its end.
    columns: usize,
}

#[derive(Clone, Copy, Debug)]
struct Region {
    top: usize,
    bottom: usize,
}

/// Which part of a line or of the page is erased.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Erase {
    After,
    Before,
    All,
}

impl Erase {
    /// The part that an erasing code names. Erasing the scroll-back (3) is not obeyed: a log loses nothing.
    pub(super) fn of(sequence: &ControlSequence) -> Option<Self> {
        match sequence.number(0, 0) {
            0 => Some(Self::After),
            1 => Some(Self::Before),
            2 => Some(Self::All),
            _ => None,
        }
    }
}

impl Page {
    pub(crate) fn new(rows: usize, start: Offset) -> Self {
        let mut first = Line::default();
        first.reset(start);
        Self {
            lines: VecDeque::from([first]),
            rows: rows.max(1),
            row: 0,
            place: Place::End,
            drawing: Drawing::Log,
            homed: false,
            left: 0,
            saved: None,
            region: None,
        }
    }

    /// Where the oldest line that can still change begins.
    pub(crate) fn start(&self) -> Offset {
        self.lines[0].start()
    }

    /// Writes text without control characters that came from `raw` on.
    #[inline]
    pub(crate) fn print(&mut self, text: &str, raw: Offset, out: &mut View) {
        if self.drawing != Drawing::Log {
            return;
        }
        self.homed = false;
        if self.place == Place::End
            && let Some(line) = self.lines.get_mut(self.row)
            && text.len() <= line.room()
        {
            return line.append(text, raw);
        }
        self.print_elsewhere(text, raw, out);
    }

    /// Ends the line; the next one begins at `raw`.
    #[inline]
    pub(crate) fn newline(&mut self, raw: Offset, out: &mut View) {
        if self.drawing != Drawing::Log {
            return;
        }
        self.homed = false;
        self.make_row(raw);
        self.row += 1;
        if self.row < self.lines.len() {
            self.place = Place::Column(0);
            return;
        }
        let mut line = if self.lines.len() >= self.rows { self.retire(out) } else { Line::default() };
        line.reset(raw);
        self.lines.push_back(line);
        self.place = Place::End;
    }

    /// Whether the cursor stands on a new last line that begins at `raw`.
    #[inline]
    pub(crate) fn begins_line(&self, raw: Offset) -> bool {
        let last = self.lines.get(self.row).filter(|line| line.is_empty() && line.start() == raw);
        last.is_some()
            && self.row + 1 == self.lines.len()
            && self.place == Place::End
            && self.drawing == Drawing::Log
    }

    /// Lets lines without control characters pass that begin at `raw`, on a new last line: those that would have left the
    /// page by the end of `text` go to `out` without ever being on it. Returns how many bytes these are.
    pub(crate) fn pass(&mut self, text: &str, raw: Offset, out: &mut View) -> usize {
        let bytes = text.as_bytes();
        let Some(last) = memchr::memrchr_iter(b'\n', bytes).nth(self.rows - 1) else { return 0 };
        let passed = last + 1;
        while self.lines.len() > 1 {
            self.retire(out);
        }
        let before = out.next_line();
        out.push(&text[..passed], raw);
        self.left += out.next_line().get() - before.get();
        self.lines[0].reset(raw + passed as u64);
        self.homed = false;
        passed
    }

    pub(crate) fn carriage_return(&mut self) {
        if self.drawing == Drawing::Log {
            self.place = Place::Column(0);
        }
    }

    /// Moves by whole rows, keeping the column.
    pub(crate) fn move_rows(&mut self, rows: isize) {
        if self.drawing == Drawing::Log {
            let column = self.column();
            self.go(self.row.saturating_add_signed(rows), column);
        }
    }

    /// Moves inside the line.
    pub(crate) fn move_columns(&mut self, columns: isize) {
        if self.drawing == Drawing::Log {
            let column = self.column().saturating_add_signed(columns);
            self.go(self.row, column);
        }
    }

    /// Moves to a column of the line.
    pub(crate) fn go_to_column(&mut self, column: usize) {
        if self.drawing == Drawing::Log {
            self.go(self.row, column);
        }
    }

    /// Moves to an address on the page; outside the scroll region is where status bars live.
    pub(crate) fn go_to(&mut self, row: usize, column: usize) {
        if self.drawing == Drawing::AlternateScreen {
            return;
        }
        if self.region.is_some_and(|region| row < region.top || row > region.bottom) {
            self.drawing = Drawing::StatusBar;
            return;
        }
        self.drawing = Drawing::Log;
        self.go(row, column);
        self.homed = (row, column) == (0, 0);
    }

    /// Moves to a row by address, keeping the column.
    pub(crate) fn go_to_row(&mut self, row: usize) {
        let column = self.column();
        self.go_to(row, column);
    }

    pub(crate) fn save_cursor(&mut self) {
        if self.drawing != Drawing::Log {
            return;
        }
        let line = self.lines.get(self.row);
        let narrow = line.is_none_or(Line::is_narrow);
        let columns = line.filter(|_| narrow).map_or(0, Line::len);
        if !narrow {
            self.column();
        }
        self.saved = Some(Saved { line: self.left + self.row as u64, place: self.place, columns });
    }

    pub(crate) fn restore_cursor(&mut self) {
        if self.drawing == Drawing::AlternateScreen {
            return;
        }
        self.drawing = Drawing::Log;
        let Some(saved) = self.saved else { return };
        self.row = usize::try_from(saved.line.saturating_sub(self.left)).unwrap_or(0).min(self.rows - 1);
        let line = self.lines.get(self.row);
        self.place = match (saved.place, line) {
            (Place::End, Some(line)) if line.is_plain() && line.len() == saved.columns => Place::End,
            (Place::End, _) => Place::Column(saved.columns),
            (place, _) => place,
        };
    }

    /// Reserves rows (counted from 0) for scrolling; the whole screen when there are none.
    pub(crate) fn set_region(&mut self, top: usize, bottom: usize) {
        if self.drawing == Drawing::AlternateScreen {
            return;
        }
        self.region = (top < bottom).then_some(Region { top, bottom });
        self.drawing = Drawing::Log;
        self.go(0, 0);
    }

    pub(crate) fn enter_alternate_screen(&mut self) {
        self.drawing = Drawing::AlternateScreen;
    }

    pub(crate) fn is_alternate(&self) -> bool {
        self.drawing == Drawing::AlternateScreen
    }

    pub(crate) fn leave_alternate_screen(&mut self) {
        if self.drawing == Drawing::AlternateScreen {
            self.drawing = Drawing::Log;
        }
    }

    pub(crate) fn erase_in_line(&mut self, erase: Erase) {
        let nothing_after = erase == Erase::After && self.place == Place::End;
        if self.drawing != Drawing::Log || nothing_after || self.row >= self.lines.len() {
            return;
        }
        let column = if self.place == Place::Column(0) { 0 } else { self.column() };
        let line = &mut self.lines[self.row];
        match erase {
            Erase::After => line.erase_after(column),
            Erase::Before => line.blank(0, column + 1),
            Erase::All => line.erase(),
        }
    }

    /// Erasing all of it begins a new page: what was there stays in the log, as it stays in a scrollback.
    pub(crate) fn erase_in_page(&mut self, erase: Erase, raw: Offset, out: &mut View) {
        if self.drawing != Drawing::Log {
            return;
        }
        match erase {
            Erase::All => self.turn(raw, out),
            Erase::After if self.homed => self.turn(raw, out),
            Erase::After => {
                self.erase_in_line(erase);
                self.lines.truncate(self.row + 1);
            }
            Erase::Before => {
                self.erase_in_line(erase);
                let above = self.row.min(self.lines.len());
                self.lines.range_mut(..above).for_each(Line::erase);
            }
        }
    }

    /// Begins a new page; the lines of this one can change no more.
    pub(crate) fn turn(&mut self, raw: Offset, out: &mut View) {
        while self.lines.len() > 1 && self.lines.back().is_some_and(Line::is_empty) {
            self.lines.pop_back();
        }
        self.row = self.lines.len();
        while self.lines.len() > 1 || !self.lines[0].is_empty() {
            let mut line = self.retire(out);
            if self.lines.is_empty() {
                line.reset(raw);
                self.lines.push_back(line);
            }
        }
        self.drawing = Drawing::Log;
        self.region = None;
        self.row = 0;
        self.place = Place::Column(0);
    }

    pub(crate) fn insert_lines(&mut self, count: usize, raw: Offset) {
        if self.drawing != Drawing::Log || self.row >= self.lines.len() {
            return;
        }
        let start = self.lines[self.row].start().min(raw);
        for _ in 0..count.min(self.rows - self.row) {
            let mut line = Line::default();
            line.reset(start);
            self.lines.insert(self.row, line);
        }
        self.lines.truncate(self.rows);
        self.place = Place::Column(0);
    }

    pub(crate) fn delete_lines(&mut self, count: usize) {
        if self.drawing != Drawing::Log || self.row >= self.lines.len() {
            return;
        }
        let to = self.row.saturating_add(count).min(self.lines.len());
        self.keep_start(to);
        self.lines.drain(self.row..to);
        self.place = Place::Column(0);
    }

    pub(crate) fn insert_columns(&mut self, count: usize) {
        if let Some((line, column)) = self.here() {
            line.insert(column, count.min(FURTHEST_COLUMN));
        }
    }

    pub(crate) fn delete_columns(&mut self, count: usize) {
        if let Some((line, column)) = self.here() {
            line.delete(column, count);
        }
    }

    pub(crate) fn erase_columns(&mut self, count: usize) {
        if let Some((line, column)) = self.here() {
            line.blank(column, column.saturating_add(count));
        }
    }

    /// Writes the character before the cursor `count` times more.
    pub(crate) fn repeat(&mut self, count: usize, raw: Offset, out: &mut View) {
        let Some((line, column)) = self.here() else { return };
        let Some(what) = line.char_before(column) else { return };
        for _ in 0..count.min(FURTHEST_COLUMN) {
            self.print(what.encode_utf8(&mut [0; 4]), raw, out);
        }
    }

    /// Appends all lines as they are now to `out`.
    pub(crate) fn write_to(&self, out: &mut View) {
        for (row, line) in self.lines.iter().enumerate() {
            if row > 0 {
                out.push_newline();
            }
            line.write_to(out, self.kept_columns(row));
        }
    }

    /// Blanks before the cursor belong to what a reader sees as a prompt.
    fn kept_columns(&self, row: usize) -> usize {
        match self.place {
            Place::Column(column) if row == self.row => column,
            _ => 0,
        }
    }

    fn print_elsewhere(&mut self, text: &str, raw: Offset, out: &mut View) {
        self.make_row(raw);
        let line = &mut self.lines[self.row];
        if self.place == Place::Column(0) && line.is_empty() {
            line.erase();
            self.place = Place::End;
        }
        match self.place {
            Place::End => self.append_long(text, raw, out),
            Place::Column(_) => self.overwrite(text, raw, out),
        }
    }

    fn append_long(&mut self, text: &str, raw: Offset, out: &mut View) {
        let (mut rest, mut raw) = (text, raw);
        loop {
            let line = &mut self.lines[self.row];
            let (now, later) = rest.split_at(rest.floor_char_boundary(line.room()));
            line.append(now, raw);
            raw += now.len() as u64;
            rest = later;
            if rest.is_empty() {
                return;
            }
            self.spill(raw, out);
        }
    }

    fn overwrite(&mut self, text: &str, raw: Offset, out: &mut View) {
        let mut column = self.column();
        for (at, what) in text.char_indices() {
            if column >= LONGEST_LINE {
                let raw = raw + at as u64;
                self.spill(raw, out);
                return self.append_long(&text[at..], raw, out);
            }
            column = match what {
                '\t' => Line::tab_stop(column),
                _ => self.lines[self.row].put(column, what),
            };
        }
        self.place = Place::Column(column);
    }

    /// Hands out an overlong line as far as it goes; it continues, empty, at `raw`.
    fn spill(&mut self, raw: Offset, out: &mut View) {
        for _ in 0..self.row {
            self.retire(out);
        }
        // Lines below were begun before: the rest of this one must not claim to come after them.
        let start = self.lines.get(1).map_or(raw, |below| below.start().min(raw));
        let line = &mut self.lines[0];
        line.write_to(out, usize::MAX);
        line.reset(start);
        self.place = Place::End;
    }

    /// Hands out the oldest line.
    fn retire(&mut self, out: &mut View) -> Line {
        let line = self.lines.pop_front().unwrap_or_default();
        line.write_to(out, if self.row == 0 { self.kept_columns(0) } else { 0 });
        out.push_newline();
        self.left += 1;
        self.row = self.row.saturating_sub(1);
        line
    }

    fn here(&mut self) -> Option<(&mut Line, usize)> {
        if self.drawing != Drawing::Log || self.row >= self.lines.len() {
            return None;
        }
        let column = self.column();
        Some((&mut self.lines[self.row], column))
    }

    fn column(&mut self) -> usize {
        if let Place::Column(column) = self.place {
            return column;
        }
        let width = self.width();
        self.place = Place::Column(width);
        width
    }

    fn width(&mut self) -> usize {
        self.lines.get_mut(self.row).map_or(0, Line::width)
    }

    fn go(&mut self, row: usize, column: usize) {
        self.homed = false;
        self.row = row.min(self.rows - 1);
        let furthest = if column > FURTHEST_COLUMN { FURTHEST_COLUMN.max(self.width()) } else { column };
        self.place = Place::Column(column.min(furthest));
    }

    fn make_row(&mut self, raw: Offset) {
        while self.lines.len() <= self.row {
            let mut line = Line::default();
            line.reset(raw);
            self.lines.push_back(line);
        }
    }

    /// Before lines `row..to` go: what moves up to the page's beginning must not claim later bytes as its own.
    fn keep_start(&mut self, to: usize) {
        if self.row == 0 && to >= self.lines.len() {
            let mut line = Line::default();
            line.reset(self.lines[0].start());
            self.lines.push_back(line);
        }
    }
}
