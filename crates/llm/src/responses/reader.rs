//! Reads a response of the Responses wire.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::event::{ResponseEvent, Usage};
use crate::failure::Failure;
use crate::item::Item;
use crate::provider_error::Complaint;
use crate::sse::SseEvent;
use crate::wire::Reader;

/// Reads one response.
pub(super) struct ResponsesReader {
    provider: String,
}

impl ResponsesReader {
    /// A reader for a response of the provider with this name.
    pub(super) fn told_by(provider: &str) -> Self {
        Self { provider: provider.to_owned() }
    }

    fn failed(&self, data: &str) -> Failure {
        let value: Value = serde_json::from_str(data).unwrap_or_default();
        let complaint = Complaint::of_value(&value).unwrap_or_default();
        complaint.into_failure(&format!("{} failed", self.provider))
    }

    fn incomplete(&self, data: &str) -> Failure {
        let value: Value = serde_json::from_str(data).unwrap_or_default();
        let reason = value.pointer("/response/incomplete_details/reason").and_then(Value::as_str);
        let reason = reason.unwrap_or("no reason was given");
        Failure::lasting(format!("{} left its answer incomplete: {reason}", self.provider))
    }
}

impl Reader for ResponsesReader {
    fn read(&mut self, event: &SseEvent) -> Result<Vec<ResponseEvent>, Failure> {
        let data = event.data.as_str();
        let Ok(told) = serde_json::from_str::<EventFields<'_>>(data) else { return Ok(Vec::new()) };
        // Some providers name the event's type only in the `event:` line.
        let kind = told.kind.as_deref().unwrap_or(&event.event);
        let piece = |make: fn(String) -> ResponseEvent| {
            told.delta.as_ref().and_then(Value::as_str).map(|text| make(text.to_owned()))
        };
        let event = match kind {
            "response.created" => Some(ResponseEvent::Started),
            "response.output_item.added" => told.item.and_then(called),
            "response.output_text.delta" | "response.refusal.delta" => piece(ResponseEvent::Text),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                piece(ResponseEvent::Thought)
            }
            "response.reasoning_summary_part.added" if told.summary_index > Some(0) => {
                Some(ResponseEvent::Thought("\n\n".to_owned()))
            }
            "response.output_item.done" => told.item.and_then(item),
            "response.completed" => {
                Some(ResponseEvent::Completed(told.response.map(usage).unwrap_or_default()))
            }
            "response.failed" | "error" => return Err(self.failed(data)),
            "response.incomplete" => return Err(self.incomplete(data)),
            // An error of a gateway has no type at all.
            "" if told.error.is_some() => return Err(self.failed(data)),
            _ => None,
        };
        Ok(event.into_iter().collect())
    }

    fn end(&mut self) -> Result<Vec<ResponseEvent>, Failure> {
        Err(Failure::passing(format!("the stream of {} ended before the answer was complete", self.provider)))
    }
}

/// The fields of an event that matter. Nested JSON is not parsed before the event's type is known.
#[derive(Deserialize)]
struct EventFields<'d> {
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(borrow)]
    item: Option<&'d RawValue>,
    delta: Option<Value>,
    summary_index: Option<u64>,
    #[serde(borrow)]
    response: Option<&'d RawValue>,
    #[serde(borrow)]
    error: Option<&'d RawValue>,
}

fn called(item: &RawValue) -> Option<ResponseEvent> {
    let item = Item::from_json(item.get()).ok()?;
    item.as_call().map(|call| ResponseEvent::Calling(call.name.clone()))
}

/// The item in the bytes in which it arrived, but on one line: in JSON, a line break outside of strings is only
/// whitespace.
fn item(item: &RawValue) -> Option<ResponseEvent> {
    let json = item.get().replace(['\n', '\r'], " ");
    Item::from_json(json).ok().map(ResponseEvent::Item)
}

fn usage(response: &RawValue) -> Usage {
    let response: Value = serde_json::from_str(response.get()).unwrap_or_default();
    let count = |path: &str| response.pointer(path).and_then(Value::as_u64).unwrap_or_default();
    Usage {
        input: count("/usage/input_tokens"),
        cached: count("/usage/input_tokens_details/cached_tokens"),
        cache_written: count("/usage/input_tokens_details/cache_write_tokens"),
        output: count("/usage/output_tokens"),
        reasoning: count("/usage/output_tokens_details/reasoning_tokens"),
    }
}
