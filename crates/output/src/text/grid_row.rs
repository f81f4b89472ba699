//! One row of a terminal's screen: a line of bounded width, and whether it goes on in the row below.

use unicode_width::UnicodeWidthChar as _;

use super::line::Line;
use crate::offset::Offset;
use crate::view::View;

#[derive(Clone, Debug)]
pub(crate) struct GridRow {
    line: Line,
    /// How many columns it has while it is plain.
    width: usize,
    /// The text ran over the right edge into the next row. A later change of the last column ends that.
    pub(crate) wrapped: bool,
    /// The row was drawn before the output that is examined, so its content is unknown and is not text.
    pub(crate) foreign: bool,
}

impl GridRow {
    pub(crate) fn new(mut line: Line, start: Offset) -> Self {
        line.reset(start);
        Self { line, width: 0, wrapped: false, foreign: false }
    }

    pub(crate) fn foreign(start: Offset) -> Self {
        Self { foreign: true, ..Self::new(Line::default(), start) }
    }

    pub(crate) fn start(&self) -> Offset {
        self.line.start()
    }

    pub(crate) fn into_line(self) -> Line {
        self.line
    }

    /// Whether the row is blank.
    pub(crate) fn is_blank(&self) -> bool {
        self.foreign || (!self.wrapped && self.line.is_blank())
    }

    /// Writes ASCII over what is at `column`.
    #[inline]
    pub(crate) fn write_narrow(&mut self, column: usize, text: &str, raw: Offset) {
        if self.appends_at(column, text.len(), raw) {
            self.line.append(text, raw);
            self.width += text.len();
            return;
        }
        for (at, what) in text.chars().enumerate() {
            self.line.put(column + at, what);
        }
    }

    /// Writes one character over what is at `column`.
    pub(crate) fn write(&mut self, column: usize, what: char, raw: Offset) {
        if self.appends_at(column, what.len_utf8(), raw) {
            self.line.append(what.encode_utf8(&mut [0; 4]), raw);
            self.width += what.width().unwrap_or(0);
        } else {
            self.line.put(column, what);
        }
    }

    /// Adds a mark of no width to the character before `column`.
    pub(crate) fn mark(&mut self, column: usize, what: char, raw: Offset) {
        if column > 0 && self.appends_at(column, what.len_utf8(), raw) {
            self.line.append(what.encode_utf8(&mut [0; 4]), raw);
        } else {
            self.line.put(column, what);
        }
    }

    /// Keeps a tab from `column` to `stop` as such, if the text just grows.
    pub(crate) fn write_tab(&mut self, column: usize, stop: usize, raw: Offset) {
        if self.appends_at(column, 1, raw) {
            self.line.append("\t", raw);
            self.width = stop;
        }
    }

    /// Whether text at `column` just makes a plain line longer.
    #[inline]
    fn appends_at(&mut self, column: usize, len: usize, raw: Offset) -> bool {
        if column == 0 && self.line.is_empty() {
            if self.foreign {
                self.line.reset(raw);
            }
            self.line.erase();
            self.width = 0;
        }
        self.foreign = false;
        self.line.is_plain() && self.width == column && len <= self.line.room()
    }

    /// The text goes on in the next row. Erased cells before the edge count as blanks.
    pub(crate) fn wrap(&mut self, columns: usize) {
        (self.wrapped, self.foreign) = (true, false);
        if !(self.line.is_plain() && self.width == columns) {
            self.line.pad(columns);
        }
    }

    pub(crate) fn erase(&mut self) {
        self.line.erase();
        (self.width, self.wrapped) = (0, false);
    }

    pub(crate) fn erase_after(&mut self, column: usize) {
        if column == 0 {
            return self.erase();
        }
        self.wrapped = false;
        if !(self.line.is_plain() && column >= self.width) {
            self.line.erase_after(column);
        }
    }

    /// Erases `from..to`, leaving blanks.
    pub(crate) fn blank(&mut self, from: usize, to: usize, columns: usize) {
        self.wrapped &= to < columns;
        self.line.blank(from, to);
    }

    /// Makes room for `count` columns at `column`; what is pushed over the right edge is gone.
    pub(crate) fn insert(&mut self, column: usize, count: usize, columns: usize) {
        self.wrapped = false;
        self.line.insert(column, count);
        self.line.truncate(columns);
    }

    pub(crate) fn delete(&mut self, column: usize, count: usize) {
        self.wrapped = false;
        self.line.delete(column, count);
    }

    /// Appends the row to `out`: all of it if it goes on below, else without the blanks behind `keep`.
    pub(crate) fn write_to(&self, out: &mut View, keep: usize) {
        self.line.write_to(out, if self.wrapped { usize::MAX } else { keep });
    }

    /// How many columns it takes.
    pub(crate) fn columns(&self) -> usize {
        if self.line.is_plain() { self.width } else { self.chars().iter().map(|(_, width)| width).sum() }
    }

    /// Its characters and how wide they are; a tab is so many blanks.
    pub(crate) fn chars(&self) -> Vec<(char, usize)> {
        let mut view = View::new(self.start());
        self.write_to(&mut view, 0);
        let mut chars = Vec::new();
        let mut column = 0;
        for what in view.text().chars() {
            if what == '\t' {
                let stop = Line::tab_stop(column);
                chars.extend(std::iter::repeat_n((' ', 1), stop - column));
                column = stop;
                continue;
            }
            let width = what.width().unwrap_or(0);
            chars.push((what, width));
            column += width;
        }
        chars
    }
}
