//! Checks whether an answer fits the JSON Schema of `--output-schema`. The provider is asked to follow it, but not
//! every provider does.
//!
//! The keywords are those that providers accept for structured outputs, and the usual bounds. Others, such as `pattern`
//! and `format`, are not checked. A provider that accepts a schema has already rejected an invalid one.

use std::cell::Cell;
use std::fmt;

use serde_json::Value;

/// The deepest nesting of schemas. A `$ref` that leads to itself would never end.
const DEEPEST: usize = 256;

/// The most schemas that are checked. Alternatives that lead to themselves double at each level; the rest is not
/// checked.
const MOST_STEPS: usize = 1_000_000;

/// A value in the answer that does not fit the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Misfit {
    /// The JSON pointer of the value; empty for the whole answer.
    at: String,
    problem: String,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at.as_str() {
            "" => f.write_str(&self.problem),
            at => write!(f, "{at}: {}", self.problem),
        }
    }
}

/// Checks an answer; the error names the first value that does not fit.
pub(super) fn check(answer: &str, schema: &Value) -> Result<(), Misfit> {
    let misfit = |problem| Misfit { at: String::new(), problem };
    let value = serde_json::from_str(answer).map_err(|error| misfit(format!("it is not JSON: {error}")))?;
    Checker { root: schema, depth: 0, steps: &Cell::new(0) }.value(&value, schema, "")
}

struct Checker<'a> {
    root: &'a Value,
    depth: usize,
    steps: &'a Cell<usize>,
}

impl Checker<'_> {
    fn value(&self, value: &Value, schema: &Value, at: &str) -> Result<(), Misfit> {
        let deeper = Checker { depth: self.depth + 1, ..*self };
        self.steps.set(self.steps.get() + 1);
        if deeper.depth > DEEPEST || self.steps.get() > MOST_STEPS {
            return Ok(());
        }
        if *schema == Value::Bool(false) {
            return Err(misfit(at, "no value is allowed here"));
        }
        if let Some(target) = schema["$ref"].as_str().and_then(|it| self.root.pointer(it.strip_prefix('#')?))
        {
            deeper.value(value, target, at)?;
        }
        of_type(value, schema, at)?;
        one_of_values(value, schema, at)?;
        within_bounds(value, schema, at)?;
        deeper.combined(value, schema, at)?;
        deeper.object(value, schema, at)?;
        deeper.array(value, schema, at)
    }

    fn combined(&self, value: &Value, schema: &Value, at: &str) -> Result<(), Misfit> {
        for part in list(schema, "allOf") {
            self.value(value, part, at)?;
        }
        for (keyword, most) in [("anyOf", usize::MAX), ("oneOf", 1)] {
            let Some(parts) = schema[keyword].as_array() else { continue };
            let fitting = parts.iter().filter(|part| self.value(value, part, at).is_ok()).count();
            if fitting == 0 || fitting > most {
                return Err(misfit(at, format!("{fitting} of the {} schemas of {keyword} fit", parts.len())));
            }
        }
        Ok(())
    }

    fn object(&self, value: &Value, schema: &Value, at: &str) -> Result<(), Misfit> {
        let Some(members) = value.as_object() else { return Ok(()) };
        for name in list(schema, "required").iter().filter_map(Value::as_str) {
            if !members.contains_key(name) {
                return Err(misfit(at, format!("`{name}` is missing")));
            }
        }
        for (name, member) in members {
            let at = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
            match (schema["properties"].get(name), &schema["additionalProperties"]) {
                (Some(schema), _) => self.value(member, schema, &at)?,
                (None, Value::Bool(false)) => return Err(misfit(&at, "the schema has no such property")),
                (None, schema) => self.value(member, schema, &at)?,
            }
        }
        Ok(())
    }

    fn array(&self, value: &Value, schema: &Value, at: &str) -> Result<(), Misfit> {
        let first = list(schema, "prefixItems");
        for (index, item) in value.as_array().into_iter().flatten().enumerate() {
            self.value(item, first.get(index).unwrap_or(&schema["items"]), &format!("{at}/{index}"))?;
        }
        Ok(())
    }
}

fn of_type(value: &Value, schema: &Value, at: &str) -> Result<(), Misfit> {
    let allowed: Vec<&str> = match &schema["type"] {
        Value::String(word) => vec![word],
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
        _ => return Ok(()),
    };
    let is_whole = value.as_f64().is_some_and(|number| number.fract() == 0.0);
    let found = type_of(value);
    if allowed.iter().any(|word| *word == found || (*word == "integer" && is_whole)) {
        return Ok(());
    }
    Err(misfit(at, format!("expected {}, found {found}", allowed.join(" or "))))
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn one_of_values(value: &Value, schema: &Value, at: &str) -> Result<(), Misfit> {
    if schema["enum"].as_array().is_some_and(|values| !values.contains(value)) {
        return Err(misfit(at, "it is none of the values of `enum`"));
    }
    match schema.get("const") {
        Some(only) if only != value => Err(misfit(at, format!("expected {only}"))),
        _ => Ok(()),
    }
}

/// Compares numbers by value, and strings and arrays by length.
fn within_bounds(value: &Value, schema: &Value, at: &str) -> Result<(), Misfit> {
    let (measured, least, most) = match value {
        Value::Number(number) => (number.as_f64(), "minimum", "maximum"),
        Value::String(text) => (Some(text.chars().count() as f64), "minLength", "maxLength"),
        Value::Array(items) => (Some(items.len() as f64), "minItems", "maxItems"),
        Value::Null | Value::Bool(_) | Value::Object(_) => return Ok(()),
    };
    let Some(measured) = measured else { return Ok(()) };
    let is_outside = |keyword: &str| match schema[keyword].as_f64() {
        Some(bound) if keyword == least => measured < bound,
        Some(bound) => measured > bound,
        None => false,
    };
    match [least, most].into_iter().find(|keyword| is_outside(keyword)) {
        Some(keyword) => Err(misfit(at, format!("{measured} is beyond `{keyword}` {}", schema[keyword]))),
        None => Ok(()),
    }
}

fn list<'a>(schema: &'a Value, keyword: &str) -> &'a [Value] {
    schema[keyword].as_array().map_or(&[], Vec::as_slice)
}

fn misfit(at: &str, problem: impl Into<String>) -> Misfit {
    Misfit { at: at.to_owned(), problem: problem.into() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_place_that_does_not_fit_is_named() {
        let schema = json!({
            "type": "object", "required": ["name"], "additionalProperties": false,
            "properties": {
                "name": { "type": "string", "maxLength": 3 },
                "age": { "type": ["integer", "null"], "minimum": 0 },
                "kind": { "enum": ["a", "b"] },
                "parts": { "type": "array", "items": { "$ref": "#/$defs/part" }, "maxItems": 2 },
                "loop": { "$ref": "#/$defs/loop" },
                "twice": { "anyOf": [{ "$ref": "#/properties/twice" }, { "$ref": "#/properties/twice" }] },
                "either": { "anyOf": [{ "type": "string" }, { "const": 7 }] },
            },
            "$defs": { "part": { "type": "boolean" }, "loop": { "$ref": "#/$defs/loop" } },
        });
        let check = |answer: &str| check(answer, &schema).map_err(|misfit| misfit.to_string());
        for fits in [
            r#"{"name":"x"}"#,
            r#" {"name":"x","age":3.0,"kind":"b","parts":[true],"loop":1,"either":7} "#,
            r#"{"name":"x","age":null,"twice":1}"#,
        ] {
            assert_eq!(check(fits), Ok(()), "{fits}");
        }
        for (answer, problem) in [
            ("[]", "expected object, found array"),
            ("{}", "`name` is missing"),
            (r#"{"name":1}"#, "/name: expected string, found number"),
            (r#"{"name":"long"}"#, "/name: 4 is beyond `maxLength` 3"),
            (r#"{"name":"x","age":1.5}"#, "/age: expected integer or null, found number"),
            (r#"{"name":"x","age":-1}"#, "/age: -1 is beyond `minimum` 0"),
            (r#"{"name":"x","kind":"c"}"#, "/kind: it is none of the values of `enum`"),
            (r#"{"name":"x","parts":[true,0]}"#, "/parts/1: expected boolean, found number"),
            (r#"{"name":"x","either":8}"#, "/either: 0 of the 2 schemas of anyOf fit"),
            (r#"{"name":"x","a/b":8}"#, "/a~1b: the schema has no such property"),
        ] {
            assert_eq!(check(answer), Err(problem.to_owned()), "{answer}");
        }
        assert!(check("Here it is: {}").is_err_and(|problem| problem.starts_with("it is not JSON")));
    }
}
