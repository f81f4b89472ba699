//! Answers in the dialect of the Responses API: typed events, each item first added, then told in pieces, then done.

use serde_json::{Value, json};

use super::http::Event;
use super::{Call, Input, MODEL, Reply, halves};

/// The events of an answer; the number makes its identifiers unique within a conversation.
pub(super) fn events(reply: &Reply, number: usize) -> Vec<Event> {
    let id = format!("resp_{number}");
    let mut told = vec![("response.created", json!({ "response": response(&id, "in_progress") }))];
    match reply {
        Reply::Text(text) => told.extend(message(text, number)),
        // It breaks off before the item is done.
        Reply::Broken(text) => told.extend(message(text, number).into_iter().take(2)),
        Reply::Calls(calls) => {
            told.extend(
                calls.iter().enumerate().flat_map(|(index, call)| function_call(call, (number, index))),
            );
        }
        Reply::Failure(..) => {}
    }
    if !matches!(reply, Reply::Broken(_)) {
        told.push(("response.completed", json!({ "response": completed(&id) })));
    }
    let numbered = told.into_iter().enumerate();
    numbered.map(|(sequence, (kind, data))| event(kind, data, sequence)).collect()
}

fn event(kind: &str, mut data: Value, sequence: usize) -> Event {
    data["type"] = json!(kind);
    data["sequence_number"] = json!(sequence);
    Event { kind: Some(kind.to_owned()), data: data.to_string() }
}

fn response(id: &str, status: &str) -> Value {
    json!({ "id": id, "object": "response", "status": status, "model": MODEL, "output": [] })
}

fn completed(id: &str) -> Value {
    let mut response = response(id, "completed");
    response["usage"] = json!({
        "input_tokens": 1, "input_tokens_details": { "cached_tokens": 0 },
        "output_tokens": 1, "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": 2,
    });
    response
}

fn message(text: &str, number: usize) -> Vec<(&'static str, Value)> {
    let id = format!("msg_{number}");
    let item = |status: &str, content: Value| json!({ "type": "message", "id": id, "role": "assistant", "status": status, "content": content });
    let delta = |piece: &str| json!({ "item_id": id, "output_index": 0, "content_index": 0, "delta": piece });
    let [first, second] = halves(text);
    let content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
    vec![
        ("response.output_item.added", json!({ "output_index": 0, "item": item("in_progress", json!([])) })),
        ("response.output_text.delta", delta(first)),
        ("response.output_text.delta", delta(second)),
        ("response.output_item.done", json!({ "output_index": 0, "item": item("completed", content) })),
    ]
}

fn function_call(call: &Call, (number, index): (usize, usize)) -> Vec<(&'static str, Value)> {
    let id = format!("fc_{number}_{index}");
    let input = call.input.text();
    let (kind, member, pieces) = match call.input {
        Input::Arguments(_) => ("function_call", "arguments", "response.function_call_arguments.delta"),
        Input::Text(_) => ("custom_tool_call", "input", "response.custom_tool_call_input.delta"),
    };
    let item = |status: &str, input: &str| {
        let mut item = json!({
            "type": kind, "id": id, "call_id": format!("call_{number}_{index}"), "status": status,
            "name": call.tool.name, member: input,
        });
        if let Some(namespace) = &call.tool.namespace {
            item["namespace"] = json!(namespace);
        }
        item
    };
    let delta = |piece: &str| json!({ "item_id": id, "output_index": index, "delta": piece });
    let [first, second] = halves(&input);
    vec![
        ("response.output_item.added", json!({ "output_index": index, "item": item("in_progress", "") })),
        (pieces, delta(first)),
        (pieces, delta(second)),
        ("response.output_item.done", json!({ "output_index": index, "item": item("completed", &input) })),
    ]
}
