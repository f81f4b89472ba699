//! Answers in the dialect of Chat Completions: chunks of one choice, the count of tokens, and a last word.

use serde_json::{Value, json};

use super::http::Event;
use super::{Call, MODEL, Reply, halves};

/// The events of an answer; the number makes its identifiers unique within a conversation.
pub(super) fn events(reply: &Reply, number: usize) -> Vec<Event> {
    let chunk = |choices: Value| {
        json!({
            "id": format!("chatcmpl-{number}"), "object": "chat.completion.chunk", "created": 0, "model": MODEL,
            "choices": choices,
        })
    };
    let choice =
        |delta: Value, finish: Value| chunk(json!([{ "index": 0, "delta": delta, "finish_reason": finish }]));
    let mut chunks: Vec<Value> =
        deltas(reply, number).into_iter().map(|delta| choice(delta, Value::Null)).collect();
    if !matches!(reply, Reply::Broken(_)) {
        let finish = if matches!(reply, Reply::Calls(_)) { "tool_calls" } else { "stop" };
        chunks.push(choice(json!({}), json!(finish)));
        let mut usage = chunk(json!([]));
        usage["usage"] = json!({ "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 });
        chunks.push(usage);
    }
    let last = (!matches!(reply, Reply::Broken(_))).then(|| "[DONE]".to_owned());
    let data = chunks.iter().map(Value::to_string).chain(last);
    data.map(|data| Event { kind: None, data }).collect()
}

fn deltas(reply: &Reply, number: usize) -> Vec<Value> {
    let mut deltas = vec![json!({ "role": "assistant", "content": null })];
    match reply {
        Reply::Text(text) => deltas.extend(halves(text).map(|piece| json!({ "content": piece }))),
        Reply::Broken(text) => deltas.push(json!({ "content": halves(text)[0] })),
        Reply::Calls(calls) => {
            deltas
                .extend(calls.iter().enumerate().flat_map(|(index, call)| tool_call(call, (number, index))));
        }
        Reply::Failure(..) => {}
    }
    deltas
}

/// The name comes first and alone, the arguments after it in pieces.
fn tool_call(call: &Call, (number, index): (usize, usize)) -> Vec<Value> {
    let arguments = call.input.text();
    let begin = json!({
        "index": index, "id": format!("call_{number}_{index}"), "type": "function",
        "function": { "name": call.tool.name, "arguments": "" },
    });
    let pieces =
        halves(&arguments).map(|piece| json!({ "index": index, "function": { "arguments": piece } }));
    let calls = std::iter::once(begin).chain(pieces);
    calls.map(|call| json!({ "tool_calls": [call] })).collect()
}
