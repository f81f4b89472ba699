//! The conditions for which a call waits, as a model writes them: one condition, several in one object, or a list of
//! them.

use std::time::Duration;

use serde_json::{Map, Value};
use windlass_output::Pattern;

use crate::arguments::{Arguments, BadArgument, unfit, whole};

/// Conditions, any of which ends a wait.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conditions {
    pub(crate) exit: bool,
    pub(crate) patterns: Vec<Pattern>,
    pub(crate) idle: Option<Duration>,
    pub(crate) ports: Vec<u16>,
    pub(crate) input: bool,
}

/// The description of an `until` argument.
pub(crate) const ABOUT: &str = "replaces the yield; any of {\"exit\":true} {\"pattern\":\"regex\"} {\"idle_ms\":n} {\"port\":n} {\"input\":true}";

impl Arguments {
    /// The argument `until`. Without it, or without a condition in it, `None`.
    pub(crate) fn until(&mut self) -> Result<Option<Conditions>, BadArgument> {
        let Some(value) = self.take("until") else { return Ok(None) };
        let mut conditions = Conditions::default();
        match value {
            Value::Object(one) => conditions.add("until", one)?,
            Value::Array(several) => conditions.add_all(several)?,
            other => {
                return Err(unfit("until", &other, "an object such as {\"exit\":true}, or a list of them"));
            }
        }
        if conditions.is_empty() {
            return Err(BadArgument::new(
                "until",
                "has no condition; leave it out or give one, e.g. {\"exit\":true}",
            ));
        }
        Ok(Some(conditions))
    }
}

impl Conditions {
    fn is_empty(&self) -> bool {
        let Self { exit, patterns, idle, ports, input } = self;
        !exit && !input && patterns.is_empty() && ports.is_empty() && idle.is_none()
    }

    fn add_all(&mut self, several: Vec<Value>) -> Result<(), BadArgument> {
        for (place, value) in several.into_iter().enumerate() {
            let field = format!("until[{place}]");
            match value {
                Value::Object(one) => self.add(&field, one)?,
                other => return Err(unfit(&field, &other, "an object such as {\"exit\":true}")),
            }
        }
        Ok(())
    }

    fn add(&mut self, field: &str, object: Map<String, Value>) -> Result<(), BadArgument> {
        for (name, value) in object {
            let field = format!("{field}.{name}");
            match name.as_str() {
                "exit" => self.exit |= flag(&field, &value)?,
                "input" => self.input |= flag(&field, &value)?,
                "idle_ms" => self.set_idle(Duration::from_millis(whole(&field, &value)?)),
                "port" => self.ports.push(port(&field, &value)?),
                "pattern" => self.patterns.push(pattern(&field, &value)?),
                _ => {
                    return Err(BadArgument::new(
                        field,
                        "is no condition; there are exit, pattern, idle_ms, port, input",
                    ));
                }
            }
        }
        Ok(())
    }

    fn set_idle(&mut self, idle: Duration) {
        self.idle = Some(self.idle.map_or(idle, |earlier| earlier.min(idle)));
    }
}

fn flag(field: &str, value: &Value) -> Result<bool, BadArgument> {
    value.as_bool().ok_or_else(|| unfit(field, value, "true or false"))
}

fn port(field: &str, value: &Value) -> Result<u16, BadArgument> {
    let number = u16::try_from(whole(field, value)?).ok().filter(|port| *port > 0);
    number.ok_or_else(|| unfit(field, value, "a port from 1 to 65535"))
}

fn pattern(field: &str, value: &Value) -> Result<Pattern, BadArgument> {
    let expression = value.as_str().ok_or_else(|| unfit(field, value, "a regular expression"))?;
    Pattern::new(expression).map_err(|error| BadArgument::new(field, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(until: &Value) -> Result<Option<Conditions>, String> {
        let Value::Object(arguments) = json!({ "until": until }) else { unreachable!("it is an object") };
        Arguments::new(arguments).until().map_err(|error| error.to_string())
    }

    #[test]
    fn until_is_one_object_with_any_conditions_or_a_list_of_them() {
        let both = json!({"exit": true, "idle_ms": 500.0, "port": 80, "input": true, "pattern": "a+"});
        let list = json!([{"exit": true}, {"idle_ms": 500}, {"idle_ms": 900}, {"port": 80}, {"input": true}, {"pattern": "a+"}]);
        for until in [both, list] {
            let conditions = read(&until).unwrap().unwrap();
            assert!(conditions.exit && conditions.input);
            assert_eq!((conditions.idle, conditions.ports), (Some(Duration::from_millis(500)), vec![80]));
            assert_eq!(conditions.patterns[0].as_str(), "a+");
        }
        assert!(read(&Value::Null).unwrap().is_none());
    }

    #[test]
    fn a_bad_condition_is_refused_by_its_place() {
        for (until, field) in [
            (json!({"exits": true}), "until.exits: "),
            (json!([{"exit": true}, {"idle_ms": -1}]), "until[1].idle_ms: "),
            (json!({"port": 0}), "until.port: "),
            (json!({"port": 70000}), "until.port: "),
            (json!({"pattern": "("}), "until.pattern: "),
            (json!({"input": "yes"}), "until.input: "),
            (json!("exit"), "until: "),
            (json!({}), "until: "),
            (json!([3]), "until[0]: "),
        ] {
            let complaint = read(&until).unwrap_err();
            assert!(complaint.starts_with(field), "{until} {complaint}");
        }
    }
}
