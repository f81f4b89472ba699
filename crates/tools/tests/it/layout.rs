//! The text of a reply, line by line, and that the structured reply says the same.

use crate::workbench::{bench, output, session};
use regex::Regex;
use serde_json::{Value, json};
use windlass_tools::Reply;

/// Checks the lines before the output, and that text and data agree.
fn check(reply: &Reply, expected: &[&str]) {
    let (head, shown) = reply.text.split_once("Output:\n").unwrap();
    let lines: Vec<&str> = head.lines().collect();
    // On a busy machine a session may have been silent long enough for a note about it.
    let silence = Regex::new(r"(?m)^State: idle [\d.]+ s\n|, idle [\d.]+ s$").unwrap();
    let prompt = silence.replace_all(head, "");
    let common = [r"Chunk ID: [0-9a-f]{6}", r"Wall time: \d+\.\d{4} seconds"];
    let patterns: Vec<&str> = common.iter().chain(expected).copied().collect();
    assert_eq!(prompt.lines().count(), patterns.len(), "{}", reply.text);
    for (line, pattern) in prompt.lines().zip(patterns) {
        assert!(
            Regex::new(&format!("^(?:{pattern})$")).unwrap().is_match(line),
            "{line:?} is not {pattern:?}"
        );
    }
    let data = &reply.structured;
    assert_eq!(lines[0], format!("Chunk ID: {}", data["chunk_id"].as_str().unwrap()));
    assert_eq!(lines[1], format!("Wall time: {:.4} seconds", data["wall_time_seconds"].as_f64().unwrap()));
    assert_eq!(shown, output(reply));
    let said = |start: &str| lines.iter().find_map(|line| line.strip_prefix(start));
    let number = |text: Option<&str>| text.map_or(Value::Null, |text| text.parse::<u64>().unwrap().into());
    let or_null = |name: &str| data.get(name).cloned().unwrap_or_default();
    assert_eq!(number(said("Process exited with code ")), or_null("exit_code"));
    assert_eq!(number(said("Process running with session ID ")), or_null("session_id"));
    assert_eq!(number(said("Original token count: ")), data["original_token_count"]);
    let life = if data.get("exit_code").is_some() { "exited" } else { "running" };
    assert_eq!(said("State: ").unwrap_or(life), data["state"]);
    let notes: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix("Note: ")).collect();
    assert_eq!(json!(notes), data["notes"]);
    let left = data["left_running"].as_array().unwrap();
    let named = |process: &Value| format!("{} {}", process["pid"], process["command"].as_str().unwrap());
    let names: Vec<String> = left.iter().map(named).collect();
    let line = format!("{} processes: {} (session {})", left.len(), names.join(", "), session(reply));
    assert_eq!(said("Left running: "), (!left.is_empty()).then_some(line.as_str()));
}

#[test]
fn the_result_text_has_its_lines_in_order_and_absent_lines_are_skipped() {
    bench(async |bench| {
        check(
            &bench.exec("echo a; exit 3").await,
            &["Process exited with code 3", "Original token count: 2"],
        );
        check(&bench.exec("true").await, &["Process exited with code 0", "Original token count: 0"]);
        let reply = bench.run(json!({ "cmd": "cat", "tty": true })).await;
        check(
            &reply,
            &[r"Process running with session ID \d+", "State: waiting for input", "Original token count: 0"],
        );
        let reply = bench.run(json!({ "cmd": "echo a; sleep 61", "yield_time_ms": 900 })).await;
        check(&reply, &[r"Process running with session ID \d+", "Original token count: 2"]);
        let reply = bench.run(json!({ "cmd": "sleep 61", "timeout_ms": 300 })).await;
        check(
            &reply,
            &[
                "Process exited with code 143",
                "State: killed: timeout after 300 ms",
                "Original token count: 0",
            ],
        );
        let reply = bench.run(json!({ "cmd": "sleep 61 & kill -9 $$", "unknown": 1 })).await;
        check(
            &reply,
            &[
                "Process exited with code 137",
                "State: killed by SIGKILL",
                r"Left running: 1 processes: \d+ .+ \(session \d+\)",
                "Note: argument `unknown` is not known and was ignored",
                "Original token count: 0",
            ],
        );
        assert_eq!(
            (&reply.structured["signal"], &reply.structured["receipt"]["signal"]),
            (&json!("SIGKILL"), &json!("SIGKILL"))
        );
    });
}

#[test]
fn the_receipt_has_cause_signal_cpu_time_and_peak_memory() {
    bench(async |bench| {
        let reply = bench.exec("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; kill -TERM $$").await;
        let receipt = &reply.structured["receipt"];
        assert_eq!((&receipt["cause"], &receipt["signal"]), (&json!("itself"), &json!("SIGTERM")));
        assert!(receipt["cpu_seconds"].as_f64().unwrap() > 0.0);
        assert!(receipt["peak_memory_bytes"].as_u64().unwrap() > 100_000);
        let running = bench.run(json!({ "cmd": "cat", "tty": true })).await;
        assert_eq!(running.structured.get("receipt"), None);
    });
}

#[test]
fn a_subshell_that_is_left_running_is_named_by_its_script() {
    bench(async |bench| {
        let reply = bench.exec("(while :; do sleep 61; done) & echo started").await;
        let left = reply.structured["left_running"].as_array().unwrap();
        let commands: Vec<&str> = left.iter().map(|process| process["command"].as_str().unwrap()).collect();
        assert!(
            commands.contains(&"/bin/bash -c '(while :; do sleep 61; done) & echo started'"),
            "{commands:?}"
        );
        assert!(commands.iter().all(|command| !command.contains("WINDLASS")), "{commands:?}");
    });
}
