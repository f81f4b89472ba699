//! Answers in the dialect of the Responses API: typed events, each item first added, then sent in pieces, then done.

use serde_json::{Value, json};

use super::http::ScriptedEvent;
use super::reply::{Call, Input, ReplyEnd, Said, ScriptedReply, Usage};
use super::{MODEL, halves};

/// The events of an answer; the number makes its identifiers unique within a conversation.
pub(super) fn events(answer: &ScriptedReply, number: usize) -> Vec<ScriptedEvent> {
    let id = format!("resp_{number}");
    let mut told = vec![("response.created", json!({ "response": response(&id, "in_progress") }))];
    for (index, said) in answer.said.iter().enumerate() {
        told.extend(item(said, (number, index)));
    }
    told.push(ending(answer, &id));
    let numbered = told.into_iter().enumerate();
    numbered.map(|(sequence, (kind, data))| event(kind, data, sequence)).collect()
}

type SentEvent = (&'static str, Value);

fn event(kind: &str, mut data: Value, sequence: usize) -> ScriptedEvent {
    data["type"] = json!(kind);
    data["sequence_number"] = json!(sequence);
    ScriptedEvent { kind: Some(kind.to_owned()), data: data.to_string() }
}

fn response(id: &str, status: &str) -> Value {
    json!({ "id": id, "object": "response", "status": status, "model": MODEL, "output": [] })
}

fn ending(answer: &ScriptedReply, id: &str) -> SentEvent {
    match &answer.ending {
        ReplyEnd::Completed => {
            let mut response = response(id, "completed");
            response["usage"] = usage(answer.usage);
            ("response.completed", json!({ "response": response }))
        }
        ReplyEnd::Failed { code, message } => {
            let mut response = response(id, "failed");
            response["error"] = json!({ "code": code, "message": message });
            ("response.failed", json!({ "response": response }))
        }
        ReplyEnd::Incomplete { reason } => {
            let mut response = response(id, "incomplete");
            response["incomplete_details"] = json!({ "reason": reason });
            ("response.incomplete", json!({ "response": response }))
        }
    }
}

fn usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input, "input_tokens_details": { "cached_tokens": usage.cached },
        "output_tokens": usage.output, "output_tokens_details": { "reasoning_tokens": usage.reasoning },
        "total_tokens": usage.input + usage.output,
    })
}

fn item(said: &Said, place: (usize, usize)) -> Vec<SentEvent> {
    match said {
        Said::Text(text) => message(text, place),
        Said::Thought(text) => reasoning(text, place),
        Said::Call(call) => function_call(call, place),
        Said::Item(item) => {
            vec![("response.output_item.done", json!({ "output_index": place.1, "item": item }))]
        }
    }
}

fn message(text: &str, (number, index): (usize, usize)) -> Vec<SentEvent> {
    let id = format!("msg_{number}_{index}");
    let item = |status: &str, content: Value| json!({ "type": "message", "id": id, "role": "assistant", "status": status, "content": content });
    let delta =
        |piece: &str| json!({ "item_id": id, "output_index": index, "content_index": 0, "delta": piece });
    let [first, second] = halves(text);
    let content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
    vec![
        added(index, &item("in_progress", json!([]))),
        ("response.output_text.delta", delta(first)),
        ("response.output_text.delta", delta(second)),
        done(index, &item("completed", content)),
    ]
}

fn reasoning(text: &str, (number, index): (usize, usize)) -> Vec<SentEvent> {
    let id = format!("rs_{number}_{index}");
    let item = |summary: Value| json!({ "type": "reasoning", "id": id, "summary": summary, "encrypted_content": format!("sealed {id}") });
    let delta =
        |piece: &str| json!({ "item_id": id, "output_index": index, "summary_index": 0, "delta": piece });
    let [first, second] = halves(text);
    vec![
        added(index, &item(json!([]))),
        ("response.reasoning_summary_text.delta", delta(first)),
        ("response.reasoning_summary_text.delta", delta(second)),
        done(index, &item(json!([{ "type": "summary_text", "text": text }]))),
    ]
}

fn function_call(call: &Call, (number, index): (usize, usize)) -> Vec<SentEvent> {
    let id = format!("fc_{number}_{index}");
    let (kind, member, pieces, input) = match &call.input {
        Input::Arguments(text) => {
            ("function_call", "arguments", "response.function_call_arguments.delta", text)
        }
        Input::Text(text) => ("custom_tool_call", "input", "response.custom_tool_call_input.delta", text),
    };
    let item = |status: &str, input: &str| {
        let mut item = json!({
            "type": kind, "id": id, "call_id": call.id((number, index)), "status": status,
            "name": call.tool.name, member: input,
        });
        if let Some(namespace) = &call.tool.namespace {
            item["namespace"] = json!(namespace);
        }
        item
    };
    let delta = |piece: &str| json!({ "item_id": id, "output_index": index, "delta": piece });
    let [first, second] = halves(input);
    vec![
        added(index, &item("in_progress", "")),
        (pieces, delta(first)),
        (pieces, delta(second)),
        done(index, &item("completed", input)),
    ]
}

fn added(index: usize, item: &Value) -> SentEvent {
    ("response.output_item.added", json!({ "output_index": index, "item": item }))
}

fn done(index: usize, item: &Value) -> SentEvent {
    ("response.output_item.done", json!({ "output_index": index, "item": item }))
}
