//! Fifty sub-agents at once, each with a command of its own. The model answers none of them before all have sent a
//! request, so all of them exist at the same time.

use super::agent::{Agent, Sandbox};
use crate::beside::contest::{Finding, Who, figure};
use crate::beside::{RowContext, process};
use crate::comparison::{Bar, Scale};
use anyhow::{Result, ensure};
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use windlass_testkit::model::{Gate, Model, Reply, Request, call, say};

pub(super) const NAMES: [&str; 3] = ["agent-50", "agent-50-time", "agent-50-memory"];

/// The task of a sub-agent. Its text occurs in no other agent's task.
const TASK: &str = "Run the errand";
/// The last message of a sub-agent. Its text occurs in no other agent's messages.
const LAST_WORDS: &str = "errand-is-run";

pub(super) fn measure(around: &RowContext) -> Result<Vec<Finding>> {
    let (mut held, mut times, mut peaks) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..around.times(1) {
        let (done, millis, peak) = once(around)?;
        held.push(done as f64);
        times.push(millis);
        peaks.push(peak);
    }
    let row = |name, what, unit, samples, bar| {
        let figures = vec![figure(Who::Windlass, samples)];
        Finding { name, what, unit, figures, bar, against: None }
    };
    let [count, time, memory] = NAMES;
    Ok(vec![
        row(count, "sub-agents at once that run their command and report", "of 50", held, Bar::Least(50.0)),
        row(time, "from the start of the program to its end", "ms", times, Bar::Most(5000.0)),
        row(memory, "the most that was resident meanwhile", "MiB", peaks, Bar::Most(64.0)),
    ])
}

/// How many did it, milliseconds and MiB.
fn once(around: &RowContext) -> Result<(usize, f64, f64)> {
    let size = match around.scale {
        Scale::Full => 50,
        Scale::Tiny => 5,
    };
    let crowd = Arc::new(Crowd {
        size,
        there: AtomicUsize::new(0),
        all: Gate::closed(),
        done: AtomicUsize::new(0),
        pid: OnceLock::new(),
        peak_kib: Mutex::new(f64::NAN),
    });
    let model = Model::answering({
        let crowd = Arc::clone(&crowd);
        move |request| crowd.answer(request)
    });
    let agent = Agent::of(around, Who::Windlass, (&model, Sandbox::WorkspaceWrite))?;
    let life = agent.run(&crowd.pid)?;
    let done = crowd.done.load(Ordering::SeqCst);
    ensure!(done == size, "{done} of {size} commands ended well");
    let peak = *crowd.peak_kib.lock().unwrap_or_else(PoisonError::into_inner);
    Ok((done, life.wall.as_secs_f64() * 1e3, peak / 1024.0))
}

struct Crowd {
    size: usize,
    /// How many have sent their first request.
    there: AtomicUsize,
    /// Opened by the last of them.
    all: Gate,
    /// How many have shown what their command returned.
    done: AtomicUsize,
    pid: OnceLock<u32>,
    peak_kib: Mutex<f64>,
}

impl Crowd {
    fn answer(&self, request: &Request) -> Reply {
        if request.is_asked(TASK) { self.answer_a_sub_agent(request) } else { self.answer_the_lead(request) }
    }

    fn answer_a_sub_agent(&self, request: &Request) -> Reply {
        let Some(output) = request.results().pop() else {
            if self.there.fetch_add(1, Ordering::SeqCst) + 1 == self.size {
                self.all.open();
            }
            let errand = call("exec_command", json!({ "cmd": "/bin/true", "login": false }));
            return errand.stalled_after_events(0, &self.all);
        };
        if output.contains("exited with code 0") {
            self.done.fetch_add(1, Ordering::SeqCst);
        }
        say(LAST_WORDS)
    }

    /// Starts all sub-agents, and then counts the notices that they have finished.
    fn answer_the_lead(&self, request: &Request) -> Reply {
        if request.results().is_empty() {
            let start =
                |number: usize| call("spawn_agent", json!({ "message": format!("{TASK} {number}.") }));
            return (1..self.size).map(start).fold(start(0), Reply::and);
        }
        let told: usize = request.user_texts().iter().map(|text| text.matches(LAST_WORDS).count()).sum();
        if told >= self.size {
            let peak = process::memory_kib(*self.pid.wait(), "VmHWM").unwrap_or(f64::NAN);
            *self.peak_kib.lock().unwrap_or_else(PoisonError::into_inner) = peak;
        }
        say("Waiting.")
    }
}
