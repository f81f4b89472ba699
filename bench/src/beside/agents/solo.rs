//! One agent: the time to its first request, its memory, and the cost of a step, with and without a sandbox.

use super::agent::Sandbox;
use super::errand::{self, AgentTask, Done};
use crate::beside::RowContext;
use crate::beside::contest::{Contender, Finding, Who, figure, hold};
use crate::comparison::{Bar, Scale};
use crate::rounds::median;
use anyhow::Result;
use std::cell::RefCell;
use std::time::Duration;

pub(super) const FREE: [&str; 4] = ["agent-first", "agent-memory", "agent-step", "agent-step-cpu"];
pub(super) const SCRIPT: [&str; 2] = ["agent-step-script", "agent-step-script-cpu"];
pub(super) const CONFINED: [&str; 2] = ["agent-step-confined", "agent-step-confined-cpu"];

const STEPS: usize = 50;
/// A program alone, which needs no shell.
const PROGRAM: &str = "/bin/true";
/// Something that only a shell understands.
const COMPOUND: &str = "/bin/true && /bin/true";
const STEP: &str = "from the model's answer with a call of /bin/true to the next request";

/// The figures of every round.
struct Rounds {
    who: Who,
    first: f64,
    peak: f64,
    step: f64,
    cpu: f64,
}

/// Without a sandbox.
pub(super) fn free(around: &RowContext) -> Result<Vec<Finding>> {
    let rounds = rounds(around, AgentTask { sandbox: Sandbox::None, command: PROGRAM })?;
    let [first, memory, step, cpu] = FREE;
    let start = "from the start of the program to its first request";
    let weight = "the most that was resident in 50 steps";
    Ok(vec![
        row(&rounds, (first, start, "ms"), (Bar::MostTimes(0.125), |round| round.first)),
        row(&rounds, (memory, weight, "MiB"), (Bar::MostTimes(1.0 / 6.0), |round| round.peak)),
        row(&rounds, (step, STEP, "ms"), (Bar::MostTimes(0.1), |round| round.step)),
        row(&rounds, (cpu, CPU, "ms"), (Bar::MostTimes(0.1), |round| round.cpu)),
    ])
}

/// With a shell between the agent and its programs.
pub(super) fn script(around: &RowContext) -> Result<Vec<Finding>> {
    let errand = AgentTask { sandbox: Sandbox::None, command: COMPOUND };
    steps(around, errand, (SCRIPT, "the same with a script of two commands"))
}

/// In each program's own sandbox.
pub(super) fn confined(around: &RowContext) -> Result<Vec<Finding>> {
    let errand = AgentTask { sandbox: Sandbox::WorkspaceWrite, command: PROGRAM };
    steps(around, errand, (CONFINED, "the same under workspace-write"))
}

fn steps(
    around: &RowContext,
    errand: AgentTask,
    ([step, cpu], what): ([&'static str; 2], &'static str),
) -> Result<Vec<Finding>> {
    let rounds = rounds(around, errand)?;
    Ok(vec![
        row(&rounds, (step, what, "ms"), (Bar::MostTimes(0.1), |round| round.step)),
        row(&rounds, (cpu, what, "ms"), (Bar::MostTimes(0.1), |round| round.cpu)),
    ])
}

const CPU: &str = "processor time of a step, the command included";

fn row(
    rounds: &[Rounds],
    (name, what, unit): (&'static str, &'static str, &'static str),
    (bar, of): (Bar, fn(&Rounds) -> f64),
) -> Finding {
    let whose = |who: Who| rounds.iter().filter(move |round| round.who == who).map(of).collect::<Vec<_>>();
    let sides = [Who::Windlass, Who::CodexAgent].map(|who| (who, whose(who)));
    let taking_part = sides.into_iter().filter(|(_, figures)| !figures.is_empty());
    let figures = taking_part.map(|(who, samples)| figure(who, samples)).collect();
    Finding { name, what, unit, figures, bar, against: Some(Who::CodexAgent) }
}

fn rounds(around: &RowContext, errand: AgentTask) -> Result<Vec<Rounds>> {
    let rounds = RefCell::new(Vec::new());
    let contender = |who| {
        let rounds = &rounds;
        let once = move || {
            let round = once(around, who, errand)?;
            let step = round.step;
            rounds.borrow_mut().push(round);
            Ok(step)
        };
        Contender { who, times: around.times(1), once: Box::new(once) }
    };
    hold(around.sides(Who::CodexAgent).map(contender).collect())?;
    Ok(rounds.into_inner())
}

/// A run without a step and one with many: what the second used more is the steps'.
fn once(around: &RowContext, who: Who, errand: AgentTask) -> Result<Rounds> {
    let count = match around.scale {
        Scale::Full => STEPS,
        Scale::Tiny => 2,
    };
    let short = errand::run(around, who, (errand, 0))?;
    let Done { steps, cpu, peak_mib, .. } = errand::run(around, who, (errand, count))?;
    let steps: Vec<f64> = steps.into_iter().map(millis).collect();
    Ok(Rounds {
        who,
        first: millis(short.first),
        peak: peak_mib,
        step: median(&steps),
        cpu: millis(cpu.saturating_sub(short.cpu)) / count as f64,
    })
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
