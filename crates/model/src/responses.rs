//! The Responses wire: items go in as they are, and come out whole.
//!
//! Only `response.output_item.done` makes an item; the pieces before it are for eyes. What is not understood is passed over:
//! providers add events every month.

mod reader;

use serde_json::{Value, json};

use self::reader::ResponsesReader;
use crate::item::Item;
use crate::provider::Provider;
use crate::request::{Request, ToolSpec};
use crate::wire::{Reader, Wire};

/// The wire.
#[derive(Clone, Debug)]
pub struct Responses {
    name: String,
    has_web_search: bool,
}

impl Responses {
    /// As this provider speaks it.
    pub fn of(provider: &Provider) -> Self {
        Self { name: provider.name.clone(), has_web_search: provider.has_web_search }
    }

    fn tool(&self, tool: &ToolSpec) -> Option<Value> {
        match tool {
            ToolSpec::Function { name, description, parameters } => Some(json!({
                "type": "function", "name": name, "description": description, "strict": false,
                "parameters": parameters,
            })),
            ToolSpec::Custom { name, description, grammar, .. } => {
                let mut tool = json!({ "type": "custom", "name": name, "description": description });
                if let Some(grammar) = grammar {
                    tool["format"] = json!({
                        "type": "grammar", "syntax": grammar.syntax, "definition": grammar.definition,
                    });
                }
                Some(tool)
            }
            ToolSpec::WebSearch => self.has_web_search.then(|| json!({ "type": "web_search" })),
        }
    }
}

impl Wire for Responses {
    fn path(&self) -> &'static str {
        "/responses"
    }

    fn body(&self, request: &Request) -> String {
        let tools: Vec<Value> = request.tools.iter().filter_map(|tool| self.tool(tool)).collect();
        let mut body = Fields::begin();
        body.add("model", &json!(request.model));
        if !tools.is_empty() {
            body.add("tools", &json!(tools));
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

/// A JSON object that is written in the order of its fields, with a list of ready texts at its end.
pub(crate) struct Fields(String);

impl Fields {
    pub(crate) fn begin() -> Self {
        Self("{".to_owned())
    }

    pub(crate) fn add(&mut self, name: &str, value: &Value) {
        self.name(name);
        self.0.push_str(&value.to_string());
        self.0.push(',');
    }

    pub(crate) fn end_with_list<'t>(mut self, name: &str, texts: impl Iterator<Item = &'t str>) -> String {
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
