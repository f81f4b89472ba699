//! Output reaches the client whole, in order, and before the answer, however slowly the client reads.

use std::process::Command;

use serde_json::{Value, json};
use windlass_testkit::bytes::Noise;

use super::client::App;

/// Reads nothing for three seconds. The pause is a process instead of a timer.
fn stop_reading() {
    let status = Command::new("sleep").arg("3").status().expect("sleep starts");
    assert!(status.success());
}

fn streamed(command: &[&str], process: &str) -> Value {
    json!({
        "command": command, "processId": process, "streamStdoutStderr": true, "disableOutputCap": true,
        "disableTimeout": true,
    })
}

#[test]
fn a_client_that_does_not_read_for_seconds_loses_nothing() {
    let mut app = App::start("slow");
    let mut bytes = vec![0; 1_000_000];
    Noise::new(1).fill(&mut bytes);
    let file = app.home.path().join("noise");
    std::fs::write(&file, &bytes).expect("a file can be written");
    let path = file.to_str().expect("a path is text");
    let asked = app.exec(&streamed(&["/bin/cat", path], "cat"));
    let both = format!("cat '{path}' >&2; cat '{path}'");
    let asked_both = app.exec(&streamed(&["/bin/sh", "-c", &both], "both"));
    stop_reading();
    let finished = app.finished(asked, "cat");
    assert_eq!(finished.code(), 0);
    assert!(finished.streamed[0] == bytes, "{} of {} bytes", finished.streamed[0].len(), bytes.len());
    let finished = app.finished(asked_both, "both");
    assert!(finished.streamed.iter().all(|stream| *stream == bytes), "{:?}", finished.result);
    assert_ne!(finished.result["drainTimedOut"], true);
    app.end();
}

#[test]
fn a_client_that_does_not_read_loses_nothing_of_a_terminal_either() {
    let mut app = App::start("slow-terminal");
    let mut params = streamed(&["/usr/bin/seq", "150000"], "seq");
    params["tty"] = json!(true);
    let asked = app.exec(&params);
    stop_reading();
    let finished = app.finished(asked, "seq");
    let expected: String = (1..=150_000).map(|number| format!("{number}\r\n")).collect();
    assert!(finished.text() == expected, "{} of {} bytes", finished.streamed[0].len(), expected.len());
    app.end();
}

#[test]
fn the_answer_comes_after_the_last_piece_and_no_piece_after_it() {
    let mut app = App::start("last");
    let script = "seq 2000; seq 2000 >&2; echo end";
    let expected: String = (1..=2000).map(|number| format!("{number}\n")).collect();
    let asked: Vec<_> =
        (0..40).map(|number| app.exec(&streamed(&["/bin/sh", "-c", script], &number.to_string()))).collect();
    for (number, asked) in asked.into_iter().enumerate() {
        let finished = app.finished(asked, &number.to_string());
        assert_eq!(finished.text(), format!("{expected}end\n"));
        assert_eq!(finished.streamed[1], expected.as_bytes());
        let counted: Vec<u64> = (1..=finished.numbers.len() as u64).collect();
        assert_eq!(finished.numbers, counted, "pieces are numbered from one, whatever their stream");
    }
    app.works();
    let late: Vec<_> = app.wire.kept().filter(|m| m.notice("command/exec/outputDelta").is_some()).collect();
    assert!(late.is_empty(), "{late:?}");
    app.end();
}

#[test]
fn an_exact_fit_is_not_called_truncated_and_one_byte_more_is() {
    let mut app = App::start("fit");
    for (printed, truncated) in [("12345678", false), ("123456789", true)] {
        let buffered = app.run_with(&["/usr/bin/printf", printed], json!({ "outputBytesCap": 8 }));
        assert_eq!(buffered["stdout"], "12345678", "{buffered}");
        assert_eq!(buffered["stdoutTruncated"], truncated, "{buffered}");
        assert_eq!(buffered["stderrTruncated"], false, "{buffered}");
        let params = json!({
            "command": ["/usr/bin/printf", printed], "processId": "p", "streamStdoutStderr": true, "outputBytesCap": 8,
        });
        let asked = app.exec(&params);
        let finished = app.finished(asked, "p");
        assert_eq!(finished.text(), "12345678");
        assert_eq!(finished.result["stdoutTruncated"], truncated, "{:?}", finished.result);
    }
    app.end();
}

#[test]
fn a_full_cap_neither_blocks_nor_ends_the_program_and_the_other_stream_goes_on() {
    let mut app = App::start("cap");
    let script = "head -c 5000000 /dev/zero; echo said >&2; exit 4";
    let params = json!({
        "command": ["/bin/sh", "-c", script], "processId": "p", "streamStdoutStderr": true, "outputBytesCap": 1000,
    });
    let asked = app.exec(&params);
    let finished = app.finished(asked, "p");
    assert_eq!(finished.streamed[0].len(), 1000);
    assert_eq!(finished.streamed[1], b"said\n");
    assert_eq!(finished.code(), 4);
    app.end();
}

#[test]
fn a_drain_that_was_cut_off_says_so() {
    let mut app = App::start("drain");
    // The child moves to a session of its own and keeps the pipe open.
    let script = "echo said; setsid sleep 1000 & exit 5";
    let result = app.run_with(&["/bin/sh", "-c", script], json!({ "disableTimeout": true }));
    assert_eq!((&result["exitCode"], &result["stdout"]), (&json!(5), &json!("said\n")), "{result}");
    assert_eq!(result["drainTimedOut"], true, "{result}");
    let result = app.run(&["/bin/echo", "said"]);
    assert_eq!(result["drainTimedOut"], false, "{result}");
    app.end();
}

#[test]
fn output_of_a_background_child_that_comes_soon_is_in_the_answer() {
    let mut app = App::start("late");
    let script = "(sleep 0.3; echo late) & echo early";
    let result = app.run(&["/bin/sh", "-c", script]);
    assert_eq!(result["stdout"], "early\nlate\n", "{result}");
    app.end();
}
