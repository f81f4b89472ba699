//! Checks the four invariants when the faults of a round are over.
//!
//! The runtime may need a moment to reap dead processes, so a state that is not yet right is checked again until it is,
//! or until a deadline.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;
use windlass_sys::guardian::wait_until_gone;
use windlass_sys::process::{self, Pid, Process};
use windlass_sys::signal::Signal;
use windlass_testkit::bytes::claimed_line;
use windlass_testkit::{HANG, hang_deadline, survivors};

use super::clients::{Printed, Server, finish};
use super::faults::send;
use super::{Claim, Kind, Round, runtimes, windlass_processes};

/// The most bytes that a pipe and one read of it can hold when the runtime is killed.
const IN_FLIGHT: u64 = 1 << 20;

pub(super) fn check(round: &Round, servers: Vec<Option<Server>>) {
    let mut servers: Vec<Server> = servers.into_iter().flatten().collect();
    // The next Windlass that starts ends what dead runtimes left.
    let after = finish(round, &["run", "--", "true"]);
    assert_eq!(
        after.code,
        Some(0),
        "seed {}: windlass works again after all faults: {}",
        round.seed,
        after.stderr
    );
    for server in &mut servers {
        assert!(server.answers(), "seed {}: a server died without a fault", round.seed);
    }
    eventually(round, "the states are true", || states_are_true(round));
    for claim in round.claims() {
        bytes_are_there(round, &claim);
    }
    stop_everything(round);
    drop(servers);
    end_shims();
    eventually(round, "every process has ended", nothing_is_left);
}

/// Repeats a check until it succeeds. A check takes long enough that this is no busy loop.
pub(super) fn eventually(round: &Round, what: &str, mut look: impl FnMut() -> Result<(), String>) {
    let deadline = hang_deadline();
    loop {
        match look() {
            Ok(()) => return,
            Err(reason) if std::time::Instant::now() >= deadline => {
                panic!("seed {}: not so: {what}: {reason}\nfaults: {:?}", round.seed, round.faults)
            }
            Err(_) => {}
        }
    }
}

/// The records of all sessions by the tokens in their scripts.
fn records(round: &Round) -> Result<BTreeMap<String, Value>, String> {
    let Printed { stdout, stderr, .. } = finish(round, &["ps", "--json"]);
    let listed: Vec<Value> = serde_json::from_slice(&stdout).map_err(|error| format!("{error}: {stderr}"))?;
    let token = |record: &Value| {
        let text = record["command"].to_string() + &record["script"].to_string();
        let begin = text.find("claim-")?;
        let token = text[begin..].split(|c: char| !c.is_alphanumeric() && c != '-').next();
        token.map(str::to_owned)
    };
    Ok(listed.into_iter().filter_map(|record| Some((token(&record)?, record))).collect())
}

/// Invariants 2 and 3: a session that is shown as running runs, and one that is not has left no process.
fn states_are_true(round: &Round) -> Result<(), String> {
    let records = records(round)?;
    for claim in round.claims() {
        let alive = survivors::bearing(&claim.token);
        let Some(record) = records.get(&claim.token) else {
            must_be_unrecorded(round, &claim)?;
            if let Some(stray) = alive.iter().find(|line| !has_runtime(line)) {
                return Err(format!("{stray} is alive and has neither a record nor a runtime"));
            }
            continue;
        };
        let state = record["state"].as_str().unwrap_or_default();
        let root = record["root_pid"].as_u64();
        let is_live = matches!(state, "running" | "detached" | "ending");
        let left: Vec<u64> = record["left_running"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|left| left["pid"].as_u64())
            .collect();
        let stray = alive.iter().find(|line| {
            line.split(' ').next().and_then(|pid| pid.parse().ok()).is_none_or(|pid| !left.contains(&pid))
        });
        match (is_live, stray) {
            (true, _) if !root.is_some_and(is_alive) => return Err(format!("its root is dead: {record}")),
            (true, _) if state == "ending" => return Err(format!("it does not end: {record}, {alive:?}")),
            (false, Some(stray)) => return Err(format!("{stray} is alive: {record}")),
            _ => {}
        }
    }
    Ok(())
}

/// Whether the process in this line descends from a living runtime, which adopts the orphans of its sessions.
fn has_runtime(line: &str) -> bool {
    let runtimes: Vec<u32> = runtimes().into_iter().map(|(pid, _)| pid).collect();
    let mut pid = line.split(' ').next().and_then(|pid| pid.parse().ok()).map(Pid::new);
    // The shim of a session has the session's words in its own command line, and is a runtime itself.
    while let Some(process) = pid {
        if runtimes.contains(&process.get()) {
            return true;
        }
        pid = process::parent_of(process);
    }
    // A process that has died since it was found needs no runtime.
    line.split(' ').next().and_then(|pid| pid.parse().ok()).is_some_and(|pid| !is_alive(pid))
}

/// Checks that a session without a record never ran, or that its runtime was killed before it read any output. With a
/// faulty disk, a session may also run in memory alone.
fn must_be_unrecorded(round: &Round, claim: &Claim) -> Result<(), String> {
    let is_lost = claim.lines().is_some_and(|lines| bytes(claim, lines) > IN_FLIGHT);
    match round.kind {
        Kind::Processes if is_lost => Err(format!("{} ran and has no record", claim.token)),
        _ => Ok(()),
    }
}

/// The number of bytes in this many lines of a claim.
fn bytes(claim: &Claim, lines: u64) -> u64 {
    lines * (claimed_line(&claim.token, 0).len() as u64 + 1)
}

fn is_alive(pid: u64) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, fields)| fields.chars().next());
    state.is_some_and(|state| !"ZX".contains(state))
}

/// Invariant 1: the output of a child is in the journal, or reported as missing.
fn bytes_are_there(round: &Round, claim: &Claim) {
    let Some(claimed) = claim.lines() else { return };
    let records = records(round).expect("sessions can be listed");
    let Some(record) = records.get(&claim.token) else { return };
    let session = record["session"].to_string();
    let raw = finish(round, &["log", &session, "--view", "raw"]);
    let kept = intact_lines(round, claim, &raw.stdout);
    if kept >= claimed {
        return;
    }
    let is_lost = record["state"] == "lost";
    if is_lost && bytes(claim, claimed - kept) <= IN_FLIGHT {
        return;
    }
    let told = finish(round, &["log", &session, "--json", "--max-tokens", "50"]);
    let is_said = tells_of_a_loss(&told);
    let context = || {
        format!(
            "seed {}: {kept} of {claimed} lines: {record}: {told:?} {:?}",
            round.seed,
            raw.stderr,
            told = String::from_utf8_lossy(&told.stdout)
        )
    };
    assert!(is_said, "{}", context());
    assert!(!raw.stderr.is_empty(), "the raw view says it, too: {}", context());
    assert!(round.kind == Kind::Disk, "{}", context());
}

fn tells_of_a_loss(printed: &Printed) -> bool {
    let Ok(answer) = serde_json::from_slice::<Value>(&printed.stdout) else {
        return printed.code != Some(0) && !printed.stderr.is_empty();
    };
    let journal = &answer["journal"];
    journal["dropped"].as_u64().is_some_and(|dropped| dropped > 0) || !journal["degraded"].is_null()
}

/// The number of claimed lines that are present from the first one on. No line may be damaged or out of order, even if
/// others are missing.
fn intact_lines(round: &Round, claim: &Claim, printed: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(printed);
    let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let lines =
        lines.map(|line| line.trim_end_matches(['\r', '\n'])).filter(|line| line.starts_with(&claim.token));
    let mut kept = 0;
    for line in lines {
        if line != claimed_line(&claim.token, kept) {
            assert!(round.kind == Kind::Disk, "seed {}: line {kept} is {line:?}", round.seed);
            break;
        }
        kept += 1;
    }
    kept
}

/// Ends all running sessions, as a person would.
fn stop_everything(round: &Round) {
    let records = records(round).expect("sessions can be listed");
    for record in records.values().filter(|record| !record["root_pid"].is_null()) {
        finish(round, &["stop", &record["session"].to_string()]);
    }
}

/// Ends the shims. A shim whose session is over waits until a client has been informed of that, and `stop` does not
/// find a session whose record was removed.
fn end_shims() {
    let is_shim = |words: &[String]| matches!(words.get(1).map(String::as_str), Some("shim" | "keep"));
    for (pid, _) in windlass_processes().iter().filter(|(_, words)| is_shim(words)) {
        send(*pid, Signal::TERM);
    }
}

/// Invariant 2 at the end: the servers have exited, their sessions were stopped, and the round has its own process
/// table, so it must be empty.
fn nothing_is_left() -> Result<(), String> {
    let own = std::process::id();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let alive: Vec<u32> = pids.filter(|pid| *pid != own && is_alive(u64::from(*pid))).collect();
    let held: Vec<Process> = alive.iter().filter_map(|pid| Process::open(Pid::new(*pid)).ok()).collect();
    wait_until_gone(&held, HANG);
    let left: Vec<String> = held.iter().filter(|process| process.is_alive()).map(describe).collect();
    if left.is_empty() { Ok(()) } else { Err(left.join(", ")) }
}

fn describe(process: &Process) -> String {
    let line = fs::read_to_string(format!("/proc/{}/cmdline", process.pid())).unwrap_or_default();
    format!("{} {}", process.pid(), line.replace('\0', " "))
}
