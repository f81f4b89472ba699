//! Resources of a server: what can be read there, and what was read.

use serde_json::{Map, Value};

use crate::outcome::kind;

/// Something that can be read.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// The server that has it.
    pub server: String,
    /// Its address.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// Everything the server said about it, for answers in JSON.
    pub raw: Value,
}

/// A family of resources, by a pattern of addresses.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    /// The server that has it.
    pub server: String,
    /// The pattern.
    pub uri_template: String,
    /// Its name.
    pub name: String,
    /// Everything the server said about it, for answers in JSON.
    pub raw: Value,
}

/// A resource that was read, or a part of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceContent {
    /// Its address.
    pub uri: String,
    /// Its type, if the server said so.
    pub mime: Option<String>,
    /// What it holds.
    pub text: ResourceText,
}

/// What a resource holds.
#[derive(Clone, Debug, PartialEq)]
pub enum ResourceText {
    /// Text.
    Text(String),
    /// Other bytes, as base64.
    Blob(String),
}

impl Resource {
    /// One without an address cannot be read, and is none.
    pub(crate) fn read(server: String, raw: Value) -> Option<Self> {
        let (uri, name) = (text(&raw, "uri")?, text(&raw, "name").unwrap_or_default());
        Some(Self { server, uri, name, raw })
    }
}

impl Template {
    /// One without a pattern is none.
    pub(crate) fn read(server: String, raw: Value) -> Option<Self> {
        let (uri_template, name) = (text(&raw, "uriTemplate")?, text(&raw, "name").unwrap_or_default());
        Some(Self { server, uri_template, name, raw })
    }
}

impl ResourceContent {
    /// Reads the result of `resources/read`.
    pub(crate) fn read_all(mut result: Map<String, Value>) -> Result<Vec<Self>, String> {
        match result.remove("contents") {
            Some(Value::Array(contents)) => contents.iter().map(Self::read).collect(),
            Some(other) => Err(format!("its contents are {}", kind(&other))),
            None => Err("it has no contents".to_owned()),
        }
    }

    fn read(content: &Value) -> Result<Self, String> {
        let held = match (text(content, "text"), text(content, "blob")) {
            (Some(text), _) => ResourceText::Text(text),
            (None, Some(blob)) => ResourceText::Blob(blob),
            (None, None) => return Err("a part of it holds neither text nor bytes".to_owned()),
        };
        Ok(Self {
            uri: text(content, "uri").unwrap_or_default(),
            mime: text(content, "mimeType"),
            text: held,
        })
    }
}

fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(result: Value, expected: Result<usize, &str>) {
        let Value::Object(result) = result else { panic!("an object") };
        let read = ResourceContent::read_all(result).map(|contents| contents.len());
        assert_eq!(read.as_ref().map_err(String::as_str).copied(), expected);
    }

    #[test]
    fn contents_are_text_or_bytes() {
        check(json!({ "contents": [{ "uri": "a:b", "text": "x" }, { "blob": "AA==" }] }), Ok(2));
        check(json!({ "contents": [] }), Ok(0));
        check(json!({ "contents": [{ "uri": "a:b" }] }), Err("a part of it holds neither text nor bytes"));
        check(json!({ "contents": "x" }), Err("its contents are a string"));
        check(json!({}), Err("it has no contents"));
    }
}
