//! The table for people and the JSON for programs.

use super::contest::{Finding, Who};
use crate::comparison::Scale;
use crate::report::{first_line, load, rounded};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::path::Path;

/// The findings so far.
#[derive(Debug)]
pub(super) struct Table {
    rounds: usize,
    scale: Scale,
    load_before: String,
    findings: Vec<Finding>,
}

impl Table {
    /// Prints the head, in Markdown.
    pub(super) fn begin(rounds: usize, scale: Scale) -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        println!("{rounds} rounds, {cpus} processors, Linux {}\n", first_line("/proc/sys/kernel/osrelease"));
        println!("| row | what | windlass | others | ratio | bar | |");
        println!("|---|---|---:|---|---:|---:|---|");
        Self { rounds, scale, load_before: load(), findings: Vec::new() }
    }

    /// Prints rows as they come.
    pub(super) fn add(&mut self, findings: Vec<Finding>) {
        for finding in findings {
            println!("{}", self.line(&finding));
            self.findings.push(finding);
        }
    }

    pub(super) fn end(&self) {
        println!(
            "\nload {} before, {} after: trust the ratios more than the figures",
            self.load_before,
            load()
        );
    }

    pub(super) fn findings(&self) -> &[Finding] {
        &self.findings
    }

    fn line(&self, finding: &Finding) -> String {
        let Finding { name, what, unit, bar, against, .. } = finding;
        let shown = |figure: f64| format!("{} {unit}", rounded(figure));
        let ours = finding.median_of(Who::Windlass).map(shown).unwrap_or_default();
        let others = finding.figures.iter().filter(|(who, _)| *who != Who::Windlass);
        let others: Vec<String> =
            others.map(|(who, samples)| format!("{who} {}", shown(samples.median))).collect();
        let ratio = finding.ratio().map(|ratio| format!("{ratio:.3}")).unwrap_or_default();
        let against = against.map(|who| format!(" {who}")).unwrap_or_default();
        let (others, verdict) = (others.join(", "), self.verdict(finding));
        format!("| {name} | {what} | {ours} | {others} | {ratio} | {bar}{against} | {verdict} |")
    }

    fn verdict(&self, finding: &Finding) -> &'static str {
        match self.scale {
            Scale::Tiny => "not judged",
            Scale::Full if finding.is_met() => "pass",
            Scale::Full => "miss",
        }
    }

    pub(super) fn write_json(&self, path: &Path) -> Result<()> {
        let rows: Vec<Value> = self.findings.iter().map(|finding| self.row(finding)).collect();
        let all = json!({
            "rounds": self.rounds,
            "kernel": first_line("/proc/sys/kernel/osrelease"),
            "load_before": self.load_before,
            "load_after": load(),
            "rows": rows,
        });
        let text = serde_json::to_string_pretty(&all)? + "\n";
        std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))
    }

    fn row(&self, finding: &Finding) -> Value {
        let figures = finding.figures.iter().map(|(who, samples)| {
            (who.to_string(), json!({ "median": samples.median, "samples": samples.rounds }))
        });
        json!({
            "row": finding.name,
            "what": finding.what,
            "unit": finding.unit,
            "figures": figures.collect::<serde_json::Map<_, _>>(),
            "ratio": finding.ratio(),
            "bar": finding.bar.to_string(),
            "against": finding.against.map(|who| who.to_string()),
            "verdict": self.verdict(finding),
        })
    }
}
