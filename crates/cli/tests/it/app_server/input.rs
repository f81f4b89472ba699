//! Programs that do not read their input: they block no other program or request.

use serde_json::json;
use windlass_testkit::wire::RequestId;

use super::client::App;

/// More than any terminal buffers.
const UNREAD: usize = 160 * 1024;

/// Lines of a length that a terminal accepts.
fn lines() -> Vec<u8> {
    b"nobody reads this line\n".iter().copied().cycle().take(UNREAD).collect()
}

#[test]
fn terminals_that_end_with_unread_input_leave_the_server_working() {
    let mut app = App::start("unread");
    let fifo = app.home.path().join("fifo");
    let waits = format!("mkfifo '{0}'; echo up; read x < '{0}'; exit 3", fifo.display());
    let mut asked = Vec::new();
    for (process, command, more) in [
        ("terminated", "echo up; exec sleep 1000", json!({ "disableTimeout": true })),
        ("timed", "echo up; exec sleep 1000", json!({ "timeoutMs": 1500 })),
        ("exited", waits.as_str(), json!({ "disableTimeout": true })),
    ] {
        let mut params = more;
        params["command"] = json!(["/bin/sh", "-c", command]);
        params["processId"] = json!(process);
        params["tty"] = json!(true);
        asked.push(app.exec(&params));
        app.printed(process, "up");
    }
    let mut writes = Vec::new();
    for process in ["terminated", "timed", "exited"] {
        writes.extend(lines().chunks(16 * 1024).map(|part| app.write(process, part)));
    }
    app.terminate("terminated").expect("it can be ended");
    std::fs::write(&fifo, "go\n").expect("somebody reads");
    let codes: Vec<_> = [("terminated", 0), ("timed", 1), ("exited", 2)]
        .map(|(process, at)| app.finished(asked[at], process).result)
        .to_vec();
    assert_eq!(codes[1]["exitCode"], 124, "{codes:?}");
    assert_eq!(codes[1]["timedOut"], true, "{codes:?}");
    assert_eq!(codes[2]["exitCode"], 3, "{codes:?}");
    for write in writes {
        answered_one_way_or_another(&mut app, write);
    }
    for _ in 0..6 {
        app.works();
    }
    app.end();
}

/// The write succeeded or came too late: both are valid answers.
fn answered_one_way_or_another(app: &mut App, write: RequestId) {
    if let Err(refusal) = app.answer(write) {
        assert_eq!(refusal.code, -32600, "{refusal}");
    }
}

#[test]
fn a_program_that_reads_nothing_is_ended_in_time_however_much_is_written_to_it() {
    let mut app = App::start("non-reader");
    let params = json!({
        "command": ["/bin/sleep", "1000"], "processId": "s", "streamStdin": true, "timeoutMs": 3000,
    });
    let asked = app.exec(&params);
    let part = vec![b'x'; 64 * 1024];
    let writes: Vec<_> = (0..200).map(|_| app.write("s", &part)).collect();
    let result = app.answer(asked).expect("the command comes to an end");
    assert_eq!((&result["exitCode"], &result["timedOut"]), (&json!(124), &json!(true)), "{result}");
    for write in writes {
        answered_one_way_or_another(&mut app, write);
    }
    app.works();
    app.end();
}

#[test]
fn terminate_overtakes_what_a_program_does_not_read() {
    let mut app = App::start("overtakes");
    let params = json!({
        "command": ["/bin/sleep", "1000"], "processId": "s", "streamStdin": true, "disableTimeout": true,
    });
    let asked = app.exec(&params);
    let part = vec![b'x'; 64 * 1024];
    let writes: Vec<_> = (0..200).map(|_| app.write("s", &part)).collect();
    // In the same burst, after all of them.
    app.terminate("s").expect("it is answered");
    let result = app.answer(asked).expect("the command comes to an end");
    assert_eq!((&result["exitCode"], &result["signal"]), (&json!(143), &json!(15)), "{result}");
    for write in writes {
        answered_one_way_or_another(&mut app, write);
    }
    app.works();
    app.end();
}

#[test]
fn a_program_that_reads_nothing_holds_up_nobody_else() {
    let mut app = App::start("others");
    let silent = json!({
        "command": ["/bin/sleep", "1000"], "processId": "s", "streamStdin": true, "disableTimeout": true,
    });
    let cat = json!({
        "command": ["/bin/cat"], "processId": "c", "streamStdin": true, "streamStdoutStderr": true, "disableTimeout": true,
    });
    let (silent, cat) = (app.exec(&silent), app.exec(&cat));
    let part = vec![b'x'; 64 * 1024];
    let writes: Vec<_> = (0..200).map(|_| app.write("s", &part)).collect();
    app.write("c", b"typed\n");
    assert_eq!(app.printed("c", "\n"), "typed\n");
    app.works();
    let close = json!({ "processId": "c", "closeStdin": true });
    app.request("command/exec/write", &close).expect("it can be closed");
    assert_eq!(app.finished(cat, "c").code(), 0);
    app.terminate("s").expect("it can be ended");
    app.answer(silent).expect("the command comes to an end");
    for write in writes {
        answered_one_way_or_another(&mut app, write);
    }
    app.end();
}

#[test]
fn much_input_arrives_whole_and_in_order() {
    let mut app = App::start("whole");
    let params = json!({
        "command": ["/usr/bin/cksum"], "processId": "c", "streamStdin": true, "disableTimeout": true,
    });
    let asked = app.exec(&params);
    let mut expected = Vec::new();
    let mut noise = windlass_testkit::bytes::Noise::new(7);
    for _ in 0..128 {
        let mut part = vec![0; 64 * 1024];
        noise.fill(&mut part);
        app.write("c", &part);
        expected.extend(part);
    }
    let close = json!({ "processId": "c", "closeStdin": true });
    app.request("command/exec/write", &close).expect("it can be closed");
    let result = app.answer(asked).expect("the command comes to an end");
    let file = app.home.path().join("expected");
    std::fs::write(&file, expected).expect("a file can be written");
    let expected = app.run(&["/bin/sh", "-c", &format!("cksum < '{}'", file.display())]);
    assert_eq!(result["stdout"], expected["stdout"], "{result}");
    app.end();
}

#[test]
fn closing_the_input_of_a_raw_terminal_types_nothing_into_it() {
    let mut app = App::start("raw");
    let script = r#"stty raw -echo; echo up; while :; do
        if read -r -n 1 -t 0.2 c; then printf '<%q>' "$c"; else echo none; fi; done"#;
    let params = json!({
        "command": ["/bin/bash", "-c", script], "processId": "r", "tty": true, "disableTimeout": true,
    });
    let asked = app.exec(&params);
    app.printed("r", "up");
    app.write("r", b"a");
    app.printed("r", "<a>");
    let close = json!({ "processId": "r", "closeStdin": true });
    let refusal = app.request("command/exec/write", &close).expect_err("it has no end");
    assert!(refusal.code == -32600 && refusal.message.contains("not in line mode"), "{refusal}");
    // After each of these lines the program has tried again to read input.
    let seen: String = (0..3).map(|_| app.printed("r", "none")).collect();
    assert!(!seen.contains('<'), "{seen:?}");
    app.write("r", b"b");
    app.printed("r", "<b>");
    app.terminate("r").expect("it can be ended");
    app.finished(asked, "r");
    app.end();
}
