//! `windlass mcp` beside the bare system calls alone: every row that needs no peer, once and small. Each work checks
//! its own answers and fails if one is wrong.

use serde_json::Value;
use std::process::Command;
use windlass_testkit::Scratch;

const ROWS: [&str; 23] = [
    "mcp-start",
    "mcp-start-memory",
    "mcp-true",
    "mcp-true-16",
    "mcp-type-cat",
    "mcp-type-python",
    "mcp-exit",
    "mcp-flood-awk",
    "mcp-flood-awk-memory",
    "mcp-flood-cat",
    "mcp-flood-cat-memory",
    "mcp-flood-python",
    "mcp-flood-python-memory",
    "mcp-flood-yes",
    "mcp-flood-yes-memory",
    "mcp-flood-seq",
    "mcp-flood-seq-memory",
    "mcp-tokens-cargo",
    "mcp-tokens-cargo-raw",
    "mcp-tokens-pip",
    "mcp-tokens-pip-raw",
    "mcp-tokens-ls",
    "mcp-tokens-vim",
];

#[test]
fn every_row_of_the_server_runs_and_the_picture_is_drawn() {
    let scratch = Scratch::new("bench-mcp");
    let (json, plot) = (scratch.path().join("results.json"), scratch.path().join("plot.svg"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass-bench"));
    command.args(["mcp", "--tiny", "--alone", "--json"]).arg(&json).arg("--plot").arg(&plot);
    let output = command.output().expect("the bench starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let results: Value =
        serde_json::from_slice(&std::fs::read(json).expect("there are results")).expect("JSON");
    let rows = results["rows"].as_array().expect("rows");
    let names: Vec<_> = rows.iter().filter_map(|row| row["row"].as_str()).collect();
    assert_eq!(names, ROWS);
    for row in rows {
        assert!(row["figures"]["windlass"]["median"].as_f64().is_some_and(|ours| ours >= 0.0), "{row}");
        assert_eq!(row["verdict"], "not judged");
    }
    let picture = std::fs::read_to_string(plot).expect("there is a picture");
    assert!(picture.starts_with("<svg") && picture.contains("bare"), "{picture}");
}

#[test]
fn a_row_that_does_not_exist_is_refused() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass-bench"));
    let output = command.args(["mcp", "--only", "nothing-like-it"]).output().expect("the bench starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("no row is named `nothing-like-it`"), "{said}");
}
