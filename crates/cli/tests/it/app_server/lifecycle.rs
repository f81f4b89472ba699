//! From the start of a program to its answer: failed starts are reported, kinds of exits are distinguished, and a
//! process name is free once the exit is reported.

use serde_json::json;

use super::client::App;

#[test]
fn a_missing_directory_is_an_error_on_a_terminal_too_and_the_name_is_free_again() {
    let mut app = App::start("cwd");
    let missing = app.home.path().join("missing");
    let file = app.home.path().join("made");
    for tty in [false, true] {
        let params = json!({
            "command": ["/usr/bin/touch", &file], "processId": "t", "tty": tty, "cwd": missing,
        });
        let refusal = app.request("command/exec", &params).expect_err("it cannot run there");
        assert_eq!(refusal.code, -32603, "{refusal}");
        assert!(
            refusal.message.starts_with("failed to spawn command: No such file or directory"),
            "{refusal}"
        );
    }
    assert!(!file.exists(), "it ran somewhere else");
    let asked = app.exec(&json!({ "command": ["/bin/true"], "processId": "t", "tty": true }));
    assert_eq!(app.finished(asked, "t").code(), 0);
    app.end();
}

#[test]
fn a_command_starts_in_a_clean_state() {
    let mut app = App::start("clean");
    // The shell inspects itself while it starts no child, because it blocks signals for a moment when it does.
    let script = "ulimit -c; ls /proc/$$/fd; cut -d' ' -f5,6 /proc/$$/stat | sed s/$$/own/g; \
                  while read -r line; do case $line in SigBlk*|SigIgn*) echo \"$line\"; esac; done < /proc/$$/status";
    let result = app.run(&["/bin/sh", "-c", script]);
    let expected = "0\n0\n1\n2\nown own\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n";
    assert_eq!(result["stdout"], expected, "{result}");
    app.end();
}

#[test]
fn a_name_is_free_as_soon_as_the_answer_is_there() {
    let mut app = App::start("reuse");
    for round in 0..500 {
        let tty = round % 2 == 0;
        let asked = app.exec(&json!({ "command": ["/bin/true"], "processId": "same", "tty": tty }));
        let result = app.answer(asked).unwrap_or_else(|refusal| panic!("{refusal} in round {round}"));
        assert_eq!(result["exitCode"], 0, "{result}");
    }
    app.end();
}

#[test]
fn death_by_a_signal_is_told_from_failure_on_terminals_too() {
    let mut app = App::start("death");
    for tty in [false, true] {
        for (signal, number) in [("KILL", 9), ("TERM", 15), ("SEGV", 11)] {
            let command = ["/bin/sh", "-c", &format!("kill -{signal} $$")];
            let asked = app.exec(&json!({ "command": command, "processId": "d", "tty": tty }));
            let result = app.answer(asked).expect("the command comes to an end");
            assert_eq!(result["exitCode"], 128 + number, "{result}");
            assert_eq!(result["signal"], number, "{result}");
            assert_eq!(result["timedOut"], false, "{result}");
        }
        let asked =
            app.exec(&json!({ "command": ["/bin/sh", "-c", "exit 137"], "processId": "d", "tty": tty }));
        let result = app.answer(asked).expect("the command comes to an end");
        assert_eq!((&result["exitCode"], &result["signal"]), (&json!(137), &json!(null)), "{result}");
    }
    app.end();
}

#[test]
fn terminate_gives_a_program_time_to_clean_up() {
    let mut app = App::start("clean-up");
    for tty in [false, true] {
        // A terminal that closes sends SIGHUP.
        let script = "trap 'echo cleaned; exit 7' TERM HUP; echo up; while :; do sleep 0.1; done";
        let params = json!({
            "command": ["/bin/sh", "-c", script], "processId": "c", "tty": tty, "streamStdoutStderr": true,
            "disableTimeout": true,
        });
        let asked = app.exec(&params);
        app.printed("c", "up");
        app.terminate("c").expect("it can be ended");
        let finished = app.finished(asked, "c");
        assert!(finished.text().contains("cleaned"), "{finished:?}");
        assert_eq!(finished.code(), 7, "{finished:?}");
    }
    app.end();
}

#[test]
fn start_input_size_and_end_may_come_in_one_burst_and_keep_their_order() {
    let mut app = App::start("order");
    for round in 0..20 {
        let process = round.to_string();
        let params = json!({
            "command": ["/bin/cat"], "processId": process, "tty": true, "disableTimeout": true,
        });
        let asked = app.exec(&params);
        let write = app.write(&process, b"line\n");
        let size = json!({ "processId": process, "size": { "rows": 30, "cols": 100 } });
        let resize = app.wire.ask("command/exec/resize", &size).expect("it listens");
        let end = json!({ "processId": process });
        let terminate = app.wire.ask("command/exec/terminate", &end).expect("it listens");
        for request in [write, resize, terminate] {
            app.answer(request).unwrap_or_else(|refusal| panic!("{refusal} in round {round}"));
        }
        app.finished(asked, &process);
    }
    app.end();
}
