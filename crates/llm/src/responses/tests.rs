//! Tests the Responses wire against recorded data.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::event::{ResponseEvent, Usage};
use crate::failure::{Failure, Remedy};
use crate::provider::{Provider, WireKind};
use crate::request::Grammar;
use crate::sse::SseEvent;
use crate::wire::tests::{read_all, request};

fn wire() -> Responses {
    Responses::of(&Provider::at("it", "http://localhost", WireKind::Responses))
}

fn body(request: &Request) -> Value {
    serde_json::from_str(&wire().body(request)).unwrap()
}

#[test]
fn a_request_says_all_that_was_asked_for() {
    let mut request = request(vec![Item::developer("be brief"), Item::user("hello")]);
    let input = json!([
        { "type": "message", "role": "developer", "content": [{ "type": "input_text", "text": "be brief" }] },
        { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "hello" }] },
    ]);
    let expected = json!({
        "model": "m", "parallel_tool_calls": true, "store": false, "stream": true,
        "include": ["reasoning.encrypted_content"], "prompt_cache_key": "cache", "input": input,
    });
    assert_eq!(body(&request), expected);

    request.parallel_calls = false;
    request.effort = Some("high".to_owned());
    request.summary = Some("auto".to_owned());
    request.verbosity = Some("low".to_owned());
    request.output_schema = Some(json!({ "type": "object" }));
    request.most_output = Some(7);
    let body = body(&request);
    let check = |field: &str, expected: Value| assert_eq!(body[field], expected, "{field}");
    check("parallel_tool_calls", json!(false));
    check("reasoning", json!({ "effort": "high", "summary": "auto" }));
    let format =
        json!({ "type": "json_schema", "name": "answer", "strict": true, "schema": { "type": "object" } });
    check("text", json!({ "verbosity": "low", "format": format }));
    check("max_output_tokens", json!(7));
}

#[test]
fn tools_are_offered_as_what_they_are() {
    let grammar = Grammar { syntax: "lark".to_owned(), definition: "start: x".to_owned() };
    let custom = |grammar| ToolSpec::Custom {
        name: "p".to_owned(),
        description: "d".to_owned(),
        grammar,
        as_function: "long".to_owned(),
    };
    let function = ToolSpec::Function {
        name: "f".to_owned(),
        description: "d".to_owned(),
        parameters: json!({ "type": "object" }),
    };
    let mut request = request(Vec::new());
    request.tools = [function, custom(Some(grammar)), custom(None), ToolSpec::WebSearch].into();
    let expected = json!([
        { "type": "function", "name": "f", "description": "d", "strict": false, "parameters": { "type": "object" } },
        { "type": "custom", "name": "p", "description": "d",
          "format": { "type": "grammar", "syntax": "lark", "definition": "start: x" } },
        { "type": "custom", "name": "p", "description": "d" },
    ]);
    assert_eq!(body(&request)["tools"], expected);
    let searching = Responses { has_web_search: true, ..wire() };
    let body: Value = serde_json::from_str(&searching.body(&request)).unwrap();
    assert_eq!(body["tools"][3], json!({ "type": "web_search" }));
}

#[test]
fn a_later_request_begins_with_the_bytes_of_the_earlier_one() {
    let strange =
        r#"{"type":"function_call", "arguments":"{ \"a\":1}","call_id":"c","name":"f","id":"fc_1"}"#;
    let mut request = request(vec![Item::user("héllo \"you\"")]);
    let mut earlier = wire().body(&request);
    for item in [Item::from_json(strange).unwrap(), Item::user("more")] {
        request.items.push(item);
        let later = wire().body(&request);
        let said = earlier.strip_suffix("]}").unwrap();
        assert!(later.starts_with(said), "{later}");
        earlier = later;
    }
    assert!(earlier.contains(strange), "{earlier}");
}

fn check(events: &[&str], expected: &Result<Vec<ResponseEvent>, Failure>) {
    let events: Vec<SseEvent> =
        events.iter().map(|data| SseEvent { event: String::new(), data: (*data).to_owned() }).collect();
    let mut reader = wire().reader(&request(Vec::new()));
    assert_eq!(&read_all(reader.as_mut(), &events), expected, "{events:?}");
}

#[test]
fn an_answer_is_read_item_by_item() {
    let reasoning = r#"{"type":"reasoning","id":"r","summary":[],"encrypted_content":"zzz"}"#;
    let call = r#"{"id":"fc","type":"function_call","call_id":"c1","name":"f","arguments":"{ }"}"#;
    let torn = "{\"type\":\"message\",\n\"role\":\"assistant\",\"content\":[]}";
    let item = |json: &str| ResponseEvent::Item(Item::from_json(json).unwrap());
    let usage = r#"{"input_tokens":9,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":2},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":3},"total_tokens":14}"#;
    check(
        &[
            r#"{"type":"response.created","response":{"id":"x"}}"#,
            r#"{"type":"response.in_progress"}"#,
            r#"{"type":"response.reasoning_summary_text.delta","delta":"hm"}"#,
            &format!(r#"{{"type":"response.output_item.done","item":{reasoning}}}"#),
            r#"{"type":"response.output_item.added","item":{"type":"function_call","name":"f","arguments":""}}"#,
            r#"{"type":"response.function_call_arguments.delta","delta":"{"}"#,
            &format!(r#"{{"type":"response.output_item.done","item":{call}}}"#),
            r#"{"type":"response.output_text.delta","delta":"né"}"#,
            &format!(r#"{{"type":"response.output_item.done","item":{torn}}}"#),
            "not json",
            r#"{"type":"response.output_item.done","item":{"no":"type"}}"#,
            r#"{"type":"response.something.else","delta":7}"#,
            &format!(r#"{{"type":"response.completed","response":{{"id":"x","usage":{usage}}}}}"#),
            r#"{"type":"response.failed"}"#,
        ],
        &Ok(vec![
            ResponseEvent::Started,
            ResponseEvent::Thought("hm".to_owned()),
            item(reasoning),
            ResponseEvent::Calling("f".to_owned()),
            item(call),
            ResponseEvent::Text("né".to_owned()),
            item(&torn.replace('\n', " ")),
            ResponseEvent::Completed(Usage {
                input: 9,
                cached: 4,
                cache_written: 2,
                output: 5,
                reasoning: 3,
            }),
        ]),
    );
}

#[test]
fn an_answer_that_fails_says_what_may_be_done() {
    let failure = |remedy, message: &str| Err(Failure { remedy, message: message.to_owned() });
    let later = Remedy::Retry { after: None };
    check(&[], &failure(later, "the stream of it ended before the answer was complete"));
    check(
        &[
            r#"{"type":"response.failed","response":{"error":{"code":"context_length_exceeded","message":"too long"}}}"#,
        ],
        &failure(Remedy::Shorten, "it failed: too long"),
    );
    check(
        &[
            r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}"#,
        ],
        &failure(Remedy::GiveUp, "it left its answer incomplete: max_output_tokens"),
    );
    check(
        &[r#"{"type":"error","code":"server_error","message":"oops"}"#],
        &failure(later, "it failed: oops"),
    );
    check(
        &[r#"{"error":{"message":"no more","code":"insufficient_quota"}}"#],
        &failure(Remedy::GiveUp, "it failed: no more"),
    );
    check(&[r#"{"type":"response.completed"}"#], &Ok(vec![ResponseEvent::Completed(Usage::default())]));
}

proptest! {
    #[test]
    fn whatever_comes_is_read_or_passed_over(name in ".{0,20}", data in ".{0,80}", field in "[a-z._\"{}:,0-9\\[\\]]{0,60}") {
        let mut reader = wire().reader(&request(Vec::new()));
        for data in [data.clone(), format!(r#"{{"type":"response.output_item.done","item":{field}}}"#)] {
            let _ = reader.read(&SseEvent { event: name.clone(), data });
        }
        for kind in ["response.completed", "response.failed", "error", "response.incomplete"] {
            let _ = reader.read(&SseEvent { event: kind.to_owned(), data: format!("{{\"x\":{field}}}") });
        }
    }
}
