//! More simultaneous requests than a server can work on: each gets exactly one answer.

use std::collections::BTreeMap;

use serde_json::json;
use windlass_testkit::base64;
use windlass_testkit::wire::{Message, RequestId};

use super::client::{App, Clients};

/// The answers to each request, read until all requests and a later one are answered.
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
    // The answers exceed the pipe's capacity, so the first of them wait while the last requests are read or not.
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

/// The methods of one family, and the member that names a process.
struct Family {
    write: &'static str,
    resize: &'static str,
    end: &'static str,
    name: &'static str,
}

const FAMILIES: [Family; 2] = [
    Family {
        write: "command/exec/write",
        resize: "command/exec/resize",
        end: "command/exec/terminate",
        name: "processId",
    },
    Family {
        write: "process/writeStdin",
        resize: "process/resizePty",
        end: "process/kill",
        name: "processHandle",
    },
];

const BURST: usize = 200;

/// Sends sizes and lines in alternation, then an end. With each line the program prints the height of its terminal.
fn carried_out_in_order(app: &mut App, family: &Family, process: &str) {
    let script = "stty -echo; echo up; while read n; do echo \"line $n $(stty size)\"; done";
    let mut params = json!({ "command": ["/bin/sh", "-c", script], "tty": true });
    params[family.name] = json!(process);
    if family.name == "processId" {
        params["disableTimeout"] = json!(true);
        app.exec(&params);
    } else {
        (params["cwd"], params["timeoutMs"]) = (json!("/"), json!(null));
        app.request("process/spawn", &params).expect("it starts");
    }
    said_by(app, family, process, "up");
    let mut asked = Vec::new();
    for number in 0..BURST {
        let size = json!({ family.name: process, "size": { "rows": number + 1, "cols": 80 } });
        asked.push(app.wire.ask(family.resize, &size).expect("it listens"));
        let line = base64::encode(format!("{number}\n").as_bytes());
        let write = json!({ family.name: process, "deltaBase64": line });
        asked.push(app.wire.ask(family.write, &write).expect("it listens"));
    }
    let printed = said_by(app, family, process, &format!("line {} {BURST} 80", BURST - 1));
    let lines: Vec<Vec<usize>> = printed
        .lines()
        .filter_map(|line| line.strip_prefix("line "))
        .map(|line| line.split_whitespace().filter_map(|word| word.parse().ok()).collect())
        .collect();
    assert_eq!(lines.len(), BURST, "{printed}");
    for (number, line) in lines.iter().enumerate() {
        // A later size may have arrived before the program looks, but no earlier one.
        assert!(line[0] == number && line[1] > number, "{line:?} in line {number}");
    }
    let answers = app.wire.kept().filter_map(Message::answers);
    let answers: Vec<RequestId> = answers.filter(|id| asked.contains(id)).collect();
    assert_eq!(answers, asked[..answers.len()], "answers are in the order of the requests");
    for id in asked {
        assert_eq!(app.answer(id).expect("it is carried out"), json!({}));
    }
    app.request(family.end, &json!({ family.name: process })).expect("it can be ended");
}

/// The output of a process, up to this text.
fn said_by(app: &mut App, family: &Family, process: &str, text: &str) -> String {
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains(text) {
        let message = app.wire.wait_for(|message| delta(message, family, process).is_some());
        let message = message.unwrap_or_else(|error| panic!("{error} after {seen:?}"));
        let encoded = delta(&message, family, process).expect("a piece").to_owned();
        seen.extend(base64::decode(encoded.as_bytes()).expect("it is base64"));
    }
    String::from_utf8_lossy(&seen).into_owned()
}

fn delta<'a>(message: &'a Message, family: &Family, process: &str) -> Option<&'a str> {
    let notices = ["command/exec/outputDelta", "process/outputDelta"];
    let params = notices.into_iter().find_map(|notice| message.notice(notice))?;
    (params[family.name] == process).then(|| params["deltaBase64"].as_str())?
}

#[test]
fn a_burst_of_sizes_and_writes_is_carried_out_and_answered_in_its_order_on_pipes() {
    let mut app = App::start("order");
    for family in &FAMILIES {
        carried_out_in_order(&mut app, family, "p");
    }
    app.end();
}

#[test]
fn a_burst_of_sizes_and_writes_is_carried_out_and_answered_in_its_order_on_websockets() {
    for clients in Clients::on_each_kind("order") {
        let mut app = clients.connect();
        for family in &FAMILIES {
            carried_out_in_order(&mut app, family, "p");
        }
        drop(app);
        clients.end();
    }
}
