//! A window that changes its size. Lines that wrapped are wrapped anew, as emulators do, so a change of the width
//! changes no text; rows that no longer fit above the cursor scroll off.

use std::collections::VecDeque;

use super::super::grid_row::GridRow;
use super::super::line::Line;
use super::{Grid, bounded};
use crate::offset::Offset;
use crate::screen::ScreenSize;
use crate::view::View;

/// Where the cursor is, counted in the text: in which line, and how many columns behind its beginning.
struct TextPosition {
    line: usize,
    column: usize,
}

impl Grid {
    /// Changes the size from the byte at `raw` on.
    pub(crate) fn resize(&mut self, size: ScreenSize, raw: Offset, out: &mut View) {
        let (height, columns) = bounded(size);
        if (height, columns) == (self.height, self.columns) {
            return;
        }
        self.height = height;
        self.fit_height(raw, out);
        if columns != self.columns {
            self.reflow(columns);
            self.fit_height(raw, out);
        }
        self.region = (0, self.height);
        if let Some(tabs) = &mut self.tabs {
            tabs.resize(columns, false);
        }
        self.homed = false;
        self.clamp_cursors();
    }

    /// Rows scroll off until the cursor's is the last; those below that do not fit are gone.
    fn fit_height(&mut self, raw: Offset, out: &mut View) {
        while self.cursor.row >= self.height {
            self.retire(raw, out);
            self.cursor.row -= 1;
        }
        self.rows.truncate(self.height);
    }

    fn reflow(&mut self, columns: usize) {
        self.reach_cursor(self.begin);
        let place = self.place_of_cursor();
        let old = std::mem::take(&mut self.rows);
        let mut lines: Vec<Vec<GridRow>> = Vec::new();
        let mut continues = false;
        for row in old {
            let wrapped = row.wrapped;
            match lines.last_mut().filter(|_| continues) {
                Some(line) => line.push(row),
                None => lines.push(vec![row]),
            }
            continues = wrapped;
        }
        self.columns = columns;
        let open = continues;
        let last = lines.len() - 1;
        for (number, line) in lines.into_iter().enumerate() {
            let first = self.rows.len();
            rewrap(line, columns, &mut self.rows);
            // The last line may go on in a row that does not exist yet.
            self.rows.back_mut().into_iter().for_each(|row| row.wrapped = open && number == last);
            if number == place.line {
                self.cursor.row = first + place.column / columns;
                self.cursor.column = place.column % columns;
                self.cursor.wraps = false;
                self.stay_on_line(place.column);
            }
        }
    }

    /// A cursor behind the last column of its line waits there instead of on the next row.
    fn stay_on_line(&mut self, column: usize) {
        if self.cursor.row >= self.rows.len() && column > 0 && column.is_multiple_of(self.columns) {
            self.cursor.row = self.rows.len() - 1;
            (self.cursor.column, self.cursor.wraps) = (self.columns - 1, true);
        }
    }

    fn place_of_cursor(&self) -> TextPosition {
        let before = || self.rows.iter().take(self.cursor.row);
        let line = before().filter(|row| !row.wrapped).count();
        let above = before().rev().take_while(|row| row.wrapped).count();
        let column = above * self.columns + self.cursor.column + usize::from(self.cursor.wraps);
        TextPosition { line, column }
    }
}

/// Writes the rows of one line anew at another width.
fn rewrap(line: Vec<GridRow>, columns: usize, rows: &mut VecDeque<GridRow>) {
    let fits = |row: &GridRow| row.foreign || row.columns() <= columns;
    if let [row] = line.as_slice()
        && fits(row)
    {
        return rows.extend(line);
    }
    let start = line[0].start();
    let mut row = GridRow::new(Line::default(), start);
    let mut column = 0;
    for what in line.iter().flat_map(GridRow::chars) {
        let (what, width) = what;
        if column + width > columns {
            row.wrapped = true;
            rows.push_back(std::mem::replace(&mut row, GridRow::new(Line::default(), start)));
            column = 0;
        }
        match width {
            0 => row.mark(column, what, start),
            _ => row.write(column, what, start),
        }
        column += width;
    }
    rows.push_back(row);
}
