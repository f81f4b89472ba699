//! `exec_command`, argument by argument.

use crate::workbench::{LONG, SLEEPER, Workbench, bench, is_alive, output, session, state};
use serde_json::json;

#[test]
fn the_script_stands_in_no_argv_of_any_process() {
    bench(async |bench| {
        let (gate, inner) = (bench.gate("gate"), bench.gate("inner"));
        let word = format!("precious{}", std::process::id());
        for tty in [false, true] {
            let cmd = format!("echo ready; read x < gate; ( read x < inner; true ); echo {word}");
            let reply = bench.run(json!({ "cmd": cmd, "tty": tty, "until": { "pattern": "ready" } })).await;
            assert_eq!(argv_with(&word), Vec::<String>::new());
            gate.open().await;
            inner.open().await;
            assert!(output(&bench.finish(session(&reply)).await).contains(&word));
        }
    });
}

fn argv_with(word: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(word)).collect()
}

#[test]
fn pkill_f_of_a_word_in_the_script_kills_neither_the_runtime_nor_the_shell() {
    bench(async |bench| {
        let word = format!("precious{}", std::process::id());
        let reply = bench.exec(&format!("pkill -f {word}; echo survived")).await;
        assert_eq!((output(&reply), &reply.structured["exit_code"]), ("survived\n", &json!(0)));
    });
}

#[test]
fn a_relative_workdir_joins_to_the_default_and_an_empty_one_is_the_default() {
    bench(async |bench| {
        let home = bench.home().display().to_string();
        std::fs::create_dir_all(bench.home().join("a/b")).unwrap();
        for (workdir, expected) in [
            ("a/b", format!("{home}/a/b\n")),
            ("", format!("{home}\n")),
            (".", format!("{home}\n")),
            ("/", "/\n".to_owned()),
        ] {
            let reply = bench.run(json!({ "cmd": "pwd", "workdir": workdir })).await;
            assert_eq!(output(&reply), expected, "{workdir}");
        }
        assert_eq!(output(&bench.exec("pwd").await), format!("{home}\n"));
    });
}

#[test]
fn a_missing_workdir_is_an_error_that_names_the_path() {
    bench(async |bench| {
        let complaint = bench.refused("exec_command", json!({ "cmd": "true", "workdir": "no/such" })).await;
        assert!(complaint.contains(&format!("{}/no/such", bench.home().display())), "{complaint}");
        assert!(bench.engine.sessions().is_empty());
        bench.write("file", "");
        let complaint = bench.refused("exec_command", json!({ "cmd": "true", "workdir": "file" })).await;
        assert!(complaint.contains("/file"), "{complaint}");
    });
}

#[test]
fn a_tty_is_a_controlling_terminal_of_24_by_80() {
    bench(async |bench| {
        let cmd = "stty size; for fd in 0 1 2; do test -t $fd && echo terminal; done; : > /dev/tty && echo controlling";
        let reply = bench.run(json!({ "cmd": cmd, "tty": true })).await;
        assert_eq!(output(&reply), "24 80\nterminal\nterminal\nterminal\ncontrolling\n");
    });
}

#[test]
fn input_on_a_tty_is_echoed() {
    bench(async |bench| {
        let reply = bench.run(json!({ "cmd": "cat", "tty": true, "yield_time_ms": LONG })).await;
        assert_eq!(state(&reply), "waiting for input");
        let reply = bench.types(session(&reply), "typed\n").await;
        assert_eq!(output(&reply), "typed\ntyped\n");
    });
}

#[test]
fn without_tty_there_are_pipes_with_stdin_at_eof() {
    bench(async |bench| {
        let cmd = "for fd in 0 1 2; do test -t $fd && echo terminal; done; cat; echo end";
        assert_eq!(output(&bench.exec(cmd).await), "end\n");
    });
}

#[test]
fn stdin_is_byte_exact_then_eof() {
    bench(async |bench| {
        let long = "0123456789abcdef\n".repeat(20_000);
        for bytes in
            ["", "no newline", "it's \"quoted\" $HOME `x` \\ \\n %s\n\n", "é€😀\u{0}\u{1}\r\n", &long]
        {
            let arguments = json!({
                "cmd": "tee copy; echo end", "stdin": bytes, "view": "raw", "max_output_tokens": 900_000,
                "until": { "exit": true },
            });
            let reply = bench.run(arguments).await;
            assert_eq!(output(&reply), format!("{bytes}end\n"));
            assert_eq!(bench.contents("copy"), bytes);
        }
    });
}

#[test]
fn env_overrides_and_null_removes() {
    let set = |options: &mut windlass_tools::ToolboxOptions| {
        options.environment.push(("GIVEN".into(), "runtime".into()));
        options.environment.push(("GONE".into(), "runtime".into()));
    };
    crate::workbench::bench_with(set, async |bench| {
        let cmd = "echo ${GIVEN-unset} ${GONE-unset} \"${NEW-unset}\"";
        assert_eq!(output(&bench.exec(cmd).await), "runtime runtime unset\n");
        let env = json!({ "GIVEN": "call", "GONE": null, "NEW": "a 'b' \"c\" = d" });
        let reply = bench.run(json!({ "cmd": cmd, "env": env })).await;
        assert_eq!(output(&reply), "call unset a 'b' \"c\" = d\n");
    });
}

#[test]
fn shells_are_taken_by_name_or_path_and_unknown_ones_fall_back_to_bin_sh() {
    bench(async |bench| {
        let real = |path: &str| std::fs::canonicalize(path).unwrap().display().to_string();
        let sh = real("/bin/sh");
        for (shell, expected) in [
            ("bash", real("/bin/bash")),
            ("/bin/bash", real("/bin/bash")),
            ("zsh", real("/bin/zsh")),
            ("sh", sh.clone()),
            ("/bin/sh", sh.clone()),
            ("fish", sh.clone()),
            ("powershell", sh.clone()),
        ] {
            let cmd = "cat /proc/$$/comm; readlink /proc/$$/exe";
            let reply = bench.run(json!({ "cmd": cmd, "shell": shell })).await;
            let exe = output(&reply).lines().last().unwrap();
            assert_eq!(real(exe), expected, "{shell}");
        }
        let reply = bench.exec("readlink /proc/$$/exe").await;
        assert_eq!(real(output(&reply).trim()), real("/bin/bash"));
        let reply = bench.run(json!({ "cmd": "true", "shell": "fish" })).await;
        assert!(reply.text.contains("the shell `fish` is not supported"), "{}", reply.text);
    });
}

#[test]
fn a_shell_at_a_path_that_is_not_a_login_shell_is_refused_and_not_run() {
    bench(async |bench| {
        let (shell, trace) = (bench.home().join("bash"), bench.home().join("ran"));
        std::fs::write(&shell, format!("#!/bin/sh\ntouch '{}'\n", trace.display())).unwrap();
        std::fs::set_permissions(&shell, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        for shell in [shell.to_str().unwrap(), "./bash", "/no/such/bash"] {
            let refusal = bench.refused("exec_command", json!({ "cmd": "true", "shell": shell })).await;
            assert!(refusal.contains("/etc/shells"), "{refusal}");
        }
        assert!(!trace.exists());
    });
}

#[test]
fn no_variable_of_a_caller_reaches_the_shell_as_a_script() {
    bench(async |bench| {
        for name in ["WINDLASS_SCRIPT", "WINDLASS_SCRIPT_1", "WINDLASS_FUNCTIONS", "WINDLASS_SESSION"] {
            let arguments = json!({ "cmd": "cd .", "env": { name: "echo exchanged" } });
            let refusal = bench.refused("exec_command", arguments).await;
            assert!(refusal.contains("reserved"), "{name}: {refusal}");
        }
        // The name of the shell's own variable, which is not exported, is free for the caller.
        for shell in ["bash", "zsh", "sh"] {
            let arguments = json!({
                "cmd": "echo as judged; true", "shell": shell, "env": { "windlass_code_mode": "echo exchanged" },
            });
            assert_eq!(output(&bench.run(arguments).await), "as judged\n", "{shell}");
            let public = json!({
                "cmd": "echo $WINDLASS_STATE_DIR; true", "shell": shell, "env": { "WINDLASS_STATE_DIR": "/x" },
            });
            assert_eq!(output(&bench.run(public).await), "/x\n", "{shell}");
        }
    });
}

#[test]
fn no_child_inherits_the_descriptor_of_the_script() {
    bench(async |bench| {
        for shell in ["bash", "zsh", "sh"] {
            let arguments = json!({ "cmd": "ls /proc/self/fd; true", "shell": shell });
            assert_eq!(output(&bench.run(arguments).await), "0\n1\n2\n3\n", "{shell}: ls opens one itself");
        }
    });
}

#[test]
fn the_yield_time_never_kills() {
    bench(async |bench| {
        let gate = bench.gate("gate");
        let arguments = json!({ "cmd": "echo begun; read x < gate; echo ended", "yield_time_ms": 1 });
        let reply = bench.run(arguments).await;
        assert_eq!(reply.structured.get("exit_code"), None);
        gate.open().await;
        let rest = bench.finish(session(&reply)).await;
        assert_eq!(output(&reply).to_owned() + output(&rest), "begun\nended\n");
        assert_eq!(rest.structured["exit_code"], 0);
    });
}

#[test]
fn a_yield_time_below_250_ms_is_250_ms() {
    bench(async |bench| {
        let reply = bench.run(json!({ "cmd": "sleep 60", "yield_time_ms": 0 })).await;
        let seconds = reply.structured["wall_time_seconds"].as_f64().unwrap();
        assert!(seconds >= 0.25, "{seconds}");
        assert_eq!(reply.structured["session_id"], reply.structured["session"]);
    });
}

#[test]
fn a_command_that_exits_before_the_yield_answers_then() {
    bench(async |bench| {
        let reply = bench.run(json!({ "cmd": "echo hello; exit 3", "yield_time_ms": LONG })).await;
        assert_eq!((output(&reply), &reply.structured["exit_code"]), ("hello\n", &json!(3)));
    });
}

#[test]
fn a_timeout_is_term_grace_kill_and_the_answer_says_it_fired() {
    bench(async |bench| {
        let polite = "trap 'echo asked; exit 7' TERM; echo begun; while :; do sleep 0.02; done";
        let reply = bench.run(json!({ "cmd": polite, "timeout_ms": 1000 })).await;
        assert_eq!(state(&reply), "killed: timeout after 1000 ms");
        assert!(reply.text.contains("State: killed: timeout after 1000 ms\n"), "{}", reply.text);
        // The shell may say on its other stream, at any point, that its child was ended as well.
        let said: Vec<&str> = output(&reply).lines().filter(|line| *line != "Terminated").collect();
        assert_eq!(said, ["begun", "asked"], "{}", reply.text);
        assert_eq!(reply.structured["exit_code"], 7);
        assert_eq!(reply.structured["receipt"]["cause"], "timeout after 1000 ms");
        let stubborn = "trap '' TERM; echo begun; (trap '' TERM; sleep 60) & while :; do sleep 0.02; done";
        let reply = bench.run(json!({ "cmd": stubborn, "timeout_ms": 1000 })).await;
        assert_eq!((state(&reply), output(&reply)), ("killed: timeout after 1000 ms", "begun\n"));
        assert_eq!(
            (&reply.structured["exit_code"], &reply.structured["signal"]),
            (&json!(137), &json!("SIGKILL"))
        );
        let processes = bench.engine.sessions().into_iter().map(|session| session.processes().len());
        assert_eq!(processes.sum::<usize>(), 0);
    });
}

#[test]
fn a_timeout_without_an_answer_that_waits_is_told_by_the_next_poll() {
    bench(async |bench| {
        let reply = bench.run(json!({ "cmd": "sleep 60", "timeout_ms": 300, "yield_time_ms": 250 })).await;
        let reply = bench.finish(session(&reply)).await;
        assert_eq!(state(&reply), "killed: timeout after 300 ms");
        assert_eq!(reply.structured["exit_code"], 143);
    });
}

#[test]
fn the_views_are_text_raw_and_screen() {
    bench(async |bench| {
        let cmd = r"printf '10%%\r20%%\r\033[32mdone\033[0m\033[K\n'";
        for (view, tty, expected) in [
            ("text", false, "done\n"),
            ("raw", false, "10%\r20%\r\u{1b}[32mdone\u{1b}[0m\u{1b}[K\n"),
            ("text", true, "done\n"),
            ("raw", true, "10%\r20%\r\u{1b}[32mdone\u{1b}[0m\u{1b}[K\r\n"),
        ] {
            let reply = bench.run(json!({ "cmd": cmd, "view": view, "tty": tty })).await;
            assert_eq!(output(&reply), expected, "{view} {tty}");
        }
        let cmd = r"printf 'gone\033[2J\033[3;5Hhere'";
        let reply = bench.run(json!({ "cmd": cmd, "view": "screen", "tty": true })).await;
        let rows: Vec<&str> = output(&reply).lines().collect();
        assert_eq!(&rows[..3], ["", "", "    here"]);
        assert_eq!(output(&bench.exec("echo plain").await), "plain\n");
    });
}

#[test]
fn a_screen_needs_a_terminal() {
    bench(async |bench| {
        let complaint = bench.refused("exec_command", json!({ "cmd": "true", "view": "screen" })).await;
        assert!(complaint.starts_with("view: "), "{complaint}");
        assert!(bench.engine.sessions().is_empty());
    });
}

#[test]
fn raw_bytes_that_are_not_utf8_become_replacement_characters() {
    bench(async |bench| {
        let reply = bench.run(json!({ "cmd": r"printf 'a\377b\303(c'", "view": "raw" })).await;
        assert_eq!(output(&reply), "a\u{fffd}b\u{fffd}(c");
    });
}

#[test]
fn exit_by_signal_is_128_plus_n_on_pipes_and_ptys_alike() {
    bench(async |bench| {
        for tty in [false, true] {
            for (signal, code) in [("TERM", 143), ("KILL", 137), ("INT", 130), ("SEGV", 139)] {
                let reply = bench.run(json!({ "cmd": format!("kill -{signal} $$"), "tty": tty })).await;
                let structured = &reply.structured;
                assert_eq!(
                    (&structured["exit_code"], &structured["signal"]),
                    (&json!(code), &json!(format!("SIG{signal}")))
                );
                assert!(reply.text.contains(&format!("Process exited with code {code}\n")), "{}", reply.text);
            }
        }
    });
}

#[test]
fn a_non_zero_exit_is_data_not_a_tool_error() {
    bench(async |bench| {
        let reply = bench.exec("echo wrong >&2; exit 42").await;
        assert_eq!((reply.is_error, &reply.structured["exit_code"]), (false, &json!(42)));
        assert_eq!(output(&reply), "wrong\n");
    });
}

#[test]
fn wall_time_is_the_real_time_of_the_call() {
    bench(async |bench| {
        let before = std::time::Instant::now();
        let reply = bench.run(json!({ "cmd": "sleep 60", "yield_time_ms": 300 })).await;
        let real = before.elapsed().as_secs_f64();
        let said = reply.structured["wall_time_seconds"].as_f64().unwrap();
        assert!(said >= 0.3 && said <= real, "{said} {real}");
        let reply = bench.exec("true").await;
        assert!(reply.structured["wall_time_seconds"].as_f64().unwrap() > 0.0);
    });
}

#[test]
fn what_a_command_leaves_running_is_named_with_its_session() {
    bench(async |bench| {
        let reply = bench.exec(&format!("{SLEEPER}; echo $!")).await;
        let pid = output(&reply).trim().to_owned();
        let line = format!("Left running: 1 processes: {pid} sleep 61 (session {})\n", session(&reply));
        assert!(reply.text.contains(&line), "{}", reply.text);
        let left = &reply.structured["left_running"];
        assert_eq!(left, &json!([{ "pid": pid.parse::<u64>().unwrap(), "command": "sleep 61" }]));
        assert!(is_alive(pid.parse().unwrap()));
    });
}

#[test]
fn output_of_left_running_children_still_goes_into_their_session() {
    bench(async |bench| {
        let gate = bench.gate("gate");
        let reply = bench.exec("(read x < gate; echo late) & echo early").await;
        assert_eq!(output(&reply), "early\n");
        gate.open().await;
        let id = session(&reply);
        let arguments = json!({ "session_id": id, "until": { "pattern": "late" } });
        let reply = bench.ask("write_stdin", arguments).await;
        assert_eq!(output(&reply), "late\n");
        assert_eq!(output(&bench.read(id, json!({})).await), "early\nlate\n");
    });
}

#[test]
fn fifty_calls_at_once_each_get_their_own_answer() {
    bench(async |bench: &Workbench| {
        let calls: Vec<_> = (0..50)
            .map(|number| {
                let toolbox = windlass_tools::Toolbox::clone(bench);
                let arguments =
                    json!({ "cmd": format!("echo {number}; exit {number}"), "until": { "exit": true } });
                let call = windlass_tools::Call::new("exec_command", crate::workbench::object(arguments));
                tokio::spawn(async move { toolbox.call(call).await.unwrap() })
            })
            .collect();
        for (number, call) in calls.into_iter().enumerate() {
            let reply = call.await.unwrap();
            assert_eq!(output(&reply), format!("{number}\n"));
            assert_eq!(reply.structured["exit_code"], number);
        }
    });
}
