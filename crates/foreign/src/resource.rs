//! Resources of a server: what can be read there, and what was read.

use serde_json::Value;

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
