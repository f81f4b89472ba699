//! Waiting: conditions, evidence, and the wait of a call without conditions.

use crate::workbench::{LONG, bench, object, output, session, state};
use serde_json::json;
use std::time::{Duration, Instant};

#[test]
fn the_answer_comes_at_the_first_condition_that_holds_and_says_which() {
    bench(async |bench| {
        let serve = "python3 -c 'import socket,time; s=socket.socket(); s.bind((\"127.0.0.1\",0)); print(s.getsockname()[1],flush=True); \
                     input(); s.listen(); time.sleep(60)'";
        for (cmd, until, met, says) in [
            ("echo a; exit 3", json!({ "exit": true }), "exit", "Process exited with code 3\n"),
            (
                "echo a; echo needle; sleep 60",
                json!({ "pattern": "need+le" }),
                "pattern",
                "State: pattern matched at 2..8",
            ),
            ("echo a; sleep 60", json!({ "idle_ms": 100 }), "idle", "State: idle for 0.1 s"),
            ("cat", json!({ "input": true }), "input", "State: waiting for input"),
            ("stty -echo; cat", json!({ "input": true }), "input", "State: waiting for hidden input"),
        ] {
            let reply =
                bench.run(json!({ "cmd": cmd, "tty": until.get("input").is_some(), "until": until })).await;
            assert_eq!(reply.structured["met"], met, "{}", reply.text);
            assert!(reply.text.contains(says), "{}", reply.text);
        }
        let reply = bench.run(json!({ "cmd": serve, "tty": true, "until": { "input": true } })).await;
        let (id, port) = (session(&reply), output(&reply).trim().parse::<u16>().unwrap());
        let arguments = json!({ "session_id": id, "chars": "\n", "until": { "port": port } });
        let reply = bench.ask("write_stdin", arguments).await;
        assert_eq!(reply.structured["met"], "port");
        assert!(reply.text.contains(&format!("State: listening on 127.0.0.1:{port}")), "{}", reply.text);
        // A condition that already holds ends the wait at once.
        let reply = bench.ask("write_stdin", json!({ "session_id": id, "until": { "port": port } })).await;
        assert_eq!(reply.structured["met"], "port");
        let waited =
            bench.ask("wait_sessions", json!({ "session_ids": [id], "until": { "port": port } })).await;
        assert_eq!(waited.structured["met"], json!({ "session": id, "condition": "port" }));
    });
}

#[test]
fn until_may_be_a_list_any_of_them() {
    bench(async |bench| {
        for until in [
            json!([{ "exit": true }, { "pattern": "two" }, { "port": 1 }]),
            json!({ "exit": true, "pattern": "two", "port": 1 }),
            json!([{ "pattern": "never" }, { "pattern": "two" }]),
        ] {
            let reply = bench.run(json!({ "cmd": "echo one; echo two; sleep 60", "until": until })).await;
            assert_eq!(reply.structured["met"], "pattern", "{}", reply.text);
        }
        let until = json!([{ "exit": true }, { "pattern": "two" }]);
        let reply = bench.run(json!({ "cmd": "echo one", "until": until })).await;
        assert_eq!(reply.structured["met"], "exit");
    });
}

#[test]
fn a_condition_that_already_holds_answers_at_once() {
    bench(async |bench| {
        let gate = bench.gate("gate");
        let arguments = json!({ "cmd": "echo begun; read x < gate; echo needle; cat", "tty": true, "until": { "pattern": "begun" } });
        let id = session(&bench.run(arguments).await);
        gate.open().await;
        for until in [json!({ "input": true }), json!({ "pattern": "needle" }), json!({ "input": true })] {
            let reply = bench.ask("wait_sessions", json!({ "session_ids": [id], "until": until })).await;
            assert_eq!(reply.structured["met"]["session"], id, "{}", reply.text);
        }
        let over = session(&bench.exec("true").await);
        let reply = bench.ask("wait_sessions", json!({ "session_ids": [over] })).await;
        assert_eq!(reply.structured["met"], json!({ "session": over, "condition": "exit" }));
    });
}

#[test]
fn without_until_a_repl_answers_as_soon_as_it_waits_for_input() {
    bench(async |bench| {
        for (cmd, line, answer) in [
            ("python3 -q", "6*7\n", "42"),
            ("PS1='$ ' bash --norc --noprofile -i", "echo $((6*7))\n", "42"),
            ("cat", "42\n", "42"),
            ("sh -c 'printf \"name? \"; read name; echo \"hello $name\"; read more'", "you\n", "hello you"),
        ] {
            let reply = bench.run(json!({ "cmd": cmd, "tty": true, "yield_time_ms": LONG })).await;
            assert_eq!(state(&reply), "waiting for input", "{cmd}");
            let arguments = json!({ "session_id": session(&reply), "chars": line, "yield_time_ms": LONG });
            let reply = bench.ask("write_stdin", arguments).await;
            assert_eq!(state(&reply), "waiting for input", "{cmd}");
            assert!(output(&reply).contains(answer), "{}", reply.text);
            // Nothing more can come until a client writes: an empty poll replies at once, too.
            let reply = bench.ask("write_stdin", json!({ "session_id": session(&reply) })).await;
            assert_eq!((state(&reply), output(&reply)), ("waiting for input", ""), "{cmd}");
        }
    });
}

#[test]
fn text_that_looks_like_a_prompt_is_no_evidence() {
    bench(async |bench| {
        for cmd in
            ["printf 'Password: '; sleep 5", "printf '>>> '; sleep 5", "printf 'Continue? [y/N] '; sleep 5"]
        {
            let reply = bench.run(json!({ "cmd": cmd, "tty": true, "yield_time_ms": 400 })).await;
            assert!(!state(&reply).contains("waiting"), "{}", reply.text);
            assert!(reply.structured["wall_time_seconds"].as_f64().unwrap() >= 0.4);
        }
    });
}

#[test]
fn until_exit_restores_the_plain_wait() {
    bench(async |bench| {
        let id = bench.start_waiting("printf 'name? '; read name; echo \"hello $name\"").await;
        let waiting = json!({ "session_id": id, "until": { "exit": true } });
        let change = |call: &mut windlass_tools::Call| call.ceiling = Duration::from_millis(500);
        let reply = bench.call_with("write_stdin", waiting, change).await;
        assert!(reply.structured["wall_time_seconds"].as_f64().unwrap() >= 0.5);
        assert_eq!((&reply.structured["met"], output(&reply)), (&json!(null), ""));
        assert_eq!(state(&reply), "no condition held, waiting for input");
    });
}

#[test]
fn reading_counts_by_read_select_poll_and_epoll() {
    bench(async |bench| {
        for wait in [
            "import os; os.read(0, 1)",
            "import os; os.readv(0, [bytearray(1)])",
            "import select; select.select([0], [], [])",
            "import select; p = select.poll(); p.register(0, select.POLLIN); p.poll()",
            "import select; p = select.epoll(); p.register(0, select.EPOLLIN); p.poll()",
            "import asyncio, sys; l = asyncio.new_event_loop(); l.add_reader(0, print); l.run_forever()",
            "import threading, os; t = threading.Thread(target=lambda: os.read(0, 1)); t.start(); t.join()",
        ] {
            let cmd = format!("python3 -c '{wait}'");
            let reply = bench.run(json!({ "cmd": cmd, "tty": true, "yield_time_ms": LONG })).await;
            assert_eq!(state(&reply), "waiting for input", "{wait}");
        }
    });
}

/// One of its threads reads in each of them, and that was once enough.
#[test]
fn a_program_that_works_beside_its_reader_does_not_wait() {
    bench(async |bench| {
        let reader = "import threading, sys, time, subprocess as s; \
                      threading.Thread(target=sys.stdin.read, daemon=True).start(); print(\"ready\", flush=True)";
        for work in ["time.sleep(1000)", "[0 for _ in iter(int, 1)]", "s.run([\"sleep\", \"1000\"])"] {
            let cmd = format!("python3 -c '{reader}; {work}'");
            // Long enough for a premature reply to be noticed.
            let arguments = json!({ "cmd": cmd, "tty": true, "until": [{ "input": true }] });
            let change = |call: &mut windlass_tools::Call| call.ceiling = Duration::from_millis(2500);
            let reply = bench.call_with("exec_command", arguments, change).await;
            assert_eq!(reply.structured["met"], json!(null), "{work}: {}", reply.text);
            assert!(!state(&reply).contains("waiting"), "{work}: {}", reply.text);
            assert_eq!(reply.structured.get("waiting"), None, "{work}");
        }
    });
}

/// Each of them reads, and prints by its own clock whether or not anything is typed.
#[test]
fn a_reader_of_lines_that_prints_by_the_clock_does_not_wait() {
    bench(async |bench| {
        for cmd in [
            "bash -c 'echo ready; until read -t 0.3 line; do echo tick; done'",
            "python3 -c 'import signal, sys; signal.signal(signal.SIGALRM, lambda *_: print(\"tick\", flush=True)); \
             signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1); sys.stdin.read()'",
            "python3 -c 'import os, sys, time; os.fork() or (time.sleep(1000), print(\"late\")); sys.stdin.read()'",
        ] {
            let arguments = json!({ "cmd": cmd, "tty": true, "until": [{ "input": true }] });
            let change = |call: &mut windlass_tools::Call| call.ceiling = Duration::from_millis(2500);
            let reply = bench.call_with("exec_command", arguments, change).await;
            assert_eq!(reply.structured["met"], json!(null), "{cmd}: {}", reply.text);
            assert!(!state(&reply).contains("waiting"), "{cmd}: {}", reply.text);
        }
    });
}

#[test]
fn a_question_with_a_time_limit_is_probable_and_the_reason_is_told() {
    bench(async |bench| {
        for (cmd, reason) in [
            ("bash -c 'read -t 1000 -p \"Name: \" name'", "it also waits for a timer"),
            ("bash -c 'trap : ALRM; read -p \"Name: \" name'", "an alarm may interrupt it"),
        ] {
            let reply = bench.run(json!({ "cmd": cmd, "tty": true, "yield_time_ms": LONG })).await;
            let expected = format!("probably waiting for input ({reason})");
            assert!(state(&reply).starts_with(&expected), "{cmd}: {}", reply.text);
        }
    });
}

#[test]
fn where_the_kernel_cannot_tell_the_reply_says_probably_and_why() {
    bench(async |bench| {
        let cmd = "python3 -c 'import asyncio, threading, sys; \
                   threading.Thread(target=sys.stdin.read, daemon=True).start(); asyncio.run(asyncio.sleep(1000))'";
        let reason = "another thread of it sleeps with a timer";
        let expected = format!("probably waiting for input ({reason})");
        let waiting = json!({ "kind": "line", "probably": true, "reason": reason });
        let reply = bench.run(json!({ "cmd": cmd, "tty": true, "yield_time_ms": LONG })).await;
        assert!(state(&reply).starts_with(&expected), "{}", reply.text);
        assert_eq!((&reply.structured["waiting"], &reply.structured["met"]), (&waiting, &json!(null)));
        let arguments = json!({ "session_id": session(&reply), "until": { "input": true } });
        let reply = bench.ask("write_stdin", arguments).await;
        assert!(state(&reply).starts_with(&expected), "{}", reply.text);
        assert_eq!((&reply.structured["waiting"], &reply.structured["met"]), (&waiting, &json!("input")));
        let list = bench.ask("list_sessions", json!({})).await;
        assert_eq!(list.structured["sessions"][0]["state"], format!("running, {expected}"));
    });
}

#[test]
fn a_reply_for_programs_says_what_kind_of_input_is_waited_for() {
    bench(async |bench| {
        for (cmd, kind) in
            [("cat", "line"), ("stty -echo; cat", "hidden"), ("stty -echo -icanon; cat", "keys")]
        {
            let reply = bench.run(json!({ "cmd": cmd, "tty": true, "yield_time_ms": LONG })).await;
            let expected = json!({ "kind": kind, "probably": false, "reason": null });
            assert_eq!(reply.structured["waiting"], expected, "{cmd}: {}", reply.text);
        }
    });
}

#[test]
fn hidden_means_echo_off_and_line_mode_on() {
    bench(async |bench| {
        for (cmd, expected) in [
            ("python3 -c 'import getpass; getpass.getpass()'", "waiting for hidden input"),
            ("stty -echo; cat", "waiting for hidden input"),
            ("stty -echo -icanon; cat", "waiting for input"),
            ("stty -icanon; cat", "waiting for input"),
        ] {
            let reply = bench.run(json!({ "cmd": cmd, "tty": true, "yield_time_ms": LONG })).await;
            assert_eq!(state(&reply), expected, "{cmd}");
        }
    });
}

#[test]
fn until_replaces_the_yield_and_an_answer_at_the_ceiling_says_that_no_condition_held() {
    bench(async |bench| {
        let arguments =
            json!({ "cmd": "echo a; sleep 60", "yield_time_ms": 250, "until": { "pattern": "never" } });
        let change = |call: &mut windlass_tools::Call| call.ceiling = Duration::from_millis(700);
        let reply = bench.call_with("exec_command", arguments, change).await;
        assert!(reply.structured["wall_time_seconds"].as_f64().unwrap() >= 0.7);
        assert_eq!((&reply.structured["met"], state(&reply)), (&json!(null), "no condition held"));
        assert!(reply.text.contains("State: no condition held"), "{}", reply.text);
    });
}

#[test]
fn a_yield_never_outlasts_the_ceiling() {
    bench(async |bench| {
        let arguments = json!({ "cmd": "sleep 60", "yield_time_ms": LONG });
        let change = |call: &mut windlass_tools::Call| call.ceiling = Duration::from_millis(300);
        let reply = bench.call_with("exec_command", arguments, change).await;
        assert_eq!(reply.structured["session_id"], session(&reply));
    });
}

#[test]
fn the_ceilings_are_45_s_without_progress_and_300_s_with_it() {
    assert_eq!(windlass_tools::Call::QUIET_CEILING, Duration::from_secs(45));
    assert_eq!(windlass_tools::Call::PATIENT_CEILING, Duration::from_secs(300));
    assert_eq!(windlass_tools::Call::new("x", object(json!({}))).ceiling, Duration::from_secs(300));
}

#[test]
fn a_process_that_ends_before_its_condition_holds_answers_with_its_exit() {
    bench(async |bench| {
        let reply = bench.run(json!({ "cmd": "echo a; exit 4", "until": { "pattern": "never" } })).await;
        assert_eq!((&reply.structured["exit_code"], &reply.structured["met"]), (&json!(4), &json!(null)));
        assert_eq!(state(&reply), "no condition held");
    });
}

#[test]
fn idle_counts_from_the_later_of_the_last_output_and_the_calls_own_start_or_write() {
    bench(async |bench| {
        let reply =
            bench.run(json!({ "cmd": "sleep 0.3; echo a; sleep 60", "until": { "idle_ms": 600 } })).await;
        assert_eq!((&reply.structured["met"], output(&reply)), (&json!("idle"), "a\n"));
        assert!(reply.structured["wall_time_seconds"].as_f64().unwrap() >= 0.9);
        let id = bench.start_waiting("stty -echo; cat > /dev/null").await;
        bench.types(id, "x\n").await;
        let long_ago = Instant::now();
        while long_ago.elapsed() < Duration::from_millis(400) {
            bench.types(id, "x\n").await;
        }
        let arguments = json!({ "session_id": id, "chars": "y\n", "until": { "idle_ms": 300 } });
        let reply = bench.ask("write_stdin", arguments).await;
        assert!(reply.structured["wall_time_seconds"].as_f64().unwrap() >= 0.3);
    });
}

#[test]
fn a_poll_of_a_session_that_has_been_silent_longer_answers_at_once() {
    bench(async |bench| {
        let reply = bench.run(json!({ "cmd": "echo a; sleep 600", "until": { "idle_ms": 400 } })).await;
        let id = session(&reply);
        // The ceiling is shorter than the silence that is asked for, which lies in the past.
        let change = |call: &mut windlass_tools::Call| call.ceiling = Duration::from_millis(300);
        let poll = json!({ "session_id": id, "until": { "idle_ms": 400 } });
        let reply = bench.call_with("write_stdin", poll, change).await;
        assert_eq!(reply.structured["met"], "idle", "{}", reply.text);
        let wait = json!({ "session_ids": [id], "until": { "idle_ms": 400 } });
        let reply = bench.call_with("wait_sessions", wait, change).await;
        assert_eq!(reply.structured["met"], json!({ "session": id, "condition": "idle" }));
    });
}

#[test]
fn a_pattern_looks_at_output_from_the_first_unread_byte_on() {
    bench(async |bench| {
        let gate = bench.gate("gate");
        let id = bench.start("echo needle; read x < gate; echo hay; echo needle", "needle").await;
        let poll = json!({ "session_id": id, "until": { "pattern": "needle" } });
        let change = |call: &mut windlass_tools::Call| call.ceiling = Duration::from_millis(300);
        let reply = bench.call_with("write_stdin", poll.clone(), change).await;
        assert_eq!((&reply.structured["met"], output(&reply)), (&json!(null), ""));
        gate.open().await;
        let reply = bench.ask("write_stdin", poll).await;
        assert_eq!((&reply.structured["met"], output(&reply)), (&json!("pattern"), "hay\nneedle\n"));
    });
}

#[test]
fn a_pattern_looks_at_settled_text_unless_the_view_is_raw() {
    bench(async |bench| {
        let cmd = r"printf 'a\033[1mb\033[0mc\n'; sleep 60";
        for (view, pattern) in [("text", "^abc$"), ("raw", r"a\x1b\[1mb")] {
            let reply = bench.run(json!({ "cmd": cmd, "view": view, "until": { "pattern": pattern } })).await;
            assert_eq!(reply.structured["met"], "pattern", "{view}");
        }
    });
}

#[test]
fn a_port_that_somebody_else_listens_on_does_not_count() {
    bench(async |bench| {
        let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = other.local_addr().unwrap().port();
        let arguments = json!({ "cmd": "sleep 60", "until": { "port": port } });
        let change = |call: &mut windlass_tools::Call| call.ceiling = Duration::from_millis(400);
        let reply = bench.call_with("exec_command", arguments, change).await;
        assert_eq!((&reply.structured["met"], state(&reply)), (&json!(null), "no condition held"));
    });
}

#[test]
fn the_state_says_what_is_listened_on_and_how_long_it_has_been_silent() {
    bench(async |bench| {
        let serve = "python3 -c 'import socket,time; s=socket.socket(); s.bind((\"127.0.0.1\",0)); s.listen(); print(s.getsockname()[1],flush=True); time.sleep(60)'";
        let reply = bench.run(json!({ "cmd": serve, "until": { "idle_ms": 1100 } })).await;
        let port = output(&reply).trim();
        let expected = format!(r"^State: idle for 1\.\d s, listening on 127\.0\.0\.1:{port}$");
        assert!(
            regex::Regex::new(&format!("(?m){expected}")).unwrap().is_match(&reply.text),
            "{}",
            reply.text
        );
        let reply = bench
            .ask(
                "write_stdin",
                json!({ "session_id": session(&reply), "chars": "\u{3}", "until": { "exit": true } }),
            )
            .await;
        assert_eq!(reply.structured["exit_code"], 130);
        let reply = bench.run(json!({ "cmd": "sleep 60", "yield_time_ms": 1100 })).await;
        assert!(
            regex::Regex::new(r"(?m)^State: idle \d+\.\d s$").unwrap().is_match(&reply.text),
            "{}",
            reply.text
        );
    });
}

#[test]
fn progress_is_told_about_once_a_second_with_the_last_line() {
    bench(async |bench| {
        let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let sink = std::sync::Arc::clone(&told);
        let id = bench.start("echo one; echo two; sleep 60", "two").await;
        let arguments = json!({ "session_id": id, "until": { "exit": true } });
        let change = |call: &mut windlass_tools::Call| {
            call.ceiling = Duration::from_millis(1500);
            call.progress = Some(std::sync::Arc::new(move |progress| sink.lock().unwrap().push(progress)));
        };
        bench.call_with("write_stdin", arguments, change).await;
        let told = told.lock().unwrap();
        assert!(!told.is_empty());
        assert_eq!((told[0].bytes, told[0].last_line()), (8, "two"));
        assert_eq!(told[0].tail, ["one", "two"]);
        assert!(told[0].elapsed >= Duration::from_secs(1));
    });
}

#[test]
fn nothing_is_waited_for_once_nothing_more_can_come() {
    bench(async |bench| {
        for until in [json!({ "idle_ms": 600_000 }), json!({ "port": 1 }), json!({ "pattern": "never" })] {
            let reply = bench.run(json!({ "cmd": "exit 3", "until": until })).await;
            assert_eq!(reply.structured["exit_code"], 3, "{until}");
            assert_eq!(
                (&reply.structured["met"], state(&reply)),
                (&json!(null), "no condition held"),
                "{until}"
            );
            let wait = json!({ "session_ids": [reply.structured["session"]], "until": until });
            let reply = bench.ask("wait_sessions", wait).await;
            assert_eq!(reply.structured["timed_out"], false, "{until}: no time ran out");
            assert!(reply.text.starts_with("No condition held, and none can any more\n"), "{}", reply.text);
        }
    });
}

#[test]
fn a_port_counts_that_something_left_running_listens_on() {
    bench(async |bench| {
        let probe = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = probe.local_addr().unwrap().port();
        drop(probe);
        let (late, gate) = (bench.gate("late"), bench.home().join("late"));
        let serve = format!(
            "import socket,time; open(\"{}\").read(); s=socket.socket(); s.bind((\"127.0.0.1\",{port})); s.listen(); \
             time.sleep(60)",
            gate.display()
        );
        let cmd = format!("(setsid python3 -c '{serve}' >/dev/null 2>&1 &); echo started");
        let reply = bench.run(json!({ "cmd": cmd })).await;
        let id = reply.structured["session"].clone();
        assert_eq!(reply.structured["exit_code"], 0, "{}", reply.text);
        let poll = json!({ "session_id": id, "until": { "port": port } });
        let (reply, ()) = tokio::join!(bench.ask("write_stdin", poll), late.open());
        assert_eq!(reply.structured["met"], "port", "{}", reply.text);
        let wait = json!({ "session_ids": [id], "until": { "port": port } });
        let reply = bench.ask("wait_sessions", wait).await;
        assert_eq!(reply.structured["met"]["condition"], "port", "{}", reply.text);
        bench.ask("stop_session", json!({ "session_id": id })).await;
    });
}
