//! One agent that runs a command again and again, one call an answer, and the times and results that the model saw.

use super::agent::{Agent, Sandbox};
use crate::beside::contest::Who;
use crate::beside::{RowContext, process};
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use windlass_testkit::model::{Model, Reply, Request, call, say};

/// The figures of a run.
pub(super) struct Done {
    /// From the start of the program to its first request.
    pub(super) first: Duration,
    /// From each answer with a call to the request with its output.
    pub(super) steps: Vec<Duration>,
    /// Processor time of the whole run, commands included.
    pub(super) cpu: Duration,
    /// The most that was resident when the last request came.
    pub(super) peak_mib: f64,
}

/// The task of an agent.
#[derive(Clone, Copy)]
pub(super) struct AgentTask {
    pub(super) sandbox: Sandbox,
    /// The command that ends well.
    pub(super) command: &'static str,
}

/// Runs an agent through so many calls.
pub(super) fn run(around: &RowContext, who: Who, (errand, steps): (AgentTask, usize)) -> Result<Done> {
    let AgentTask { sandbox, command } = errand;
    let seen = Arc::new(Seen { steps, command, pid: OnceLock::new(), notes: Mutex::default() });
    let model = Model::answering({
        let seen = Arc::clone(&seen);
        move |request| seen.answer(request)
    });
    let life = Agent::of(around, who, (&model, sandbox))?.run(&seen.pid)?;
    drop(model);
    let notes = seen.notes.lock().unwrap_or_else(PoisonError::into_inner);
    let good = notes.outputs.iter().filter(|output| output.contains("exited with code 0")).count();
    ensure!(good == steps, "{good} of {steps} commands ended well: {:?}", notes.outputs);
    ensure!(notes.arrived.len() == steps + 1, "{} requests for {steps} calls", notes.arrived.len());
    let first = notes.arrived.first().context("nothing was asked")?.duration_since(life.began);
    let step = |(answered, next): (&Instant, &Instant)| next.duration_since(*answered);
    Ok(Done {
        first,
        steps: notes.answered.iter().zip(&notes.arrived[1..]).map(step).collect(),
        cpu: life.cpu,
        peak_mib: notes.peak_kib / 1024.0,
    })
}

/// The model's script and its notes.
struct Seen {
    steps: usize,
    command: &'static str,
    pid: OnceLock<u32>,
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct Notes {
    arrived: Vec<Instant>,
    answered: Vec<Instant>,
    peak_kib: f64,
    outputs: Vec<String>,
}

impl Seen {
    fn answer(&self, request: &Request) -> Reply {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.arrived.push(request.arrived());
        let reply = if notes.arrived.len() <= self.steps {
            call("exec_command", json!({ "cmd": self.command, "login": false }))
        } else {
            notes.outputs = request.results();
            notes.peak_kib = process::memory_kib(*self.pid.wait(), "VmHWM").unwrap_or(f64::NAN);
            say("Done.")
        };
        notes.answered.push(Instant::now());
        reply
    }
}
