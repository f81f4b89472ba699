//! `shell` and `shell_command`: one command, run to its end.

use crate::workbench::{bench, bench_with, is_alive};
use serde_json::json;
use windlass_tools::Profile;

#[test]
fn shell_executes_argv_and_shell_command_a_script() {
    bench(async |bench| {
        let home = bench.home().display().to_string();
        let reply = bench.ask("shell", json!({ "command": ["echo", "$HOME", "a  b", "*"] })).await;
        assert_eq!(reply.text, format!("Working directory: {home}\nExit code: 0\nStdout:\n$HOME a  b *\n"));
        let reply =
            bench.ask("shell_command", json!({ "command": "echo $HOME; echo oops >&2; exit 3" })).await;
        let expected = format!("Working directory: {home}\nExit code: 3\nStdout:\n{home}\nStderr:\noops\n");
        assert_eq!((reply.text, reply.is_error), (expected, false));
        let session = reply.structured["session"].as_u64().unwrap();
        assert_eq!(bench.read(session, json!({ "grep": "oops" })).await.structured["output"], "2:oops\n");
        assert_eq!(
            (&reply.structured["stdout"], &reply.structured["stderr"]),
            (&json!(format!("{home}\n")), &json!("oops\n"))
        );
        assert_eq!(
            (&reply.structured["exit_code"], &reply.structured["timed_out"]),
            (&json!(3), &json!(false))
        );
    });
}

#[test]
fn streams_that_are_empty_are_not_shown() {
    bench(async |bench| {
        let home = bench.home().display().to_string();
        let reply = bench.ask("shell_command", json!({ "command": "true" })).await;
        assert_eq!(reply.text, format!("Working directory: {home}\nExit code: 0\n"));
        let reply = bench.ask("shell_command", json!({ "command": "printf x >&2" })).await;
        assert_eq!(reply.text, format!("Working directory: {home}\nExit code: 0\nStderr:\nx\n"));
    });
}

#[test]
fn stdin_is_at_eof() {
    bench(async |bench| {
        for (tool, command) in [("shell", json!(["cat"])), ("shell_command", json!("cat"))] {
            assert_eq!(bench.ask(tool, json!({ "command": command })).await.structured["exit_code"], 0);
        }
    });
}

#[test]
fn workdir_is_taken_and_a_missing_one_is_named() {
    bench(async |bench| {
        std::fs::create_dir(bench.home().join("sub")).unwrap();
        for (tool, command) in [("shell", json!(["pwd"])), ("shell_command", json!("pwd"))] {
            let reply = bench.ask(tool, json!({ "command": command, "workdir": "sub" })).await;
            let place = bench.home().join("sub").display().to_string();
            assert_eq!(reply.text, format!("Working directory: {place}\nExit code: 0\nStdout:\n{place}\n"));
            let complaint = bench.refused(tool, json!({ "command": command, "workdir": "nowhere" })).await;
            assert!(complaint.contains("/nowhere"), "{complaint}");
        }
    });
}

#[test]
fn a_timeout_keeps_what_was_printed_and_ends_the_whole_tree() {
    bench(async |bench| {
        let command = "echo $$; sleep 61 & echo $!; echo err >&2; trap '' TERM; wait; wait; sleep 61";
        let reply = bench.ask("shell_command", json!({ "command": command, "timeout_ms": 1000 })).await;
        assert!(reply.text.contains("\nTimeout: exceeded 1000 ms\nStdout:\n"), "{}", reply.text);
        assert!(reply.text.contains("Stderr:\nerr\n") && !reply.text.contains("Exit code"), "{}", reply.text);
        let pids: Vec<u64> = reply.structured["stdout"]
            .as_str()
            .unwrap()
            .split_whitespace()
            .map(|pid| pid.parse().unwrap())
            .collect();
        assert!(pids.len() == 2 && pids.iter().all(|pid| !is_alive(*pid)));
        assert_eq!(reply.structured["timed_out"], true);
        let reply = bench.ask("shell", json!({ "command": ["sleep", "61"], "timeout_ms": 300 })).await;
        assert!(reply.text.contains("Timeout: exceeded 300 ms\n"), "{}", reply.text);
    });
}

#[test]
fn a_background_child_that_holds_the_pipe_does_not_hold_the_answer() {
    bench(async |bench| {
        let reply = bench.ask("shell_command", json!({ "command": "sleep 61 & echo done" })).await;
        assert_eq!(
            (&reply.structured["exit_code"], &reply.structured["stdout"]),
            (&json!(0), &json!("done\n"))
        );
        assert!(reply.text.contains("Left running: 1 processes: "), "{}", reply.text);
    });
}

#[test]
fn each_stream_is_within_its_budget_of_characters_with_head_and_tail_kept() {
    bench(async |bench| {
        for (unit, bytes) in [("x", 1), ("é", 2), ("漢", 3), ("😀", 4)] {
            let full = format!(
                "python3 -c 'import sys; sys.stdout.write(\"{unit}\" * 12000); sys.stderr.write(\"{unit}\" * 12001)'"
            );
            let reply = bench.ask("shell_command", json!({ "command": full })).await;
            assert_eq!(reply.structured["stdout"], unit.repeat(12_000), "what fits is unchanged: {bytes}");
            let stderr = reply.structured["stderr"].as_str().unwrap();
            let count = stderr.chars().count();
            assert!((11_900..=12_000).contains(&count), "{unit} {count}");
            assert!(
                stderr.starts_with(unit) && stderr.ends_with(unit) && stderr.contains(" tokens truncated…")
            );
        }
    });
}

#[test]
fn a_long_output_keeps_its_first_and_last_lines_and_counts_what_is_left_out() {
    bench(async |bench| {
        let reply = bench.ask("shell_command", json!({ "command": "seq -f %06g 300000; seq 1 2 >&2" })).await;
        let stdout = reply.structured["stdout"].as_str().unwrap();
        assert!(stdout.starts_with("000001\n000002\n") && stdout.ends_with("299999\n300000\n"));
        let (head, rest) = stdout.split_once('…').unwrap();
        let (count, tail) = rest.split_once(" tokens truncated…\n").unwrap();
        assert!(stdout.chars().count() <= 12_000);
        let missing = 300_000 * 7 - head.len() - tail.len();
        let count: usize = count.parse().unwrap();
        assert!(count.abs_diff(missing.div_ceil(4)) <= 3, "{count} {missing}");
        assert_eq!(reply.structured["stderr"], "1\n2\n");
    });
    bench_with(
        |options| options.classic_characters = 100,
        async |bench| {
            let reply = bench.ask("shell", json!({ "command": ["seq", "1", "1000"] })).await;
            assert!(reply.structured["stdout"].as_str().unwrap().chars().count() <= 100);
        },
    );
}

#[test]
fn an_empty_command_or_a_non_string_in_argv_is_an_error() {
    bench(async |bench| {
        for (tool, command, field) in [
            ("shell", json!([]), "command: "),
            ("shell", json!([""]), "command: "),
            ("shell", json!(["echo", 3]), "command[1]: "),
            ("shell", json!(["echo", null]), "command[1]: "),
            ("shell", json!(["echo", "a\u{0}b"]), "command[1]: "),
            ("shell", json!("echo"), "command: "),
            ("shell_command", json!(""), "command: "),
            ("shell_command", json!("  \n"), "command: "),
            ("shell_command", json!(["echo"]), "command: "),
            ("shell_command", json!("a\u{0}b"), "command: "),
        ] {
            let complaint = bench.refused(tool, json!({ "command": command })).await;
            assert!(complaint.starts_with(field), "{tool} {command} {complaint}");
        }
        for tool in ["shell", "shell_command"] {
            assert_eq!(bench.refused(tool, json!({})).await, "command: is missing");
        }
        assert!(bench.engine.sessions().is_empty());
    });
}

#[test]
fn a_missing_program_is_an_error_that_names_it() {
    bench(async |bench| {
        for program in ["no-such-program", "/no/such/program", "./program"] {
            let complaint = bench.refused("shell", json!({ "command": [program] })).await;
            assert!(complaint.contains(program), "{complaint}");
        }
        bench.write("plain", "text");
        let complaint = bench.refused("shell", json!({ "command": ["./plain"] })).await;
        assert!(complaint.contains("plain"), "{complaint}");
    });
}

#[test]
fn both_run_in_the_login_environment_unless_told_otherwise() {
    bench(async |bench| {
        bench.write(".bash_profile", "export FLAVOUR=salty\ngreet() { echo hello; }\n");
        let reply = bench.ask("shell", json!({ "command": ["printenv", "FLAVOUR"] })).await;
        assert_eq!(reply.structured["stdout"], "salty\n");
        let reply = bench.ask("shell_command", json!({ "command": "echo $FLAVOUR; greet" })).await;
        assert_eq!(reply.structured["stdout"], "salty\nhello\n");
        let reply =
            bench.ask("shell_command", json!({ "command": "echo ${FLAVOUR-unset}", "login": false })).await;
        assert_eq!(reply.structured["stdout"], "unset\n");
    });
}

#[test]
fn the_classic_tools_are_there_in_the_classic_profile_only() {
    bench_with(
        |options| options.profile = Profile::Default,
        async |bench| {
            assert_eq!(bench.tools().len(), 6);
            let call = windlass_tools::Call::new("shell", serde_json::Map::new());
            assert_eq!(bench.call(call).await.unwrap_err().to_string(), "there is no tool `shell`");
        },
    );
}

#[test]
fn a_command_that_outlasts_its_host_becomes_a_session() {
    bench(async |bench| {
        let change = |call: &mut windlass_tools::Call| call.ceiling = std::time::Duration::from_millis(300);
        let reply = bench.call_with("shell", json!({ "command": ["sleep", "61"] }), change).await;
        assert!(
            reply.text.contains("Still running as session 1001; wait for it with wait_sessions\n"),
            "{}",
            reply.text
        );
    });
}
