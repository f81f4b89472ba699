//! The MCP clients that windlass supports: where each keeps its configuration, and how an entry for windlass looks in
//! it. The functions take a text and return a text; they write no file.
//!
//! These files hold much more than MCP servers, and their users comment them. So every edit is a small change of the
//! text itself and is checked afterwards: the new text must contain everything that the old one did, plus or minus the
//! entry of windlass.

mod jsonc;
mod places;
mod toml;
mod yaml;

use std::path::PathBuf;

use serde_json::{Value, json};

use self::jsonc::JsonDialect;
pub(crate) use self::places::{Places, Scope};
use crate::args::McpClient;

/// The name of windlass in every client's configuration.
pub(crate) const SERVER_NAME: &str = "windlass";

/// How long a client should wait for a tool: a build takes minutes, and the tools bound their own waits.
const TOOL_SECONDS: u64 = 600;
/// How long a client should wait for windlass to start, on a busy machine.
const STARTUP_SECONDS: u64 = 30;

/// The command that a client starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    pub(crate) command: String,
    pub(crate) arguments: Vec<String>,
}

/// A client's configuration file.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) client: McpClient,
    pub(crate) path: PathBuf,
}

/// An error in a configuration text. Windlass does not guess about such a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) line: usize,
    pub(crate) what: String,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for Broken {}

impl Broken {
    /// An error at a byte of a text.
    fn at(text: &str, offset: usize, what: impl Into<String>) -> Self {
        let before = text.as_bytes().iter().take(offset);
        Self { line: 1 + before.filter(|byte| **byte == b'\n').count(), what: what.into() }
    }
}

/// One field of the entry of windlass.
#[derive(Clone, Debug)]
struct Field {
    name: &'static str,
    value: Value,
    when: When,
}

/// Whether a field that is already present is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// The field must have this value.
    Always,
    /// The user may choose the value; this one is a proposal.
    Absent,
}

/// The format of a client's file.
#[derive(Clone, Copy, Debug)]
enum Format {
    Json { dialect: JsonDialect, servers: &'static str },
    Toml,
    Yaml,
}

impl Target {
    /// Returns the text with the entry of windlass in it; the same text if it is there already.
    pub(crate) fn with_server(&self, text: &str, server: &Server) -> Result<String, Broken> {
        let fields = fields(self.client, server);
        match format(self.client) {
            Format::Json { dialect, servers } => jsonc::insert(text, (dialect, servers), &fields),
            Format::Toml => toml::insert(text, &fields),
            Format::Yaml => yaml::insert(text, &fields),
        }
    }

    /// Returns the text without the entry of windlass; the same text if there is none.
    pub(crate) fn without_server(&self, text: &str) -> Result<String, Broken> {
        match format(self.client) {
            Format::Json { dialect, servers } => jsonc::remove(text, (dialect, servers)),
            Format::Toml => toml::remove(text),
            Format::Yaml => yaml::remove(text),
        }
    }

    /// Whether the text has an entry of windlass.
    pub(crate) fn has_server(&self, text: &str) -> Result<bool, Broken> {
        self.without_server(text).map(|without| without != text)
    }
}

/// The name under which the client's program is found on PATH.
pub(crate) fn program(client: McpClient) -> &'static str {
    match client {
        McpClient::Claude => "claude",
        McpClient::Codex => "codex",
        McpClient::Gemini => "gemini",
        McpClient::Cursor => "cursor",
        McpClient::Vscode => "code",
        McpClient::Zed => "zed",
        McpClient::Goose => "goose",
    }
}

/// The client's name for people.
pub(crate) fn title(client: McpClient) -> &'static str {
    match client {
        McpClient::Claude => "Claude Code",
        McpClient::Codex => "Codex",
        McpClient::Gemini => "Gemini CLI",
        McpClient::Cursor => "Cursor",
        McpClient::Vscode => "Visual Studio Code",
        McpClient::Zed => "Zed",
        McpClient::Goose => "Goose",
    }
}

fn format(client: McpClient) -> Format {
    let json = |dialect, servers| Format::Json { dialect, servers };
    match client {
        McpClient::Claude => json(JsonDialect::Strict, "mcpServers"),
        McpClient::Gemini | McpClient::Cursor => json(JsonDialect::Commented, "mcpServers"),
        McpClient::Vscode => json(JsonDialect::Commented, "servers"),
        McpClient::Zed => json(JsonDialect::Commented, "context_servers"),
        McpClient::Codex => Format::Toml,
        McpClient::Goose => Format::Yaml,
    }
}

/// The entry of windlass in the format of a client. It sets no time for Claude Code, which waits for a tool as long as
/// the tool takes, nor for Cursor and Visual Studio Code, which have no such setting.
fn fields(client: McpClient, server: &Server) -> Vec<Field> {
    let always = |name, value| Field { name, value, when: When::Always };
    let proposed = |name, value| Field { name, value, when: When::Absent };
    let (command, arguments) = (json!(server.command), json!(server.arguments));
    let plain = [always("command", command.clone()), always("args", arguments.clone())];
    let typed = || [always("type", json!("stdio"))].into_iter().chain(plain.clone());
    match client {
        McpClient::Claude | McpClient::Cursor | McpClient::Vscode => typed().collect(),
        McpClient::Gemini => {
            plain.into_iter().chain([proposed("timeout", json!(TOOL_SECONDS * 1000))]).collect()
        }
        McpClient::Zed => plain.into_iter().chain([proposed("timeout", json!(TOOL_SECONDS))]).collect(),
        McpClient::Codex => {
            let startup = proposed("startup_timeout_sec", json!(STARTUP_SECONDS));
            plain.into_iter().chain([startup, proposed("tool_timeout_sec", json!(TOOL_SECONDS))]).collect()
        }
        McpClient::Goose => vec![
            proposed("enabled", json!(true)),
            always("type", json!("stdio")),
            proposed("name", json!(SERVER_NAME)),
            proposed("description", json!("Run commands, keep every byte they print")),
            always("cmd", command),
            always("args", arguments),
            proposed("timeout", json!(TOOL_SECONDS)),
        ],
    }
}

#[cfg(test)]
mod tests;
