//! The Responses wire: sends items as they are, and receives whole items.
//!
//! Only `response.output_item.done` makes an item; the pieces before it are for display. Unknown events are ignored:
//! providers add new ones every month.

mod reader;

use serde::Serialize;
use serde_json::{Value, json};

use self::reader::ResponsesReader;
use crate::item::Item;
use crate::provider::Provider;
use crate::request::{Grammar, Request, ToolSpec};
use crate::wire::{Reader, Wire};

/// The Responses wire.
#[derive(Clone, Debug)]
pub struct Responses {
    name: String,
    has_web_search: bool,
}

impl Responses {
    /// The wire with this provider's particular features.
    pub fn of(provider: &Provider) -> Self {
        Self { name: provider.name.clone(), has_web_search: provider.has_web_search }
    }

    fn tool<'t>(&self, tool: &'t ToolSpec) -> Option<Offered<'t>> {
        match tool {
            ToolSpec::Function { name, description, parameters } => Some(Offered {
                description: Some(description),
                name: Some(name),
                parameters: Some(parameters),
                strict: Some(false),
                ..Offered::of_kind("function")
            }),
            ToolSpec::Custom { name, description, grammar, .. } => Some(Offered {
                description: Some(description),
                format: grammar.as_ref().map(Format::of),
                name: Some(name),
                ..Offered::of_kind("custom")
            }),
            ToolSpec::WebSearch => self.has_web_search.then(|| Offered::of_kind("web_search")),
        }
    }
}

/// A tool as it is written. It only borrows: a request is written for every step, and the tools are most of a short
/// one.
#[derive(Serialize)]
struct Offered<'t> {
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'t str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<Format<'t>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'t str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<&'t Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
    #[serde(rename = "type")]
    kind: &'static str,
}

impl Offered<'_> {
    fn of_kind(kind: &'static str) -> Self {
        Self { description: None, format: None, name: None, parameters: None, strict: None, kind }
    }
}

#[derive(Serialize)]
struct Format<'t> {
    definition: &'t str,
    syntax: &'t str,
    #[serde(rename = "type")]
    kind: &'static str,
}

impl<'t> Format<'t> {
    fn of(grammar: &'t Grammar) -> Self {
        Self { definition: &grammar.definition, syntax: &grammar.syntax, kind: "grammar" }
    }
}

impl Wire for Responses {
    fn path(&self) -> &'static str {
        "/responses"
    }

    fn body(&self, request: &Request) -> String {
        let tools: Vec<Offered<'_>> = request.tools.iter().filter_map(|tool| self.tool(tool)).collect();
        let mut body = Fields::begin();
        body.add("model", &json!(request.model));
        if !tools.is_empty() {
            body.add("tools", &tools);
            body.add("tool_choice", &json!("auto"));
        }
        body.add("parallel_tool_calls", &json!(request.parallel_calls));
        if let Some(reasoning) = reasoning(request) {
            body.add("reasoning", &reasoning);
        }
        body.add("store", &json!(false));
        body.add("stream", &json!(true));
        body.add("include", &json!(["reasoning.encrypted_content"]));
        body.add("prompt_cache_key", &json!(request.cache_key));
        if let Some(text) = text(request) {
            body.add("text", &text);
        }
        if let Some(most) = request.most_output {
            body.add("max_output_tokens", &json!(most));
        }
        body.end_with_list("input", request.items.iter().map(Item::json))
    }

    fn reader(&self, _: &Request) -> Box<dyn Reader> {
        Box::new(ResponsesReader::told_by(&self.name))
    }
}

fn reasoning(request: &Request) -> Option<Value> {
    let mut reasoning = json!({});
    if let Some(effort) = &request.effort {
        reasoning["effort"] = json!(effort);
    }
    if let Some(summary) = request.summary.as_ref().filter(|summary| *summary != "none") {
        reasoning["summary"] = json!(summary);
    }
    (reasoning != json!({})).then_some(reasoning)
}

fn text(request: &Request) -> Option<Value> {
    let mut text = json!({});
    if let Some(verbosity) = &request.verbosity {
        text["verbosity"] = json!(verbosity);
    }
    if let Some(schema) = &request.output_schema {
        text["format"] = json!({ "type": "json_schema", "name": "answer", "strict": true, "schema": schema });
    }
    (text != json!({})).then_some(text)
}

/// Writes a JSON object with its fields in the order in which they are added, and a list of ready JSON texts at its
/// end.
pub(crate) struct Fields(String);

impl Fields {
    pub(crate) fn begin() -> Self {
        Self("{".to_owned())
    }

    /// Adds a field. A value that cannot be serialized is written as `null`; requests contain no such value.
    pub(crate) fn add(&mut self, name: &str, value: &impl Serialize) {
        self.name(name);
        self.0.push_str(&serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned()));
        self.0.push(',');
    }

    pub(crate) fn end_with_list<'t>(
        mut self,
        name: &str,
        texts: impl Iterator<Item = &'t str> + Clone,
    ) -> String {
        // Reserves the whole length, so that a long conversation is copied once and not again each time the buffer
        // grows.
        self.0.reserve(name.len() + 8 + texts.clone().map(|text| text.len() + 1).sum::<usize>());
        self.name(name);
        self.0.push('[');
        for (index, text) in texts.enumerate() {
            if index > 0 {
                self.0.push(',');
            }
            self.0.push_str(text);
        }
        self.0.push_str("]}");
        self.0
    }

    fn name(&mut self, name: &str) {
        self.0.push('"');
        self.0.push_str(name);
        self.0.push_str("\":");
    }
}

#[cfg(test)]
mod tests;
