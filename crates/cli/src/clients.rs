//! The MCP clients we know: where each keeps its configuration, and how it is said there that it starts us. Texts go in
//! and come out; nothing here writes a file.
//!
//! Clients keep far more in these files than servers, and people comment them. So every edit is a small one in the text
//! itself, and is checked afterwards: what comes out must say what went in, plus or minus our entry.

mod jsonc;
mod places;
mod toml;
mod yaml;

use std::path::PathBuf;

use serde_json::{Value, json};

use self::jsonc::JsonDialect;
pub(crate) use self::places::{Places, Scope};
use crate::args::McpClient;

/// The name we go by in every client.
pub(crate) const SERVER_NAME: &str = "windlass";

/// How long a client is to wait for a tool: a build takes minutes, and the tools bound their own waits.
const TOOL_SECONDS: u64 = 600;
/// How long a client is to wait until we are up, on a machine that is busy.
const STARTUP_SECONDS: u64 = 30;

/// What a client has to start.
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

/// A text that is not what its client would read. Nothing is guessed about such a file.
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
    /// Something wrong at a byte of a text.
    fn at(text: &str, offset: usize, what: impl Into<String>) -> Self {
        let before = text.as_bytes().iter().take(offset);
        Self { line: 1 + before.filter(|byte| **byte == b'\n').count(), what: what.into() }
    }
}

/// One line of our entry.
#[derive(Clone, Debug)]
struct Field {
    name: &'static str,
    value: Value,
    when: When,
}

/// Whether a field that is there already is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// It must be this.
    Always,
    /// It is the reader's to choose, and this is our proposal.
    Absent,
}

/// How a client writes its file.
#[derive(Clone, Copy, Debug)]
enum Format {
    Json { dialect: JsonDialect, servers: &'static str },
    Toml,
    Yaml,
}

impl Target {
    /// The text with us in it; the same text if we are.
    pub(crate) fn with_server(&self, text: &str, server: &Server) -> Result<String, Broken> {
        let fields = fields(self.client, server);
        match format(self.client) {
            Format::Json { dialect, servers } => jsonc::insert(text, (dialect, servers), &fields),
            Format::Toml => toml::insert(text, &fields),
            Format::Yaml => yaml::insert(text, &fields),
        }
    }

    /// The text without us; the same text if we are not in it.
    pub(crate) fn without_server(&self, text: &str) -> Result<String, Broken> {
        match format(self.client) {
            Format::Json { dialect, servers } => jsonc::remove(text, (dialect, servers)),
            Format::Toml => toml::remove(text),
            Format::Yaml => yaml::remove(text),
        }
    }

    /// Whether we are in the text.
    pub(crate) fn has_server(&self, text: &str) -> Result<bool, Broken> {
        self.without_server(text).map(|without| without != text)
    }
}

/// The program by which a client is found on PATH.
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

/// What people call it.
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

/// Our entry in the words of a client. Claude Code waits for a tool for as long as it takes, and Cursor and Visual Studio
/// Code have no word for it: they get no time.
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
