//! What a script may call: the only way out of a cell.

use std::future::Future;
use std::pin::Pin;

use serde_json::Value;

/// A nested call under way. Dropped when its cell ends first.
pub type CallFuture = Pin<Box<dyn Future<Output = Result<Value, String>> + Send>>;

/// Gives a cell its tools. Calls of one cell run at the same time as far as the script starts them so.
pub trait Host: Send + Sync {
    /// The tools a script sees, asked once when the cell starts.
    fn tools(&self) -> Vec<ToolInfo>;

    /// Calls a tool that [`tools`](Self::tools) named. `Ok` is what the script's promise becomes, a text or any JSON;
    /// `Err` is the message of the error it is rejected with.
    fn call(&self, name: &str, arguments: Arguments) -> CallFuture;

    /// Tells the model something while the script goes on. Called on the cell's own thread; must not wait.
    fn notify(&self, text: &str);
}

/// A tool, as scripts see it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolInfo {
    /// Its name: `tools.NAME`. One that is no identifier is also there with `_` for what does not fit.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments, or nothing for a tool that takes free text.
    pub parameters: Option<Value>,
}

/// What a script calls a tool with.
#[derive(Clone, Debug, PartialEq)]
pub enum Arguments {
    /// An object, for a tool with parameters.
    Json(Value),
    /// A text, for a tool without.
    Text(String),
}
