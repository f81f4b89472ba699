//! The scripted model, met by a client that knows nothing of it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;

use serde_json::Value;

use super::*;

/// Sends bytes and returns everything that comes back. The server keeps connections open, so this shuts down its
/// writing side.
fn exchange(model: &Model, bytes: &str) -> String {
    let mut stream = connect(model);
    stream.write_all(bytes.as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    all_of(stream)
}

fn all_of(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

fn connect(model: &Model) -> TcpStream {
    TcpStream::connect(model.server.address()).unwrap()
}

fn post(model: &Model, path: &str, body: &Value) -> String {
    let body = body.to_string();
    let length = body.len();
    let mut stream = connect(model);
    let head =
        format!("POST {path} HTTP/1.1\r\nHost: it\r\nConnection: close\r\nContent-Length: {length}\r\n");
    stream.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
    all_of(stream)
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
        turn(|request| say(&format!("it said {}", request.last_result()))),
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
        turn(|request| say(&request.last_result())),
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
        turn(|request| say(&request.results().join(", "))),
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
        always(Reply::refusal(429, "slow down").with_header("retry-after", "3")),
        always(say("half of this").cut_after_events(3)),
    ]);
    let refusal = post(&model, "/v1/responses", &responses(&json!([])));
    assert!(refusal.starts_with("HTTP/1.1 429 ") && refusal.contains("slow down"), "{refusal}");
    assert!(refusal.contains("retry-after: 3\r\n"), "{refusal}");
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

#[test]
fn an_answer_may_hold_several_items_in_both_dialects() {
    let reply = || {
        let usage = Usage { input: 10, cached: 4, output: 3, reasoning: 2 };
        let said = think("hm").and(say("I look")).and(call("f", json!({ "a": 1 })).with_id("mine"));
        said.and(custom("apply_patch", "*** Begin")).costing(usage)
    };
    let model = Model::answering(move |_| reply());
    let answer = data(&post(&model, "/v1/responses", &responses(&json!([]))));
    let kinds =
        of_kind(&answer, "response.output_item.done").map(|event| event["item"]["type"].as_str().unwrap());
    assert_eq!(kinds.collect::<Vec<_>>(), ["reasoning", "message", "function_call", "custom_tool_call"]);
    let usage = &answer.last().unwrap()["response"]["usage"];
    assert_eq!((&usage["input_tokens"], &usage["total_tokens"]), (&json!(10), &json!(13)));

    let answer = data(&post(&model, "/v1/chat/completions", &chat(&json!([]))));
    let calls =
        answer.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["tool_calls"][0]["id"].as_str());
    assert_eq!(calls.collect::<Vec<_>>(), ["mine", "call_2_1"]);
    assert!(answer.iter().any(|chunk| chunk["choices"][0]["delta"]["reasoning"] == "h"), "{answer:?}");
    assert_eq!(answer.last().unwrap()["usage"]["prompt_tokens_details"]["cached_tokens"], 4);
    assert_eq!(model.finish().len(), 2);
}

#[test]
fn each_agent_plays_its_own_role_and_none_waits_for_another() {
    let gate = Gate::closed();
    let held = say("late").stalled_after_events(0, &gate);
    let model = Model::casting(vec![
        role("the child's task", vec![always(held)]),
        role("the root's task", vec![always(say("root")), always(say("again"))]),
    ]);
    let ask = |task: &str| {
        responses(&json!([{ "type": "message", "role": "user", "content": [{ "text": task }] }]))
    };
    thread::scope(|scope| {
        let child = scope.spawn(|| post(&model, "/v1/responses", &ask("this is the child's task")));
        model.wait_for_requests(1);
        assert!(post(&model, "/v1/responses", &ask("the root's task")).contains("root"));
        assert!(post(&model, "/v1/responses", &ask("the root's task")).contains("again"));
        gate.open();
        assert!(child.join().unwrap().contains("response.completed"));
    });
    assert_eq!(model.finish().len(), 3);
}

#[test]
fn an_agent_that_leaves_a_stalled_answer_is_noticed() {
    let model = Model::playing(vec![always(say("never").stalled_after_events(2, &Gate::closed()))]);
    let body = responses(&json!([])).to_string();
    let mut stream = connect(&model);
    write!(stream, "POST /v1/responses HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    model.wait_for_requests(1);
    assert_eq!(model.departures(), Vec::<usize>::new());
    drop(stream);
    assert_eq!(model.wait_for_departures(1), [1]);
    model.finish();
}

#[test]
fn answers_can_be_delivered_badly() {
    let text = "né".repeat(20);
    let check = |reply: Reply, expected: &dyn Fn(&str) -> bool| {
        let model = Model::playing(vec![always(reply)]);
        let answer = post(&model, "/v1/responses", &responses(&json!([])));
        assert!(expected(&answer), "{answer}");
        model.finish();
    };
    check(say(&text).dribbled(), &|answer| answer.contains("\r\n1\r\nd\r\n1\r\na\r\n"));
    check(say(&text).with_garbage(), &|answer| {
        answer.contains("this is no JSON") && answer.contains("completed")
    });
    check(say(&text).of_type("text/html"), &|answer| answer.contains("content-type: text/html"));
    check(say(&text).cut_after_bytes(40), &|answer| {
        answer.contains("\r\n28\r\n") && !answer.contains("\r\n0\r\n")
    });
    check(Reply::hang_up(), &str::is_empty);
    check(Reply::failed("server_error", "oh"), &|answer| answer.contains("response.failed"));
    check(say("a").incomplete("max_output_tokens"), &|answer| answer.contains("response.incomplete"));
    check(Reply::verbatim(&["one", "two"]), &|answer| answer.contains("data: one\n\n"));
}

#[test]
fn a_connection_is_kept_for_the_next_request() {
    let model = Model::answering(|_| say("hello"));
    let body = responses(&json!([])).to_string();
    let request = format!("POST /v1/responses HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let answers = exchange(&model, &request.repeat(3));
    assert_eq!(answers.matches("HTTP/1.1 200").count(), 3);
    assert_eq!(model.connections(), 1);
    assert_eq!(model.finish().len(), 3);
}

#[test]
fn a_key_can_be_asked_for() {
    let model = Model::answering(|_| say("hello"));
    model.require_key("secret");
    let check = |key: &str, expected: &str| {
        let answer =
            exchange(&model, &format!("GET /v1/models HTTP/1.1\r\nAuthorization: Bearer {key}\r\n\r\n"));
        assert!(answer.starts_with(expected), "{answer}");
    };
    check("secret", "HTTP/1.1 200 ");
    check("other", "HTTP/1.1 401 ");
}

/// Requests of one conversation, as the endpoint records them.
fn recorded(path: &str, bodies: &[Value]) -> Vec<Request> {
    let model = Model::answering(|_| say("noted"));
    for body in bodies {
        post(&model, path, body);
    }
    model.finish()
}

#[test]
fn broken_rules_are_found() {
    let call = json!({ "type": "function_call", "call_id": "c", "name": "f", "arguments": "{}" });
    let other = json!({ "type": "custom_tool_call", "call_id": "d", "name": "f", "input": "" });
    let output = |text: &str| json!({ "type": "function_call_output", "call_id": "c", "output": text });
    let user = |text: &str| json!({ "type": "message", "role": "user", "content": text });
    let check = |inputs: &[Value], invariants: Invariants, expected: &[&str]| {
        let bodies: Vec<Value> = inputs.iter().map(responses).collect();
        let faults = invariants.faults(&recorded("/v1/responses", &bodies));
        let found = faults.len() == expected.len()
            && faults.iter().zip(expected).all(|(fault, expected)| fault.contains(expected));
        assert!(found, "{faults:?} instead of {expected:?}");
    };
    let strict = Invariants::strict();
    check(&[json!([user("a")]), json!([user("a"), call, output("1")])], strict, &[]);
    check(&[json!([user("a")]), json!([user("b")])], strict, &["request 2 does not begin like request 1"]);
    check(&[json!([user("a")]), json!([user("b")])], Invariants::with_compactions(1), &[]);
    check(&[json!([call])], strict, &["answers c 0 times"]);
    check(&[json!([call, output("1"), output("1")])], strict, &["answers c 2 times"]);
    check(&[json!([output("1")])], strict, &["before it is called"]);
    check(&[json!([call, call, output("1")])], strict, &["holds the call c twice"]);
    check(&[json!([other])], strict, &["answers d 0 times"]);
    let twice = [json!([call, output("1")]), json!([call, output("2")])];
    check(&twice, Invariants::with_compactions(1), &["c was carried out twice"]);
}

#[test]
fn the_rules_hold_for_chats_too() {
    let asked = json!({ "role": "user", "content": "a" });
    let called = json!({ "role": "assistant", "tool_calls": [{ "id": "c" }, { "id": "d" }] });
    let answered = |id: &str| json!({ "role": "tool", "tool_call_id": id, "content": id });
    let faults = |messages: &[Value]| {
        let bodies: Vec<Value> = messages.iter().map(chat).collect();
        Invariants::strict().faults(&recorded("/v1/chat/completions", &bodies))
    };
    let whole = json!([asked, called, answered("c"), answered("d")]);
    assert_eq!(faults(&[json!([asked]), whole.clone()]), Vec::<String>::new());
    assert_eq!(faults(&[json!([asked, called, answered("c")])]).len(), 1);
    assert_eq!(faults(&[whole, json!([asked])]).len(), 1);
}
