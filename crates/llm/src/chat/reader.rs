//! Reads a response of the chat wire: gathers the pieces of one message, and returns items when the response is
//! complete.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::Value;

use super::INPUT;
use crate::event::{ResponseEvent, Usage};
use crate::failure::Failure;
use crate::item::{Call, CallId, ContentPart, Input, Item, Role};
use crate::provider_error::Complaint;
use crate::request::{Request, ToolSpec};
use crate::sse::{LONGEST_EVENT, SseEvent};
use crate::wire::Reader;

/// A response with more calls than this is a malfunction of the model or of the provider.
const MOST_CALLS: usize = 512;
/// The longest response, in bytes of all its pieces together.
const LONGEST_ANSWER: usize = LONGEST_EVENT;

/// Reads one response.
pub(super) struct ChatReader {
    provider: String,
    /// Names of the tools that take free text, which this wire offers as functions.
    with_text: HashSet<String>,
    /// Distinguishes the ids that are made up for calls without one: no earlier item of the conversation can have the
    /// same.
    asked: usize,
    gathered: Gathered,
}

/// The response so far.
#[derive(Default)]
struct Gathered {
    started: bool,
    thoughts: String,
    words: String,
    calls: Vec<Written>,
    finish: Option<String>,
    usage: Usage,
    size: usize,
}

/// A call whose pieces are still arriving.
struct Written {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl ChatReader {
    /// A reader for the response of the provider with this name to this request.
    pub(super) fn of(provider: &str, request: &Request) -> Self {
        let with_text = request.tools.iter().filter_map(|tool| match tool {
            ToolSpec::Custom { name, .. } => Some(name.clone()),
            _ => None,
        });
        Self {
            provider: provider.to_owned(),
            with_text: with_text.collect(),
            asked: request.items.len(),
            gathered: Gathered::default(),
        }
    }

    fn chunk(&mut self, data: &str) -> Result<Vec<ResponseEvent>, Failure> {
        let Ok(value) = serde_json::from_str::<Value>(data) else { return Ok(Vec::new()) };
        if value.get("error").is_some_and(|error| !error.is_null()) {
            let complaint = Complaint::of_value(&value).unwrap_or_default();
            return Err(complaint.into_failure(&format!("{} failed", self.provider)));
        }
        let Ok(chunk) = Chunk::deserialize(value) else { return Ok(Vec::new()) };
        let events = self.gathered.take(chunk);
        self.check_size()?;
        Ok(events)
    }

    fn check_size(&self) -> Result<(), Failure> {
        if self.gathered.size > LONGEST_ANSWER || self.gathered.calls.len() > MOST_CALLS {
            return Err(Failure::passing(format!("the answer of {} has no end", self.provider)));
        }
        Ok(())
    }

    /// The items of the response, once all pieces have arrived.
    fn complete(&mut self) -> Result<Vec<ResponseEvent>, Failure> {
        let gathered = std::mem::take(&mut self.gathered);
        match gathered.finish.as_deref() {
            Some(reason @ ("length" | "content_filter")) => {
                return Err(Failure::lasting(format!(
                    "{} left its answer incomplete: {reason}",
                    self.provider
                )));
            }
            Some("error") => {
                return Err(Failure::passing(format!("{} failed without a reason", self.provider)));
            }
            _ => {}
        }
        if gathered.words.is_empty() && gathered.calls.is_empty() && !gathered.thoughts.is_empty() {
            return Err(Failure::passing(format!(
                "{} thought, but neither said nor called anything",
                self.provider
            )));
        }
        let thoughts = (!gathered.thoughts.is_empty()).then(|| Item::reasoning(gathered.thoughts));
        let words = (!gathered.words.is_empty())
            .then(|| Item::message(Role::Assistant, vec![ContentPart::Text(gathered.words)]));
        let calls = gathered.calls.into_iter().enumerate().map(|(index, call)| self.call(call, index));
        let items = thoughts.into_iter().chain(words).chain(calls).map(ResponseEvent::Item);
        Ok(items.chain([ResponseEvent::Completed(gathered.usage)]).collect())
    }

    fn call(&self, written: Written, index: usize) -> Item {
        let Written { id, name, arguments, .. } = written;
        let input = match () {
            () if self.with_text.contains(&name) => Input::Text(free_text(arguments)),
            // Models often call a function without parameters with an empty text.
            () if arguments.trim().is_empty() => Input::Arguments("{}".to_owned()),
            () => Input::Arguments(arguments),
        };
        let id = if id.is_empty() { format!("call_{}_{index}", self.asked) } else { id };
        Item::call(Call { id: CallId(id), name, namespace: None, input })
    }
}

impl Reader for ChatReader {
    fn read(&mut self, event: &SseEvent) -> Result<Vec<ResponseEvent>, Failure> {
        match event.data.trim() {
            "[DONE]" => self.complete(),
            data => self.chunk(data),
        }
    }

    /// The end of the stream. Some providers leave out the final `[DONE]`, but all of them send the reason why they
    /// stopped.
    fn end(&mut self) -> Result<Vec<ResponseEvent>, Failure> {
        if self.gathered.finish.is_some() {
            return self.complete();
        }
        Err(Failure::passing(format!("the stream of {} ended before the answer was complete", self.provider)))
    }
}

/// The free text inside the arguments, or the arguments themselves where a model did not wrap its text in an object.
fn free_text(arguments: String) -> String {
    let value: Value = serde_json::from_str(&arguments).unwrap_or_default();
    match value.get(INPUT).and_then(Value::as_str) {
        Some(text) => text.to_owned(),
        None => arguments,
    }
}

impl Gathered {
    fn take(&mut self, chunk: Chunk) -> Vec<ResponseEvent> {
        let mut events = Vec::new();
        if !std::mem::replace(&mut self.started, true) {
            events.push(ResponseEvent::Started);
        }
        if let Some(usage) = chunk.usage {
            self.usage = usage.counted();
        }
        if let Some(choice) = chunk.choices.into_iter().flatten().next() {
            self.finish = choice.finish_reason.or(self.finish.take());
            self.delta(choice.delta.unwrap_or_default(), &mut events);
        }
        events
    }

    fn delta(&mut self, delta: Delta, events: &mut Vec<ResponseEvent>) {
        // Some providers send the same reasoning under both names.
        let thought = delta.reasoning.and_then(text).or_else(|| delta.reasoning_content.and_then(text));
        if let Some(thought) = thought {
            self.size += thought.len();
            self.thoughts.push_str(&thought);
            events.push(ResponseEvent::Thought(thought));
        }
        for words in [delta.content, delta.refusal].into_iter().flatten().filter_map(text) {
            self.size += words.len();
            self.words.push_str(&words);
            events.push(ResponseEvent::Text(words));
        }
        for piece in delta.tool_calls.into_iter().flatten() {
            events.extend(self.call_piece(piece));
        }
    }

    fn call_piece(&mut self, piece: CallPiece) -> Option<ResponseEvent> {
        let function = piece.function.unwrap_or_default();
        let id = piece.id.unwrap_or_default();
        let name = function.name.unwrap_or_default();
        let arguments = function.arguments.map(arguments_text).unwrap_or_default();
        self.size += id.len() + name.len() + arguments.len();
        let Some(call) = self.continued(piece.index, &id, &name) else {
            let begun = (!name.is_empty()).then(|| ResponseEvent::Calling(name.clone()));
            self.calls.push(Written { index: piece.index, id, name, arguments });
            return begun;
        };
        call.arguments.push_str(&arguments);
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() && !name.is_empty() {
            call.name.clone_from(&name);
            return Some(ResponseEvent::Calling(name));
        }
        None
    }

    /// The call that a piece belongs to: the last one with its index, or the last of all where there are no indices.
    /// Some providers give every call the same index, so a name with another id begins a new call.
    fn continued(&mut self, index: Option<u64>, id: &str, name: &str) -> Option<&mut Written> {
        let mut calls = self.calls.iter_mut().rev();
        let call = calls.find(|call| index.is_none() || call.index == index)?;
        let other = !name.is_empty() && !id.is_empty() && !call.id.is_empty() && call.id != id;
        (!other).then_some(call)
    }
}

/// The arguments of a piece. Some providers send an object instead of a text.
fn arguments_text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Null => String::new(),
        value => value.to_string(),
    }
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text),
        _ => None,
    }
}

#[derive(Deserialize)]
struct Chunk {
    choices: Option<Vec<Choice>>,
    usage: Option<Counted>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
struct Delta {
    content: Option<Value>,
    refusal: Option<Value>,
    reasoning: Option<Value>,
    reasoning_content: Option<Value>,
    tool_calls: Option<Vec<CallPiece>>,
}

#[derive(Deserialize)]
struct CallPiece {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionPiece>,
}

#[derive(Default, Deserialize)]
struct FunctionPiece {
    name: Option<String>,
    arguments: Option<Value>,
}

#[derive(Deserialize)]
struct Counted {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<Value>,
    completion_tokens_details: Option<Value>,
}

impl Counted {
    fn counted(&self) -> Usage {
        let detail = |details: &Option<Value>, field: &str| {
            details.as_ref().and_then(|details| details.get(field)?.as_u64()).unwrap_or_default()
        };
        Usage {
            input: self.prompt_tokens.unwrap_or_default(),
            cached: detail(&self.prompt_tokens_details, "cached_tokens"),
            cache_written: detail(&self.prompt_tokens_details, "cache_write_tokens"),
            output: self.completion_tokens.unwrap_or_default(),
            reasoning: detail(&self.completion_tokens_details, "reasoning_tokens"),
        }
    }
}
