//! The chat-completions wire: writes items as messages, and reads the pieces of one streamed message as items.
//!
//! This wire has neither tools with free text nor items. Whatever it cannot express is folded into what it can express,
//! always in the same way, so that a longer conversation still begins with the same bytes.

mod messages;
mod reader;

use serde_json::{Value, json};

use self::reader::ChatReader;
use crate::provider::{InstructionsRole, Provider, ThoughtField};
use crate::request::{Request, ToolSpec};
use crate::responses::Fields;
use crate::wire::{Reader, Wire};

/// The single argument of the function that stands for a tool with free text.
const INPUT: &str = "input";

/// The chat-completions wire.
#[derive(Clone, Debug)]
pub struct Chat {
    name: String,
    instructions_role: InstructionsRole,
    thoughts: ThoughtField,
}

impl Chat {
    /// The wire with this provider's particular features.
    pub fn of(provider: &Provider) -> Self {
        Self {
            name: provider.name.clone(),
            instructions_role: provider.instructions_role,
            thoughts: provider.thoughts,
        }
    }
}

impl Wire for Chat {
    fn path(&self) -> &'static str {
        "/chat/completions"
    }

    fn body(&self, request: &Request) -> String {
        let tools: Vec<Value> = request.tools.iter().filter_map(tool).collect();
        let mut body = Fields::begin();
        body.add("model", &json!(request.model));
        body.add("stream", &json!(true));
        body.add("stream_options", &json!({ "include_usage": true }));
        if !tools.is_empty() {
            body.add("tools", &json!(tools));
            body.add("tool_choice", &json!("auto"));
            body.add("parallel_tool_calls", &json!(request.parallel_calls));
        }
        if let Some(effort) = &request.effort {
            body.add("reasoning_effort", &json!(effort));
        }
        if let Some(verbosity) = &request.verbosity {
            body.add("verbosity", &json!(verbosity));
        }
        if let Some(schema) = &request.output_schema {
            let schema = json!({ "name": "answer", "strict": true, "schema": schema });
            body.add("response_format", &json!({ "type": "json_schema", "json_schema": schema }));
        }
        if let Some(most) = request.most_output {
            body.add("max_tokens", &json!(most));
        }
        let messages = self.messages(&request.items);
        body.end_with_list("messages", messages.iter().map(String::as_str))
    }

    fn reader(&self, request: &Request) -> Box<dyn Reader> {
        Box::new(ChatReader::of(&self.name, request))
    }
}

fn tool(tool: &ToolSpec) -> Option<Value> {
    let (name, description, parameters) = match tool {
        ToolSpec::Function { name, description, parameters } => (name, description, parameters.clone()),
        ToolSpec::Custom { name, description, as_function, .. } => {
            let text = if as_function.is_empty() { description } else { as_function };
            (name, text, only_input())
        }
        ToolSpec::WebSearch => return None,
    };
    let function =
        json!({ "name": name, "description": description, "parameters": parameters, "strict": false });
    Some(json!({ "type": "function", "function": function }))
}

fn only_input() -> Value {
    json!({
        "type": "object",
        "properties": { INPUT: { "type": "string", "description": "The whole text that the tool takes." } },
        "required": [INPUT],
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests;
