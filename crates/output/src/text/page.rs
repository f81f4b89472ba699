//! The newest lines of output that has no terminal, which cursor movements can still reach and rewrite; older ones
//! leave it and never change again.
//!
//! The page is unbounded to the right: a long line is one line, not several rows, because a log has no width. It has no
//! height either, so a row number means nothing on it: text that a program sends to an address, or draws on the
//! alternate screen, begins a new line, and nothing that was printed before is overwritten by it. Only codes that
//! rewrite a line from where the cursor is (a carriage return, an erasure, a cursor movement over so many lines)
//! replace text.

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
    place: CursorColumn,
    /// The row number of the first line, if an address began it.
    top: Option<usize>,
    /// How many lines have left the page.
    left: u64,
    saved: Option<Saved>,
    alternate: Alternate,
}

/// The alternate screen of the output.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Alternate {
    /// The output of a pipe has no alternate screen: text drawn there is text of the log.
    None,
    /// Of a terminal whose output is followed line by line.
    Left,
    /// The same, and the program draws on it, which is not text.
    Entered,
}

/// Where in its line the cursor is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum CursorColumn {
    /// Behind the last character of a plain line, without a computed column.
    End,
    Column(usize),
    /// On no line of the page: text that is printed begins a new line, at this column. The row is the one that was
    /// addressed.
    NewLine {
        row: Option<usize>,
        column: usize,
    },
}

#[derive(Clone, Copy, Debug)]
struct Saved {
    /// Counted from the first line of the output; `None`: on no line that can still change.
    line: Option<u64>,
    place: CursorColumn,
    /// How long the line was, if the cursor was at its end.
    columns: usize,
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
            place: CursorColumn::End,
            top: None,
            left: 0,
            saved: None,
            alternate: Alternate::None,
        }
    }

    /// The same for the output of a terminal, whose alternate screen is not text.
    pub(crate) fn set_terminal(&mut self) {
        self.alternate = Alternate::Left;
    }

    /// Whether what is printed is drawn on the alternate screen of a terminal.
    #[inline]
    pub(crate) fn is_hidden(&self) -> bool {
        self.alternate == Alternate::Entered
    }

    /// Where the oldest line that can still change begins.
    pub(crate) fn start(&self) -> Offset {
        self.lines[0].start()
    }

    /// Writes text without control characters that came from `raw` on.
    #[inline]
    pub(crate) fn print(&mut self, text: &str, raw: Offset, out: &mut View) {
        if self.is_hidden() {
            return;
        }
        if self.place == CursorColumn::End
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
        if let CursorColumn::NewLine { row, .. } = self.place {
            self.turn(raw, out);
            self.top = row.map(|row| row.saturating_add(1));
            return;
        }
        self.make_row(raw);
        self.row += 1;
        if self.row < self.lines.len() {
            self.place = CursorColumn::Column(0);
            return;
        }
        let mut line = if self.lines.len() >= self.rows { self.retire(out) } else { Line::default() };
        line.reset(raw);
        self.lines.push_back(line);
        self.place = CursorColumn::End;
    }

    /// Whether the cursor stands on a new last line that begins at `raw`.
    #[inline]
    pub(crate) fn begins_line(&self, raw: Offset) -> bool {
        let last = self.lines.get(self.row).filter(|line| line.is_empty() && line.start() == raw);
        last.is_some()
            && self.row + 1 == self.lines.len()
            && self.place == CursorColumn::End
            && !self.is_hidden()
    }

    /// Lets lines without control characters pass that begin at `raw`, on a new last line: those that would have left
    /// the page by the end of `text` go to `out` without ever being on it. Returns how many bytes these are.
    pub(crate) fn pass(&mut self, text: &str, raw: Offset, out: &mut View) -> usize {
        let bytes = text.as_bytes();
        let Some(last) = memchr::memrchr_iter(b'\n', bytes).nth(self.rows - 1) else { return 0 };
        let passed = last + 1;
        while self.lines.len() > 1 {
            self.retire(out);
        }
        let before = out.next_line();
        out.push(&text[..passed], raw);
        let lines = out.next_line().get() - before.get();
        self.left += lines;
        self.top = self.top.map(|top| top.saturating_add(usize::try_from(lines).unwrap_or(usize::MAX)));
        self.lines[0].reset(raw + passed as u64);
        passed
    }

    pub(crate) fn carriage_return(&mut self) {
        self.go_to_column(0);
    }

    /// Moves by whole rows, keeping the column. Below the last row that the page can have, a new line begins.
    pub(crate) fn move_rows(&mut self, rows: isize, raw: Offset, out: &mut View) {
        let column = self.column();
        if let CursorColumn::NewLine { row, .. } = self.place {
            let row = row.map(|row| row.saturating_add_signed(rows));
            self.place = CursorColumn::NewLine { row, column };
            return;
        }
        match (self.row.checked_add_signed(rows), self.top) {
            // The lines above one that an address began are unrelated to it.
            (None, Some(top)) => {
                let row = top.saturating_add_signed(rows.saturating_add_unsigned(self.row));
                self.place = CursorColumn::NewLine { row: Some(row), column };
            }
            (Some(row), _) if row > self.row && self.row + 1 == self.rows => {
                self.newline(raw, out);
                self.go(self.row, column);
            }
            (row, _) => self.go(row.unwrap_or(0), column),
        }
    }

    /// Moves inside the line.
    pub(crate) fn move_columns(&mut self, columns: isize) {
        let column = self.column().saturating_add_signed(columns);
        self.go_to_column(column);
    }

    /// Moves to a column of the line.
    pub(crate) fn go_to_column(&mut self, column: usize) {
        match self.place {
            CursorColumn::NewLine { row, .. } => self.place = CursorColumn::NewLine { row, column },
            _ if column == 0 => self.place = CursorColumn::Column(0),
            _ => self.go(self.row, column),
        }
    }

    /// Moves to an address.
    pub(crate) fn go_to(&mut self, row: usize, column: usize) {
        self.place = CursorColumn::NewLine { row: Some(row), column };
    }

    /// Moves to a row by address, keeping the column.
    pub(crate) fn go_to_row(&mut self, row: usize) {
        let column = self.column();
        self.go_to(row, column);
    }

    /// The alternate screen is entered or left. On a pipe, what is drawn on either is text of the log.
    pub(crate) fn switch_screen(&mut self, enters: bool) {
        self.alternate = match (self.alternate, enters) {
            (Alternate::None, _) => return self.leave_line(),
            (_, true) => Alternate::Entered,
            (_, false) => Alternate::Left,
        };
    }

    /// Moves off all lines: what is printed next begins a new one.
    fn leave_line(&mut self) {
        self.place = CursorColumn::NewLine { row: None, column: 0 };
    }

    pub(crate) fn save_cursor(&mut self) {
        let line = self.lines.get(self.row);
        let narrow = line.is_none_or(Line::is_narrow);
        let columns = line.filter(|_| narrow).map_or(0, Line::len);
        if !narrow {
            self.column();
        }
        let is_on_line = !matches!(self.place, CursorColumn::NewLine { .. });
        let line = is_on_line.then_some(self.left + self.row as u64);
        self.saved = Some(Saved { line, place: self.place, columns });
    }

    /// Moves back to where the cursor was saved, or to a new line if that line can no longer change.
    pub(crate) fn restore_cursor(&mut self) {
        let Some(saved) = self.saved else { return };
        let row = saved.line.and_then(|line| usize::try_from(line.checked_sub(self.left)?).ok());
        let Some(row) = row else { return self.leave_line() };
        self.row = row.min(self.rows - 1);
        let line = self.lines.get(self.row);
        self.place = match (saved.place, line) {
            (CursorColumn::End, Some(line)) if line.is_plain() && line.len() == saved.columns => {
                CursorColumn::End
            }
            (CursorColumn::End, _) => CursorColumn::Column(saved.columns),
            (place, _) => place,
        };
    }

    pub(crate) fn erase_in_line(&mut self, erase: Erase) {
        let nothing_after = erase == Erase::After && self.place == CursorColumn::End;
        if nothing_after || !self.is_on_line() {
            return;
        }
        let column = if self.place == CursorColumn::Column(0) { 0 } else { self.column() };
        let line = &mut self.lines[self.row];
        match erase {
            Erase::After => line.erase_after(column),
            Erase::Before => line.blank(0, column + 1),
            Erase::All => line.erase(),
        }
    }

    /// Erasing all of it, or all before the cursor, loses nothing: what was there stays in the log, as it stays in a
    /// scrollback.
    pub(crate) fn erase_in_page(&mut self, erase: Erase, raw: Offset, out: &mut View) {
        match erase {
            Erase::All => self.turn(raw, out),
            Erase::Before => self.place = CursorColumn::NewLine { row: None, column: self.column() },
            Erase::After if self.is_on_line() => {
                self.erase_in_line(erase);
                self.lines.truncate(self.row + 1);
            }
            Erase::After => {}
        }
    }

    /// Begins a new page; the lines of the old one can no longer change.
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
        if let Some(saved) = &mut self.saved {
            saved.line = None;
        }
        self.top = None;
        self.row = 0;
        self.place = CursorColumn::Column(0);
    }

    /// Inserts empty lines above the cursor's. Where the page is full, its oldest lines make room: the newest ones,
    /// which a terminal would push off its screen, stay.
    pub(crate) fn insert_lines(&mut self, count: usize, raw: Offset, out: &mut View) {
        if !self.is_on_line() {
            return;
        }
        let most = self.rows - self.lines.len() + self.row;
        if most == 0 {
            return self.leave_line();
        }
        let start = self.lines[self.row].start().min(raw);
        for _ in 0..count.min(most) {
            if self.lines.len() == self.rows {
                self.retire(out);
            }
            let mut line = Line::default();
            line.reset(start);
            self.lines.insert(self.row, line);
        }
        self.place = CursorColumn::Column(0);
    }

    pub(crate) fn delete_lines(&mut self, count: usize) {
        if !self.is_on_line() {
            return;
        }
        let to = self.row.saturating_add(count).min(self.lines.len());
        self.keep_start(to);
        self.lines.drain(self.row..to);
        self.place = CursorColumn::Column(0);
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
            CursorColumn::Column(column) if row == self.row => column,
            _ => 0,
        }
    }

    fn print_elsewhere(&mut self, text: &str, raw: Offset, out: &mut View) {
        self.begin_line(raw, out);
        self.make_row(raw);
        let line = &mut self.lines[self.row];
        if self.place == CursorColumn::Column(0) && line.is_empty() {
            line.erase();
            self.place = CursorColumn::End;
        }
        match self.place {
            CursorColumn::End => self.append_long(text, raw, out),
            CursorColumn::Column(_) | CursorColumn::NewLine { .. } => self.overwrite(text, raw, out),
        }
    }

    /// Begins a new line where the cursor was sent to one. It continues the line that the cursor is on if that has the
    /// same address and is not as long yet, as the cells of a table are.
    fn begin_line(&mut self, raw: Offset, out: &mut View) {
        let CursorColumn::NewLine { row, column } = self.place else { return };
        let here = self.top.map(|top| top.saturating_add(self.row));
        if row.is_none() || row != here || column < self.width() {
            self.turn(raw, out);
            self.top = row;
        }
        self.go(self.row, column);
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
        self.place = CursorColumn::Column(column);
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
        self.place = CursorColumn::End;
    }

    /// Hands out the oldest line.
    fn retire(&mut self, out: &mut View) -> Line {
        let line = self.lines.pop_front().unwrap_or_default();
        line.write_to(out, if self.row == 0 { self.kept_columns(0) } else { 0 });
        out.push_newline();
        self.left += 1;
        self.top = self.top.map(|top| top.saturating_add(1));
        self.row = self.row.saturating_sub(1);
        line
    }

    fn is_on_line(&self) -> bool {
        self.row < self.lines.len() && !matches!(self.place, CursorColumn::NewLine { .. })
    }

    fn here(&mut self) -> Option<(&mut Line, usize)> {
        if !self.is_on_line() {
            return None;
        }
        let column = self.column();
        Some((&mut self.lines[self.row], column))
    }

    fn column(&mut self) -> usize {
        if let CursorColumn::Column(column) | CursorColumn::NewLine { column, .. } = self.place {
            return column;
        }
        let width = self.width();
        self.place = CursorColumn::Column(width);
        width
    }

    fn width(&mut self) -> usize {
        self.lines.get_mut(self.row).map_or(0, Line::width)
    }

    fn go(&mut self, row: usize, column: usize) {
        self.row = row.min(self.rows - 1);
        let furthest = if column > FURTHEST_COLUMN { FURTHEST_COLUMN.max(self.width()) } else { column };
        self.place = CursorColumn::Column(column.min(furthest));
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
