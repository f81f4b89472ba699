//! The tools, as a client of the protocol calls them.

use std::time::Duration;

use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt};
use serde_json::{Value, json};
use windlass_server::mcp::serve_pipes;
use windlass_tools::SessionEvent;

use crate::bench::{Bench, exec};
use crate::rig::{Client, modern, request};

#[tokio::test]
async fn tools_are_listed_with_schemas_and_hints_always_in_the_same_order() {
    let bench = Bench::new("listed");
    let mut client = bench.client(json!({})).await;
    let tools = client.request("1", "tools/list", json!({})).await["result"]["tools"].clone();
    let names: Vec<_> = tools.as_array().expect("a list").iter().map(|tool| &tool["name"]).collect();
    let expected: Vec<_> = bench.toolbox.tools().iter().map(|tool| tool.name).collect();
    assert_eq!(names, expected);
    for tool in tools.as_array().expect("a list") {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert_eq!(tool["outputSchema"]["type"], "object", "{tool}");
        assert!(tool["annotations"]["readOnlyHint"].is_boolean(), "{tool}");
        assert!(tool["annotations"]["destructiveHint"].is_boolean(), "{tool}");
        assert!(tool["description"].as_str().is_some_and(|text| !text.is_empty()), "{tool}");
    }
    assert_eq!(client.request("2", "tools/list", json!({})).await["result"]["tools"], tools);
    client.stop().await;
    bench.end().await;
}

#[tokio::test]
async fn a_call_answers_for_models_and_for_programs() {
    let bench = Bench::new("answers");
    let mut client = bench.client(json!({})).await;
    client.say(&exec("1", json!({ "cmd": "echo hello; exit 3" }))).await;
    let result = client.answer("1").await["result"].clone();
    assert_eq!(result["isError"], false, "a command that fails is a result: {result}");
    assert_eq!(result["structuredContent"]["exit_code"], 3, "{result}");
    assert!(result["content"][0]["text"].as_str().is_some_and(|text| text.contains("hello")), "{result}");
    client.say(&exec("2", json!({ "cmd": "true", "workdir": "/no/such/place" }))).await;
    let result = client.answer("2").await["result"].clone();
    assert_eq!(result["isError"], true, "{result}");
    client.stop().await;
    bench.end().await;
}

#[tokio::test]
async fn a_request_that_makes_no_sense_is_an_error_of_the_protocol() {
    let bench = Bench::new("nonsense");
    let mut client = bench.client(json!({})).await;
    let mut check = async |method: &str, params: Value, code: i64| {
        let answer = client.request("1", method, params).await;
        assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
    };
    check("tools/call", json!({ "name": "no_such_tool" }), -32602).await;
    check("tools/call", json!({}), -32602).await;
    check("tools/call", json!({ "name": "exec_command", "arguments": [] }), -32602).await;
    check("resources/read", json!({}), -32602).await;
    check("resources/read", json!({ "uri": "windlass://session/7/screen" }), -32002).await;
    check("no/such/method", json!({}), -32601).await;
    client.stop().await;
    bench.end().await;
}

#[tokio::test]
async fn whoever_gives_a_token_is_told_how_a_call_gets_on() {
    let bench = Bench::new("progress");
    let mut client = bench.client(json!({})).await;
    let script = format!("echo halfway; {}", bench.until_sign("enough"));
    let arguments = json!({ "cmd": script, "until": { "exit": true } });
    let meta = json!({ "progressToken": "how far" });
    let params = json!({ "name": "exec_command", "arguments": arguments, "_meta": meta });
    client.say(&request("1", "tools/call", params)).await;
    let mut seen = Vec::new();
    while seen.len() < 2 {
        let said = client.hear().await;
        if said["method"] == "notifications/progress" {
            assert_eq!(said["params"]["progressToken"], "how far", "{said}");
            assert!(
                said["params"]["message"].as_str().is_some_and(|text| text.contains("halfway")),
                "{said}"
            );
            seen.push(said["params"]["progress"].as_f64().expect("a number"));
        }
    }
    assert!(seen[0] > 0.0 && seen[1] > seen[0], "{seen:?}");
    bench.give_sign("enough");
    let answer = client.answer("1").await;
    assert_eq!(answer["result"]["structuredContent"]["exit_code"], 0, "{answer}");
    client.stop().await;
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pipelined_writes_to_a_session_keep_their_order_and_each_reply_has_its_own_output() {
    let bench = Bench::new("pipelined");
    let mut client = bench.client(json!({})).await;
    client.say(&exec("start", json!({ "cmd": "cat", "tty": true, "until": { "input": true } }))).await;
    let session = client.answer("start").await["result"]["structuredContent"]["session"].clone();
    let write = |number: usize| {
        let arguments = json!({ "session_id": session, "chars": format!("{number}\n") });
        request(&number.to_string(), "tools/call", json!({ "name": "write_stdin", "arguments": arguments }))
    };
    let burst: String = (0..100).map(|number| format!("{}\n", write(number))).collect();
    client.say_bytes(burst.as_bytes()).await;
    let mut replies = vec![Value::Null; 100];
    for _ in 0..100 {
        let mut reply = client.hear().await;
        // On a busy machine the notification of the new session arrives between the replies.
        while reply.get("method").is_some() {
            reply = client.hear().await;
        }
        let number: usize = reply["id"].as_str().expect("an id").parse().expect("one of ours");
        replies[number] = reply["result"]["structuredContent"]["output"].clone();
    }
    let expected: Vec<Value> = (0..100).map(|number| json!(format!("{number}\n{number}\n"))).collect();
    assert_eq!(replies, expected);
    client.stop().await;
    bench.end().await;
}

#[tokio::test]
async fn cancelling_a_request_ends_the_wait_and_not_the_session() {
    let bench = Bench::new("cancel");
    let mut client = bench.client(json!({})).await;
    let script = format!("touch '{}'; {}", bench.sign("started").display(), bench.until_sign("go on"));
    client.say(&exec("long", json!({ "cmd": script, "name": "job", "until": { "exit": true } }))).await;
    let announced = client.hear().await;
    assert_eq!(announced["method"], "notifications/resources/list_changed", "{announced}");
    let params = json!({ "requestId": "long", "reason": "never mind" });
    client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })).await;
    bench.give_sign("go on");
    let wait = json!({ "name": "wait_sessions", "arguments": { "session_ids": ["job"], "until": { "exit": true } } });
    client.say(&request("wait", "tools/call", wait)).await;
    // If the first request had been answered, its reply would have come before this one.
    let answer = client.hear().await;
    assert_eq!(answer["id"], "wait", "{answer}");
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("exited with code 0"), "{answer}");
    client.stop().await;
    bench.end().await;
}

#[tokio::test]
async fn a_client_that_knows_tasks_gets_one_for_what_takes_long() {
    let bench = Bench::new("task");
    let mut client = Client::of(bench.server().with_tasks_after(Duration::ZERO));
    let tasks = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let meta = modern(tasks);
    let arguments = json!({ "cmd": bench.until_sign("done"), "until": { "exit": true } });
    let call = json!({ "name": "exec_command", "arguments": arguments, "_meta": meta });
    let created = client.request("1", "tools/call", call.clone()).await["result"].clone();
    assert_eq!(created["resultType"], "task", "{created}");
    let task = json!({ "taskId": created["taskId"], "_meta": meta });
    let working = client.request("2", "tasks/get", task.clone()).await["result"].clone();
    assert_eq!(working["status"], "working", "{working}");

    bench.give_sign("done");
    let finished = poll(&mut client, &task).await;
    assert_eq!(finished["status"], "completed", "{finished}");
    assert_eq!(finished["result"]["structuredContent"]["exit_code"], 0, "{finished}");

    // Without the capability the same call is simply waited for.
    let call = json!({ "name": "exec_command", "arguments": arguments, "_meta": modern(json!({})) });
    let answer = client.request("3", "tools/call", call).await["result"].clone();
    assert_eq!(answer["resultType"], "complete", "{answer}");
    client.stop().await;
    bench.end().await;
}

#[tokio::test]
async fn cancelling_a_task_ends_the_wait_and_not_the_session() {
    let bench = Bench::new("task-cancel");
    let mut client = Client::of(bench.server().with_tasks_after(Duration::ZERO));
    let meta = modern(json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } }));
    let arguments = json!({ "cmd": bench.until_sign("never"), "name": "job", "until": { "exit": true } });
    let call = json!({ "name": "exec_command", "arguments": arguments, "_meta": meta });
    let mut events = bench.toolbox.events();
    let created = client.request("1", "tools/call", call).await["result"].clone();
    let started = events.recv().await.expect("something happens");
    assert!(matches!(started, SessionEvent::Started { .. }), "{started:?}");
    let task = json!({ "taskId": created["taskId"], "_meta": meta });
    let acknowledged = client.request("2", "tasks/cancel", task.clone()).await;
    assert!(acknowledged["result"].is_object(), "{acknowledged}");
    let finished = poll(&mut client, &task).await;
    assert_eq!(finished["status"], "cancelled", "{finished}");
    let states: Vec<_> = bench.toolbox.sessions().into_iter().map(|session| session.state).collect();
    assert_eq!(states, ["running"]);
    client.stop().await;
    bench.end().await;
}

/// Polls a task until it is over, as clients do.
async fn poll(client: &mut Client, task: &Value) -> Value {
    loop {
        let state = client.request("poll", "tasks/get", task.clone()).await["result"].clone();
        if state["status"] != "working" {
            return state;
        }
    }
}

#[tokio::test]
async fn other_peoples_client_works_in_both_eras() {
    let modes = [
        ClientLifecycleMode::Initialize,
        ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
    ];
    for mode in modes {
        let bench = Bench::new("rmcp");
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let pipes = tokio::io::split(theirs);
        let served = tokio::spawn(serve_pipes(bench.server(), pipes, std::future::pending()));
        let client = ().serve_with_lifecycle(ours, mode.clone()).await.expect("they come to terms");
        let tools = client.list_all_tools().await.expect("there are tools");
        assert_eq!(tools.len(), bench.toolbox.tools().len(), "{mode:?}");
        let Value::Object(arguments) = json!({ "cmd": "echo hello" }) else { unreachable!() };
        let call = CallToolRequestParams::new("exec_command").with_arguments(arguments);
        let result = client.call_tool(call).await.expect("it can be called");
        assert_eq!(result.structured_content.expect("it has structure")["exit_code"], 0, "{mode:?}");
        client.cancel().await.expect("the client can go");
        served.await.expect("and the server notices");
        bench.end().await;
    }
}
