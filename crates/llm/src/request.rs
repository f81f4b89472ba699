//! What a model is asked.

use std::sync::Arc;

use serde_json::Value;

use crate::item::Item;

/// A question to a model: everything said so far, and what it may use.
#[derive(Clone, Debug)]
pub struct Request {
    /// The model's name, as its provider spells it.
    pub model: String,
    /// Everything said so far.
    pub items: Vec<Item>,
    /// What it may call, in an order that never changes; all requests of a conversation share the list.
    pub tools: Arc<[ToolSpec]>,
    /// Whether it may call several tools at once.
    pub parallel_calls: bool,
    /// How hard it thinks; what its provider does by itself, if `None`.
    pub effort: Option<String>,
    /// How its thoughts are summed up (`auto`, `concise`, `detailed`, `none`).
    pub summary: Option<String>,
    /// How much it says (`low`, `medium`, `high`).
    pub verbosity: Option<String>,
    /// The JSON Schema of its last words.
    pub output_schema: Option<Value>,
    /// The most it may write, in tokens.
    pub most_output: Option<u64>,
    /// The same for all requests that begin alike: the root's thread, also for its sub-agents.
    pub cache_key: String,
    /// The conversation's own name.
    pub thread: String,
}

/// A tool, as a model is told of it.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolSpec {
    /// Called with a JSON object.
    Function {
        /// What it is called by.
        name: String,
        /// What it does.
        description: String,
        /// The JSON Schema of its arguments.
        parameters: Value,
    },
    /// Called with free text. Wires that have none offer a function with the one text `input` instead.
    Custom {
        /// What it is called by.
        name: String,
        /// What it does.
        description: String,
        /// What the text must look like, where the provider can hold the model to it.
        grammar: Option<Grammar>,
        /// What models are told where free text and grammars do not exist.
        as_function: String,
    },
    /// A search that the provider makes by itself. Wires that have none leave it out.
    WebSearch,
}

/// What free text must look like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grammar {
    /// The language of the definition: `lark` or `regex`.
    pub syntax: String,
    /// The definition.
    pub definition: String,
}
