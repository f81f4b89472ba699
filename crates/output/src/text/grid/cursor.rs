//! Where the cursor of a terminal goes, and the modes that decide it.

use super::{Cursor, Grid, TAB_WIDTH};

/// A mode that a program switches.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mode {
    Autowrap,
    Insert,
    Origin,
    AlternateScreen,
}

impl Grid {
    pub(crate) fn carriage_return(&mut self) {
        self.homed = false;
        self.go_to_column(0);
    }

    /// Moves by whole rows, keeping the column.
    pub(crate) fn move_rows(&mut self, rows: isize) {
        let column = self.cursor.column;
        self.go(self.cursor.row.saturating_add_signed(rows), column);
    }

    /// Moves inside the row.
    pub(crate) fn move_columns(&mut self, columns: isize) {
        self.go(self.cursor.row, self.cursor.column.saturating_add_signed(columns));
    }

    /// One column to the left; at the first, nothing happens.
    pub(crate) fn backspace(&mut self) {
        if self.cursor.column > 0 {
            self.move_columns(-1);
        }
    }

    pub(crate) fn go_to_column(&mut self, column: usize) {
        self.go(self.cursor.row, column);
    }

    /// Moves to a row by address, keeping the column.
    pub(crate) fn go_to_row(&mut self, row: usize) {
        self.go_to(row, self.cursor.column);
    }

    /// Moves to an address on the screen.
    pub(crate) fn go_to(&mut self, row: usize, column: usize) {
        let (top, last) = if self.modes.origin {
            (self.region.0, self.region.1.saturating_sub(1))
        } else {
            (0, self.height - 1)
        };
        self.go(row.saturating_add(top).min(last), column);
        self.homed = !self.alternate && (row, column) == (0, 0) && !self.modes.origin;
    }

    fn go(&mut self, row: usize, column: usize) {
        if self.alternate {
            return;
        }
        self.homed = false;
        self.cursor.row = row.min(self.height - 1);
        self.cursor.column = column.min(self.columns - 1);
        self.cursor.wraps = false;
    }

    pub(crate) fn save_cursor(&mut self) {
        if !self.alternate {
            self.saved = self.cursor;
        }
    }

    pub(crate) fn restore_cursor(&mut self) {
        if !self.alternate {
            self.homed = false;
            self.cursor = self.saved;
        }
    }

    /// Reserves the rows from `top`, counted from 1, to `bottom` for scrolling.
    pub(crate) fn set_region(&mut self, top: usize, bottom: usize) {
        let bottom = if bottom == 0 { self.height } else { bottom };
        if top >= bottom {
            return;
        }
        self.region = ((top - 1).min(self.height), bottom.min(self.height));
        self.go_to(0, 0);
        self.homed = false;
    }

    pub(crate) fn set_mode(&mut self, mode: Mode, on: bool) {
        match mode {
            Mode::Autowrap => self.modes.autowrap = on,
            Mode::Insert => self.modes.insert = on,
            Mode::Origin => {
                self.modes.origin = on;
                if on {
                    self.go_to(0, 0);
                }
            }
            Mode::AlternateScreen => self.set_alternate(on),
        }
    }

    /// The alternate screen has a cursor of its own; the first one is where it was when that is left.
    fn set_alternate(&mut self, on: bool) {
        if on && !self.alternate {
            self.saved = self.cursor;
        }
        self.alternate = on;
    }

    /// Uses the character set G1 rather than G0.
    pub(crate) fn shift(&mut self, on: bool) {
        self.modes.shifted = on;
    }

    /// Sets whether a character set draws lines.
    pub(crate) fn set_line_drawing(&mut self, set: usize, on: bool) {
        if !self.alternate {
            self.cursor.line_drawing[set] = on;
        }
    }

    /// The column to which a tab moves.
    pub(super) fn next_tab(&self, column: usize) -> usize {
        let last = self.columns - 1;
        match &self.tabs {
            None => ((column / TAB_WIDTH + 1) * TAB_WIDTH).min(last),
            Some(tabs) => (column + 1..last).find(|stop| tabs[*stop]).unwrap_or(last),
        }
    }

    /// Moves by tab stops, forwards or backwards.
    pub(crate) fn move_tabs(&mut self, tabs: isize) {
        if self.alternate {
            return;
        }
        for _ in 0..tabs.unsigned_abs().min(self.columns) {
            let column = self.cursor.column;
            self.cursor.column = if tabs > 0 { self.next_tab(column) } else { self.previous_tab(column) };
        }
    }

    fn previous_tab(&self, column: usize) -> usize {
        let is_stop = |stop: &usize| match &self.tabs {
            None => stop.is_multiple_of(TAB_WIDTH),
            Some(tabs) => tabs[*stop],
        };
        (0..column).rev().find(is_stop).unwrap_or(column)
    }

    /// Sets a tab stop at the cursor, or removes it.
    pub(crate) fn set_tab(&mut self, on: bool) {
        if self.alternate {
            return;
        }
        let columns = self.columns;
        let usual = || (0..columns).map(|column| column.is_multiple_of(TAB_WIDTH)).collect();
        self.tabs.get_or_insert_with(usual)[self.cursor.column] = on;
    }

    pub(crate) fn clear_tabs(&mut self) {
        self.tabs = Some(vec![false; self.columns]);
    }

    pub(super) fn clamp_cursors(&mut self) {
        let (last_row, last_column) = (self.height - 1, self.columns - 1);
        for cursor in [&mut self.cursor, &mut self.saved] {
            let Cursor { row, column, wraps, .. } = cursor;
            *wraps = *wraps && *column == last_column;
            (*row, *column) = ((*row).min(last_row), (*column).min(last_column));
        }
    }
}
