//! The scripted model, met by a client that knows nothing of it.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::*;

/// Sends bytes and returns all that comes back.
fn exchange(model: &Model, bytes: &str) -> String {
    let mut stream = connect(model);
    stream.write_all(bytes.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn connect(model: &Model) -> TcpStream {
    TcpStream::connect(model.server.address()).unwrap()
}

fn post(model: &Model, path: &str, body: &Value) -> String {
    let body = body.to_string();
    let length = body.len();
    exchange(model, &format!("POST {path} HTTP/1.1\r\nHost: it\r\nContent-Length: {length}\r\n\r\n{body}"))
}

/// The JSON of each event of a stream.
fn data(answer: &str) -> Vec<Value> {
    let lines = answer.lines().filter_map(|line| line.strip_prefix("data: "));
    lines.filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn of_kind<'a>(events: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    events.iter().filter(move |event| event["type"] == kind)
}

fn responses(input: &Value) -> Value {
    let exec = json!({ "type": "function", "name": "exec_command" });
    let server = json!({ "type": "namespace", "name": "mcp__windlass", "tools": [exec] });
    json!({ "stream": true, "tools": [exec, server], "input": input })
}

fn chat(messages: &Value) -> Value {
    let tool = |name: &str| json!({ "type": "function", "function": { "name": name } });
    json!({ "stream": true, "tools": [tool("shell"), tool("mcp__windlass__exec_command")], "messages": messages })
}

#[test]
fn a_turn_calls_a_tool_by_the_name_on_offer_and_the_next_one_sees_the_result() {
    let model = Model::playing(vec![
        turn(|request| Reply::call(request.tool_of("windlass", "exec_command"), json!({ "cmd": "cat" }))),
        turn(|request| Reply::Text(format!("it said {}", request.last_result()))),
    ]);
    let first = data(&post(&model, "/v1/responses", &responses(&json!([]))));
    let call = &of_kind(&first, "response.output_item.done").next().unwrap()["item"];
    assert_eq!(call["namespace"], "mcp__windlass");
    assert_eq!(call["name"], "exec_command");
    assert_eq!(call["arguments"], r#"{"cmd":"cat"}"#);

    let result =
        json!([{ "type": "function_call_output", "output": [{ "text": "one" }, { "text": "two" }] }]);
    let second = data(&post(&model, "/v1/responses", &responses(&result)));
    let deltas = of_kind(&second, "response.output_text.delta").map(|event| event["delta"].as_str().unwrap());
    assert_eq!(deltas.collect::<String>(), "it said one\ntwo");
    assert_eq!(second.last().unwrap()["type"], "response.completed");
    assert_eq!(model.finish().len(), 2);
}

#[test]
fn a_tool_with_a_language_of_its_own_is_called_with_a_text() {
    let model = Model::playing(vec![
        always(Reply::call_with_text(ToolName::plain("apply_patch"), "*** Begin")),
        turn(|request| Reply::Text(request.last_result())),
    ]);
    let first = data(&post(&model, "/v1/responses", &responses(&json!([]))));
    let call = &of_kind(&first, "response.output_item.done").next().unwrap()["item"];
    assert_eq!((&call["type"], &call["input"]), (&json!("custom_tool_call"), &json!("*** Begin")));
    let result = json!([{ "type": "custom_tool_call_output", "output": "done" }]);
    let second = post(&model, "/v1/responses", &responses(&result));
    assert!(second.contains("done"), "{second}");
    assert_eq!(model.finish().len(), 2);
}

#[test]
fn chat_completions_are_told_in_pieces_that_join() {
    let model = Model::playing(vec![
        turn(|request| Reply::call(request.tool_of("windlass", "exec_command"), json!({ "cmd": "naïve" }))),
        turn(|request| Reply::Text(request.results().join(", "))),
    ]);
    let first = data(&post(&model, "/v1/chat/completions", &chat(&json!([]))));
    let calls: Vec<&Value> =
        first.iter().map(|chunk| &chunk["choices"][0]["delta"]["tool_calls"][0]).collect();
    let names: Vec<&str> = calls.iter().filter_map(|call| call["function"]["name"].as_str()).collect();
    let arguments = calls.iter().filter_map(|call| call["function"]["arguments"].as_str());
    assert_eq!(names, ["mcp__windlass__exec_command"]);
    assert_eq!(arguments.collect::<String>(), r#"{"cmd":"naïve"}"#);
    assert!(first.iter().any(|chunk| chunk["choices"][0]["finish_reason"] == "tool_calls"));

    let results = json!([{ "role": "tool", "content": "a" }, { "role": "user", "content": "-" },
        { "role": "tool", "content": [{ "type": "text", "text": "b" }] }]);
    let answer = post(&model, "/v1/chat/completions", &chat(&results));
    let words = data(&answer).into_iter();
    let words = words.filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str().map(str::to_owned));
    assert_eq!(words.collect::<String>(), "a, b");
    assert!(answer.contains("data: [DONE]"), "{answer}");
    model.finish();
}

#[test]
#[should_panic(expected = "request 2 has no turn")]
fn more_requests_than_turns_are_refused_and_a_fault() {
    let model = Model::playing(vec![always(Reply::text("only this"))]);
    post(&model, "/v1/responses", &responses(&json!([])));
    let refusal = post(&model, "/v1/responses", &responses(&json!([])));
    assert!(refusal.starts_with("HTTP/1.1 400 "), "{refusal}");
    model.finish();
}

#[test]
#[should_panic(expected = "turns of the script that nobody asked for")]
fn a_turn_left_over_is_a_fault() {
    Model::playing(vec![always(Reply::text("never said"))]).finish();
}

#[test]
#[should_panic(expected = "turn 1 panicked: no tool nothing of nobody")]
fn a_turn_that_panics_is_the_tests_to_see() {
    let model =
        Model::playing(vec![turn(|request| Reply::call(request.tool_of("nobody", "nothing"), json!({})))]);
    let refusal = post(&model, "/v1/responses", &responses(&json!([])));
    assert!(refusal.contains("turn 1 panicked"), "{refusal}");
    model.finish();
}

#[test]
fn failures_and_broken_streams_can_be_played() {
    let model = Model::playing(vec![
        always(Reply::Failure(429, "slow down".to_owned())),
        always(Reply::Broken("half of this".to_owned())),
    ]);
    let refusal = post(&model, "/v1/responses", &responses(&json!([])));
    assert!(refusal.starts_with("HTTP/1.1 429 ") && refusal.contains("slow down"), "{refusal}");
    let broken = post(&model, "/v1/responses", &responses(&json!([])));
    assert!(broken.contains("response.output_text.delta"), "{broken}");
    assert!(!broken.contains("response.completed") && !broken.ends_with("0\r\n\r\n"), "{broken}");
    model.finish();
}

#[test]
fn what_is_not_a_conversation_takes_no_turn() {
    let model = Model::playing(Vec::new());
    let check = |bytes: &str, expected: &str| {
        let answer = exchange(&model, bytes);
        assert!(answer.contains(expected), "{bytes:?} was answered {answer:?}");
    };
    check("GET /v1/models?client=it HTTP/1.1\r\n\r\n", r#""id":"scripted""#);
    check("GET /v1/responses HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", "HTTP/1.1 426 ");
    check("POST /v1/elsewhere HTTP/1.1\r\n\r\n", "HTTP/1.1 404 ");
    check("POST /v1/responses HTTP/1.1\r\nContent-Length: 3\r\n\r\nnot", "the request is not JSON");
    check("POST /v1/responses HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", "only streams are answered");
    check("POST /v1/responses HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", "the body is too long");
    check("nonsense\r\n\r\n", "the first line is no request");
    model.finish();
}

#[test]
fn a_body_may_come_in_chunks() {
    let model = Model::playing(vec![always(Reply::text("understood"))]);
    let body = responses(&json!([])).to_string();
    let (one, two) = body.split_at(10);
    let chunks = format!("{:x}\r\n{one}\r\n{:x};x\r\n{two}\r\n0\r\n\r\n", one.len(), two.len());
    let answer = exchange(
        &model,
        &format!("POST /v1/responses HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}"),
    );
    assert!(answer.contains("response.completed"), "{answer}");
    model.finish();
}

#[test]
fn dropping_it_ends_connections_that_are_still_open() {
    let model = Model::playing(Vec::new());
    let address = model.server.address();
    let mut idle = connect(&model);
    idle.write_all(b"POST /v1/resp").unwrap();
    // The second one is accepted after the first, so the first has its thread when this is answered.
    exchange(&model, "GET /v1/models HTTP/1.1\r\n\r\n");
    drop(model);
    // An end or a reset, but not a wait.
    let _ = idle.read_to_end(&mut Vec::new());
    assert!(TcpStream::connect(address).is_err(), "nobody listens any more");
}
