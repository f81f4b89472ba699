//! The servers that speak Codex's protocols beside Codex's own: every row, once and small. Each work compares every
//! byte and fails if one is missing.

use serde_json::Value;
use std::process::Command;
use windlass_testkit::Scratch;

const ROWS: [&str; 20] = [
    "start",
    "idle-memory",
    "true",
    "true-16",
    "true-bare",
    "true-16-bare",
    "flood",
    "flood-cpu",
    "flood-memory",
    "flood-terminal",
    "flood-terminal-cpu",
    "flood-lines",
    "flood-lines-cpu",
    "echo",
    "1000",
    "1000-burst",
    "1000-left",
    "1000-terminal",
    "1000-terminal-burst",
    "1000-terminal-left",
];

fn check(dialect: &str, peer: &str) {
    let scratch = Scratch::new("bench-codex");
    let (json, plot) = (scratch.path().join("results.json"), scratch.path().join("plot.svg"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass-bench"));
    command.args(["codex", "--tiny", "--only", dialect, "--json"]).arg(&json).arg("--plot").arg(&plot);
    let output = command.output().expect("the bench starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let results: Value =
        serde_json::from_slice(&std::fs::read(json).expect("there are results")).expect("JSON");
    let rows = results["rows"].as_array().expect("rows");
    let names: Vec<_> = rows.iter().filter_map(|row| row["row"].as_str()).collect();
    assert_eq!(names, ROWS.map(|row| format!("{dialect}-{row}")));
    for row in rows {
        assert!(row["figures"]["windlass"]["median"].as_f64().is_some_and(|ours| ours >= 0.0), "{row}");
        let other =
            if row["row"].as_str().is_some_and(|name| name.ends_with("-bare")) { "bare" } else { peer };
        assert!(row["figures"][other]["median"].as_f64().is_some_and(|theirs| theirs >= 0.0), "{row}");
        assert_eq!(row["verdict"], "not judged");
    }
    let of = |name: &str| {
        let row = rows.iter().find(|row| row["row"] == format!("{dialect}-{name}")).expect("the row");
        row["figures"]["windlass"]["median"].clone()
    };
    assert_eq!((of("1000-burst"), of("1000-left")), (20.0.into(), 0.0.into()), "all start and none is left");
    let picture = std::fs::read_to_string(plot).expect("there is a picture");
    assert!(picture.starts_with("<svg") && picture.contains(peer), "{picture}");
}

#[test]
fn every_row_of_the_app_server_runs_beside_codex() {
    check("app", "codex app-server");
}

#[test]
fn every_row_of_the_exec_server_runs_beside_codex() {
    check("exec", "codex exec-server");
}
