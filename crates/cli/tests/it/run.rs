//! `windlass run`: its streams, its messages, and its exit codes.

use std::io::{Read, Write};
use std::process::Stdio;

use serde_json::json;
use windlass_testkit::survivors;

use crate::rig::Home;

#[test]
fn output_goes_to_the_stream_it_came_from_and_nothing_is_added() {
    let seen = Home::new("streams").seen(&["run", "echo out; echo err >&2; printf 'no newline'"]);
    assert_eq!((seen.code, seen.stdout.as_str(), seen.stderr.as_str()), (0, "out\nno newline", "err\n"));
}

#[test]
fn bytes_pass_unchanged() {
    let home = Home::new("bytes");
    let output = home.windlass(&["run", "--", "printf", r"\000\377\r\n\033[1m"]).output().unwrap();
    assert_eq!(output.stdout, b"\0\xff\r\n\x1b[1m");
}

#[test]
fn the_exit_code_is_the_commands() {
    let home = Home::new("codes");
    for code in [0, 1, 42, 255] {
        let seen = home.seen(&["run", "--", "sh", "-c", &format!("exit {code}")]);
        assert_eq!((seen.code, seen.stderr.as_str()), (code, ""));
    }
}

#[test]
fn a_signal_is_128_more_and_is_said() {
    let home = Home::new("signal");
    for (name, code) in [("KILL", 137), ("SEGV", 139), ("TERM", 143)] {
        let seen = home.seen(&["run", &format!("kill -{name} $$")]);
        assert_eq!(seen.code, code);
        assert!(seen.stderr.contains(&format!("was ended by SIG{name}")), "{seen:?}");
    }
    assert_eq!(home.seen(&["run", "kill -INT $$"]).stderr, "", "whoever interrupts knows it");
}

#[test]
fn a_script_is_one_string_and_a_program_is_words() {
    let home = Home::new("words");
    assert_eq!(home.seen(&["run", "echo a | tr a b"]).stdout, "b\n");
    assert_eq!(home.seen(&["run", "echo", "a | tr a b"]).stdout, "a | tr a b\n");
    assert_eq!(home.seen(&["run", "echo", "-n", "--", "x"]).stdout, "-- x");
}

#[test]
fn input_is_forwarded_with_its_end() {
    let home = Home::new("stdin");
    let mut command = home.windlass(&["run", "--", "wc", "-c"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // More than the session's queue and the pipe hold together.
    let bytes = vec![b'x'; 3_000_000];
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "3000000");
}

#[test]
fn input_may_come_from_a_file_or_be_refused() {
    let home = Home::new("file");
    let file = home.path().join("input");
    std::fs::write(&file, "from a file").unwrap();
    let with_file = |words: &[&str]| {
        let output = home.windlass(words).stdin(std::fs::File::open(&file).unwrap()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(with_file(&["run", "--", "cat"]), "from a file");
    assert_eq!(with_file(&["run", "--stdin", "none", "--", "cat"]), "");
}

#[test]
fn a_command_that_does_not_read_does_not_wait_for_its_input() {
    let home = Home::new("unread");
    let mut command = home.windlass(&["run", "--", "true"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    // Its input stays open until after its end.
    let input = child.stdin.take();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    drop(input);
}

#[test]
fn a_reader_that_leaves_ends_the_command_quietly() {
    let home = Home::new("pipe");
    let token = survivors::token("pipe");
    let script = format!("yes {token}");
    let mut command = home.windlass(&["run", &script]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut some = [0; 4];
    child.stdout.take().unwrap().read_exact(&mut some).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(141), b"".as_slice()));
    assert_eq!(survivors::bearing(&token), Vec::<String>::new());
}

#[test]
fn output_that_cannot_be_written_is_an_error_that_says_why() {
    let home = Home::new("full");
    for words in [
        &["run", "seq 1 100000; sleep 1000"][..],
        &["run", "--", "echo", "short"],
        &["run", "--json", "true"],
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = home.windlass(words).stdout(full).stderr(Stdio::piped()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("No space left on device"), "{words:?} {stderr}");
        assert_ne!(output.status.code(), Some(0), "{words:?}");
    }
}

#[test]
fn a_timeout_ends_the_command_and_is_said() {
    let home = Home::new("timeout");
    let seen = home.seen(&["run", "--timeout", "200ms", "echo begun; sleep 1000"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (143, "begun\n"));
    assert!(seen.stderr.contains("timed out after 200 ms and was ended by SIGTERM"), "{seen:?}");
}

#[test]
fn variables_are_set_emptied_and_removed() {
    let home = Home::new("env");
    let words = [
        "run",
        "--env",
        "A=1=2",
        "--env",
        "B=",
        "--env",
        "C",
        "--",
        "sh",
        "-c",
        "echo $A,${B-unset},${C-unset}",
    ];
    let output = home.windlass(&words).env("B", "b").env("C", "c").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1=2,,unset\n");
}

#[test]
fn the_directory_is_the_callers_or_the_one_given() {
    let home = Home::new("cwd");
    let real = home.path().canonicalize().unwrap();
    std::fs::create_dir(real.join("inner")).unwrap();
    let pwd = |words: &[&str]| {
        let output = home.windlass(words).current_dir(&real).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(pwd(&["run", "--", "pwd"]), format!("{}\n", real.display()));
    assert_eq!(pwd(&["run", "--cwd", "inner", "--", "pwd"]), format!("{}/inner\n", real.display()));
}

#[test]
fn what_was_left_running_is_ended_and_named() {
    let home = Home::new("left");
    let token = survivors::token("left");
    let seen = home.seen(&["run", &format!("setsid sh -c 'sleep 1000' {token} & echo done")]);
    assert_eq!((seen.code, seen.stdout.as_str()), (0, "done\n"));
    assert!(seen.stderr.contains("left running") && seen.stderr.contains(&token), "{seen:?}");
    assert_eq!(survivors::bearing(&token), Vec::<String>::new());
}

#[test]
fn json_tells_everything_in_one_object() {
    let home = Home::new("json");
    let seen = home.json(&["run", "--json", "--name", "both", "echo out; echo error >&2; exit 3"]);
    let expected = [
        ("session", json!(1001)),
        ("name", json!("both")),
        ("state", json!("exited")),
        ("exit_code", json!(3)),
        ("signal", json!(null)),
        ("cause", json!("itself")),
        ("met", json!({"condition": "exit"})),
        ("bytes", json!({"stdout": 4, "stderr": 6, "terminal": 0})),
        ("span", json!({"from": 0, "to": 10})),
        ("omitted", json!([])),
        ("left_running", json!([])),
        ("ended", json!([])),
    ];
    for (name, value) in expected {
        assert_eq!(seen[name], value, "{name} in {seen}");
    }
    let output = seen["output"].as_str().unwrap();
    assert!(output.contains("out\n") && output.contains("error\n"), "{output}");
    assert_eq!(seen["original_token_count"], 4);
    assert!(seen["wall_seconds"].as_f64().is_some() && seen["cpu_seconds"].as_f64().is_some());
    assert!(seen["peak_memory"]["bytes"].as_u64() > Some(0) && seen["peak_memory"]["exact"].is_boolean());
    let journal = &seen["journal"];
    assert_eq!((&journal["dropped"], &journal["degraded"]), (&json!(0), &json!(null)));
    assert!(journal["path"].as_str().unwrap().ends_with("1001-*.out"));
}

#[test]
fn json_does_not_hide_the_exit_code() {
    let home = Home::new("json-code");
    assert_eq!(home.seen(&["run", "--json", "exit 7"]).code, 7);
    let killed = home.json(&["run", "--json", "kill -9 $$"]);
    assert_eq!((&killed["exit_code"], &killed["signal"]), (&json!(137), &json!("SIGKILL")));
    assert_eq!(killed["state"], "signalled");
    let late = home.json(&["run", "--json", "--timeout", "100ms", "sleep 1000"]);
    assert_eq!((&late["state"], &late["cause"]), (&json!("timeout"), &json!("timeout after 100 ms")));
}

#[test]
fn json_names_what_was_left_and_ended() {
    let home = Home::new("json-left");
    let seen = home.json(&["run", "--json", "setsid sleep 1000 & exit 0"]);
    for list in ["left_running", "swept"] {
        assert!(seen[list][0]["command"].as_str().unwrap().contains("sleep 1000"), "{list} in {seen}");
    }
}

#[test]
fn until_a_pattern_then_stopped() {
    let home = Home::new("until");
    let token = survivors::token("until");
    let script = format!("echo begin; echo ready at 8080; exec sh -c 'sleep 1000' {token}");
    let seen = home.seen(&["run", "--until", r"ready at \d+", &script]);
    assert_eq!((seen.code, seen.stdout.as_str()), (0, "begin\nready at 8080\n"));
    assert!(seen.stderr.contains(r#"printed "ready at 8080"; it was stopped"#), "{seen:?}");
    assert_eq!(survivors::bearing(&token), Vec::<String>::new());
    let seen = home.json(&["run", "--json", "--until", r"ready at \d+", &script]);
    assert_eq!(
        (&seen["met"]["condition"], &seen["met"]["text"]),
        (&json!("pattern"), &json!("ready at 8080"))
    );
    assert_eq!((&seen["state"], &seen["signal"]), (&json!("stopped"), &json!("SIGTERM")));
}

#[test]
fn a_pattern_that_never_comes_leaves_the_commands_own_exit() {
    let seen = Home::new("never").seen(&["run", "--until", "never", "echo something; exit 4"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (4, "something\n"));
}

#[test]
fn a_command_that_ends_well_without_printing_the_pattern_is_a_failure() {
    let home = Home::new("never-well");
    let seen = home.seen(&["run", "--until", "never", "echo something"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (1, "something\n"));
    assert!(seen.stderr.contains("ended without printing what --until waits for"), "{seen:?}");
    let seen = home.seen(&["run", "--json", "--until", "never", "echo something"]);
    let told: serde_json::Value = serde_json::from_str(&seen.stdout).expect("it prints JSON");
    assert_eq!((seen.code, &told["met"]["condition"], &told["exit_code"]), (1, &json!("exit"), &json!(0)));
}

#[test]
fn until_silence_then_stopped() {
    let home = Home::new("idle");
    let seen = home.seen(&["run", "--idle", "200ms", "echo busy; sleep 1000"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (0, "busy\n"));
    assert!(seen.stderr.contains("was silent for 200 ms; it was stopped"), "{seen:?}");
    let seen = home.json(&["run", "--idle", "200ms", "--json", "echo busy; sleep 1000"]);
    assert_eq!(seen["met"]["condition"], "idle");
}

#[test]
fn a_budget_keeps_both_ends_and_the_receipt_is_told() {
    let home = Home::new("budget");
    let seen = home.seen(&["run", "--max-tokens", "40", "seq 1 1000; echo noise >&2"]);
    assert!(seen.stdout.starts_with("1\n2\n"), "{seen:?}");
    assert!(seen.stdout.contains("tokens truncated (windlass log 1001 --span "), "{seen:?}");
    assert!(seen.stderr.contains("session 1001 exited with code 0"), "{seen:?}");
    let plain = home.seen(&["run", "--max-tokens", "40", "--tokenizer", "bytes4", "seq 1 1000"]);
    assert!(plain.stdout.lines().any(|line| line.starts_with('…') && line.ends_with(" tokens truncated…")));
}

#[test]
fn progress_bars_settle_in_text_and_are_kept_in_raw() {
    let home = Home::new("views");
    let script = r"printf '10%%\r20%%\r100%%\n'";
    assert_eq!(home.seen(&["run", "--view", "text", script]).stdout, "100%\n");
    assert_eq!(home.seen(&["run", "--view", "raw", script]).stdout, "10%\r20%\r100%\n");
    assert_eq!(home.json(&["run", "--json", script])["output"], "100%\n");
    let screen = home.seen(&["run", "--tty", "--size", "4x20", "--view", "screen", "seq 1 10"]);
    assert_eq!(screen.stdout, "8\n9\n10\n", "the last line is where the cursor stands");
}

#[test]
fn a_state_directory_that_cannot_be_used_is_said_and_the_command_runs() {
    let home = Home::new("stateless");
    let file = home.path().join("file");
    std::fs::write(&file, "").unwrap();
    let mut command = home.windlass(&["run", "--json", "echo fine"]);
    let output = command.env("WINDLASS_STATE_DIR", file.join("below")).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("below") && stderr.contains("memory"), "{stderr}");
    let seen: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&seen["output"], &seen["journal"]["kept_in"]), (&json!("fine\n"), &json!("memory")));
}

#[test]
fn a_name_that_a_living_session_has_is_refused() {
    let home = Home::new("name");
    let mut first = home.start(&["run", "--name", "web", "echo up; sleep 1000"]);
    first.printed("up");
    let second = home.seen(&["run", "--name", "web", "--", "true"]);
    assert_eq!(second.code, 125);
    assert!(second.stderr.contains("`web` is held by session 1001"), "{second:?}");
    first.signal(windlass_sys::signal::Signal::TERM);
    first.exit_code();
    assert_eq!(
        home.seen(&["run", "--name", "web", "--", "true"]).code,
        0,
        "a finished session's name is free"
    );
}

/// It once panicked, and exited with the code of a panic.
#[test]
fn a_standard_error_that_cannot_be_written_changes_no_exit_code() {
    let home = Home::new("run-full");
    for (words, code) in [
        (&["run", "--", "sh", "-c", "sleep 600 & exit 3"][..], 3),
        (&["run", "--", "/no/such/program"], 127),
        (&["stop", "nothing"], 1),
        (&["run", "--no-such-option"], 2),
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("it is there");
        let status = home.windlass(words).stdout(Stdio::null()).stderr(full).status();
        assert_eq!(status.expect("windlass starts").code(), Some(code), "{words:?}");
    }
}

#[test]
fn a_run_that_ends_by_itself_as_its_pattern_is_met_is_not_called_stopped() {
    let home = Home::new("met-at-the-end");
    let mut by_itself = 0;
    for round in 0..20 {
        let seen = home.seen(&["run", "--until", "last", "--", "echo", "last"]);
        let newest = home.json(&["ps", "--json"]).as_array().unwrap().last().unwrap().clone();
        let was_stopped = newest["state"] == "stopped";
        by_itself += usize::from(!was_stopped);
        assert_eq!(seen.stderr.contains("it was stopped"), was_stopped, "round {round}: {seen:?} {newest}");
    }
    assert!(by_itself > 0, "no round tested anything");
}
