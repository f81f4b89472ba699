//! Answers in the dialect of Chat Completions: chunks of one choice, the token usage, and the final `[DONE]`.

use serde_json::{Value, json};

use super::http::ScriptedEvent;
use super::reply::{Call, Input, ReplyEnd, Said, ScriptedReply};
use super::{MODEL, halves};

/// The events of an answer; the number makes its identifiers unique within a conversation.
pub(super) fn events(answer: &ScriptedReply, number: usize) -> Vec<ScriptedEvent> {
    let chunk = |choices: Value| {
        json!({
            "id": format!("chatcmpl-{number}"), "object": "chat.completion.chunk", "created": 0, "model": MODEL,
            "choices": choices,
        })
    };
    let choice =
        |delta: Value, finish: Value| chunk(json!([{ "index": 0, "delta": delta, "finish_reason": finish }]));
    let deltas = deltas(answer, number).into_iter();
    let mut chunks: Vec<Value> = deltas.map(|delta| choice(delta, Value::Null)).collect();
    match &answer.ending {
        ReplyEnd::Completed => chunks.push(choice(json!({}), json!(finish(answer)))),
        ReplyEnd::Incomplete { reason } => chunks.push(choice(json!({}), json!(reason))),
        ReplyEnd::Failed { code, message } => {
            chunks.push(json!({ "error": { "code": code, "message": message, "type": "scripted" } }));
        }
    }
    let mut usage = chunk(json!([]));
    usage["usage"] = usage_of(answer);
    chunks.push(usage);
    let data = chunks.iter().map(Value::to_string).chain(["[DONE]".to_owned()]);
    data.map(|data| ScriptedEvent { kind: None, data }).collect()
}

fn finish(answer: &ScriptedReply) -> &'static str {
    if answer.said.iter().any(|said| matches!(said, Said::Call(_))) { "tool_calls" } else { "stop" }
}

fn usage_of(answer: &ScriptedReply) -> Value {
    let usage = answer.usage;
    json!({
        "prompt_tokens": usage.input, "prompt_tokens_details": { "cached_tokens": usage.cached },
        "completion_tokens": usage.output, "completion_tokens_details": { "reasoning_tokens": usage.reasoning },
        "total_tokens": usage.input + usage.output,
    })
}

fn deltas(answer: &ScriptedReply, number: usize) -> Vec<Value> {
    let mut deltas = vec![json!({ "role": "assistant", "content": null })];
    let mut calls = 0;
    for said in &answer.said {
        match said {
            Said::Text(text) => deltas.extend(halves(text).map(|piece| json!({ "content": piece }))),
            Said::Thought(text) => deltas.extend(halves(text).map(|piece| json!({ "reasoning": piece }))),
            Said::Call(call) => {
                deltas.extend(tool_call(call, (number, calls)));
                calls += 1;
            }
            Said::Item(_) => {}
        }
    }
    deltas
}

/// The name comes first and alone, the arguments after it in pieces.
fn tool_call(call: &Call, (number, index): (usize, usize)) -> Vec<Value> {
    let arguments = match &call.input {
        Input::Arguments(text) => text.clone(),
        Input::Text(text) => json!({ "input": text }).to_string(),
    };
    let begin = json!({
        "index": index, "id": call.id((number, index)), "type": "function",
        "function": { "name": call.tool.name, "arguments": "" },
    });
    let pieces =
        halves(&arguments).map(|piece| json!({ "index": index, "function": { "arguments": piece } }));
    let calls = std::iter::once(begin).chain(pieces);
    calls.map(|call| json!({ "tool_calls": [call] })).collect()
}
