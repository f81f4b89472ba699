//! The arguments of `wait`.

use std::time::Duration;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A request to wait for a cell.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    /// The cell, by the number in the reply to `exec`.
    #[serde(deserialize_with = "name_of_cell")]
    pub cell_id: String,
    /// How many milliseconds to wait for the end; 10 seconds by default.
    #[serde(default)]
    pub yield_time_ms: Option<u64>,
    /// The most tokens of output in the reply; 10,000 by default.
    #[serde(default)]
    pub max_tokens: Option<u64>,
    /// End the cell instead of waiting for it.
    #[serde(default)]
    pub terminate: bool,
}

/// Invalid arguments of `wait`.
#[derive(Debug, thiserror::Error)]
#[error("bad arguments of wait: {0}")]
pub struct BadWait(#[source] serde_json::Error);

impl Wait {
    /// Waits for a cell with the defaults.
    pub fn on(cell_id: impl Into<String>) -> Self {
        Self { cell_id: cell_id.into(), yield_time_ms: None, max_tokens: None, terminate: false }
    }

    /// Parses the arguments that a model wrote.
    pub fn from_arguments(arguments: Value) -> Result<Self, BadWait> {
        serde_json::from_value(arguments).map_err(BadWait)
    }

    /// The time to wait and the size of the reply.
    pub(crate) fn patience(&self) -> WaitBudget {
        WaitBudget::new(self.yield_time_ms, self.max_tokens)
    }
}

/// The time that a call waits for a cell, and the size of its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitBudget {
    pub(crate) time: Duration,
    pub(crate) tokens: u64,
}

impl WaitBudget {
    const USUAL_MILLISECONDS: u64 = 10_000;
    const MOST_MILLISECONDS: u64 = 300_000;
    const USUAL_TOKENS: u64 = 10_000;

    /// The given values or the defaults; never longer than five minutes, so that no call is lost in a wait.
    pub(crate) fn new(milliseconds: Option<u64>, tokens: Option<u64>) -> Self {
        let milliseconds = milliseconds.unwrap_or(Self::USUAL_MILLISECONDS).min(Self::MOST_MILLISECONDS);
        Self { time: Duration::from_millis(milliseconds), tokens: tokens.unwrap_or(Self::USUAL_TOKENS) }
    }
}

/// Parses the cell's number, which models write with and without quotes.
fn name_of_cell<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(name) => Ok(name),
        Value::Number(number) => Ok(number.to_string()),
        other => Err(serde::de::Error::custom(format!("cell_id is a string, not {other}"))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(arguments: Value, expected: Result<Wait, &str>) {
        match (Wait::from_arguments(arguments), expected) {
            (Ok(wait), expected) => assert_eq!(Ok(wait), expected),
            (Err(fault), Err(part)) => assert!(fault.to_string().contains(part), "{fault}"),
            (Err(fault), Ok(_)) => panic!("{fault}"),
        }
    }

    #[test]
    fn a_cell_is_named_by_a_string_or_a_number() {
        check(json!({"cell_id": "3"}), Ok(Wait::on("3")));
        check(json!({"cell_id": 3, "terminate": true}), Ok(Wait { terminate: true, ..Wait::on("3") }));
        let wait = Wait { yield_time_ms: Some(5), max_tokens: Some(6), ..Wait::on("x") };
        check(json!({"cell_id": "x", "yield_time_ms": 5, "max_tokens": 6}), Ok(wait));
    }

    #[test]
    fn what_is_wrong_is_said() {
        check(json!({}), Err("cell_id"));
        check(json!({"cell_id": [1]}), Err("cell_id is a string, not [1]"));
        check(json!({"cell_id": "1", "yield": 1}), Err("unknown field `yield`"));
        check(json!({"cell_id": "1", "yield_time_ms": -1}), Err("invalid value"));
    }
}
