//! Reading a call's arguments: every error names the argument, the value and the expected kind, and nothing is guessed.
//!
//! The same table of fields makes the schema that models are shown, so the two cannot differ.

use serde_json::{Map, Value, json};

use crate::call::Call;
use crate::live_session::Number;

/// One argument of a tool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) about: &'static str,
}

/// The kind of value that an argument may have.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Text,
    Texts,
    /// Strings by name; `null` removes.
    TextMap,
    Flag,
    /// A whole number that is not negative.
    Whole,
    /// A session's number or name.
    Session,
    Sessions,
    Choice(&'static [&'static str]),
    Until,
}

/// An argument that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {complaint}")]
pub(crate) struct BadArgument {
    pub(crate) field: String,
    pub(crate) complaint: String,
}

impl BadArgument {
    pub(crate) fn new(field: impl Into<String>, complaint: impl Into<String>) -> Self {
        Self { field: field.into(), complaint: complaint.into() }
    }
}

/// A session as a caller named it: by number or by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SessionRef {
    Number(u64),
    Name(String),
}

impl SessionRef {
    /// The session that a call is about, without a copy of all else in it.
    pub(crate) fn of(call: &Call) -> Option<Self> {
        session("session_id", call.arguments.get("session_id")?.clone()).ok()
    }

    /// Whether it refers to this session.
    pub(crate) fn means(&self, number: Number, name: Option<&str>) -> bool {
        match self {
            Self::Number(wanted) => number.0 == *wanted,
            Self::Name(wanted) => name == Some(wanted),
        }
    }
}

impl std::fmt::Display for SessionRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}

/// The schema of a table of fields.
pub(crate) fn schema(fields: &[Field], required: &[&str]) -> Value {
    let properties: Map<String, Value> =
        fields.iter().map(|field| (field.name.to_owned(), field.schema())).collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

impl Field {
    fn schema(&self) -> Value {
        let mut schema = match self.kind {
            Kind::Text => json!({ "type": "string" }),
            Kind::Texts => json!({ "type": "array", "items": { "type": "string" } }),
            Kind::TextMap => {
                json!({ "type": "object", "additionalProperties": { "type": ["string", "null"] } })
            }
            Kind::Flag => json!({ "type": "boolean" }),
            Kind::Whole => json!({ "type": "integer" }),
            Kind::Session => json!({ "type": ["integer", "string"] }),
            Kind::Sessions => json!({ "type": "array", "items": { "type": ["integer", "string"] } }),
            Kind::Choice(names) => json!({ "enum": names }),
            Kind::Until => json!({ "type": ["object", "array"] }),
        };
        if !self.about.is_empty() {
            schema["description"] = self.about.into();
        }
        schema
    }
}

/// A call's arguments, taken out one by one.
#[derive(Debug)]
pub(crate) struct Arguments {
    rest: Map<String, Value>,
    /// The names that the tool has read.
    asked: Vec<String>,
}

/// Names that models confuse, because other tools use the other one.
const SYNONYMS: &[&[&str]] = &[
    &["cmd", "command", "script"],
    &["workdir", "cwd", "directory", "working_directory"],
    &["env", "environment"],
    &["timeout_ms", "timeout"],
    &["yield_time_ms", "yield_time", "wait_ms"],
    &["max_output_tokens", "max_tokens"],
    &["session_id", "session", "id"],
    &["session_ids", "sessions", "session_id"],
    &["chars", "input", "text", "data"],
];

fn are_synonyms(one: &str, other: &str) -> bool {
    SYNONYMS.iter().any(|names| names.contains(&one) && names.contains(&other))
}

impl Arguments {
    /// Arguments that are `null` count as absent: many clients fill in arguments that they do not use.
    pub(crate) fn new(mut arguments: Map<String, Value>) -> Self {
        arguments.retain(|_, value| !value.is_null());
        Self { rest: arguments, asked: Vec::new() }
    }

    /// The arguments that the tool did not read, most often misspelt, each with the name that was probably meant.
    pub(crate) fn unknown(&self) -> Vec<(String, Option<&str>)> {
        let meant =
            |name: &str| self.asked.iter().find(|asked| are_synonyms(asked, name)).map(String::as_str);
        self.rest.keys().map(|name| (name.clone(), meant(name))).collect()
    }

    pub(crate) fn take(&mut self, field: &str) -> Option<Value> {
        self.asked.push(field.to_owned());
        self.rest.remove(field)
    }

    /// The error about a missing argument.
    pub(crate) fn missing(&self, field: &str) -> BadArgument {
        match self.rest.keys().find(|name| are_synonyms(name, field)) {
            Some(given) => {
                BadArgument::new(field, format!("is missing; did you mean `{field}` instead of `{given}`?"))
            }
            None => BadArgument::new(field, "is missing"),
        }
    }

    pub(crate) fn text(&mut self, field: &str) -> Result<Option<String>, BadArgument> {
        self.take(field).map(|value| string(field, value)).transpose()
    }

    /// A path; an empty one counts as absent.
    pub(crate) fn path(&mut self, field: &str) -> Result<Option<String>, BadArgument> {
        let path = self.text(field)?.filter(|path| !path.is_empty());
        path.map(|path| without_nul(field, path)).transpose()
    }

    pub(crate) fn required_text(&mut self, field: &str) -> Result<String, BadArgument> {
        self.text(field)?.ok_or_else(|| self.missing(field))
    }

    pub(crate) fn texts(&mut self, field: &str) -> Result<Option<Vec<String>>, BadArgument> {
        let Some(value) = self.take(field) else { return Ok(None) };
        let Value::Array(items) = value else { return Err(unfit(field, &value, "a list of strings")) };
        let item = |(place, value)| string(&format!("{field}[{place}]"), value);
        items.into_iter().enumerate().map(item).collect::<Result<_, _>>().map(Some)
    }

    pub(crate) fn flag(&mut self, field: &str) -> Result<Option<bool>, BadArgument> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(value) => Err(unfit(field, &value, "true or false")),
        }
    }

    pub(crate) fn whole(&mut self, field: &str) -> Result<Option<u64>, BadArgument> {
        self.take(field).map(|value| whole(field, &value)).transpose()
    }

    pub(crate) fn choice<T: Copy>(
        &mut self,
        field: &str,
        choices: &[(&str, T)],
    ) -> Result<Option<T>, BadArgument> {
        let Some(value) = self.take(field) else { return Ok(None) };
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let found = value.as_str().and_then(|text| choices.iter().find(|(name, _)| *name == text));
        found.map(|(_, choice)| Some(*choice)).ok_or_else(|| unfit(field, &value, &one_of(&names)))
    }

    pub(crate) fn session(&mut self, field: &str) -> Result<SessionRef, BadArgument> {
        let value = self.take(field).ok_or_else(|| self.missing(field))?;
        session(field, value)
    }

    pub(crate) fn sessions(&mut self, field: &str) -> Result<Vec<SessionRef>, BadArgument> {
        let value = self.take(field).ok_or_else(|| self.missing(field))?;
        let items = match value {
            Value::Array(items) => items,
            one => vec![one],
        };
        if items.is_empty() {
            return Err(BadArgument::new(field, "is empty; name at least one session"));
        }
        let item = |(place, value)| session(&format!("{field}[{place}]"), value);
        items.into_iter().enumerate().map(item).collect()
    }

    /// Strings by name, with `None` for names to be removed.
    pub(crate) fn text_map(&mut self, field: &str) -> Result<Vec<(String, Option<String>)>, BadArgument> {
        let Some(value) = self.take(field) else { return Ok(Vec::new()) };
        let Value::Object(map) = value else { return Err(unfit(field, &value, "an object of strings")) };
        map.into_iter().map(|(name, value)| variable(field, name, value)).collect()
    }
}

fn variable(field: &str, name: String, value: Value) -> Result<(String, Option<String>), BadArgument> {
    let place = format!("{field}.{name}");
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(BadArgument::new(place, "a variable's name is not empty and has no `=` in it"));
    }
    match value {
        Value::Null => Ok((name, None)),
        value => Ok((name, Some(without_nul(&place, string(&place, value)?)?))),
    }
}

/// Refuses NUL: a string for the kernel ends at its first one.
pub(crate) fn without_nul(field: &str, text: String) -> Result<String, BadArgument> {
    if text.contains('\0') { Err(BadArgument::new(field, "contains a NUL byte")) } else { Ok(text) }
}

/// A number without a fraction, whichever way it is written.
pub(crate) fn whole(field: &str, value: &Value) -> Result<u64, BadArgument> {
    /// The largest number up to which every whole number has its own floating-point form.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let from_float = |number: f64| {
        let is_whole = number.fract() == 0.0 && (0.0..=EXACT).contains(&number);
        // The range was checked, so the conversion is exact.
        is_whole.then_some(number as u64)
    };
    let number = value.as_u64().or_else(|| value.as_f64().and_then(from_float));
    number.ok_or_else(|| unfit(field, value, "a whole number that is not negative"))
}

fn string(field: &str, value: Value) -> Result<String, BadArgument> {
    match value {
        Value::String(text) => Ok(text),
        value => Err(unfit(field, &value, "a string")),
    }
}

pub(crate) fn session(field: &str, value: Value) -> Result<SessionRef, BadArgument> {
    match value {
        // Models write numbers as text. No session has such a name, so it can only be a number.
        Value::String(text) if is_number(&text) => match text.parse() {
            Ok(number) => Ok(SessionRef::Number(number)),
            Err(_) => Err(unfit(field, &text.into(), "a session's number or name")),
        },
        Value::String(name) => Ok(SessionRef::Name(name)),
        Value::Number(_) => whole(field, &value).map(SessionRef::Number),
        value => Err(unfit(field, &value, "a session's number or name")),
    }
}

/// Whether a text could be taken for a number; no session is named so.
pub(crate) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

pub(crate) fn unfit(field: &str, value: &Value, wanted: &str) -> BadArgument {
    BadArgument::new(field, format!("is {}, but must be {wanted}", shown(value)))
}

fn shown(value: &Value) -> String {
    const LONGEST: usize = 40;
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

fn one_of(names: &[&str]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(" or ")
}
