//! Lines about completed actions: changed files, outputs, plans, and shortened texts.

use std::time::Duration;

use windlass_agent::{FileChange, PlanStep, StepState};

use super::super::lines::{Line, Paint};
use crate::report;

/// The most lines of an output that are shown permanently.
const MOST_OUTPUT: usize = 6;

/// A line about a changed file.
pub(super) fn changed(change: &FileChange, ok: bool, line: Line) -> Line {
    let paint = if ok { Paint::Bold } else { Paint::Red };
    let failed = if ok { "" } else { "failed: " };
    let line = line.and(paint, &format!("{failed}{} {}", change.kind, change.path.display()));
    if !ok {
        return line;
    }
    line.and(Paint::Green, &format!("  +{}", change.added)).and(Paint::Red, &format!(" -{}", change.removed))
}

/// A plan, one line for each step.
pub(in super::super) fn plan(steps: &[PlanStep]) -> Vec<Line> {
    let line = |step: &PlanStep| {
        let (mark, paint) = match step.state {
            StepState::Pending => ("[ ]", Paint::Plain),
            StepState::InProgress => ("[>]", Paint::Bold),
            StepState::Completed => ("[x]", Paint::Dim),
        };
        Line::of(paint, &format!("{mark} {}", step.text)).hanging(4)
    };
    steps.iter().map(line).collect()
}

/// The last lines of an output, and the number of lines before them.
pub(super) fn tail(output: &str) -> Vec<Line> {
    let all: Vec<&str> = output.trim_end().lines().collect();
    let hidden = all.len().saturating_sub(MOST_OUTPUT);
    let head = (hidden > 0).then(|| Line::of(Paint::Dim, &format!("  … {}", report::plural(hidden, "line"))));
    let shown = all[hidden..].iter().map(|line| Line::of(Paint::Dim, &format!("  {line}")).hanging(2));
    head.into_iter().chain(shown).collect()
}

/// The first line that is not blank.
pub(super) fn first_line(text: &str) -> &str {
    text.trim_start().lines().next().unwrap_or_default()
}

/// The first line, and the number of further lines.
pub(super) fn one_line(text: &str) -> String {
    let mut lines = text.trim().lines();
    let first = lines.next().unwrap_or_default();
    match lines.count() {
        0 => first.to_owned(),
        more => format!("{first} … (+{})", report::plural(more, "line")),
    }
}

/// A duration for people.
pub(super) fn seconds(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds < 60 => format!("{seconds} s"),
        seconds => format!("{} min {:02} s", seconds / 60, seconds % 60),
    }
}
