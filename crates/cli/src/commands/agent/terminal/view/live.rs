//! Renders the work in progress into a limited number of rows: the text being written, running commands, working
//! agents; and the status line.

use std::time::Instant;

use windlass_agent::StepState;
use windlass_llm::Usage;

use super::super::lines::{Line, Paint};
use super::{Agent, Kind, RunningItem, View, first_line, one_line, seconds};
use crate::commands::agent::text::cost;
use crate::report;

/// The most rows of reasoning that are shown.
const THOUGHT: usize = 3;
/// The most sub-agents and commands that are shown at once.
const MOST_SHOWN: usize = 8;

impl View {
    /// The work in progress, in at most so many rows. The newest rows are kept if not all fit.
    pub(in super::super) fn under_way(&self, now: Instant, columns: usize, most: usize) -> Vec<Line> {
        let mut rows = self.writing(columns);
        let below: Vec<Line> = self
            .running
            .iter()
            .rev()
            .take(MOST_SHOWN)
            .rev()
            .flat_map(|running| self.running_rows(running, now))
            .chain(self.agent_rows())
            .map(|line| line.cut(columns))
            .collect();
        let room = most.saturating_sub(below.len());
        rows.drain(..rows.len().saturating_sub(room));
        rows.extend(below);
        rows.truncate(most);
        rows
    }

    /// Model, state, plan, tokens and cost, in one row.
    pub(in super::super) fn status(&self, now: Instant, columns: usize) -> Line {
        let mut words = vec![self.state(now)];
        words.push(self.model.clone());
        let done = self.plan.iter().filter(|step| step.state == StepState::Completed).count();
        if !self.plan.is_empty() && done < self.plan.len() {
            words.push(format!("plan {done}/{}", self.plan.len()));
        }
        words.extend(self.spent());
        Line::of(Paint::Dim, &words.join(" · ")).cut(columns)
    }

    /// Tokens and their cost; `None` before the first ones.
    pub(in super::super) fn spent(&self) -> Option<String> {
        let total = self.total();
        if total == Usage::default() {
            return None;
        }
        let Usage { input, cached, output, .. } = total;
        let (input, cached, output) = (report::count(input), report::count(cached), report::count(output));
        let dollars = self.prices.map(|prices| format!(", ${:.4}", cost(prices, total))).unwrap_or_default();
        Some(format!("{input} in ({cached} cached), {output} out{dollars}"))
    }

    fn state(&self, now: Instant) -> String {
        let Some(since) = self.working else {
            return match self.busy_agents().count() {
                0 => "ready".to_owned(),
                count => format!("{} at work, Esc interrupts", report::plural(count, "agent")),
            };
        };
        let time = seconds(now.saturating_duration_since(since));
        match self.waiting.first() {
            Some(what) => format!("waiting for {} {time}, Esc interrupts", one_line(what)),
            None => format!("working {time}, Esc interrupts"),
        }
    }

    fn writing(&self, columns: usize) -> Vec<Line> {
        let thought: Vec<Line> = Line::all(Paint::Dim, self.words.thinking().trim())
            .iter()
            .flat_map(|line| line.wrapped(columns))
            .collect();
        let mut rows = thought[thought.len().saturating_sub(THOUGHT)..].to_vec();
        let unfinished = self.words.unfinished();
        if !unfinished.is_empty() {
            rows.extend(Line::of(Paint::Plain, unfinished).wrapped(columns));
        }
        rows
    }

    fn running_rows(&self, running: &RunningItem, now: Instant) -> Vec<Line> {
        let took = now.saturating_duration_since(running.since);
        let took = if took.as_secs() > 0 { format!("{} ", seconds(took)) } else { String::new() };
        let paint = if running.kind == Kind::Call { Paint::Dim } else { Paint::Bold };
        let background = if running.kind == Kind::Background { "  in the background" } else { "" };
        // The time comes first: the title may be longer than the row.
        let line = self.named(&running.agent).and(Paint::Yellow, "• ").and(Paint::Dim, &took);
        let line = line.and(paint, &one_line(&running.title)).and(Paint::Dim, background);
        let tail = running.tail.iter().map(|line| Line::of(Paint::Dim, &format!("    {line}")));
        [line].into_iter().chain(tail.filter(|_| running.kind != Kind::Background)).collect()
    }

    fn agent_rows(&self) -> impl Iterator<Item = Line> {
        let busy = self.agents.iter().filter(|agent| agent.state == "working").take(MOST_SHOWN);
        let row = |agent: &Agent| {
            Line::of(Paint::Cyan, &agent.nickname).and(Paint::Dim, &format!("  {}", first_line(&agent.task)))
        };
        busy.map(row)
    }
}
