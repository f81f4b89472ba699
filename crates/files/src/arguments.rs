//! Reads a call's arguments, one by one. Every complaint names the argument, the value that was given and the value
//! that is expected.
//!
//! The reader is lenient where there is no doubt: `null` counts as absent, `"10"` and `10.0` are numbers, and a path
//! may be called `path` in every tool. A note names unknown arguments, because most often they are misspelled.

use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::answer::FileToolError;

/// The arguments that have not been taken yet.
#[derive(Debug)]
pub(crate) struct Fields {
    rest: Map<String, Value>,
    /// The prefix of names in complaints: `indentation.` for the arguments inside that one.
    within: &'static str,
}

impl Fields {
    pub(crate) fn new(mut arguments: Map<String, Value>) -> Self {
        arguments.retain(|_, value| !value.is_null());
        Self { rest: arguments, within: "" }
    }

    /// The arguments inside an argument that is an object.
    pub(crate) fn group(&mut self, name: &str, within: &'static str) -> Result<Option<Self>, FileToolError> {
        match self.rest.remove(name) {
            None => Ok(None),
            Some(Value::Object(map)) => Ok(Some(Self { within, ..Self::new(map) })),
            Some(other) => Err(self.unfit(name, &other, "an object")),
        }
    }

    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, FileToolError> {
        match self.rest.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.unfit(name, &other, "a string")),
        }
    }

    /// One string or a list of them.
    pub(crate) fn texts(&mut self, name: &str) -> Result<Vec<String>, FileToolError> {
        match self.rest.remove(name) {
            None => Ok(Vec::new()),
            Some(Value::String(text)) => Ok(vec![text]),
            Some(other) => {
                let texts = serde_json::from_value(other.clone());
                texts.map_err(|_| self.unfit(name, &other, "a string or a list of strings"))
            }
        }
    }

    /// A path, under the first of these names that is given.
    pub(crate) fn path(&mut self, names: &[&str]) -> Result<Option<PathBuf>, FileToolError> {
        let Some(name) = names.iter().find(|name| self.rest.contains_key(**name)) else { return Ok(None) };
        let path = self.text(name)?.unwrap_or_default();
        if path.contains('\0') {
            return Err(self.wrong(name, "a path cannot contain a NUL character"));
        }
        Ok(Some(PathBuf::from(path)).filter(|path| !path.as_os_str().is_empty()))
    }

    /// A number from 1 on.
    pub(crate) fn positive(&mut self, name: &str) -> Result<Option<u64>, FileToolError> {
        match self.whole(name)? {
            Some(0) => Err(self.wrong(name, "counting begins at 1, so give 1 or more")),
            other => Ok(other),
        }
    }

    /// A number from 0 on.
    pub(crate) fn whole(&mut self, name: &str) -> Result<Option<u64>, FileToolError> {
        let Some(value) = self.rest.remove(name) else { return Ok(None) };
        let number = whole_number(&value);
        number.map(Some).ok_or_else(|| self.unfit(name, &value, "a whole number that is not negative"))
    }

    pub(crate) fn flag(&mut self, name: &str) -> Result<Option<bool>, FileToolError> {
        match self.rest.remove(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(Value::String(text)) if text == "true" || text == "false" => Ok(Some(text == "true")),
            Some(other) => Err(self.unfit(name, &other, "true or false")),
        }
    }

    /// One of a few words: the variants of an enum.
    pub(crate) fn choice<T: DeserializeOwned>(
        &mut self,
        name: &str,
        words: &[&str],
    ) -> Result<Option<T>, FileToolError> {
        let Some(value) = self.rest.remove(name) else { return Ok(None) };
        let chosen = serde_json::from_value(value.clone());
        chosen.map(Some).map_err(|_| self.unfit(name, &value, &format!("one of {}", words.join(", "))))
    }

    pub(crate) fn required<T>(&self, name: &str, value: Option<T>) -> Result<T, FileToolError> {
        value.ok_or_else(|| self.wrong(name, "is missing, and nothing can be done without it"))
    }

    /// Notes that name the arguments which were not read.
    pub(crate) fn remarks(&self) -> Vec<String> {
        const MOST: usize = 5;
        let names = self.rest.keys().take(MOST);
        let remark = |name: &String| {
            format!("argument `{}{}` is not known and was ignored", self.within, beginning(name))
        };
        names.map(remark).collect()
    }

    pub(crate) fn wrong(&self, name: &str, complaint: &str) -> FileToolError {
        FileToolError::argument(format!("{}{name}", self.within), complaint)
    }

    fn unfit(&self, name: &str, value: &Value, wanted: &str) -> FileToolError {
        self.wrong(name, &format!("got {}, but it must be {wanted}", beginning(&value.to_string())))
    }
}

/// A call's arguments as an object.
pub(crate) fn object(text: &str) -> Result<Map<String, Value>, FileToolError> {
    // Some models send an empty text for a call without arguments.
    let text = if text.trim().is_empty() { "{}" } else { text };
    serde_json::from_str(text).map_err(|error| FileToolError::NoObject { complaint: error.to_string() })
}

fn whole_number(value: &Value) -> Option<u64> {
    // Above this, floating point cannot represent every integer.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::String(text) => text.trim().parse().ok(),
        Value::Number(number) => number.as_u64().or_else(|| {
            let float = number.as_f64().filter(|float| float.fract() == 0.0 && (0.0..EXACT).contains(float));
            float.map(|float| float as u64)
        }),
        _ => None,
    }
}

/// The beginning of a value, so that a complaint about a long one stays short.
fn beginning(text: &str) -> String {
    const LONGEST: usize = 80;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
