//! The interface to the host: the tools that a script may call.

use std::future::Future;
use std::pin::Pin;

use serde_json::Value;

/// A tool call under way. Dropped if its cell ends first.
pub type CallFuture = Pin<Box<dyn Future<Output = Result<Value, String>> + Send>>;

/// Provides the tools of a cell. Calls of one cell run concurrently if the script starts them so.
pub trait Host: Send + Sync {
    /// The tools that a script sees. Called once when the cell starts.
    fn tools(&self) -> Vec<ToolInfo>;

    /// Calls a tool that [`tools`](Self::tools) listed. `Ok` is the value of the script's promise, a text or any JSON;
    /// `Err` is the message of the error with which the promise is rejected.
    fn call(&self, name: &str, arguments: Arguments) -> CallFuture;

    /// Sends a notice to the model while the script continues. Called on the cell's own thread; must not block.
    fn notify(&self, text: &str);
}

/// A tool, as scripts see it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolInfo {
    /// Its name: `tools.NAME`. A name that is not a JavaScript identifier is also available with `_` in place of the
    /// invalid characters.
    pub name: String,
    /// Its description.
    pub description: String,
    /// The JSON Schema of its arguments; `None` for a tool that takes free text.
    pub parameters: Option<Value>,
}

/// The input of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Arguments {
    /// An object, for a tool with parameters.
    Json(Value),
    /// A text, for a tool that takes free text.
    Text(String),
}
