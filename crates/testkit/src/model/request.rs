//! What an agent asked of the model, in either dialect: the tools it offers and what the calls so far returned.

use serde_json::Value;

/// How a request is worded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `POST /v1/responses`.
    Responses,
    /// `POST /v1/chat/completions`.
    Chat,
}

/// A request of the conversation.
#[derive(Clone, Debug)]
pub struct Request {
    dialect: Dialect,
    body: Value,
}

/// A tool, by the name under which the agent offers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolName {
    pub(super) namespace: Option<String>,
    pub(super) name: String,
}

impl Request {
    pub(super) fn new(dialect: Dialect, body: Value) -> Self {
        Self { dialect, body }
    }

    /// The whole request.
    pub fn body(&self) -> &Value {
        &self.body
    }

    /// The tools on offer, in their order.
    pub fn tools(&self) -> Vec<ToolName> {
        let offers = list(&self.body["tools"]);
        match self.dialect {
            Dialect::Responses => offers.iter().flat_map(offered_in_responses).collect(),
            Dialect::Chat => offers.iter().filter_map(|offer| named(&offer["function"])).collect(),
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

    /// What the calls so far returned, as text, oldest first.
    pub fn results(&self) -> Vec<String> {
        match self.dialect {
            Dialect::Responses => {
                let items = list(&self.body["input"]).iter();
                let is_result = |item: &&Value| {
                    ["function_call_output", "custom_tool_call_output"]
                        .iter()
                        .any(|kind| item["type"] == *kind)
                };
                let results = items.filter(is_result);
                results.map(|item| text(&item["output"])).collect()
            }
            Dialect::Chat => {
                let messages = list(&self.body["messages"]).iter();
                let results = messages.filter(|message| message["role"] == "tool");
                results.map(|message| text(&message["content"])).collect()
            }
        }
    }

    /// What the latest call returned.
    ///
    /// # Panics
    /// When nothing was called yet.
    pub fn last_result(&self) -> String {
        self.results().pop().expect("a call has returned")
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

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}
