//! Attaching to a session, and what the server says about the place where processes run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PathUri;

/// `initialize`: the first request of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    /// What the client calls itself.
    pub client_name: String,
    /// The session of an earlier connection that was lost; its processes still run for a while. Left out or null, a new
    /// session begins.
    #[serde(default)]
    pub resume_session_id: Option<String>,
}

/// What `initialize` gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResponse {
    /// The session, by the number to resume it with.
    pub session_id: String,
    /// The place where processes run.
    pub environment_info: EnvironmentInfo,
}

/// The place where processes run; also what `environment/info` gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentInfo {
    /// The user's shell.
    pub shell: ShellInfo,
    /// The folder in which the server was started.
    pub cwd: PathUri,
    /// The user's home.
    pub user_home_dir: Option<PathUri>,
    /// The operating system, as in `linux`.
    pub platform_os: String,
    /// Folders that go before the client's own search path: none.
    pub prepend_path_dirs: Vec<PathUri>,
    /// Folders for temporary files beside `tempDir`: none.
    pub temporary_directories: Vec<PathUri>,
    /// The folder for temporary files.
    pub temp_dir: PathUri,
    /// What the server can do beyond the methods that every server of this dialect has. What is not named it cannot.
    pub capabilities: Capabilities,
    /// Who serves. Added by Windlass.
    pub server: ServerInfo,
}

/// A shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShellInfo {
    /// Its name, as in `bash`.
    pub name: String,
    /// Its program.
    pub path: String,
}

/// What the server can do beyond the methods that every server of this dialect has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// `process/resize`, and a terminal's first size in `process/start`. Added by Windlass.
    #[serde(default)]
    pub process_resize: bool,
    /// `process/closeStdin`. Added by Windlass.
    #[serde(default)]
    pub process_close_stdin: bool,
    /// `process/list`. Added by Windlass.
    #[serde(default)]
    pub process_list: bool,
    /// Signals other than `interrupt` in `process/signal`. Added by Windlass.
    #[serde(default)]
    pub process_signals: bool,
}

/// Who serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerInfo {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// What `environment/status` gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentStatusResponse {
    /// Whether processes can be started.
    pub status: EnvironmentStatus,
}

/// Whether processes can be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum EnvironmentStatus {
    /// They can.
    Ready,
}
