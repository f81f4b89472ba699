//! The paths of the clients' configuration files, found as each client itself looks for them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{Target, title};
use crate::args::McpClient;

/// The directories in which clients look, as far as the environment names them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// `$HOME`.
    home: Option<PathBuf>,
    /// `$XDG_CONFIG_HOME`, else `~/.config`.
    configuration: Option<PathBuf>,
    /// `$CLAUDE_CONFIG_DIR`.
    claude: Option<PathBuf>,
    /// `$CODEX_HOME`.
    codex: Option<PathBuf>,
    /// `$GEMINI_CLI_HOME`, which replaces the home directory.
    gemini: Option<PathBuf>,
    /// `$GOOSE_PATH_ROOT`.
    goose: Option<PathBuf>,
}

/// Whether the configuration is the user's or a project's.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scope<'a> {
    /// The user's configuration, for all projects.
    User,
    /// The configuration of the project in this directory.
    Project(&'a Path),
}

/// The reason why there is no file to write.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoPlace {
    /// No variable names the home directory.
    Home,
    /// The client has no configuration file for a project.
    Project(McpClient),
}

impl std::fmt::Display for NoPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Home => f.write_str("HOME is not set, and so there is no user's configuration"),
            Self::Project(client) => write!(
                f,
                "{} has no file for the servers of one project; leave --project away",
                title(*client)
            ),
        }
    }
}

impl std::error::Error for NoPlace {}

impl Places {
    /// Reads the environment. A relative path is ignored: it would mean another directory for a client that is started
    /// elsewhere.
    pub(crate) fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let directory = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = directory("HOME");
        Self {
            configuration: directory("XDG_CONFIG_HOME")
                .or_else(|| home.as_ref().map(|home| home.join(".config"))),
            claude: directory("CLAUDE_CONFIG_DIR"),
            codex: directory("CODEX_HOME"),
            gemini: directory("GEMINI_CLI_HOME"),
            goose: directory("GOOSE_PATH_ROOT"),
            home,
        }
    }

    /// The configuration file that a client reads.
    pub(crate) fn target(&self, client: McpClient, scope: Scope<'_>) -> Result<Target, NoPlace> {
        let path = match scope {
            Scope::Project(directory) => {
                directory.join(project_file(client).ok_or(NoPlace::Project(client))?)
            }
            Scope::User => self.user_file(client).ok_or(NoPlace::Home)?,
        };
        Ok(Target { client, path })
    }

    fn user_file(&self, client: McpClient) -> Option<PathBuf> {
        let home = |path: &str| self.home.as_ref().map(|home| home.join(path));
        let configuration = |path: &str| self.configuration.as_ref().map(|home| home.join(path));
        match client {
            McpClient::Claude => {
                self.claude.as_ref().map(|own| own.join(".claude.json")).or_else(|| home(".claude.json"))
            }
            McpClient::Codex => {
                self.codex.as_ref().map(|own| own.join("config.toml")).or_else(|| home(".codex/config.toml"))
            }
            McpClient::Gemini => {
                let own = self.gemini.as_ref().map(|own| own.join(".gemini/settings.json"));
                own.or_else(|| home(".gemini/settings.json"))
            }
            McpClient::Cursor => home(".cursor/mcp.json"),
            McpClient::Vscode => configuration("Code/User/mcp.json"),
            McpClient::Zed => configuration("zed/settings.json"),
            McpClient::Goose => {
                let own = self.goose.as_ref().map(|own| own.join("config/config.yaml"));
                own.or_else(|| configuration("goose/config.yaml"))
            }
        }
    }
}

fn project_file(client: McpClient) -> Option<&'static str> {
    match client {
        McpClient::Claude => Some(".mcp.json"),
        McpClient::Codex => Some(".codex/config.toml"),
        McpClient::Gemini => Some(".gemini/settings.json"),
        McpClient::Cursor => Some(".cursor/mcp.json"),
        McpClient::Vscode => Some(".vscode/mcp.json"),
        McpClient::Zed | McpClient::Goose => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(variables: &[(&str, &str)], client: McpClient, expected: &str) {
        let variable = |name: &str| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let target = Places::from_variables(variable).target(client, Scope::User);
        assert_eq!(target.expect("there is a place").path, Path::new(expected), "{variables:?}");
    }

    #[test]
    fn files_are_where_the_client_would_look() {
        let home = ("HOME", "/h");
        check(&[home], McpClient::Claude, "/h/.claude.json");
        check(&[home, ("CLAUDE_CONFIG_DIR", "/c")], McpClient::Claude, "/c/.claude.json");
        check(&[home], McpClient::Codex, "/h/.codex/config.toml");
        check(&[home, ("CODEX_HOME", "/c")], McpClient::Codex, "/c/config.toml");
        check(&[home], McpClient::Gemini, "/h/.gemini/settings.json");
        check(&[home, ("GEMINI_CLI_HOME", "/g")], McpClient::Gemini, "/g/.gemini/settings.json");
        check(&[home], McpClient::Cursor, "/h/.cursor/mcp.json");
        check(&[home], McpClient::Vscode, "/h/.config/Code/User/mcp.json");
        check(&[home, ("XDG_CONFIG_HOME", "/x")], McpClient::Vscode, "/x/Code/User/mcp.json");
        check(&[home, ("XDG_CONFIG_HOME", "/x")], McpClient::Zed, "/x/zed/settings.json");
        check(&[home, ("XDG_CONFIG_HOME", "relative")], McpClient::Zed, "/h/.config/zed/settings.json");
        check(&[home], McpClient::Goose, "/h/.config/goose/config.yaml");
        check(&[home, ("GOOSE_PATH_ROOT", "/g")], McpClient::Goose, "/g/config/config.yaml");
    }

    #[test]
    fn a_project_has_files_for_clients_that_read_one() {
        let places = Places::default();
        let target = places.target(McpClient::Vscode, Scope::Project(Path::new("/p"))).expect("it has one");
        assert_eq!(target.path, Path::new("/p/.vscode/mcp.json"));
        let refused =
            places.target(McpClient::Zed, Scope::Project(Path::new("/p"))).map(|target| target.path);
        assert_eq!(refused, Err(NoPlace::Project(McpClient::Zed)));
        assert_eq!(places.target(McpClient::Zed, Scope::User).map(|target| target.path), Err(NoPlace::Home));
    }
}
