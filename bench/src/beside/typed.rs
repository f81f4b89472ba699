//! A line typed into a program that waits for it, until the answer with what the program made of it.

use super::client::Client;
use super::contest::{Contender, Finding, Who, figure, hold};
use super::tmux::Tmux;
use super::{RowContext, codex, commander, windlass};
use crate::comparison::Bar;
use anyhow::{Result, ensure};
use serde_json::json;
use std::time::Instant;

pub(super) const NAMES: &[&str] =
    &["mcp-type-cat", "mcp-type-cat-codex", "mcp-type-python", "mcp-type-python-codex"];

/// A program, and the line that is typed into it with the text that must come back.
#[derive(Clone, Copy)]
struct Program {
    command: &'static str,
    line: fn(usize) -> String,
    answer: fn(usize) -> String,
    /// How often the answer is seen on a screen when it is there: cat's line is also echoed.
    seen: usize,
}

const CAT: Program = Program {
    command: "cat",
    line: |number| format!("line {number}."),
    answer: |number| format!("line {number}."),
    seen: 2,
};
const PYTHON: Program = Program {
    command: "python3 -q -i",
    line: |number| format!("1000000 + {number}"),
    answer: |number| (1_000_000 + number).to_string(),
    seen: 1,
};

pub(super) fn measure(around: &RowContext) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for (program, names) in [(CAT, [NAMES[0], NAMES[1]]), (PYTHON, [NAMES[2], NAMES[3]])] {
        let figures = type_into(around, program)?;
        let ours = figures.iter().find(|(who, _)| *who == Who::Windlass);
        let rounds = ours.map(|(_, samples)| samples.rounds.clone()).unwrap_or_default();
        let what =
            if program.command == "cat" { "a line typed into cat" } else { "a line typed into python3 -i" };
        if let Some((_, codex)) = figures.iter().find(|(who, _)| *who == Who::CodexTools) {
            let figures = vec![figure(Who::Windlass, rounds), figure(Who::CodexTools, codex.rounds.clone())];
            let (bar, against) = (Bar::MostTimes(1.0 / 30.0), Some(Who::CodexTools));
            findings.push(Finding {
                name: names[1],
                what: "the same, against Codex",
                unit: "ms",
                figures,
                bar,
                against,
            });
        }
        findings.insert(
            findings.len().saturating_sub(usize::from(around.with_peers())),
            Finding { name: names[0], what, unit: "ms", figures, bar: Bar::Most(10.0), against: None },
        );
    }
    Ok(findings)
}

fn type_into(around: &RowContext, program: Program) -> Result<Vec<(Who, crate::rounds::Samples)>> {
    let mut server = windlass::warm(around)?;
    let started = server.call("exec_command", &json!({ "cmd": program.command, "tty": true }))?;
    let session = windlass::session(&started)?;
    let mut number = 0;
    let server_once = Box::new(|| {
        number += 1;
        type_to_windlass(&mut server, session, (program, number))
    });
    let contenders = vec![Contender { who: Who::Windlass, times: around.times(10), once: server_once }];
    let mut figures = hold(contenders)?;
    if around.with_peers() {
        // By themselves: some are still at work when they have answered.
        figures.extend(hold(company(around, program)?)?);
        figures.push(figure(Who::CodexTools, type_to_codex(around, program)?));
    }
    server.call("stop_session", &json!({ "session_id": session }))?;
    server.end()?;
    Ok(figures)
}

fn type_to_windlass(server: &mut Client, session: u64, (program, number): (Program, usize)) -> Result<f64> {
    let chars = format!("{}\n", (program.line)(number));
    let begun = Instant::now();
    let result = server.call("write_stdin", &json!({ "session_id": session, "chars": chars }))?;
    let took = begun.elapsed();
    let output = windlass::output(&result)?;
    let seen = output.matches(&(program.answer)(number)).count();
    ensure!(seen >= program.seen, "{:?} was not answered in {output:?}", (program.line)(number));
    Ok(took.as_secs_f64() * 1e3)
}

/// The others, each with the program started.
fn company(around: &RowContext, program: Program) -> Result<Vec<Contender<'static>>> {
    let mut commander = Client::mcp(&mut commander::command(around)?)?;
    let pid = commander::start(&mut commander, program.command)?;
    let mut number = 0;
    let to_commander = move || {
        number += 1;
        let begun = Instant::now();
        commander::write(&mut commander, pid, &(program.line)(number))?;
        Ok(begun.elapsed().as_secs_f64() * 1e3)
    };
    let tmux = Tmux::start(around, program.command)?;
    let mut number = 0;
    let to_tmux = move || {
        number += 1;
        let begun = Instant::now();
        tmux.type_line(&(program.line)(number))?;
        tmux.look_for(&(program.answer)(number), program.seen)?;
        Ok(begun.elapsed().as_secs_f64() * 1e3)
    };
    // Desktop Commander waits eight seconds for a prompt that cat does not have.
    Ok(vec![
        Contender { who: Who::Commander, times: around.times(1).min(3), once: Box::new(to_commander) },
        Contender { who: Who::Tmux, times: around.times(5), once: Box::new(to_tmux) },
    ])
}

/// By the time that Codex itself gives for each call, in milliseconds.
fn type_to_codex(around: &RowContext, program: Program) -> Result<Vec<f64>> {
    let count = around.times(1).max(3);
    let typing = (0..count).map(|number| codex::CodexStep::Write(format!("{}\n", (program.line)(number))));
    let steps = std::iter::once(codex::CodexStep::Exec(program.command.to_owned())).chain(typing).collect();
    let results = codex::converse(around, steps)?;
    results.iter().skip(1).map(|result| Ok(codex::wall_seconds(result)? * 1e3)).collect()
}
