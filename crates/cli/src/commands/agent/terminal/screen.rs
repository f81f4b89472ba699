//! The output for the terminal: permanent lines, which the terminal keeps in its own history, and below them an area
//! that is redrawn in place. Pure: it returns texts and remembers the positions on the screen.

use windlass_sys::pty::Size;

use super::lines::Line;

const HIDE_CURSOR: &str = "\x1b[?25l";
const SHOW_CURSOR: &str = "\x1b[?25h";
const CLEAR_BELOW: &str = "\x1b[J";

/// How a terminal is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// With an area that is redrawn.
    Live,
    /// Line by line: the terminal cannot move its cursor.
    Plain,
}

/// The wanted content of the area below.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Area {
    /// Its rows; none is wider than the terminal.
    pub(super) rows: Vec<Line>,
    /// Row and column of the cursor; `None`: it is hidden.
    pub(super) cursor: Option<(usize, usize)>,
}

/// The state of what the terminal shows.
#[derive(Debug)]
pub(super) struct Screen {
    manner: Manner,
    colour: bool,
    size: Size,
    drawn: Area,
}

impl Screen {
    pub(super) fn new(manner: Manner, colour: bool, size: Size) -> Self {
        Self { manner, colour, size, drawn: Area::default() }
    }

    pub(super) fn manner(&self) -> Manner {
        self.manner
    }

    /// The columns that rows may use. The last one stays free: terminals differ in how they treat a row that fills it.
    pub(super) fn columns(&self) -> usize {
        usize::from(self.size.cols).saturating_sub(1).max(1)
    }

    /// The rows that the area may have.
    pub(super) fn room(&self) -> usize {
        usize::from(self.size.rows).saturating_sub(1).max(1)
    }

    /// The bytes that make these lines permanent and redraw the area. Empty if nothing changes.
    pub(super) fn frame(&mut self, lines: &[Line], area: Area) -> String {
        if self.manner == Manner::Plain {
            return self.stay(lines, "\n");
        }
        if lines.is_empty() && area == self.drawn {
            return String::new();
        }
        let text = HIDE_CURSOR.to_owned() + &self.above() + &self.stay(lines, "\r\n") + &self.area(&area);
        self.drawn = area;
        text
    }

    /// Takes over a new size. The terminal broke rows that no longer fit, so the area is higher now.
    pub(super) fn resize(&mut self, size: Size) {
        if size.cols < self.size.cols {
            let columns = usize::from(size.cols).max(1);
            let height = |row: &Line| row.width().div_ceil(columns).max(1);
            let above = |rows: &[Line]| rows.iter().map(height).sum::<usize>();
            if let Some((row, column)) = self.drawn.cursor {
                self.drawn.cursor =
                    Some((above(&self.drawn.rows[..row]) + column / columns, column % columns));
            }
            self.drawn.rows = vec![Line::blank(); above(&self.drawn.rows)];
        }
        self.size = size;
    }

    /// The bytes that erase the area at the end, and leave the cursor at the beginning of a row.
    pub(super) fn leave(&mut self) -> String {
        if self.manner == Manner::Plain {
            return String::new();
        }
        let text = self.above() + SHOW_CURSOR;
        self.drawn = Area::default();
        text
    }

    /// The bytes that move to the beginning of the area and erase it.
    fn above(&self) -> String {
        let row = self.drawn.cursor.map_or(self.drawn.rows.len().saturating_sub(1), |(row, _)| row);
        let up = if row > 0 { format!("\x1b[{row}A") } else { String::new() };
        format!("\r{up}{CLEAR_BELOW}")
    }

    fn stay(&self, lines: &[Line], end: &str) -> String {
        let columns = self.columns();
        let rows = lines.iter().flat_map(|line| line.wrapped(columns));
        rows.map(|row| row.rendered(self.colour) + end).collect()
    }

    fn area(&self, area: &Area) -> String {
        let rows: Vec<String> = area.rows.iter().map(|row| row.rendered(self.colour)).collect();
        let mut text = rows.join("\r\n");
        if let Some((row, column)) = area.cursor {
            let up = area.rows.len().saturating_sub(1).saturating_sub(row);
            text += "\r";
            if up > 0 {
                text += &format!("\x1b[{up}A");
            }
            if column > 0 {
                text += &format!("\x1b[{column}C");
            }
            text += SHOW_CURSOR;
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::lines::Paint;
    use super::*;
    use windlass_output::{Screen as Terminal, ScreenSize};

    fn line(text: &str) -> Line {
        Line::of(Paint::Plain, text)
    }

    fn area(rows: &[&str], cursor: (usize, usize)) -> Area {
        Area { rows: rows.iter().map(|row| line(row)).collect(), cursor: Some(cursor) }
    }

    /// Draws frames on a terminal of 6 by 20 and compares what it shows.
    fn check(frames: &[(&[&str], Area)], expected: &str) {
        let mut screen = Screen::new(Manner::Live, false, Size { rows: 6, cols: 20 });
        let mut terminal = Terminal::new(ScreenSize::new(6, 20));
        for (lines, area) in frames {
            let lines: Vec<Line> = lines.iter().map(|text| line(text)).collect();
            terminal.feed(screen.frame(&lines, area.clone()).as_bytes());
        }
        assert_eq!(terminal.text().trim_end(), expected);
    }

    #[test]
    fn what_stays_scrolls_away_above_what_is_drawn_again() {
        check(&[(&["a"], area(&["> x", "status"], (0, 3)))], "a\n> x\nstatus");
        check(
            &[
                (&["a"], area(&["running", "> x", "status"], (1, 3))),
                (&["b", "c"], area(&["> xy", "status"], (0, 4))),
            ],
            "a\nb\nc\n> xy\nstatus",
        );
        check(
            &[
                (&["1", "2", "3", "4"], area(&["> ", "status"], (0, 2))),
                (&["5", "6"], area(&["> ", "status"], (0, 2))),
            ],
            "3\n4\n5\n6\n>\nstatus",
        );
        check(&[(&["one two three four five"], area(&["> "], (0, 2)))], "one two three four\nfive\n>");
    }

    #[test]
    fn nothing_is_written_when_nothing_changes() {
        let mut screen = Screen::new(Manner::Live, false, Size { rows: 6, cols: 20 });
        assert!(!screen.frame(&[], area(&["> "], (0, 2))).is_empty());
        assert_eq!(screen.frame(&[], area(&["> "], (0, 2))), "");
    }

    #[test]
    fn a_plain_terminal_gets_lines_alone() {
        let mut screen = Screen::new(Manner::Plain, false, Size { rows: 6, cols: 20 });
        assert_eq!(screen.frame(&[line("a"), line("b")], area(&["> "], (0, 2))), "a\nb\n");
        assert_eq!(screen.frame(&[], area(&["> x"], (0, 3))), "");
    }
}
