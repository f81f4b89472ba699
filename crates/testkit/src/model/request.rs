//! A request of an agent to the model, in either dialect: the tools it offers and the results of the calls so far.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use serde_json::value::RawValue;

use super::http::ReceivedRequest;

/// The dialect of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestDialect {
    /// `POST /v1/responses`.
    Responses,
    /// `POST /v1/chat/completions`.
    Chat,
}

/// A request of the conversation.
#[derive(Clone, Debug)]
pub struct Request {
    dialect: RequestDialect,
    body: Value,
    text: Arc<str>,
    headers: Vec<(String, String)>,
    arrived: Instant,
}

/// A tool, by the name under which the agent offers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolName {
    pub(super) namespace: Option<String>,
    pub(super) name: String,
}

impl Request {
    pub(super) fn read(dialect: RequestDialect, asked: &ReceivedRequest) -> serde_json::Result<Self> {
        Ok(Self {
            dialect,
            body: serde_json::from_slice(&asked.body)?,
            text: String::from_utf8_lossy(&asked.body).into(),
            headers: asked.headers.clone(),
            arrived: asked.arrived,
        })
    }

    /// How it is worded.
    pub fn dialect(&self) -> RequestDialect {
        self.dialect
    }

    /// The time when its last byte arrived, before it was parsed.
    pub fn arrived(&self) -> Instant {
        self.arrived
    }

    /// The whole request.
    pub fn body(&self) -> &Value {
        &self.body
    }

    /// The whole request, byte for byte.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The conversation it belongs to: what the header `thread-id` says, or else the key of the cache.
    pub fn thread(&self) -> &str {
        self.header("thread-id").or_else(|| self.body["prompt_cache_key"].as_str()).unwrap_or_default()
    }

    /// Everything said so far, item by item or message by message, each byte for byte.
    pub fn said(&self) -> Vec<String> {
        let field = match self.dialect {
            RequestDialect::Responses => "input",
            RequestDialect::Chat => "messages",
        };
        let fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(&self.text).unwrap_or_default();
        let list = fields.get(field).map_or("[]", |list| list.get());
        let list: Vec<Box<RawValue>> = serde_json::from_str(list).unwrap_or_default();
        list.iter().map(|item| item.get().to_owned()).collect()
    }

    /// The user's messages, and those that the agent wrote in the user's name, oldest first.
    pub fn user_texts(&self) -> Vec<String> {
        let messages = match self.dialect {
            RequestDialect::Responses => list(&self.body["input"]),
            RequestDialect::Chat => list(&self.body["messages"]),
        };
        messages.iter().filter(|item| item["role"] == "user").map(|item| text(&item["content"])).collect()
    }

    /// Whether the user said something that holds this text. A sub-agent is known by its task, which is its user's; in
    /// its parent's conversation the same text is only an argument of a call.
    pub fn is_asked(&self, about: &str) -> bool {
        self.user_texts().iter().any(|text| text.contains(about))
    }

    /// Whether a tool of this name is on offer.
    pub fn offers(&self, name: &str) -> bool {
        self.tools().iter().any(|tool| tool.name == name)
    }

    /// The tools on offer, in their order.
    pub fn tools(&self) -> Vec<ToolName> {
        let offers = list(&self.body["tools"]);
        match self.dialect {
            RequestDialect::Responses => offers.iter().flat_map(offered_in_responses).collect(),
            RequestDialect::Chat => offers.iter().filter_map(|offer| named(&offer["function"])).collect(),
        }
    }

    /// The tool that an MCP server brings, under whatever name the agent has for it.
    ///
    /// # Panics
    /// When it is not on offer, with the list of what is.
    pub fn tool_of(&self, server: &str, name: &str) -> ToolName {
        let end = format!("{server}__{name}");
        let tools = self.tools();
        let found = tools.iter().find(|tool| tool.qualified().ends_with(&end));
        let Some(found) = found else { panic!("no tool {name} of {server} among {tools:?}") };
        found.clone()
    }

    /// The results of the calls so far, as text, oldest first.
    pub fn results(&self) -> Vec<String> {
        match self.dialect {
            RequestDialect::Responses => {
                let items = list(&self.body["input"]).iter();
                let is_result = |item: &&Value| {
                    ["function_call_output", "custom_tool_call_output"]
                        .iter()
                        .any(|kind| item["type"] == *kind)
                };
                let results = items.filter(is_result);
                results.map(|item| text(&item["output"])).collect()
            }
            RequestDialect::Chat => {
                let messages = list(&self.body["messages"]).iter();
                let results = messages.filter(|message| message["role"] == "tool");
                results.map(|message| text(&message["content"])).collect()
            }
        }
    }

    /// The result of the latest call.
    ///
    /// # Panics
    /// When nothing was called yet.
    pub fn last_result(&self) -> String {
        self.results().pop().expect("a call has returned")
    }
}

impl From<&str> for ToolName {
    fn from(name: &str) -> Self {
        Self::plain(name)
    }
}

impl ToolName {
    /// A tool that the agent has itself.
    pub fn plain(name: &str) -> Self {
        Self { namespace: None, name: name.to_owned() }
    }

    fn qualified(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{namespace}__{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// In this dialect a namespace may hold tools of its own.
fn offered_in_responses(offer: &Value) -> Vec<ToolName> {
    if offer["type"] != "namespace" {
        return named(offer).into_iter().collect();
    }
    let namespace = offer["name"].as_str().map(str::to_owned);
    let tools = list(&offer["tools"]).iter().filter_map(named);
    tools.map(|tool| ToolName { namespace: namespace.clone(), ..tool }).collect()
}

fn named(offer: &Value) -> Option<ToolName> {
    offer["name"].as_str().map(ToolName::plain)
}

/// A text, or the texts of a list of parts, one after the other.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        parts => {
            let texts: Vec<&str> = list(parts).iter().filter_map(|part| part["text"].as_str()).collect();
            texts.join("\n")
        }
    }
}

pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}
