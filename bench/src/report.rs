//! The results of a run: a table for people and JSON for programs.

use crate::arguments::BenchArguments;
use crate::rounds::{Measured, Samples};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// Everything measured in one run.
#[derive(Debug)]
pub(crate) struct Report {
    circumstances: Circumstances,
    rows: Vec<Measured>,
}

/// Under what conditions it was measured. Absolute figures mean little without them.
#[derive(Debug)]
pub(crate) struct Circumstances {
    rounds: usize,
    workers: usize,
    judged: Judged,
    kernel: String,
    cpus: usize,
    load_before: String,
}

/// Whether figures are compared with the bars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judged {
    Yes,
    /// A tiny run shows that everything works, not how fast.
    No,
}

impl Circumstances {
    pub(crate) fn now(arguments: &BenchArguments) -> Self {
        Self {
            rounds: arguments.rounds(),
            workers: arguments.workers,
            judged: if arguments.tiny { Judged::No } else { Judged::Yes },
            kernel: first_line("/proc/sys/kernel/osrelease"),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            load_before: load(),
        }
    }
}

impl Report {
    /// Prints the head of a table, in Markdown, so that it can be pasted where people read it.
    pub(crate) fn begin(circumstances: Circumstances) -> Self {
        let Circumstances { rounds, workers, kernel, cpus, .. } = &circumstances;
        println!("{rounds} rounds, {workers} workers, {cpus} processors, Linux {kernel}\n");
        println!("| row | what | reference | ours | ratio | bar | |");
        println!("|---|---|---:|---:|---:|---:|---|");
        Self { circumstances, rows: Vec::new() }
    }

    /// Prints rows as they come: a user who stops a long run keeps the rows measured so far.
    pub(crate) fn add(&mut self, measured: Vec<Measured>) {
        for measured in measured {
            println!("{}", self.line(&measured));
            self.rows.push(measured);
        }
    }

    pub(crate) fn end(&self) {
        let before = &self.circumstances.load_before;
        println!("\nload {before} before, {} after: trust the ratios more than the figures", load());
    }

    fn line(&self, measured: &Measured) -> String {
        let Measured { row, reference, ours } = measured;
        let figure =
            |samples: &Samples| format!("{} {}", rounded(samples.median), row.unit).trim().to_owned();
        let reference = reference.as_ref().map(figure).unwrap_or_default();
        let ratio = ratio(measured).map(|ratio| format!("{ratio:.2}")).unwrap_or_default();
        let verdict = self.verdict(measured);
        let ours = figure(ours);
        format!("| {} | {} | {reference} | {ours} | {ratio} | {} | {verdict} |", row.name, row.what, row.bar)
    }

    pub(crate) fn write_json(&self, path: &Path) -> Result<()> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        }
        let text = serde_json::to_string_pretty(&self.to_json())?;
        fs::write(path, text + "\n").with_context(|| format!("writing {}", path.display()))
    }

    fn to_json(&self) -> Value {
        let Circumstances { rounds, workers, judged, kernel, cpus, load_before } = &self.circumstances;
        json!({
            "rounds": rounds,
            "workers": workers,
            "judged": *judged == Judged::Yes,
            "kernel": kernel,
            "processors": cpus,
            "load_before": load_before,
            "load_after": load(),
            "rows": self.rows.iter().map(|measured| self.row_to_json(measured)).collect::<Vec<_>>(),
        })
    }

    fn row_to_json(&self, measured: &Measured) -> Value {
        let Measured { row, reference, ours } = measured;
        let side = |samples: &Samples| json!({ "median": samples.median, "rounds": samples.rounds });
        json!({
            "row": row.name,
            "what": row.what,
            "unit": row.unit,
            "reference": reference.as_ref().map(side),
            "ours": side(ours),
            "ratio": ratio(measured),
            "bar": row.bar.to_string(),
            "verdict": self.verdict(measured),
        })
    }

    fn verdict(&self, measured: &Measured) -> &'static str {
        match self.circumstances.judged {
            Judged::No => "not judged",
            Judged::Yes if measured.row.bar.is_met(measured.ours.median, ratio(measured)) => "pass",
            Judged::Yes => "miss",
        }
    }
}

fn ratio(measured: &Measured) -> Option<f64> {
    measured.reference.as_ref().map(|reference| measured.ours.median / reference.median)
}

/// Three digits are more than a shared machine can tell apart.
pub(crate) fn rounded(figure: f64) -> String {
    if figure.abs() >= 100.0 { format!("{figure:.0}") } else { format!("{figure:.1}") }
}

pub(crate) fn load() -> String {
    first_line("/proc/loadavg").split(' ').take(1).collect()
}

/// Empty where there is no such file.
pub(crate) fn first_line(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().next().unwrap_or_default().to_owned()
}
