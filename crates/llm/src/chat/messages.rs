//! Writes items as messages. One assistant message holds the model's reasoning, words and calls together. Images that a
//! tool returned follow in a user message, because a tool message holds only text.

use serde_json::{Value, json};

use super::{Chat, INPUT};
use crate::item::{Call, CallId, Content, ContentPart, Input, Item, Role};
use crate::provider::{InstructionsRole, ThoughtField};

impl Chat {
    /// The messages, each as its JSON text.
    pub(super) fn messages(&self, items: &[Item]) -> Vec<String> {
        let mut writer =
            Writer { chat: self, written: Vec::new(), assistant: Assistant::default(), images: Vec::new() };
        for item in items {
            writer.take(item.content());
        }
        writer.end_assistant();
        writer.end_images();
        writer.written
    }

    fn role(&self, role: Role) -> &'static str {
        match (role, self.instructions_role) {
            (Role::Developer, InstructionsRole::System) => "system",
            _ => role.name(),
        }
    }
}

/// Writes messages, and gathers the pieces of the message that is not complete yet.
struct Writer<'c> {
    chat: &'c Chat,
    written: Vec<String>,
    assistant: Assistant,
    /// Images that tools returned. They are written when the last tool of a group of calls has answered.
    images: Vec<Value>,
}

/// An assistant message that is being put together.
#[derive(Default)]
struct Assistant {
    thoughts: Vec<String>,
    words: Vec<String>,
    calls: Vec<Value>,
}

impl Writer<'_> {
    fn take(&mut self, content: &Content) {
        if !matches!(content, Content::Output { .. } | Content::Other { .. }) {
            self.end_images();
        }
        match content {
            Content::Message { role: Role::Assistant, parts } => self.assistant.words.extend(text_of(parts)),
            Content::Message { role, parts } => {
                self.end_assistant();
                self.write(&json!({ "role": self.chat.role(*role), "content": content_of(parts) }));
            }
            Content::Reasoning { text } if text.is_empty() => {}
            Content::Reasoning { text } => self.assistant.thoughts.push(text.clone()),
            Content::Call(call) => self.assistant.calls.push(call_of(call)),
            Content::Output { call, parts } => self.output(call, parts),
            Content::Other { .. } => {}
        }
    }

    fn output(&mut self, call: &CallId, parts: &[ContentPart]) {
        self.end_assistant();
        let images = parts.iter().filter(|part| matches!(part, ContentPart::Image(_)));
        let images: Vec<Value> = images.map(part_of).collect();
        let text = match text_of(parts) {
            Some(text) => text,
            None if images.is_empty() => String::new(),
            None => "The picture follows.".to_owned(),
        };
        self.write(&json!({ "role": "tool", "tool_call_id": call.0, "content": text }));
        if !images.is_empty() {
            self.images.push(json!({ "type": "text", "text": format!("What the call {call} shows:") }));
            self.images.extend(images);
        }
    }

    fn end_images(&mut self) {
        if !self.images.is_empty() {
            let images = std::mem::take(&mut self.images);
            self.write(&json!({ "role": "user", "content": images }));
        }
    }

    fn end_assistant(&mut self) {
        let Assistant { thoughts, words, calls } = std::mem::take(&mut self.assistant);
        // Reasoning alone makes no message: the words or calls that it led to are not there.
        if words.is_empty() && calls.is_empty() {
            return;
        }
        let words = if words.is_empty() { Value::Null } else { json!(words.join("\n")) };
        let mut message = json!({ "role": "assistant", "content": words });
        let field = match self.chat.thoughts {
            ThoughtField::Reasoning => Some("reasoning"),
            ThoughtField::ReasoningContent => Some("reasoning_content"),
            ThoughtField::LeftOut => None,
        };
        if let (Some(field), false) = (field, thoughts.is_empty()) {
            message[field] = json!(thoughts.join("\n"));
        }
        if !calls.is_empty() {
            message["tool_calls"] = json!(calls);
        }
        self.write(&message);
    }

    fn write(&mut self, message: &Value) {
        self.written.push(message.to_string());
    }
}

/// Many servers parse the arguments of past calls and reject the whole conversation when one of them is not a JSON
/// object. So arguments that the model got wrong are sent back as a string.
fn call_of(call: &Call) -> Value {
    let arguments = match &call.input {
        Input::Arguments(text) if is_object(text) => text.clone(),
        Input::Arguments(text) | Input::Text(text) => json!({ INPUT: text }).to_string(),
    };
    let name = match &call.namespace {
        Some(namespace) => format!("{namespace}__{}", call.name),
        None => call.name.clone(),
    };
    json!({ "id": call.id.0, "type": "function", "function": { "name": name, "arguments": arguments } })
}

fn is_object(text: &str) -> bool {
    serde_json::from_str::<serde_json::Map<String, Value>>(text).is_ok()
}

/// A plain string where there are no images: more servers understand it than a list of parts.
fn content_of(parts: &[ContentPart]) -> Value {
    if parts.iter().any(|part| matches!(part, ContentPart::Image(_))) {
        return parts.iter().map(part_of).collect();
    }
    json!(text_of(parts).unwrap_or_default())
}

fn part_of(part: &ContentPart) -> Value {
    match part {
        ContentPart::Text(text) => json!({ "type": "text", "text": text }),
        ContentPart::Image(address) => json!({ "type": "image_url", "image_url": { "url": address } }),
    }
}

fn text_of(parts: &[ContentPart]) -> Option<String> {
    let texts = parts.iter().filter_map(|part| match part {
        ContentPart::Text(text) => Some(text.as_str()),
        ContentPart::Image(_) => None,
    });
    let texts: Vec<&str> = texts.collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}
