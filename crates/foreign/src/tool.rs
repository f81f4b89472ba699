//! A tool of a server, as it is offered to a model.

use serde_json::{Map, Value};

/// A tool of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignTool {
    /// The server's name, as configured.
    pub server: String,
    /// The tool's name, as the server calls it.
    pub name: String,
    /// The name a model uses: `mcp__SERVER__TOOL`, within what models take, and no other tool's.
    pub full_name: String,
    /// What it does, in the server's words.
    pub description: String,
    /// The JSON Schema of its arguments: always an object.
    pub parameters: Map<String, Value>,
    /// Whether the server says that it changes nothing. A hint: nobody checks it.
    pub read_only: bool,
    /// Whether it may be called while other tools of its server run.
    pub parallel: bool,
}
