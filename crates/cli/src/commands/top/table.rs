//! The table of `windlass top`: numbers right-aligned, words left-aligned, the command cut at the width of the
//! terminal. Pure.

use super::look::Row;
use crate::config::Colour;
use crate::printing::displayable;
use crate::report;

const HEADINGS: [&str; 10] =
    ["ID", "NAME", "STATE", "CPU%", "MEMORY", "PROCS", "OUT/S", "ELAPSED", "LIMITS", "COMMAND"];
/// Columns of numbers.
const NUMBERS: [usize; 5] = [3, 4, 5, 6, 7];
const COMMAND: usize = 9;
const GAP: usize = 2;
/// A command that is cut shorter than this is useless.
const LEAST_COMMAND: usize = 12;
/// Limits are cut before the command is.
const LIMITS: usize = 8;
const LEAST_LIMITS: usize = 10;

type Cells = [String; HEADINGS.len()];

/// The table; without a width nothing is cut.
pub(super) fn render(rows: &[Row], width: Option<usize>, colour: Colour) -> String {
    layout(&rows.iter().map(cells).collect::<Vec<_>>(), width, colour)
}

/// The line above the table: the usage of all sessions together.
pub(super) fn summary(rows: &[Row]) -> String {
    let sessions = report::plural(rows.len(), "session");
    let cpu: f64 = rows.iter().map(|row| row.cpu).sum();
    let memory = rows.iter().map(|row| row.memory).sum();
    let processes: u64 = rows.iter().map(|row| row.processes).sum();
    let processes = report::plural(usize::try_from(processes).unwrap_or(usize::MAX), "process");
    format!("windlass top: {sessions}, {processes}, CPU {cpu:.0}%, memory {}\n", report::bytes(memory))
}

fn cells(row: &Row) -> Cells {
    let start = &row.record.start;
    [
        start.id.to_string(),
        start.name.clone().unwrap_or_else(|| "-".to_owned()),
        row.state.to_string(),
        format!("{:.1}", row.cpu),
        report::bytes(row.memory),
        row.processes.to_string(),
        report::bytes(row.output_rate),
        report::seconds(row.elapsed),
        report::limits_words(&start.limits),
        report::asked_for(start),
    ]
    .map(|text| displayable(&text))
}

fn layout(rows: &[Cells], width: Option<usize>, colour: Colour) -> String {
    let headings = HEADINGS.map(str::to_owned);
    let mut widths: [usize; HEADINGS.len()] = std::array::from_fn(|column| {
        std::iter::once(&headings).chain(rows).map(|row| row[column].chars().count()).max().unwrap_or(0)
    });
    if let Some(width) = width {
        squeeze(&mut widths, width);
    }
    let lines = std::iter::once(&headings).chain(rows).map(|row| line(row, &widths));
    let paint = |(place, line): (usize, String)| match (place, colour) {
        (0, Colour::On) => format!("\x1b[1m{line}\x1b[0m\n"),
        _ => format!("{line}\n"),
    };
    lines.enumerate().map(paint).collect()
}

fn squeeze(widths: &mut [usize; HEADINGS.len()], width: usize) {
    let total = widths.iter().sum::<usize>() + GAP * (HEADINGS.len() - 1);
    let mut excess = total.saturating_sub(width);
    for (column, least) in [(COMMAND, 30), (LIMITS, LEAST_LIMITS), (COMMAND, LEAST_COMMAND)] {
        let spare = widths[column].saturating_sub(least).min(excess);
        widths[column] -= spare;
        excess -= spare;
    }
}

fn line(row: &Cells, widths: &[usize; HEADINGS.len()]) -> String {
    let cell = |(column, text): (usize, &String)| {
        let width = widths[column];
        let text: String = match text.chars().count() <= width {
            true => text.clone(),
            false => text.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
        };
        if NUMBERS.contains(&column) { format!("{text:>width$}") } else { format!("{text:<width$}") }
    };
    let cells: Vec<String> = row.iter().enumerate().map(cell).collect();
    cells.join(&" ".repeat(GAP)).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(command: &str) -> Cells {
        let cells =
            ["1001", "-", "running", "99.8", "1.2 MB", "3", "0 B", "12.3 s", "memory 512 MiB", command];
        cells.map(str::to_owned)
    }

    #[test]
    fn numbers_stand_to_the_right_and_words_to_the_left() {
        assert_eq!(
            layout(&[row("make -j8")], None, Colour::Off),
            "ID    NAME  STATE    CPU%  MEMORY  PROCS  OUT/S  ELAPSED  LIMITS          COMMAND\n\
             1001  -     running  99.8  1.2 MB      3    0 B   12.3 s  memory 512 MiB  make -j8\n"
        );
    }

    #[test]
    fn a_narrow_terminal_cuts_the_command_and_the_limits() {
        for width in [90, 100, 132] {
            let table = layout(&[row(&"x".repeat(200))], Some(width), Colour::Off);
            let widest = table.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(width), "{width}\n{table}");
        }
        assert_eq!(layout(&[], None, Colour::Off).lines().count(), 1);
    }
}
