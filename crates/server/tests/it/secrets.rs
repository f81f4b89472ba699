//! Secrets: the server asks the user through the client, and only the program gets the answer.

use std::time::Duration;

use serde_json::{Value, json};

use crate::bench::{Bench, exec};
use crate::rig::{Client, modern};

const SECRET: &str = "correct horse battery staple";

/// A program that asks for a password like `sudo`, and prints whether it got the right one.
fn asking() -> Value {
    let script = format!(
        "read -rsp 'Password: ' given; echo; [ \"$given\" = '{SECRET}' ] && echo accepted || echo refused"
    );
    json!({ "cmd": script, "tty": true, "until": { "exit": true } })
}

fn output(answer: &Value) -> &str {
    answer["result"]["structuredContent"]["output"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn a_client_of_the_older_protocol_is_asked_by_a_request() {
    let bench = Bench::new("elicit");
    for (said, expected) in [
        (json!({ "action": "accept", "content": { "answer": SECRET } }), "accepted"),
        (json!({ "action": "accept", "content": { "answer": "wrong" } }), "refused"),
    ] {
        let mut client = bench.client(json!({ "elicitation": {} })).await;
        client.say(&exec("1", asking())).await;
        let question = next_request(&mut client).await;
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let message = question["params"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("read -rsp") && message.contains("Password:"), "{message}");
        assert_eq!(
            question["params"]["requestedSchema"]["properties"]["answer"]["type"], "string",
            "{question}"
        );
        client.say(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": said })).await;
        let answer = client.answer("1").await;
        assert!(output(&answer).contains(expected), "{answer}");
        client.stop().await;
    }
    bench.end().await;
}

#[tokio::test]
async fn the_secret_is_in_nothing_that_the_server_says() {
    let bench = Bench::new("unsaid");
    let mut client = bench.client(json!({ "elicitation": { "form": {} } })).await;
    let script = "read -rsp 'Password: ' given; echo; echo \"${#given} characters\"";
    client.say(&exec("1", json!({ "cmd": script, "tty": true, "until": { "exit": true } }))).await;
    let question = next_request(&mut client).await;
    let said = json!({ "action": "accept", "content": { "answer": SECRET } });
    client.say(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": said })).await;
    let answer = client.answer("1").await;
    assert!(output(&answer).contains(&format!("{} characters", SECRET.len())), "{answer}");
    assert!(!answer.to_string().contains(SECRET), "{answer}");
    let id = answer["result"]["structuredContent"]["session"].to_string();
    for view in ["transcript", "events", "screen"] {
        let uri = format!("windlass://session/{id}/{view}");
        let read = client.request(view, "resources/read", json!({ "uri": uri })).await;
        assert!(read["result"]["contents"][0]["text"].is_string(), "{read}");
        assert!(!read.to_string().contains(SECRET), "{read}");
    }
    client.stop().await;
    bench.end().await;
}

#[tokio::test]
async fn a_person_who_declines_leaves_the_program_waiting() {
    let bench = Bench::new("declines");
    let mut client = bench.client(json!({ "elicitation": {} })).await;
    let mut arguments = asking();
    arguments["until"] = json!({ "input": true });
    client.say(&exec("1", arguments)).await;
    let question = next_request(&mut client).await;
    client.say(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "decline" } })).await;
    let answer = client.answer("1").await;
    assert_eq!(answer["result"]["structuredContent"]["state"], "waiting for hidden input", "{answer}");
    client.stop().await;
    bench.end().await;
}

#[tokio::test]
async fn a_client_of_the_newer_protocol_is_asked_by_the_answer() {
    let bench = Bench::new("rounds");
    let mut client = Client::of(bench.server());
    let meta = modern(json!({ "elicitation": {} }));
    let call = json!({ "name": "exec_command", "arguments": asking(), "_meta": meta });
    let first = client.request("1", "tools/call", call.clone()).await["result"].clone();
    assert_eq!(first["resultType"], "input_required", "{first}");
    let question = &first["inputRequests"]["answer"];
    assert_eq!(question["method"], "elicitation/create", "{first}");

    let mut again = call.clone();
    again["requestState"] = json!("made up");
    let refused = client.request("2", "tools/call", again.clone()).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");

    again["requestState"] = first["requestState"].clone();
    again["inputResponses"] = json!({ "something else": {} });
    let repeated = client.request("3", "tools/call", again.clone()).await["result"].clone();
    assert_eq!(repeated["resultType"], "input_required", "{repeated}");
    assert_eq!(repeated["inputRequests"], first["inputRequests"]);

    again["inputResponses"] = json!({ "answer": { "action": "accept", "content": { "answer": SECRET } } });
    let answer = client.request("4", "tools/call", again.clone()).await;
    assert!(output(&answer).contains("accepted"), "{answer}");
    let used_up = client.request("5", "tools/call", again).await;
    assert_eq!(used_up["error"]["code"], -32602, "{used_up}");
    client.stop().await;
    bench.end().await;
}

#[tokio::test]
async fn a_task_asks_through_its_state() {
    let bench = Bench::new("task-asks");
    let mut client = Client::of(bench.server().with_tasks_after(Duration::ZERO));
    let capabilities = json!({ "elicitation": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let meta = modern(capabilities);
    let call = json!({ "name": "exec_command", "arguments": asking(), "_meta": meta });
    let created = client.request("1", "tools/call", call).await["result"].clone();
    let task = json!({ "taskId": created["taskId"], "_meta": meta });
    let waiting = until_not_working(&mut client, &task).await;
    assert_eq!(waiting["status"], "input_required", "{waiting}");
    let mut told = task.clone();
    told["inputResponses"] = json!({ "answer-1": { "action": "accept", "content": { "answer": SECRET } } });
    let acknowledged = client.request("2", "tasks/update", told).await;
    assert!(acknowledged["result"].is_object(), "{acknowledged}");
    let finished = until_not_working(&mut client, &task).await;
    let output = finished["result"]["structuredContent"]["output"].as_str().unwrap_or_default();
    assert!(output.contains("accepted"), "{finished}");
    client.stop().await;
    bench.end().await;
}

#[tokio::test]
async fn a_client_without_a_person_is_not_asked() {
    let bench = Bench::new("nobody");
    let mut client = bench.client(json!({ "elicitation": { "url": {} } })).await;
    let mut arguments = asking();
    arguments["until"] = json!({ "input": true });
    client.say(&exec("1", arguments)).await;
    let answer = loop {
        let said = client.hear().await;
        assert_ne!(said["method"], "elicitation/create", "{said}");
        if said["id"] == "1" {
            break said;
        }
    };
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("hidden input"), "{answer}");
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
