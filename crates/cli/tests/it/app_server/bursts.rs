//! More requests at once than anybody can work on: each is answered, and answered once.

use std::collections::BTreeMap;

use serde_json::json;
use windlass_testkit::base64;
use windlass_testkit::wire::{Message, RequestId};

use super::client::App;

/// How often each was answered, until all were and a later one too.
fn answers(app: &mut App, asked: &[RequestId]) -> BTreeMap<RequestId, Vec<String>> {
    let mut answers: BTreeMap<RequestId, Vec<String>> = BTreeMap::new();
    while answers.len() < asked.len() {
        let message = app.wire.next_message().unwrap_or_else(|error| {
            panic!("{error} after {} of {} answers", answers.len(), asked.len());
        });
        if let Message::Answer { id: Some(id), result } = message {
            let text = match result {
                Ok(result) => result["exitCode"].to_string(),
                Err(refusal) => refusal.to_string(),
            };
            answers.entry(id).or_default().push(text);
        }
    }
    app.works();
    let twice: Vec<_> = app.wire.kept().filter(|message| message.answers().is_some()).collect();
    assert!(twice.is_empty(), "{twice:?}");
    answers
}

#[test]
fn a_thousand_requests_in_one_burst_are_all_run_and_answered_once() {
    let mut app = App::start("burst");
    let asked: Vec<_> =
        (0..1000).map(|_| app.exec(&json!({ "command": ["/bin/true"], "disableTimeout": true }))).collect();
    let answers = answers(&mut app, &asked);
    assert!(answers.values().all(|answers| *answers == ["0"]), "{answers:?}");
    app.end();
}

#[test]
fn two_hundred_programs_and_their_input_may_come_in_one_burst() {
    let mut app = App::start("burst-input");
    let mut asked = Vec::new();
    for number in 0..200 {
        let process = format!("p{number}");
        let params = json!({
            "command": ["/bin/cat"], "processId": process, "streamStdin": true, "streamStdoutStderr": true,
            "disableTimeout": true,
        });
        asked.push((process.clone(), app.exec(&params)));
        let params = json!({
            "processId": process, "deltaBase64": base64::encode(process.as_bytes()), "closeStdin": true,
        });
        app.wire.ask("command/exec/write", &params).expect("it listens");
    }
    for (process, asked) in asked {
        let finished = app.finished(asked, &process);
        assert_eq!((finished.text(), finished.code()), (process, &json!(0)));
    }
    app.works();
    app.end();
}

#[test]
fn a_burst_that_nobody_reads_the_answers_of_is_answered_when_somebody_does() {
    let mut app = App::start("burst-unread");
    let script = "head -c 20000 /dev/zero | tr '\\0' x";
    let params = json!({ "command": ["/bin/sh", "-c", script], "disableTimeout": true });
    let asked: Vec<_> = (0..300).map(|_| app.exec(&params)).collect();
    // The answers are far more than the pipe holds, so the first of them wait while the last requests are taken or not.
    let status = std::process::Command::new("sleep").arg("1").status().expect("sleep starts");
    assert!(status.success());
    let answers = answers(&mut app, &asked);
    assert!(answers.values().all(|answers| *answers == ["0"]), "{answers:?}");
    app.end();
}

#[test]
fn an_end_in_the_middle_of_a_burst_leaves_nothing() {
    let mut app = App::start("burst-end");
    for number in 0..300 {
        let params = json!({
            "command": ["/bin/sleep", "1000"], "processId": number.to_string(), "disableTimeout": true,
        });
        app.exec(&params);
    }
    app.wire.flush().expect("it takes requests whose answers wait");
    app.end();
}
