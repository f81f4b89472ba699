//! `windlass agent` beside `codex exec`: every row, once and small. Each run checks that every command ended well.

use serde_json::Value;
use std::process::Command;
use windlass_testkit::Scratch;

const BESIDE_CODEX: [&str; 8] = [
    "agent-first",
    "agent-memory",
    "agent-step",
    "agent-step-cpu",
    "agent-step-script",
    "agent-step-script-cpu",
    "agent-step-confined",
    "agent-step-confined-cpu",
];
const ALONE: [&str; 3] = ["agent-50", "agent-50-time", "agent-50-memory"];

#[test]
fn every_row_of_the_agent_runs_beside_codex() {
    let scratch = Scratch::new("bench-agent");
    let (json, plot) = (scratch.path().join("results.json"), scratch.path().join("plot.svg"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass-bench"));
    command.args(["agent", "--tiny", "--json"]).arg(&json).arg("--plot").arg(&plot);
    let output = command.output().expect("the bench starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let results: Value =
        serde_json::from_slice(&std::fs::read(json).expect("there are results")).expect("JSON");
    let rows = results["rows"].as_array().expect("rows");
    let names: Vec<_> = rows.iter().filter_map(|row| row["row"].as_str()).collect();
    assert_eq!(names, [&BESIDE_CODEX[..], &ALONE].concat());
    for row in rows {
        let name = row["row"].as_str().unwrap_or_default();
        // The processor time of a step is the difference of two runs, and of so few steps it may drown in what they
        // differ in anyway.
        let least = if name.ends_with("-cpu") { 0.0 } else { f64::MIN_POSITIVE };
        let is_measured =
            |who: &str| row["figures"][who]["median"].as_f64().is_some_and(|figure| figure >= least);
        assert!(is_measured("windlass"), "{row}");
        assert_eq!(is_measured("codex exec"), BESIDE_CODEX.contains(&name), "{row}");
        assert_eq!(row["verdict"], "not judged");
    }
    let picture = std::fs::read_to_string(plot).expect("there is a picture");
    assert!(picture.starts_with("<svg") && picture.contains("codex exec"), "{picture}");
}
