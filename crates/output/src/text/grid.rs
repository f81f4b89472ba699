//! The screen of a terminal of a known size, as far as it makes text. Rows that scroll off its top go to the
//! scroll-back and never change again; rows on it may. Scroll-back and screen together are the settled text.
//!
//! A line that wraps at the right edge is several rows and stays one line of text, as it does when a person copies it.
//! Where terminals differ this one does as the emulator behind [`Screen`](crate::Screen), so that both views agree,
//! with four exceptions: nothing that reached the scroll-back is erased or comes back (`CSI 3 J`, `ESC c`, a window
//! that grows), erasing from the home position moves the screen to the scroll-back as `CSI 2 J` does, cursor movements
//! in origin mode are not offset twice, and a row whose wrap `CSI P` ended does not become wrapped again when an
//! insertion moves its former last cell back to the edge. The alternate screen makes no text.

use std::collections::VecDeque;

use unicode_width::UnicodeWidthChar as _;

use super::grid_row::GridRow;
use super::line::Line;
use crate::offset::Offset;
use crate::screen::ScreenSize;
use crate::view::View;

mod cursor;
pub(crate) use cursor::Mode;
mod resize;

/// A larger screen than this is cut: a terminal may claim any size, and every cell takes memory.
const MOST_ROWS: usize = 500;
const MOST_COLUMNS: usize = 1000;

const MOST_REPEATED: usize = MOST_COLUMNS;

const TAB_WIDTH: usize = 8;

/// The characters that the bytes 0x5f to 0x7e draw while line drawing is on.
const LINE_DRAWING: [char; 32] = [
    ' ', '◆', '▒', '\u{2409}', '\u{240c}', '\u{240d}', '\u{240a}', '°', '±', '\u{2424}', '\u{240b}', '┘',
    '┐', '┌', '└', '┼', '⎺', '⎻', '─', '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
];

#[derive(Clone, Debug)]
pub(crate) struct Grid {
    /// The rows from the top down to the lowest that was reached; those below are blank.
    rows: VecDeque<GridRow>,
    height: usize,
    columns: usize,
    cursor: Cursor,
    saved: Cursor,
    /// The rows that scroll: from the first to before the second.
    region: (usize, usize),
    modes: Modes,
    /// Tab stops, once a program has set its own.
    tabs: Option<Vec<bool>>,
    alternate: bool,
    /// Whether the cursor was just sent to the top left corner by address.
    homed: bool,
    /// The last character that was printed, for repetition.
    last: Option<char>,
    /// The first byte of the next row, while there is no row.
    begin: Offset,
    /// The row that scrolled off last, kept for its memory.
    spare: Option<Line>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cursor {
    row: usize,
    column: usize,
    /// The last column is written: the next character goes to the next row.
    wraps: bool,
    /// Whether the character sets G0 and G1 draw lines.
    line_drawing: [bool; 2],
}

#[derive(Clone, Copy, Debug)]
struct Modes {
    autowrap: bool,
    insert: bool,
    /// Row addresses count from the top of the region.
    origin: bool,
    /// Whether G1 is in use rather than G0.
    shifted: bool,
}

impl Default for Modes {
    fn default() -> Self {
        Self { autowrap: true, insert: false, origin: false, shifted: false }
    }
}

/// Which part of a line or of the screen is erased.
pub(crate) use super::page::Erase;

impl Grid {
    /// A screen for output from `start` on. Output that does not begin at its beginning finds rows that were drawn
    /// before and are not its own, with the cursor below them: they are text only where it draws on them.
    pub(crate) fn new(size: ScreenSize, start: Offset) -> Self {
        let (height, columns) = bounded(size);
        let mut grid = Self {
            rows: VecDeque::new(),
            height,
            columns,
            cursor: Cursor::default(),
            saved: Cursor::default(),
            region: (0, height),
            modes: Modes::default(),
            tabs: None,
            alternate: false,
            homed: false,
            last: None,
            begin: start,
            spare: None,
        };
        if start > Offset::ZERO {
            grid.rows.extend(std::iter::repeat_n(GridRow::foreign(start), height - 1));
            grid.cursor.row = height - 1;
        }
        grid.reach_cursor(start);
        grid
    }

    /// Where the oldest bytes lie of which a row is made that can still change.
    pub(crate) fn start(&self) -> Offset {
        self.rows.iter().map(GridRow::start).min().unwrap_or(self.begin)
    }

    /// Writes text without control characters, tabs excepted, that came from `raw` on.
    pub(crate) fn print(&mut self, text: &str, raw: Offset, out: &mut View) {
        self.last = text.chars().rev().find(|last| *last != '\t').or(self.last);
        if self.alternate {
            return;
        }
        self.homed = false;
        if self.cursor.line_drawing[usize::from(self.modes.shifted)] {
            return text.char_indices().for_each(|(at, what)| self.put(drawn(what), raw + at as u64, out));
        }
        let mut at = 0;
        while at < text.len() {
            at += self.print_some(&text[at..], raw + at as u64, out);
        }
    }

    /// Writes what fits on the row, or one character that is not one column of ASCII. Returns how many bytes that was.
    #[inline]
    fn print_some(&mut self, text: &str, raw: Offset, out: &mut View) -> usize {
        if self.cursor.wraps && self.modes.autowrap && text.as_bytes()[0].wrapping_sub(b' ') < 0x5f {
            self.wrap(raw, out);
        }
        let room = if self.modes.insert { 1 } else { self.columns - self.cursor.column };
        let near = &text.as_bytes()[..text.len().min(room)];
        let narrow = if near.is_ascii() && memchr::memchr(b'\t', near).is_none() {
            near.len()
        } else {
            near.iter().position(|byte| !(b' '..0x7f).contains(byte)).unwrap_or(near.len())
        };
        if narrow > 0 {
            self.put_narrow(&text[..narrow], raw);
            return narrow;
        }
        let Some(what) = text.chars().next() else { return text.len() };
        self.put(what, raw, out);
        what.len_utf8()
    }

    /// Writes ASCII that fits on the row.
    #[inline]
    fn put_narrow(&mut self, text: &str, raw: Offset) {
        self.reach_cursor(raw);
        let Self { rows, cursor, columns, modes, .. } = self;
        let row = &mut rows[cursor.row];
        if modes.insert {
            row.insert(cursor.column, text.len(), *columns);
        }
        row.write_narrow(cursor.column, text, raw);
        self.advance(text.len());
    }

    /// Writes one character.
    fn put(&mut self, what: char, raw: Offset, out: &mut View) {
        if what == '\t' {
            return self.tab(raw, out);
        }
        let width = what.width().unwrap_or(0);
        if width == 0 {
            return self.put_mark(what, raw);
        }
        if self.cursor.wraps && self.modes.autowrap {
            self.wrap(raw, out);
        }
        if width == 2 && self.cursor.column + 1 >= self.columns {
            if !self.modes.autowrap {
                self.cursor.wraps = true;
                return;
            }
            // It does not fit into the last column, which stays empty.
            self.reach_cursor(raw);
            self.rows[self.cursor.row].erase_after(self.columns - 1);
            self.wrap_at(self.columns - 1, raw, out);
        }
        self.reach_cursor(raw);
        let Self { rows, cursor, columns, modes, .. } = self;
        let row = &mut rows[cursor.row];
        if modes.insert && cursor.column + width < *columns {
            row.insert(cursor.column, width, *columns);
        }
        row.write(cursor.column, what, raw);
        self.advance(width);
    }

    /// A mark of no width goes to the character before it.
    fn put_mark(&mut self, what: char, raw: Offset) {
        self.reach_cursor(raw);
        let column = self.cursor.column + usize::from(self.cursor.wraps);
        self.rows[self.cursor.row].mark(column, what, raw);
    }

    fn advance(&mut self, columns: usize) {
        self.cursor.column += columns;
        if self.cursor.column >= self.columns {
            self.cursor.column = self.columns - 1;
            self.cursor.wraps = true;
            self.rows[self.cursor.row].wrapped = false;
        }
    }

    fn tab(&mut self, raw: Offset, out: &mut View) {
        if self.cursor.wraps {
            if self.modes.autowrap {
                self.wrap(raw, out);
            }
            return;
        }
        self.reach_cursor(raw);
        let column = self.cursor.column;
        let stop = self.next_tab(column);
        // The text keeps a tab that leads where any reader of the text expects it to.
        if self.tabs.is_none() && stop.is_multiple_of(TAB_WIDTH) {
            self.rows[self.cursor.row].write_tab(column, stop, raw);
        }
        self.cursor.column = stop;
    }

    /// Goes on in the next row, which continues the line.
    fn wrap(&mut self, raw: Offset, out: &mut View) {
        self.wrap_at(self.columns, raw, out);
    }

    fn wrap_at(&mut self, columns: usize, raw: Offset, out: &mut View) {
        self.reach_cursor(raw);
        self.rows[self.cursor.row].wrap(columns);
        if self.cursor.row + 1 >= self.region.1 {
            self.line_feed(raw, out);
        } else {
            self.cursor.row += 1;
        }
        self.cursor.column = 0;
        self.cursor.wraps = false;
    }

    /// One row down, scrolling at the bottom of the region. The text that follows begins at `raw`.
    #[inline]
    pub(crate) fn line_feed(&mut self, raw: Offset, out: &mut View) {
        if self.alternate {
            return;
        }
        self.homed = false;
        let next = self.cursor.row + 1;
        if next == self.region.1 {
            self.reach_cursor(raw);
            self.scroll_up((self.region.0, 1), raw, out);
        } else if next < self.height {
            self.cursor.row = next;
        }
        self.reach_cursor(raw);
    }

    /// One row up, scrolling at the top of the region.
    pub(crate) fn reverse_line_feed(&mut self, raw: Offset) {
        if self.alternate {
            return;
        }
        self.homed = false;
        if self.cursor.row == self.region.0 {
            self.scroll_down(self.region.0, 1, raw);
        } else {
            self.cursor.row = self.cursor.row.saturating_sub(1);
        }
    }

    /// Scrolls the whole region up.
    pub(crate) fn scroll_region_up(&mut self, count: usize, raw: Offset, out: &mut View) {
        if !self.alternate {
            self.scroll_up((self.region.0, count), raw, out);
        }
    }

    /// Scrolls the whole region down.
    pub(crate) fn scroll_region_down(&mut self, count: usize, raw: Offset) {
        if !self.alternate {
            self.scroll_down(self.region.0, count, raw);
        }
    }

    pub(crate) fn insert_lines(&mut self, count: usize, raw: Offset) {
        if !self.alternate && self.region_has_cursor() {
            self.scroll_down(self.cursor.row, count, raw);
        }
    }

    pub(crate) fn delete_lines(&mut self, count: usize, raw: Offset, out: &mut View) {
        if !self.alternate && self.region_has_cursor() {
            self.scroll_up((self.cursor.row, count), raw, out);
        }
    }

    /// Moves the rows from `top` to the end of the region up. Those that leave the top of the screen are settled.
    fn scroll_up(&mut self, (top, count): (usize, usize), raw: Offset, out: &mut View) {
        let end = self.region.1;
        for _ in 0..count.min(end.saturating_sub(top)) {
            if top == 0 {
                self.retire(raw, out);
            } else if top < self.rows.len() {
                self.rows.remove(top);
            }
            if self.rows.len() >= end {
                let row = self.blank_row(raw);
                self.rows.insert(end - 1, row);
            }
        }
    }

    /// Moves the rows from `top` on down; those that leave the region are gone.
    fn scroll_down(&mut self, top: usize, count: usize, raw: Offset) {
        let end = self.region.1;
        for _ in 0..count.min(end.saturating_sub(top)) {
            if self.rows.len() >= end {
                self.rows.remove(end - 1);
            }
            if self.rows.len() > top {
                // The row that moves down may have begun before `raw`: the blank row above it must not start after it.
                let start = self.rows[top].start().min(raw);
                let row = self.blank_row(start);
                self.rows.insert(top, row);
            }
        }
    }

    pub(crate) fn erase_in_line(&mut self, erase: Erase) {
        let Cursor { row, column, wraps, .. } = self.cursor;
        if self.alternate || (erase == Erase::After && wraps) {
            return;
        }
        let columns = self.columns;
        let Some(row) = self.rows.get_mut(row) else { return };
        match erase {
            Erase::After => row.erase_after(column),
            Erase::Before => row.blank(0, column + 1, columns),
            Erase::All => row.erase(),
        }
    }

    pub(crate) fn erase_in_page(&mut self, erase: Erase, raw: Offset, out: &mut View) {
        let Cursor { row, column, .. } = self.cursor;
        match erase {
            _ if self.alternate => {}
            Erase::All => self.clear(raw, out),
            Erase::After if self.homed => self.clear(raw, out),
            Erase::After => {
                self.rows.truncate(row + 1);
                self.rows.get_mut(row).into_iter().for_each(|row| row.erase_after(column));
            }
            Erase::Before => {
                let above = row.min(self.rows.len());
                self.rows.range_mut(..above).for_each(GridRow::erase);
                self.erase_in_line(erase);
            }
        }
    }

    /// Moves everything on the screen to the scroll-back.
    fn clear(&mut self, raw: Offset, out: &mut View) {
        let used = self.rows.iter().rposition(|row| !row.is_blank()).map_or(0, |last| last + 1);
        for _ in 0..used {
            self.retire(raw, out);
        }
        self.rows.clear();
        self.begin = raw;
    }

    /// Begins anew, as a terminal that is switched on; what was on the screen goes to the scroll-back.
    pub(crate) fn reset(&mut self, raw: Offset, out: &mut View) {
        self.clear(raw, out);
        let size = (self.height, self.columns);
        *self = Self::new(ScreenSize::default(), Offset::ZERO);
        (self.height, self.columns) = size;
        (self.region, self.begin) = ((0, self.height), raw);
        self.rows.clear();
    }

    pub(crate) fn insert_columns(&mut self, count: usize) {
        let (column, columns) = (self.cursor.column, self.columns);
        if let Some(row) = self.row_at_cursor() {
            row.insert(column, count.min(columns), columns);
        }
    }

    pub(crate) fn delete_columns(&mut self, count: usize) {
        let column = self.cursor.column;
        if let Some(row) = self.row_at_cursor() {
            row.delete(column, count);
        }
    }

    pub(crate) fn erase_columns(&mut self, count: usize) {
        let (column, columns) = (self.cursor.column, self.columns);
        if let Some(row) = self.row_at_cursor() {
            row.blank(column, column.saturating_add(count), columns);
        }
    }

    /// Writes the last character `count` times more, but not much more than a row of it: a few bytes of input must not
    /// become megabytes.
    pub(crate) fn repeat(&mut self, count: usize, raw: Offset, out: &mut View) {
        let Some(what) = self.last.filter(|_| !self.alternate) else { return };
        self.homed = false;
        for _ in 0..count.min(MOST_REPEATED) {
            self.put(what, raw, out);
        }
    }

    /// Appends all rows as they are now to `out`. Blank rows below the cursor were never reached by text.
    pub(crate) fn write_to(&self, out: &mut View) {
        let used = self.rows.iter().rposition(|row| !row.is_blank()).map_or(0, |last| last + 1);
        let used = used.max(self.cursor.row + 1).min(self.rows.len());
        let mut continues = true;
        for (number, row) in self.rows.iter().enumerate().take(used).filter(|(_, row)| !row.foreign) {
            if !continues {
                out.push_newline();
            }
            row.write_to(out, self.kept_columns(number));
            continues = row.wrapped;
        }
    }

    /// Blanks before the cursor belong to what a reader sees as a prompt.
    fn kept_columns(&self, row: usize) -> usize {
        if row == self.cursor.row { self.cursor.column } else { 0 }
    }

    /// Hands out the top row, which can change no more.
    fn retire(&mut self, raw: Offset, out: &mut View) {
        let kept = self.kept_columns(0);
        let row = self.rows.pop_front().unwrap_or_else(|| GridRow::new(Line::default(), raw));
        if !row.foreign {
            row.write_to(out, kept);
            if !row.wrapped {
                out.push_newline();
            }
        }
        self.begin = raw;
        self.spare = Some(row.into_line());
    }

    /// Makes the rows down to the cursor's, and the cursor's own.
    #[inline]
    fn reach_cursor(&mut self, raw: Offset) {
        while self.rows.len() <= self.cursor.row {
            let row = self.blank_row(raw);
            self.rows.push_back(row);
        }
    }

    fn blank_row(&mut self, start: Offset) -> GridRow {
        GridRow::new(self.spare.take().unwrap_or_default(), start)
    }

    fn row_at_cursor(&mut self) -> Option<&mut GridRow> {
        if self.alternate { None } else { self.rows.get_mut(self.cursor.row) }
    }

    fn region_has_cursor(&self) -> bool {
        (self.region.0..self.region.1).contains(&self.cursor.row)
    }
}

fn bounded(size: ScreenSize) -> (usize, usize) {
    (usize::from(size.rows()).min(MOST_ROWS), usize::from(size.columns()).min(MOST_COLUMNS))
}

fn drawn(what: char) -> char {
    let index = (what as usize).checked_sub(0x5f);
    index.and_then(|index| LINE_DRAWING.get(index)).copied().unwrap_or(what)
}
