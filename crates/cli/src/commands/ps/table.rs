//! The table of `windlass ps`: as wide as its content, or as the terminal, whichever is less.

use std::fmt::Write;

use crate::config::Colour;

/// One cell.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) tint: Tint,
}

/// What a cell's colour says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tint {
    Plain,
    Heading,
    Good,
    Notable,
    Bad,
    Faint,
}

/// One session.
pub(crate) type Row = [Cell; COLUMNS];

const COLUMNS: usize = 8;
const HEADINGS: [&str; COLUMNS] = ["ID", "NAME", "STATE", "COMMAND", "CWD", "STARTED", "WALL", "OUTPUT"];
const COMMAND: usize = 3;
const CWD: usize = 4;
const GAP: usize = 2;
/// A command cut shorter than this says nothing.
const LEAST_COMMAND: usize = 12;
/// A directory cut shorter than this says nothing.
const LEAST_CWD: usize = 6;

/// Renders the table; without a width nothing is cut.
pub(crate) fn render(rows: &[Row], width: Option<usize>, colour: Colour) -> String {
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

fn natural_widths(rows: &[Row]) -> [usize; COLUMNS] {
    std::array::from_fn(|column| {
        let cells = rows.iter().map(|row| row[column].text.chars().count());
        cells.chain([HEADINGS[column].len()]).max().unwrap_or(0)
    })
}

/// The command and the directory give way, the directory first.
fn squeeze(widths: &mut [usize; COLUMNS], width: usize) {
    let total: usize = widths.iter().sum::<usize>() + GAP * (COLUMNS - 1);
    let mut excess = total.saturating_sub(width);
    for (column, least) in
        [(CWD, widths[CWD].min(20)), (COMMAND, 24), (CWD, LEAST_CWD), (COMMAND, LEAST_COMMAND)]
    {
        let spare = widths[column].saturating_sub(least).min(excess);
        widths[column] -= spare;
        excess -= spare;
    }
}

fn write_row(row: &Row, widths: &[usize; COLUMNS], colour: Colour, table: &mut String) {
    let mut line = String::new();
    for (column, cell) in row.iter().enumerate() {
        let text = if column == CWD {
            keep_end(&cell.text, widths[column])
        } else {
            keep_start(&cell.text, widths[column])
        };
        let padding = widths[column] - text.chars().count() + GAP;
        paint(&text, cell.tint, colour, &mut line);
        line.extend(std::iter::repeat_n(' ', padding));
    }
    table.push_str(line.trim_end());
    table.push('\n');
}

fn keep_start(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

fn keep_end(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    std::iter::once('…').chain(text.chars().skip(length + 1 - width)).collect()
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
    fn colour_is_only_paint() {
        let plain = render(&[row("ls", "/")], None, Colour::Off);
        let painted = render(&[row("ls", "/")], None, Colour::On);
        let washed = painted.replace("\x1b[1m", "").replace("\x1b[0m", "");
        assert_eq!(washed, plain);
        assert!(painted.starts_with("\x1b[1mID\x1b[0m"));
    }
}
