//! Requests to a model.

use std::sync::Arc;

use serde_json::Value;

use crate::item::Item;

/// A request to a model: the conversation so far, and the tools that the model may use.
#[derive(Clone, Debug)]
pub struct Request {
    /// The model's name, as its provider spells it.
    pub model: String,
    /// The conversation so far.
    pub items: Vec<Item>,
    /// The tools that the model may call, in an order that never changes; all requests of a conversation share the
    /// list.
    pub tools: Arc<[ToolSpec]>,
    /// Whether it may call several tools at once.
    pub parallel_calls: bool,
    /// The reasoning effort; the provider's default, if `None`.
    pub effort: Option<String>,
    /// The kind of reasoning summary (`auto`, `concise`, `detailed`, `none`).
    pub summary: Option<String>,
    /// The verbosity (`low`, `medium`, `high`).
    pub verbosity: Option<String>,
    /// The JSON Schema of the model's final message.
    pub output_schema: Option<Value>,
    /// The most that the model may write, in tokens.
    pub most_output: Option<u64>,
    /// A key that all requests with the same beginning share: the root agent's thread, also for its sub-agents.
    pub cache_key: String,
    /// The id of this conversation's thread.
    pub thread: String,
}

/// A tool, as it is offered to the model.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolSpec {
    /// Called with a JSON object.
    Function {
        /// Its name.
        name: String,
        /// Its description.
        description: String,
        /// The JSON Schema of its arguments.
        parameters: Value,
    },
    /// Called with free text. Wires without free text offer a function with one string `input` instead.
    Custom {
        /// Its name.
        name: String,
        /// Its description.
        description: String,
        /// The grammar of the text, for providers that can enforce one.
        grammar: Option<Grammar>,
        /// The description of that function, for models whose wire has neither free text nor grammars.
        as_function: String,
    },
    /// A web search that the provider makes by itself. Wires without it leave it out.
    WebSearch,
}

/// The grammar of free text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grammar {
    /// The language of the definition: `lark` or `regex`.
    pub syntax: String,
    /// The definition.
    pub definition: String,
}
