//! The table of `windlass ps`, as wide as its content, but not wider than the terminal.

use std::fmt::Write;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::config::Colour;
use crate::printing::displayable;

/// One cell.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) tint: Tint,
}

/// The meaning of a cell's colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tint {
    Plain,
    Heading,
    Good,
    Notable,
    Bad,
    Faint,
}

/// The cells of one session.
pub(crate) type Row = [Cell; COLUMNS];

const COLUMNS: usize = 8;
const HEADINGS: [&str; COLUMNS] = ["ID", "NAME", "STATE", "COMMAND", "CWD", "STARTED", "WALL", "OUTPUT"];
const COMMAND: usize = 3;
const CWD: usize = 4;
const STARTED: usize = 5;
const WALL: usize = 6;
const OUTPUT: usize = 7;
const GAP: usize = 2;
/// A command that is cut shorter than this is useless.
const LEAST_COMMAND: usize = 12;
/// A directory that is cut shorter than this is useless.
const LEAST_CWD: usize = 6;
/// The columns that a narrow terminal omits, in this order. The id, the name and the state are needed to stop or read a
/// session, so they are neither cut nor omitted.
const EXPENDABLE: [usize; 4] = [CWD, OUTPUT, WALL, STARTED];

/// The width of each column; `None`: it is omitted.
type Widths = [Option<usize>; COLUMNS];

/// Renders the table; without a width nothing is cut. Cells contain names, paths and commands of other programs, so
/// each is made safe to display.
pub(crate) fn render(rows: &[Row], width: Option<usize>, colour: Colour) -> String {
    let rows: Vec<Row> = rows.iter().map(displayable_row).collect();
    let rows = rows.as_slice();
    let headings = HEADINGS.map(|text| Cell { text: text.to_owned(), tint: Tint::Heading });
    let mut widths = natural_widths(rows);
    if let Some(width) = width {
        squeeze(&mut widths, width);
    }
    let mut table = String::new();
    for row in std::iter::once(&headings).chain(rows) {
        write_row(row, &widths, colour, &mut table);
    }
    table
}

fn displayable_row(row: &Row) -> Row {
    row.each_ref().map(|cell| Cell { text: displayable(&cell.text), tint: cell.tint })
}

fn natural_widths(rows: &[Row]) -> Widths {
    std::array::from_fn(|column| {
        let cells = rows.iter().map(|row| row[column].text.width());
        cells.chain([HEADINGS[column].len()]).max()
    })
}

/// The number of columns by which the table exceeds the terminal.
fn excess(widths: &Widths, width: usize) -> usize {
    let shown = widths.iter().flatten();
    let total = shown.clone().sum::<usize>() + GAP * shown.count().saturating_sub(1);
    total.saturating_sub(width)
}

/// Shrinks the directory, then the command, to their least widths; then omits columns; then shrinks the command
/// further.
fn squeeze(widths: &mut Widths, width: usize) {
    for (column, least) in [(CWD, 20), (COMMAND, 24), (CWD, LEAST_CWD), (COMMAND, LEAST_COMMAND)] {
        shorten(widths, column, least, width);
    }
    for column in EXPENDABLE {
        if excess(widths, width) > 0 {
            widths[column] = None;
        }
    }
    shorten(widths, COMMAND, 1, width);
}

fn shorten(widths: &mut Widths, column: usize, least: usize, width: usize) {
    let excess = excess(widths, width);
    if let Some(own) = &mut widths[column] {
        *own -= own.saturating_sub(least).min(excess);
    }
}

fn write_row(row: &Row, widths: &Widths, colour: Colour, table: &mut String) {
    let mut line = String::new();
    for (column, cell) in row.iter().enumerate() {
        let Some(width) = widths[column] else { continue };
        let text = if column == CWD { keep_end(&cell.text, width) } else { keep_start(&cell.text, width) };
        let padding = width.saturating_sub(text.width()) + GAP;
        paint(&text, cell.tint, colour, &mut line);
        line.extend(std::iter::repeat_n(' ', padding));
    }
    table.push_str(line.trim_end());
    table.push('\n');
}

fn keep_start(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    fitting(text.chars(), width.saturating_sub(1)).into_iter().chain(['…']).collect()
}

fn keep_end(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let kept = fitting(text.chars().rev(), width.saturating_sub(1));
    std::iter::once('…').chain(kept.into_iter().rev()).collect()
}

/// The first characters that fit into this width.
fn fitting(characters: impl Iterator<Item = char>, width: usize) -> Vec<char> {
    let cells = |character: &char| character.width().unwrap_or(0);
    let mut left = width;
    let fits = |character: &char| {
        let rest = left.checked_sub(cells(character));
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    characters.take_while(fits).collect()
}

fn paint(text: &str, tint: Tint, colour: Colour, line: &mut String) {
    let code = match tint {
        _ if colour == Colour::Off => None,
        Tint::Plain => None,
        Tint::Heading => Some("1"),
        Tint::Good => Some("32"),
        Tint::Notable => Some("33"),
        Tint::Bad => Some("31"),
        Tint::Faint => Some("2"),
    };
    match code {
        // Writing to a string cannot fail.
        Some(code) => drop(write!(line, "\x1b[{code}m{text}\x1b[0m")),
        None => line.push_str(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(command: &str, cwd: &str) -> Row {
        let cells = ["1001", "-", "exit 0", command, cwd, "5s ago", "0.42 s", "12 kB"];
        cells.map(|text| Cell { text: text.to_owned(), tint: Tint::Plain })
    }

    #[test]
    fn a_table_without_a_terminal_is_whole() {
        let table = render(&[row("cargo test --workspace", "~/src/windlass")], None, Colour::Off);
        assert_eq!(
            table,
            "ID    NAME  STATE   COMMAND                 CWD             STARTED  WALL    OUTPUT\n\
             1001  -     exit 0  cargo test --workspace  ~/src/windlass  5s ago   0.42 s  12 kB\n"
        );
    }

    #[test]
    fn a_narrow_terminal_cuts_the_directory_and_the_command() {
        let long = row(&"x".repeat(200), "/a/very/long/path/that/goes/on/and/on");
        for width in [80, 100, 132] {
            let table = render(std::slice::from_ref(&long), Some(width), Colour::Off);
            let widest = table.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(width), "{width}\n{table}");
            assert!(table.contains('…'));
        }
    }

    #[test]
    fn a_table_fits_the_terminal_and_keeps_the_id_the_name_and_the_state_whole() {
        let name = "nightly-integration-tests";
        let mut long = row(&"测试 x".repeat(40), "/a/very/long/path/that/goes/on/and/on");
        for (column, text) in [(0, "9000000001"), (1, name), (2, "running"), (5, "12 minutes ago")] {
            text.clone_into(&mut long[column].text);
        }
        for width in [50, 60, 72, 80, 100] {
            let table = render(std::slice::from_ref(&long), Some(width), Colour::Off);
            assert!(table.lines().all(|line| line.width() <= width), "{width}\n{table}");
            let session = table.lines().last().unwrap_or_default();
            assert!(session.starts_with(&format!("9000000001  {name}  running  ")), "{width}\n{table}");
        }
    }

    #[test]
    fn colour_is_only_paint() {
        let plain = render(&[row("ls", "/")], None, Colour::Off);
        let painted = render(&[row("ls", "/")], None, Colour::On);
        let washed = painted.replace("\x1b[1m", "").replace("\x1b[0m", "");
        assert_eq!(washed, plain);
        assert!(painted.starts_with("\x1b[1mID\x1b[0m"));
    }
}
