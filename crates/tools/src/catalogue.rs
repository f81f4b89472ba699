//! The list of tools, in an order that never changes: prompts that begin with it stay cached.

use serde_json::{Map, Value};

/// Which tools are offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// The six that everything can be done with.
    #[default]
    Default,
    /// These, and the two that wait for the end of one command.
    Classic,
}

/// One tool, as it is shown to models.
#[derive(Clone, Debug)]
pub struct Tool {
    /// What it is called by.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// What it does, for models.
    pub description: &'static str,
    /// What it may do to the world.
    pub hints: Hints,
    pub(crate) input: fn() -> Value,
    pub(crate) output: fn() -> Value,
}

impl Tool {
    /// The schema of its arguments.
    pub fn input_schema(&self) -> Map<String, Value> {
        object((self.input)())
    }

    /// The schema of its structured answer.
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

/// What a tool may do to the world, for hosts that ask their people first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hints {
    /// It changes nothing.
    pub read_only: bool,
    /// It may destroy something.
    pub destructive: bool,
    /// Calling it twice is the same as once.
    pub idempotent: bool,
    /// It reaches what the host does not know.
    pub open_world: bool,
}
