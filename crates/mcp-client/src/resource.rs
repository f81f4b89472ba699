//! Resources of a server: their descriptions and their contents.

use serde_json::{Map, Value};

use crate::outcome::kind;

/// A resource that can be read.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// The server that offers it.
    pub server: String,
    /// Its URI.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// The server's whole description, for replies in JSON.
    pub raw: Value,
}

/// A resource template: a family of resources whose URIs match a pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    /// The server that offers it.
    pub server: String,
    /// The pattern of the URIs.
    pub uri_template: String,
    /// Its name.
    pub name: String,
    /// The server's whole description, for replies in JSON.
    pub raw: Value,
}

/// The contents of a resource, or of a part of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceContent {
    /// Its URI.
    pub uri: String,
    /// Its MIME type, if the server gave one.
    pub mime: Option<String>,
    /// The contents themselves.
    pub text: ResourceText,
}

/// The contents of a resource.
#[derive(Clone, Debug, PartialEq)]
pub enum ResourceText {
    /// Text.
    Text(String),
    /// Other bytes, as base64.
    Blob(String),
}

impl Resource {
    /// `None` without a URI: such a resource cannot be read.
    pub(crate) fn read(server: String, raw: Value) -> Option<Self> {
        let (uri, name) = (text(&raw, "uri")?, text(&raw, "name").unwrap_or_default());
        Some(Self { server, uri, name, raw })
    }
}

impl Template {
    /// `None` without a pattern.
    pub(crate) fn read(server: String, raw: Value) -> Option<Self> {
        let (uri_template, name) = (text(&raw, "uriTemplate")?, text(&raw, "name").unwrap_or_default());
        Some(Self { server, uri_template, name, raw })
    }
}

impl ResourceContent {
    /// Parses the result of `resources/read`.
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
