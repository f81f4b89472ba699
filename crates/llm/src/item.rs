//! An item of a conversation: a message, reasoning, a call of a tool, or a tool's result.
//!
//! An item is its JSON text, in the format of the Responses wire; everything else here is a way to read that text. The
//! text is made once and never again, because a provider's cache compares bytes.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

/// An item. A cheap handle.
#[derive(Clone, PartialEq, Eq)]
pub struct Item(Arc<Inner>);

#[derive(PartialEq, Eq)]
struct Inner {
    json: String,
    content: Content,
}

/// The content of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A message.
    Message {
        /// Its author.
        role: Role,
        /// The texts and images.
        parts: Vec<ContentPart>,
    },
    /// The model's reasoning, as far as the provider shows it.
    Reasoning {
        /// The summary, or the reasoning itself where the provider sends it; may be empty.
        text: String,
    },
    /// The model calls a tool.
    Call(Call),
    /// A tool's result.
    Output {
        /// The id of the call.
        call: CallId,
        /// The result.
        parts: Vec<ContentPart>,
    },
    /// An item that this program only passes on, such as a web search that the provider made.
    Other {
        /// Its type.
        kind: String,
    },
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The operator who configured the agent.
    #[serde(alias = "system")]
    Developer,
    /// The user; also notices of the program itself.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Developer => "developer",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// A part of a message or of a tool's result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentPart {
    /// Text.
    Text(String),
    /// An image, as a `data:` URL.
    Image(String),
}

/// The id that links a result to its call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub String);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The id that the result refers to.
    pub id: CallId,
    /// The tool.
    pub name: String,
    /// The group of tools it belongs to, where the model names one.
    pub namespace: Option<String>,
    /// The arguments or free text, exactly as the model wrote it.
    pub input: Input,
}

/// The input of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The text of a JSON object, or a text that the model mistook for one.
    Arguments(String),
    /// Free text, of a custom tool.
    Text(String),
}

impl Input {
    /// The text, of either kind.
    pub fn text(&self) -> &str {
        match self {
            Self::Arguments(text) | Self::Text(text) => text,
        }
    }
}

/// A text that cannot be parsed as an item.
#[derive(Debug, thiserror::Error)]
#[error("not an item of a conversation: {0}")]
pub struct BadItem(#[from] serde_json::Error);

impl Item {
    /// The item with this JSON text. The text is kept byte for byte.
    pub fn from_json(json: impl Into<String>) -> Result<Self, BadItem> {
        let json = json.into();
        let content = serde_json::from_str::<Shape>(&json)?.content();
        Ok(Self(Arc::new(Inner { json, content })))
    }

    /// A message of the operator who configured the agent.
    pub fn developer(text: impl Into<String>) -> Self {
        Self::message(Role::Developer, vec![ContentPart::Text(text.into())])
    }

    /// A message of the user.
    pub fn user(text: impl Into<String>) -> Self {
        Self::message(Role::User, vec![ContentPart::Text(text.into())])
    }

    /// A message.
    pub fn message(role: Role, parts: Vec<ContentPart>) -> Self {
        let kind = if role == Role::Assistant { "output_text" } else { "input_text" };
        let content: Vec<Value> = parts.iter().map(|part| part_json(part, kind)).collect();
        let value = json!({ "type": "message", "role": role.name(), "content": content });
        Self::made(&value, Content::Message { role, parts })
    }

    /// Reasoning in the clear, for a wire without items.
    pub fn reasoning(text: impl Into<String>) -> Self {
        let text = text.into();
        let content = json!([{ "type": "reasoning_text", "text": text }]);
        let value = json!({ "type": "reasoning", "summary": [], "content": content });
        Self::made(&value, Content::Reasoning { text })
    }

    /// A call, for a wire without items.
    pub fn call(call: Call) -> Self {
        let mut value = match &call.input {
            Input::Arguments(text) => json!({ "type": "function_call", "arguments": text }),
            Input::Text(text) => json!({ "type": "custom_tool_call", "input": text }),
        };
        value["call_id"] = call.id.0.as_str().into();
        value["name"] = call.name.as_str().into();
        if let Some(namespace) = &call.namespace {
            value["namespace"] = namespace.as_str().into();
        }
        Self::made(&value, Content::Call(call))
    }

    /// The result of this call.
    pub fn output(call: &Call, parts: Vec<ContentPart>) -> Self {
        let kind = match call.input {
            Input::Arguments(_) => "function_call_output",
            Input::Text(_) => "custom_tool_call_output",
        };
        let output = match parts.as_slice() {
            [ContentPart::Text(text)] => text.as_str().into(),
            parts => parts.iter().map(|part| part_json(part, "input_text")).collect::<Value>(),
        };
        let value = json!({ "type": kind, "call_id": call.id.0, "output": output });
        Self::made(&value, Content::Output { call: call.id.clone(), parts })
    }

    /// The JSON text that is sent and stored.
    pub fn json(&self) -> &str {
        &self.0.json
    }

    /// The parsed content.
    pub fn content(&self) -> &Content {
        &self.0.content
    }

    /// The call, if the item is one.
    pub fn as_call(&self) -> Option<&Call> {
        match self.content() {
            Content::Call(call) => Some(call),
            _ => None,
        }
    }

    /// The text of the item, if it is a message of this role.
    pub fn words_of(&self, asked: Role) -> Option<String> {
        match self.content() {
            Content::Message { role, parts } if *role == asked => Some(text_of(parts)),
            _ => None,
        }
    }

    fn made(value: &Value, content: Content) -> Self {
        Self(Arc::new(Inner { json: value.to_string(), content }))
    }
}

impl fmt::Debug for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.json())
    }
}

fn text_of(parts: &[ContentPart]) -> String {
    let text = |part: &ContentPart| match part {
        ContentPart::Text(text) => Some(text.as_str().to_owned()),
        ContentPart::Image(_) => None,
    };
    parts.iter().filter_map(text).collect::<Vec<_>>().join("\n")
}

fn part_json(part: &ContentPart, text_kind: &str) -> Value {
    match part {
        ContentPart::Text(text) => json!({ "type": text_kind, "text": text }),
        ContentPart::Image(address) => json!({ "type": "input_image", "image_url": address }),
    }
}

/// The fields that matter, of items of any type; the other fields stay in the text.
#[derive(Deserialize)]
struct Shape {
    #[serde(rename = "type")]
    kind: String,
    role: Option<Role>,
    content: Option<Value>,
    summary: Option<Value>,
    call_id: Option<String>,
    name: Option<String>,
    namespace: Option<String>,
    arguments: Option<String>,
    input: Option<String>,
    output: Option<Value>,
}

impl Shape {
    fn content(self) -> Content {
        match self.kind.as_str() {
            "message" => Content::Message {
                role: self.role.unwrap_or(Role::User),
                parts: self.content.map(parts_of).unwrap_or_default(),
            },
            "reasoning" => Content::Reasoning { text: self.thoughts() },
            "function_call" | "custom_tool_call" => Content::Call(self.into_call()),
            "function_call_output" | "custom_tool_call_output" => Content::Output {
                call: CallId(self.call_id.unwrap_or_default()),
                parts: self.output.map(parts_of).unwrap_or_default(),
            },
            _ => Content::Other { kind: self.kind },
        }
    }

    fn into_call(self) -> Call {
        let input = match self.kind.as_str() {
            "function_call" => Input::Arguments(self.arguments.unwrap_or_default()),
            _ => Input::Text(self.input.unwrap_or_default()),
        };
        Call {
            id: CallId(self.call_id.unwrap_or_default()),
            name: self.name.unwrap_or_default(),
            namespace: self.namespace,
            input,
        }
    }

    fn thoughts(&self) -> String {
        let texts = |value: &Option<Value>| -> Vec<String> {
            let entries = value.as_ref().and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            entries.iter().filter_map(|entry| Some(entry.get("text")?.as_str()?.to_owned())).collect()
        };
        let summary = texts(&self.summary);
        if summary.is_empty() { texts(&self.content).join("\n") } else { summary.join("\n\n") }
    }
}

fn parts_of(value: Value) -> Vec<ContentPart> {
    match value {
        Value::String(text) => vec![ContentPart::Text(text)],
        Value::Array(entries) => entries.iter().filter_map(part_of).collect(),
        _ => Vec::new(),
    }
}

fn part_of(entry: &Value) -> Option<ContentPart> {
    let text = |field: &str| entry.get(field).and_then(Value::as_str).map(str::to_owned);
    if let Some(address) = text("image_url") {
        return Some(ContentPart::Image(address));
    }
    text("text").or_else(|| text("refusal")).map(ContentPart::Text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_keeps_the_bytes_it_came_in() {
        let json =
            r#"{"arguments":"{ \"a\" :1.0}",  "call_id":"c1","type":"function_call","name":"f","x":[1e2]}"#;
        let item = Item::from_json(json).unwrap();
        assert_eq!(item.json(), json);
        let call = item.as_call().unwrap();
        assert_eq!((call.name.as_str(), call.input.text()), ("f", r#"{ "a" :1.0}"#));
    }

    #[test]
    fn what_is_made_is_read_back_the_same() {
        let call = Call {
            id: CallId("c".into()),
            name: "apply_patch".into(),
            namespace: None,
            input: Input::Text("*** Begin".into()),
        };
        let image = ContentPart::Image("data:image/png;base64,AA==".into());
        for item in [
            Item::developer("be exact"),
            Item::user("héllo"),
            Item::message(Role::Assistant, vec![ContentPart::Text("done".into())]),
            Item::reasoning("hm"),
            Item::call(call.clone()),
            Item::output(&call, vec![ContentPart::Text("ok".into())]),
            Item::output(&call, vec![ContentPart::Text("see".into()), image]),
        ] {
            let again = Item::from_json(item.json()).unwrap();
            assert_eq!(again.content(), item.content());
        }
    }

    #[test]
    fn items_of_other_types_are_only_passed_on() {
        let item = Item::from_json(r#"{"type":"web_search_call","id":"w","action":{"query":"x"}}"#).unwrap();
        assert_eq!(item.content(), &Content::Other { kind: "web_search_call".into() });
        assert!(Item::from_json("[]").is_err() && Item::from_json("{").is_err());
    }
}
