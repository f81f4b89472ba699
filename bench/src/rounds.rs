//! Runs the two sides of a comparison in turns. A neighbour that makes the machine slower for a while slows both, and
//! the side that goes first changes from round to round.

use crate::bare::Bare;
use crate::comparison::{Comparison, Reference, Row};
use crate::order::WorkSpec;
use crate::place::{self, BenchFolder};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// The programs and settings of the rounds.
#[derive(Debug)]
pub(crate) struct Bench<'a> {
    pub(crate) place: &'a BenchFolder,
    pub(crate) bare: &'a Bare,
    pub(crate) rounds: usize,
    pub(crate) workers: usize,
}

/// A row with what was measured for it, a figure per round and side.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) row: Row,
    pub(crate) reference: Option<Samples>,
    pub(crate) ours: Samples,
}

/// One side's figures, round by round.
#[derive(Debug)]
pub(crate) struct Samples {
    pub(crate) rounds: Vec<f64>,
    pub(crate) median: f64,
}

/// The figures that one side of one round printed.
type Figures = BTreeMap<String, f64>;

#[derive(Clone, Copy)]
enum Side<'a> {
    Bare(&'a WorkSpec),
    Ours(&'a WorkSpec),
}

impl Bench<'_> {
    /// All rounds of one comparison.
    pub(crate) fn compare(&self, comparison: &Comparison) -> Result<Vec<Measured>> {
        let ours = Side::Ours(&comparison.ours);
        let reference = match &comparison.reference {
            Reference::Bare(order) => Some(Side::Bare(order)),
            Reference::Ours(order) => Some(Side::Ours(order)),
            Reference::Nothing => None,
        };
        let (mut our_rounds, mut reference_rounds) = (Vec::new(), Vec::new());
        for round in 0..self.rounds {
            let reference_first = round % 2 == 0;
            if let Some(reference) = reference.filter(|_| reference_first) {
                reference_rounds.push(self.run(reference)?);
            }
            our_rounds.push(self.run(ours)?);
            if let Some(reference) = reference.filter(|_| !reference_first) {
                reference_rounds.push(self.run(reference)?);
            }
        }
        let measured = |row: &Row| {
            let ours = Samples::of(row, &our_rounds).with_context(|| format!("{}: no figure", row.name))?;
            Ok(Measured { row: row.clone(), reference: Samples::of(row, &reference_rounds), ours })
        };
        comparison.rows.iter().map(measured).collect()
    }

    fn run(&self, side: Side<'_>) -> Result<Figures> {
        let state = self.place.state_directory()?;
        let note = state.join("note");
        let (program, first, order) = match side {
            Side::Bare(order) => {
                (self.bare.path(), None, order.clone().with("self", self.bare.path().display()))
            }
            Side::Ours(order) => (&*self.place.program, Some("ours"), self.with_surroundings(order, &state)),
        };
        let order = order.with("note", note.display());
        let mut command = Command::new(program);
        command.args(first).args(order.words()).stdin(Stdio::null()).stderr(Stdio::inherit());
        let output = command.output().with_context(|| format!("starting {}", program.display()))?;
        ensure!(output.status.success(), "{} failed: {}", order.words().join(" "), output.status);
        place::empty_large_files(&state).with_context(|| format!("emptying {}", state.display()))?;
        figures(&String::from_utf8_lossy(&output.stdout))
    }

    fn with_surroundings(&self, order: &WorkSpec, state: &Path) -> WorkSpec {
        let order = order.clone().with("workers", self.workers).with("state", state.join("store").display());
        order.with("bare", self.bare.path().display())
    }
}

/// Lines of `figure value`.
fn figures(text: &str) -> Result<Figures> {
    let line = |line: &str| {
        let (name, value) = line.split_once(' ')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    let figures: Option<_> = text.lines().map(line).collect();
    figures.with_context(|| format!("not figures: {text}"))
}

impl Samples {
    /// `None` if the side does not print this figure.
    fn of(row: &Row, rounds: &[Figures]) -> Option<Self> {
        let rounds: Option<Vec<f64>> =
            rounds.iter().map(|figures| figures.get(row.figure).copied()).collect();
        let rounds = rounds.filter(|rounds| !rounds.is_empty())?;
        Some(Self { median: median(&rounds), rounds })
    }
}

/// The middle one; the upper of two.
pub(crate) fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle_of_the_sorted() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[5.0]), 5.0);
    }

    #[test]
    fn figures_are_names_and_numbers_and_nothing_else() {
        assert_eq!(figures("micros 12.5\nlost 0\n").unwrap()["micros"], 12.5);
        assert!(figures("panicked at").is_err());
    }
}
