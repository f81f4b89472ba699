//! Every measurement, once and small: it runs, no byte is lost (each side checks its own and fails otherwise), and the
//! results are complete. How fast it was is not asked here.
#![forbid(unsafe_code)]

mod agent;
mod codex;
mod mcp;
mod soak;

use serde_json::Value;
use std::process::Command;
use windlass_testkit::Scratch;

const ROWS: [&str; 25] = [
    "spawn-pipe",
    "spawn-terminal",
    "spawn-pipe-512",
    "spawn-terminal-512",
    "flood-pipe",
    "flood-pipe-memory",
    "flood-terminal",
    "echo",
    "echo-1000",
    "idle-pipe-memory",
    "idle-pipe-threads",
    "idle-pipe-end",
    "idle-terminal-memory",
    "idle-terminal-threads",
    "idle-terminal-end",
    "exit",
    "settle-plain",
    "settle-colour",
    "tokens-log",
    "tokens-first",
    "tokens-memory",
    "tokens-code",
    "tokens-prose",
    "tokens-cjk",
    "tokens-base64",
];

/// Rows whose bar is absolute: the bare program has nothing to put beside them.
const ALONE: [&str; 7] = [
    "flood-pipe-memory",
    "idle-pipe-memory",
    "idle-pipe-threads",
    "idle-terminal-memory",
    "idle-terminal-threads",
    "settle-plain",
    "settle-colour",
];

fn bench(scratch: &Scratch, words: &[&str]) -> Value {
    let json = scratch.path().join("results.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass-bench"));
    let output = command.args(words).arg("--json").arg(&json).output().expect("the bench starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&std::fs::read(json).expect("there are results")).expect("they are JSON")
}

#[test]
fn every_row_runs_and_its_result_is_complete() {
    let scratch = Scratch::new("bench");
    let results = bench(&scratch, &["--tiny"]);
    let rows = results["rows"].as_array().expect("rows");
    let names: Vec<_> = rows.iter().filter_map(|row| row["row"].as_str()).collect();
    assert_eq!(names, ROWS);
    for row in rows {
        let name = row["row"].as_str().expect("a name");
        let alone = ALONE.contains(&name);
        assert!(row["ours"]["median"].as_f64().is_some_and(|ours| ours >= 0.0), "{row}");
        assert_eq!(row["reference"]["median"].as_f64().is_some_and(|bare| bare > 0.0), !alone, "{row}");
        assert_eq!(row["ratio"].is_f64(), !alone, "{row}");
        assert_eq!(row["verdict"], "not judged");
        assert!(row["bar"].as_str().is_some_and(|bar| bar.starts_with('<') || bar.starts_with('>')), "{row}");
    }
}

#[test]
fn a_part_can_be_measured_as_often_as_is_wanted_and_on_one_thread() {
    let scratch = Scratch::new("bench");
    let results = bench(&scratch, &["--tiny", "--only", "exit", "--rounds", "3", "--workers", "0"]);
    let rows = results["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["ours"]["rounds"].as_array().map(Vec::len), Some(3));
    assert_eq!(rows[0]["reference"]["rounds"].as_array().map(Vec::len), Some(3));
}
