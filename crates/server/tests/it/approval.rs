//! Commands for which the rules require an approval: clients that can ask their user do so, others get a refusal.

use std::time::Duration;

use serde_json::{Value, json};

use crate::bench::{Bench, exec};
use crate::rig::{Client, modern};

const RULES: &str = r#"
[[rule]]
command = ["touch"]
verdict = "ask"
why = "files are precious"
[[rule]]
command = ["mkdir"]
verdict = "forbid"
"#;

fn bench(name: &str) -> Bench {
    Bench::with_rules(name, Some(RULES))
}

/// Creates a file and prints a word.
fn making(bench: &Bench) -> Value {
    json!({ "cmd": format!("touch '{}' && echo made", bench.sign("file").display()) })
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn a_person_says_yes_or_no() {
    let bench = bench("approve");
    for (said, runs) in [
        (json!({ "action": "accept", "content": { "approve": false } }), false),
        (json!({ "action": "accept" }), false),
        (json!({ "action": "accept", "content": { "approve": "true" } }), false),
        (json!({ "action": "decline" }), false),
        (json!({ "action": "cancel" }), false),
        (json!({ "action": "accept", "content": { "approve": true } }), true),
    ] {
        let mut client = bench.client(json!({ "elicitation": {} })).await;
        client.say(&exec("1", making(&bench))).await;
        let question = next_request(&mut client).await;
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let message = question["params"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("touch '") && message.contains("files are precious"), "{message}");
        let field = &question["params"]["requestedSchema"]["properties"]["approve"];
        assert_eq!((&field["type"], &field["default"]), (&json!("boolean"), &json!(false)), "{question}");
        client.say(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": said })).await;
        let answer = client.answer("1").await;
        assert_eq!(answer["result"]["isError"], !runs, "{answer}");
        assert_eq!(bench.sign("file").exists(), runs, "{said}: {answer}");
        assert!(text(&answer).contains(if runs { "made" } else { "needs a person's approval" }), "{answer}");
        client.stop().await;
    }
    bench.end().await;
}

#[tokio::test]
async fn a_client_that_cannot_ask_gets_a_refusal() {
    let bench = bench("unasked");
    let mut client = bench.client(json!({})).await;
    client.say(&exec("1", making(&bench))).await;
    let answer = client.answer("1").await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    for words in [
        "nobody can be asked through this client",
        "rules.toml:2: files are precious",
        "can allow it in rules.toml",
    ] {
        assert!(text(&answer).contains(words), "{answer}");
    }
    assert!(!bench.sign("file").exists());
    client.stop().await;
    bench.end().await;
}

#[tokio::test]
async fn what_is_forbidden_is_not_asked_about() {
    let bench = bench("forbidden");
    let mut client = bench.client(json!({ "elicitation": {} })).await;
    client.say(&exec("1", json!({ "cmd": "sh -c 'mkdir x'" }))).await;
    let answer = loop {
        let said = client.hear().await;
        assert_ne!(said["method"], "elicitation/create", "{said}");
        if said["id"] == "1" {
            break said;
        }
    };
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(text(&answer).starts_with("forbidden by the rules"), "{answer}");
    client.stop().await;
    bench.end().await;
}

#[tokio::test]
async fn a_client_of_the_newer_protocol_is_asked_by_the_answer() {
    let bench = bench("approve-rounds");
    let mut client = Client::of(bench.server());
    let meta = modern(json!({ "elicitation": {} }));
    let call = json!({ "name": "exec_command", "arguments": making(&bench), "_meta": meta });
    let first = client.request("1", "tools/call", call.clone()).await["result"].clone();
    assert_eq!(first["resultType"], "input_required", "{first}");
    assert!(!bench.sign("file").exists());
    let mut again = call;
    again["requestState"] = first["requestState"].clone();
    again["inputResponses"] = json!({ "answer": { "action": "accept", "content": { "approve": true } } });
    let answer = client.request("2", "tools/call", again).await;
    assert!(text(&answer).contains("made"), "{answer}");
    client.stop().await;
    bench.end().await;
}

#[tokio::test]
async fn a_client_that_knows_tasks_is_asked_before_there_is_one() {
    let bench = bench("approve-task");
    let mut client = Client::of(bench.server().with_tasks_after(Duration::ZERO));
    let meta = modern(json!({ "elicitation": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } }));
    let mut call = json!({ "name": "exec_command", "arguments": making(&bench), "_meta": meta });
    let asked = client.request("1", "tools/call", call.clone()).await["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    call["requestState"] = asked["requestState"].clone();
    call["inputResponses"] = json!({ "answer": { "action": "accept", "content": { "approve": true } } });
    let created = client.request("2", "tools/call", call).await["result"].clone();
    assert!(created["taskId"].is_string(), "{created}");
    let task = json!({ "taskId": created["taskId"], "_meta": meta });
    let finished = until_not_working(&mut client, &task).await;
    assert!(finished.to_string().contains("made"), "{finished}");
    client.stop().await;
    bench.end().await;
}

/// The server's next request.
async fn next_request(client: &mut Client) -> Value {
    loop {
        let said = client.hear().await;
        if said.get("id").is_some() && said.get("method").is_some() {
            return said;
        }
    }
}

async fn until_not_working(client: &mut Client, task: &Value) -> Value {
    loop {
        let state = client.request("poll", "tasks/get", task.clone()).await["result"].clone();
        if state["status"] != "working" {
            return state;
        }
    }
}

/// The text of the approval question for these arguments; the user declines.
async fn shown(bench: &Bench, arguments: Value) -> String {
    let mut client = bench.client(json!({ "elicitation": {} })).await;
    client.say(&exec("1", arguments)).await;
    let question = next_request(&mut client).await;
    let message = question["params"]["message"].as_str().unwrap_or_default().to_owned();
    let said = json!({ "action": "decline" });
    client.say(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": said })).await;
    assert_eq!(client.answer("1").await["result"]["isError"], true);
    client.stop().await;
    message
}

#[tokio::test]
async fn a_person_sees_everything_that_decides_what_runs() {
    let bench = bench("circumstances");
    let real = bench.sign("real");
    std::fs::create_dir(&real).expect("a directory can be made");
    std::os::unix::fs::symlink(&real, bench.sign("link")).expect("a link can be made");
    let message = shown(
        &bench,
        json!({
            "cmd": "touch x", "workdir": bench.sign("link"), "stdin": "input\nof two lines", "shell": "/bin/bash",
            "env": { "PATH": "/tmp/evil", "LD_PRELOAD": null, "COLOUR": "red green" },
        }),
    )
    .await;
    let directory = format!("    {} (given as {})\n", real.display(), bench.sign("link").display());
    for part in [
        "command:\n\n    touch x\n",
        "runs others (look twice):\n\n    PATH=/tmp/evil\n",
        "environment:\n\n    COLOUR='red green'\n    LD_PRELOAD is removed\n",
        "directory (look twice):\n",
        &directory,
        "stdin:\n\n    input\n    of two lines\n",
        "shell (look twice):\n",
    ] {
        assert!(message.contains(part), "{part:?} in\n{message}");
    }
    bench.end().await;
}

#[tokio::test]
async fn a_command_cannot_hide_any_of_itself_from_the_person() {
    let bench = bench("unhidden");
    let message = shown(&bench, json!({ "cmd": "touch a\n  rm -rf b # \u{1b}[2J\u{202e}txt\u{200b}" })).await;
    assert!(
        message.contains("\n    touch a\n      rm -rf b # <U+001B>[2J<U+202E>txt<U+200B>\n"),
        "{message}"
    );
    let harmless =
        |char: char| char == '\n' || !char.is_control() && !('\u{200b}'..='\u{2069}').contains(&char);
    assert!(message.chars().all(harmless), "{message:?}");
    let long = format!("touch a; # {}; rm -rf b", "x".repeat(5000));
    let message = shown(&bench, json!({ "cmd": long })).await;
    assert!(message.contains(&long), "{message}");
    let message =
        shown(&bench, json!({ "cmd": format!("touch a; # {}; rm -rf b", "x".repeat(50_000)) })).await;
    assert!(message.contains(" characters are not shown …>") && message.contains("; rm -rf b"), "{message}");
    assert!(message.contains("Not all of it is shown"), "{message}");
    bench.end().await;
}
