//! Journals that are removed or cannot be read while their sessions are asked for: a reply never shows that as silence.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use windlass_engine::{EngineOptions, Retention};

use crate::workbench::{Workbench, bench, bench_over, session};

/// The files of a session's journal.
fn files(bench: &Workbench, id: u64) -> Vec<PathBuf> {
    let begins = format!("{id}-");
    let entries = fs::read_dir(bench.store.root()).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(&begins)).collect()
}

fn notes(structured: &Value) -> String {
    structured["notes"].to_string()
}

/// Waits for input, then prints one more line and exits with 7.
const TWO_LINES: &str = "echo first; read -r line; echo second; exit 7";

#[test]
fn output_whose_file_was_removed_is_read_from_the_open_file_and_the_removal_is_said() {
    bench(async |bench| {
        let id = bench.start_waiting(TWO_LINES).await;
        for file in files(bench, id) {
            fs::remove_file(file).unwrap();
        }
        let told = bench.types_and_ends(id).await;
        assert_eq!(told.structured["exit_code"], 7, "{}", told.text);
        assert!(told.text.contains("second"), "{}", told.text);
        assert!(notes(&told.structured).contains(&format!("{id}-0000000000000000.out")), "{}", told.text);
        let found = bench.read(id, json!({ "grep": "first" })).await;
        assert!(found.text.contains("1:first"), "{}", found.text);
        assert!(notes(&found.structured).contains("removed"), "{}", found.text);
    });
}

#[test]
fn output_that_was_truncated_away_is_missing_in_every_reply() {
    bench(async |bench| {
        let id = bench.start_waiting(TWO_LINES).await;
        let data = bench.store.root().join(format!("{id}-0000000000000000.out"));
        fs::OpenOptions::new().write(true).open(&data).unwrap().set_len(2).unwrap();
        let reason = format!("{} was truncated to 2 bytes", data.display());
        let read = bench.read(id, json!({ "tail_lines": 5 })).await;
        assert!(notes(&read.structured).contains(&reason), "{}", read.text);
        let told = bench.types_and_ends(id).await;
        assert!(told.text.contains("second") && !told.text.contains('\0'), "{}", told.text);
        assert!(notes(&told.structured).contains(&reason), "{}", told.text);
        let read = bench.read(id, json!({ "view": "raw" })).await;
        assert_eq!(read.structured["missing"][0]["from"], 2, "{}", read.structured);
        assert!(notes(&read.structured).contains(&reason), "{}", read.text);
        assert!(read.text.contains("fi") && read.text.contains("second"), "{}", read.text);
        assert!(!read.text.contains('\0') && !read.text.contains("first"), "{}", read.text);
    });
}

#[test]
fn output_of_a_deleted_state_directory_is_read_from_the_open_file() {
    bench(async |bench| {
        let id = bench.start_waiting(TWO_LINES).await;
        fs::remove_dir_all(bench.store.root()).unwrap();
        let told = bench.types_and_ends(id).await;
        assert!(told.text.contains("second"), "{}", told.text);
        assert!(notes(&told.structured).contains("removed"), "{}", told.text);
    });
}

/// Prints more than one segment holds, then waits for its last line.
fn several_segments() -> (EngineOptions, &'static str) {
    let options =
        EngineOptions { retention: Retention { limit: 1 << 20, head: 64 << 10 }, ..EngineOptions::default() };
    (options, "seq 1 40000; echo up; exec cat")
}

#[test]
fn a_part_of_the_output_that_cannot_be_read_is_named_with_its_file_and_the_reason() {
    let (options, script) = several_segments();
    bench_over(
        options,
        |_| {},
        async |bench| {
            let reply = bench
                .run(json!({ "cmd": script, "until": { "pattern": "up" }, "max_output_tokens": 50 }))
                .await;
            let id = session(&reply);
            let head = bench.store.root().join(format!("{id}-0000000000000000.out"));
            fs::remove_file(&head).unwrap();
            let all = bench.read(id, json!({ "grep": "^77$" })).await;
            assert!(!all.text.contains("no line matches"), "{}", all.text);
            for word in [head.display().to_string().as_str(), "No such file", "cannot be read"] {
                assert!(notes(&all.structured).contains(word), "{word} is not in {}", all.text);
            }
            assert_eq!(all.structured["missing"][0]["from"], 0, "{}", all.structured);
            assert!(all.structured["missing"][0]["reason"].as_str().unwrap().contains("No such file"));
            let lines = bench.read(id, json!({ "tail_lines": 1 })).await;
            assert!(lines.text.contains("up"), "{}", lines.text);
            bench.ask("stop_session", json!({ "session_id": id })).await;
        },
    );
}

#[test]
fn unread_output_that_cannot_be_read_is_not_an_empty_answer() {
    let (options, script) = several_segments();
    bench_over(
        options,
        |_| {},
        async |bench| {
            // Nothing of it is shown yet.
            let arguments =
                json!({ "cmd": format!("read -r go; {script}"), "tty": true, "until": { "input": true } });
            let id = session(&bench.run(arguments).await);
            let engine = bench.engine.session(windlass_engine::SessionId::new(id)).unwrap();
            engine.write(b"\n".to_vec()).await.unwrap();
            let up = windlass_engine::Until::pattern(windlass_output::Pattern::new("up").unwrap());
            engine.wait(&up).await;
            let head = bench.store.root().join(format!("{id}-0000000000000000.out"));
            fs::remove_file(&head).unwrap();
            let reply = bench.ask("write_stdin", json!({ "session_id": id, "max_output_tokens": 100 })).await;
            assert!(notes(&reply.structured).contains(&head.display().to_string()), "{}", reply.text);
            assert!(reply.structured["missing"][0]["reason"].is_string(), "{}", reply.structured);
            bench.ask("stop_session", json!({ "session_id": id })).await;
        },
    );
}

#[test]
fn a_stored_session_whose_journal_is_gone_says_how_much_is_missing() {
    bench(async |bench| {
        let id = session(&bench.exec("seq 1 1000").await);
        bench.ended(id).await;
        for file in files(bench, id) {
            fs::remove_file(file).unwrap();
        }
        let other = bench.for_another_caller();
        let mut call = windlass_tools::Call::new("read_output", serde_json::Map::new());
        call.arguments.insert("session_id".into(), id.into());
        let read = other.call(call.clone()).await.unwrap();
        assert!(notes(&read.structured).contains("3893 bytes"), "{}", read.text);
        assert_eq!(read.structured["missing"][0]["to"], 3893, "{}", read.structured);
        call.arguments.insert("grep".into(), "7".into());
        let found = other.call(call).await.unwrap();
        assert!(!found.text.contains("no line matches\n"), "{}", found.text);
    });
}

#[test]
fn no_number_is_given_twice_after_the_state_directory_was_deleted() {
    bench(async |bench| {
        let mut seen = std::collections::BTreeSet::new();
        for round in 0..3 {
            for _ in 0..3 {
                let reply = bench.exec("true").await;
                assert!(seen.insert(session(&reply)), "{} in round {round}", reply.text);
            }
            fs::remove_dir_all(bench.store.root()).unwrap();
            let reply = bench.exec("true").await;
            assert!(seen.insert(session(&reply)), "{} in round {round}", reply.text);
            // As another Windlass would, which begins to count anew.
            windlass_engine::Store::open(bench.store.root(), windlass_engine::StoreLimits::default())
                .unwrap();
        }
        let reply = bench.exec("true").await;
        assert!(seen.insert(session(&reply)), "{}", reply.text);
        assert_eq!(notes(&reply.structured), "[]", "what is new is kept in the new directory");
        assert!(bench.store.load(windlass_engine::SessionId::new(session(&reply))).is_ok());
    });
}

#[test]
fn the_classic_tools_name_output_that_cannot_be_read() {
    let (options, _) = several_segments();
    bench_over(
        options,
        |_| {},
        async |bench| {
            let root = bench.store.root().display().to_string();
            let script = format!("seq 1 40000; rm '{root}'/*-0000000000000000.out; echo last");
            let reply = bench.ask("shell_command", json!({ "command": script })).await;
            assert!(reply.text.contains("last"), "{}", reply.text);
            assert!(reply.text.contains("No such file"), "{}", reply.text);
            assert_eq!(reply.structured["missing"][0]["from"], 0, "{}", reply.structured);
            let text = bench.transcript(&reply.structured["session"].to_string()).unwrap();
            assert!(text.contains("No such file"), "{text}");
        },
    );
}
