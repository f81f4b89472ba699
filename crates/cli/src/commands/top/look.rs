//! Samples the usage of all running sessions, and computes rates from two samples.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};
use windlass_engine::{SessionId, SessionRecord, Store};
use windlass_sys::mark::{self, Mark};
use windlass_sys::process::Pid;
use windlass_sys::usage::{self, Usage, UsageFields};

use crate::report;
use crate::sessions::{self, State};

/// A sample of all running sessions.
pub(super) struct Look {
    at: Instant,
    sessions: Vec<Seen>,
}

/// One session in a sample.
struct Seen {
    record: SessionRecord,
    state: State,
    usage: Usage,
    memory: u64,
    output: u64,
}

/// One session in the table.
pub(super) struct Row {
    pub(super) record: SessionRecord,
    pub(super) state: State,
    /// Percent of one processor.
    pub(super) cpu: f64,
    pub(super) memory: u64,
    pub(super) processes: u64,
    /// Bytes per second.
    pub(super) output_rate: u64,
    pub(super) elapsed: Duration,
}

impl Look {
    pub(super) fn take(store: &Store) -> Result<Self> {
        let records = sessions::list(store)?.sessions.into_iter().map(|record| (State::of(&record), record));
        let live: Vec<_> = records.filter(|(state, _)| state.is_live()).collect();
        // One walk over the process table is enough for all sessions.
        let members = if live.is_empty() { HashMap::new() } else { usage::members_of_all() };
        let at = Instant::now();
        let see = |(state, record)| Seen::new(record, state, store, &members);
        Ok(Self { at, sessions: live.into_iter().map(see).collect() })
    }

    /// The usage since an earlier sample, largest first.
    pub(super) fn rows(&self, before: &Self) -> Vec<Row> {
        let earlier: HashMap<SessionId, &Seen> =
            before.sessions.iter().map(|seen| (seen.record.start.id, seen)).collect();
        let while_ = self.at.duration_since(before.at).as_secs_f64().max(f64::EPSILON);
        let row = |seen: &Seen| seen.row(earlier.get(&seen.record.start.id).copied(), while_);
        let mut rows: Vec<Row> = self.sessions.iter().map(row).collect();
        rows.sort_by(|a, b| b.cpu.total_cmp(&a.cpu).then(a.record.start.id.cmp(&b.record.start.id)));
        rows
    }
}

impl Seen {
    fn new(record: SessionRecord, state: State, store: &Store, members: &HashMap<Mark, Vec<Pid>>) -> Self {
        let root = Some(record.start.root).filter(|root| sessions::is_alive(*root));
        let mark = root.and_then(|root| mark::on_root(Pid::new(root.pid)));
        let members = mark.and_then(|mark| members.get(&mark)).map(Vec::as_slice).unwrap_or_default();
        // Only the difference of two samples is shown: output that cannot be read now has no rate.
        let output = store.output_len(&record).unwrap_or(0);
        let usage = usage::of(members, UsageFields::default());
        Self { memory: usage::proportional_memory(members), usage, state, output, record }
    }

    fn row(&self, before: Option<&Self>, seconds: f64) -> Row {
        let cpu = before.map_or(Duration::ZERO, |before| self.usage.cpu.saturating_sub(before.usage.cpu));
        let output = before.map_or(0, |before| self.output.saturating_sub(before.output));
        #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
        let rate = output as f64 / seconds;
        Row {
            record: self.record.clone(),
            state: self.state,
            cpu: cpu.as_secs_f64() / seconds * 100.0,
            memory: self.memory,
            processes: self.usage.processes,
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a rate is no negative number"
            )]
            output_rate: rate as u64,
            elapsed: self.record.start.started.elapsed().unwrap_or_default(),
        }
    }
}

impl Row {
    pub(super) fn json(&self) -> Value {
        let start = &self.record.start;
        json!({
            "session": start.id.get(),
            "name": start.name,
            "state": self.state.word(),
            "cpu_percent": (self.cpu * 10.0).round() / 10.0,
            "memory_bytes": self.memory,
            "processes": self.processes,
            "output_bytes_per_second": self.output_rate,
            "elapsed_seconds": (self.elapsed.as_secs_f64() * 10.0).round() / 10.0,
            "limits": report::limits_json(&start.limits),
            "command": report::asked_for(start),
            "root_pid": start.root.pid,
            "runtime_pid": start.runtime.pid,
        })
    }
}
