//! The list of tools, in an order that never changes: prompts that begin with it stay cached.

use serde_json::{Map, Value};

/// The set of tools that are offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// The six with which everything can be done.
    #[default]
    Default,
    /// These, and the two that wait for the end of one command.
    Classic,
}

/// One tool, as it is shown to models.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Its name in calls.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Its description for models.
    pub description: &'static str,
    /// The effects that it may have.
    pub hints: Hints,
    pub(crate) input: fn() -> Value,
    pub(crate) output: fn() -> Value,
}

impl Tool {
    /// The schema of its arguments.
    pub fn input_schema(&self) -> Map<String, Value> {
        object((self.input)())
    }

    /// The schema of its structured reply.
    pub fn output_schema(&self) -> Map<String, Value> {
        object((self.output)())
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// The effects that a tool may have, for hosts that ask their people first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hints {
    /// It changes nothing.
    pub read_only: bool,
    /// It may destroy something.
    pub destructive: bool,
    /// Calling it twice is the same as once.
    pub idempotent: bool,
    /// It reaches systems that the host does not control.
    pub open_world: bool,
}
