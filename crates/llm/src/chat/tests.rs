//! Tests the chat wire against recorded data.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::event::{ResponseEvent, Usage};
use crate::failure::{Failure, Remedy};
use crate::item::{Call, CallId, ContentPart, Input, Item, Role};
use crate::provider::WireKind;
use crate::sse::SseEvent;
use crate::wire::tests::{read_all, request};

fn provider() -> Provider {
    Provider::at("it", "http://localhost", WireKind::Chat)
}

fn wire() -> Chat {
    Chat::of(&provider())
}

fn body(wire: &Chat, request: &Request) -> Value {
    serde_json::from_str(&wire.body(request)).unwrap()
}

fn function(id: &str, arguments: &str) -> Call {
    Call {
        id: CallId(id.to_owned()),
        name: "f".to_owned(),
        namespace: None,
        input: Input::Arguments(arguments.to_owned()),
    }
}

fn patch(id: &str, text: &str) -> Call {
    Call { name: "apply_patch".to_owned(), input: Input::Text(text.to_owned()), ..function(id, "") }
}

fn said(text: &str) -> Item {
    Item::message(Role::Assistant, vec![ContentPart::Text(text.to_owned())])
}

fn answered(call: &Call, text: &str) -> Item {
    Item::output(call, vec![ContentPart::Text(text.to_owned())])
}

fn tools() -> Vec<ToolSpec> {
    vec![
        ToolSpec::Function {
            name: "f".to_owned(),
            description: "d".to_owned(),
            parameters: json!({ "type": "object" }),
        },
        ToolSpec::Custom {
            name: "apply_patch".to_owned(),
            description: "short".to_owned(),
            grammar: None,
            as_function: "long".to_owned(),
        },
        ToolSpec::WebSearch,
    ]
}

#[test]
fn a_request_says_all_that_was_asked_for() {
    let mut request = request(vec![Item::developer("be brief"), Item::user("hello")]);
    let messages =
        json!([{ "role": "system", "content": "be brief" }, { "role": "user", "content": "hello" }]);
    let expected = json!({
        "model": "m", "stream": true, "stream_options": { "include_usage": true }, "messages": messages,
    });
    assert_eq!(body(&wire(), &request), expected);

    request.tools = tools().into();
    request.parallel_calls = false;
    request.effort = Some("high".to_owned());
    request.verbosity = Some("low".to_owned());
    request.output_schema = Some(json!({ "type": "object" }));
    request.most_output = Some(7);
    let body = body(&wire(), &request);
    let check = |field: &str, expected: Value| assert_eq!(body[field], expected, "{field}");
    check("tool_choice", json!("auto"));
    check("parallel_tool_calls", json!(false));
    check("reasoning_effort", json!("high"));
    check("verbosity", json!("low"));
    check("max_tokens", json!(7));
    let schema = json!({ "name": "answer", "strict": true, "schema": { "type": "object" } });
    check("response_format", json!({ "type": "json_schema", "json_schema": schema }));
    let plain =
        json!({ "name": "f", "description": "d", "parameters": { "type": "object" }, "strict": false });
    assert_eq!(body["tools"][0], json!({ "type": "function", "function": plain }));
    let custom = &body["tools"][1]["function"];
    assert_eq!((&custom["name"], &custom["description"]), (&json!("apply_patch"), &json!("long")));
    assert_eq!(custom["parameters"]["required"], json!(["input"]));
    assert_eq!(body["tools"].as_array().map(Vec::len), Some(2), "nobody searches the web here");
}

#[test]
fn items_become_messages() {
    let check = |items: &[Item], expected: Value| {
        let body = body(&wire(), &request(items.to_vec()));
        assert_eq!(body["messages"], expected, "{items:?}");
    };
    let image = || ContentPart::Image("data:image/png;base64,AA==".to_owned());
    let url = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AA==" } });
    let (one, two) = (function("c1", r#"{"a": 1}"#), patch("c2", "*** Begin"));
    let call = |id: &str, name: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
    let calls = [call("c1", "f", r#"{"a": 1}"#), call("c2", "apply_patch", r#"{"input":"*** Begin"}"#)];

    // Thoughts, words and calls are one message, and answers follow it.
    check(
        &[
            Item::reasoning("hm"),
            said("I look"),
            Item::call(one.clone()),
            Item::call(two.clone()),
            answered(&one, "1"),
            answered(&two, "2"),
        ],
        json!([
            { "role": "assistant", "content": "I look", "reasoning": "hm", "tool_calls": calls },
            { "role": "tool", "tool_call_id": "c1", "content": "1" },
            { "role": "tool", "tool_call_id": "c2", "content": "2" },
        ]),
    );
    // Images wait until the last tool has answered.
    check(
        &[
            Item::call(one.clone()),
            Item::call(two.clone()),
            Item::output(&one, vec![image()]),
            Item::output(&two, vec![ContentPart::Text("see".to_owned()), image()]),
            Item::user("and?"),
        ],
        json!([
            { "role": "assistant", "content": null, "tool_calls": calls },
            { "role": "tool", "tool_call_id": "c1", "content": "The picture follows." },
            { "role": "tool", "tool_call_id": "c2", "content": "see" },
            { "role": "user", "content": [
                { "type": "text", "text": "What the call c1 shows:" }, url,
                { "type": "text", "text": "What the call c2 shows:" }, url,
            ] },
            { "role": "user", "content": "and?" },
        ]),
    );
    check(
        &[Item::message(Role::User, vec![ContentPart::Text("look".to_owned()), image()])],
        json!([{ "role": "user", "content": [{ "type": "text", "text": "look" }, url] }]),
    );
    // Reasoning that led to nothing, and items that belong to another wire, are left out.
    let search = Item::from_json(r#"{"type":"web_search_call","id":"w"}"#).unwrap();
    let sealed = Item::from_json(r#"{"type":"reasoning","summary":[],"encrypted_content":"x"}"#).unwrap();
    check(
        &[Item::reasoning("hm"), Item::user("a"), search, sealed, said("b")],
        json!([{ "role": "user", "content": "a" }, { "role": "assistant", "content": "b" }]),
    );
    // Arguments that are not JSON go back as a text, or servers would reject the conversation for ever.
    check(
        &[Item::call(function("c1", "{oops"))],
        json!([{ "role": "assistant", "content": null, "tool_calls": [call("c1", "f", r#"{"input":"{oops"}"#)] }]),
    );
}

#[test]
fn providers_differ_in_names() {
    let items = vec![Item::developer("d"), Item::reasoning("hm"), said("b")];
    let check = |thoughts: ThoughtField, expected: Value| {
        let provider = Provider { instructions_role: InstructionsRole::Developer, thoughts, ..provider() };
        let messages = body(&Chat::of(&provider), &request(items.clone()))["messages"].clone();
        assert_eq!(messages, json!([{ "role": "developer", "content": "d" }, expected]));
    };
    check(
        ThoughtField::ReasoningContent,
        json!({ "role": "assistant", "content": "b", "reasoning_content": "hm" }),
    );
    check(ThoughtField::LeftOut, json!({ "role": "assistant", "content": "b" }));
}

#[test]
fn a_later_request_begins_with_the_bytes_of_the_earlier_one() {
    let call = function("c1", r#"{ "a":1}"#);
    let turns = [
        vec![Item::reasoning("hm"), said("é"), Item::call(call.clone()), answered(&call, "1")],
        vec![said("done"), Item::user("more")],
    ];
    let mut request = request(vec![Item::developer("d"), Item::user("hello")]);
    let mut earlier = wire().body(&request);
    for items in turns {
        request.items.extend(items);
        let later = wire().body(&request);
        let begun = earlier.strip_suffix("]}").unwrap();
        assert!(later.starts_with(begun), "{later} after {begun}");
        earlier = later;
    }
}

fn check(chunks: &[&str], expected: &Result<Vec<ResponseEvent>, Failure>) {
    let events: Vec<SseEvent> =
        chunks.iter().map(|data| SseEvent { event: String::new(), data: (*data).to_owned() }).collect();
    let mut request = request(vec![Item::user("a")]);
    request.tools = tools().into();
    let mut reader = wire().reader(&request);
    assert_eq!(&read_all(reader.as_mut(), &events), expected, "{events:?}");
}

const STOP: &str = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
const NO_USAGE: ResponseEvent =
    ResponseEvent::Completed(Usage { input: 0, cached: 0, cache_written: 0, output: 0, reasoning: 0 });

fn text(text: &str) -> ResponseEvent {
    ResponseEvent::Text(text.to_owned())
}

fn thought(text: &str) -> ResponseEvent {
    ResponseEvent::Thought(text.to_owned())
}

fn calling(name: &str) -> ResponseEvent {
    ResponseEvent::Calling(name.to_owned())
}

#[test]
fn pieces_become_items_when_the_answer_is_complete() {
    check(
        &[
            r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#,
            r#"{"choices":[{"delta":{"reasoning":"h","reasoning_content":"h"}}]}"#,
            r#"{"choices":[{"delta":{"reasoning":"","reasoning_content":"m"}}]}"#,
            r#"{"choices":[{"delta":{"content":"I "}}]}"#,
            "what is this?",
            r#"{"choices":[{"delta":{"content":"look"}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"c2","function":{"name":"apply_patch","arguments":"{\"in"}},{"index":0,"function":{"arguments":"{ }"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"arguments":"put\":\"*** é\"}"}}]}}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}],"usage":null}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":3}}}"#,
            "[DONE]",
            r#"{"error":{"message":"too late"}}"#,
        ],
        &Ok(vec![
            ResponseEvent::Started,
            thought("h"),
            thought("m"),
            text("I "),
            text("look"),
            calling("f"),
            calling("apply_patch"),
            ResponseEvent::Item(Item::reasoning("hm")),
            ResponseEvent::Item(said("I look")),
            ResponseEvent::Item(Item::call(function("c1", "{ }"))),
            ResponseEvent::Item(Item::call(patch("c2", "*** é"))),
            ResponseEvent::Completed(Usage {
                input: 9,
                cached: 4,
                cache_written: 0,
                output: 5,
                reasoning: 3,
            }),
        ]),
    );
}

#[test]
fn calls_are_understood_however_they_are_numbered_and_worded() {
    let check_calls = |deltas: &[&str], calls: &[Call]| {
        let chunks =
            deltas.iter().map(|pieces| format!(r#"{{"choices":[{{"delta":{{"tool_calls":{pieces}}}}}]}}"#));
        let chunks: Vec<String> = chunks.chain([STOP.to_owned(), "[DONE]".to_owned()]).collect();
        let events = calls.iter().map(|call| calling(&call.name));
        let items = calls.iter().map(|call| ResponseEvent::Item(Item::call(call.clone())));
        let expected =
            [ResponseEvent::Started].into_iter().chain(events).chain(items).chain([NO_USAGE]).collect();
        check(&chunks.iter().map(String::as_str).collect::<Vec<_>>(), &Ok(expected));
    };
    // All calls have the same index and are distinguished by their ids.
    check_calls(
        &[
            r#"[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]"#,
            r#"[{"index":0,"id":"b","function":{"name":"f","arguments":"{\"x\":"}}]"#,
            r#"[{"index":0,"id":"b","function":{"name":"f","arguments":"1}"}}]"#,
        ],
        &[function("a", "{}"), function("b", r#"{"x":1}"#)],
    );
    // Calls without an index or an id: the id is made up from the position in the conversation.
    check_calls(
        &[r#"[{"function":{"name":"f","arguments":"{"}}]"#, r#"[{"function":{"arguments":"}"}}]"#],
        &[function("call_1_0", "{}")],
    );
    // Empty arguments, an object, and a text that is not JSON.
    check_calls(&[r#"[{"index":0,"id":"a","function":{"name":"f"}}]"#], &[function("a", "{}")]);
    check_calls(
        &[r#"[{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}]"#],
        &[function("a", r#"{"x":1}"#)],
    );
    check_calls(
        &[r#"[{"index":0,"id":"a","function":{"name":"f","arguments":"{oops"}}]"#],
        &[function("a", "{oops")],
    );
    // Free text that the model did not wrap in an object.
    check_calls(
        &[r#"[{"index":0,"id":"a","function":{"name":"apply_patch","arguments":"*** Begin"}}]"#],
        &[patch("a", "*** Begin")],
    );
    check_calls(
        &[r#"[{"index":0,"id":"a","function":{"name":"apply_patch","arguments":"{\"patch\":1}"}}]"#],
        &[patch("a", r#"{"patch":1}"#)],
    );
}

#[test]
fn an_answer_ends_well_or_says_why_not() {
    let failure = |remedy, message: &str| Err(Failure { remedy, message: message.to_owned() });
    let later = Remedy::Retry { after: None };
    let words = r#"{"choices":[{"delta":{"content":"a"}}]}"#;
    let whole = Ok(vec![ResponseEvent::Started, text("a"), ResponseEvent::Item(said("a")), NO_USAGE]);
    check(&[words, STOP, "[DONE]"], &whole);
    check(&[words, STOP], &whole);
    check(&[words, "[DONE]"], &whole);
    check(&[STOP, "[DONE]"], &Ok(vec![ResponseEvent::Started, NO_USAGE]));
    check(&[words], &failure(later, "the stream of it ended before the answer was complete"));
    check(
        &[r#"{"choices":[{"delta":{"reasoning":"hm"}}]}"#, STOP, "[DONE]"],
        &failure(later, "it thought, but neither said nor called anything"),
    );
    let cut = r#"{"choices":[{"delta":{"content":"b"},"finish_reason":"length"}]}"#;
    check(&[words, cut, "[DONE]"], &failure(Remedy::GiveUp, "it left its answer incomplete: length"));
    check(
        &[words, r#"{"error":{"message":"maximum context length","code":400}}"#],
        &failure(Remedy::Shorten, "it failed: maximum context length"),
    );
    check(&[r#"{"error":"worker died"}"#], &failure(later, "it failed: worker died"));
}

#[test]
fn an_answer_without_end_is_given_up() {
    let calls = |count: usize| -> Vec<String> {
        let call = |index| {
            format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":{index},"id":"c{index}"}}]}}}}]}}"#)
        };
        (0..count).map(call).collect()
    };
    let read = |chunks: Vec<String>| {
        let events: Vec<SseEvent> =
            chunks.into_iter().map(|data| SseEvent { event: String::new(), data }).collect();
        let mut reader = wire().reader(&request(Vec::new()));
        read_all(
            reader.as_mut(),
            &[events, vec![SseEvent { event: String::new(), data: "[DONE]".to_owned() }]].concat(),
        )
    };
    assert!(read(calls(512)).is_ok());
    assert_eq!(read(calls(513)), Err(Failure::passing("the answer of it has no end")));
}

proptest! {
    #[test]
    fn whatever_comes_is_read_or_passed_over(
        data in ".{0,80}",
        field in "[a-z._\"{}:,0-9\\[\\]]{0,60}",
        index in any::<u64>(),
    ) {
        let mut reader = wire().reader(&request(Vec::new()));
        let chunks = [
            data,
            format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":{index},"id":"a"}}]}}}}]}}"#),
            format!(r#"{{"choices":[{{"delta":{{"content":{field}}}}}]}}"#),
            format!(r#"{{"choices":{field}}}"#),
            format!(r#"{{"error":{field}}}"#),
            "[DONE]".to_owned(),
        ];
        for data in chunks {
            let _ = reader.read(&SseEvent { event: String::new(), data });
        }
        let _ = reader.end();
    }
}
