//! The handshake: who the client is and what it can take.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `initialize`, the first request of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    /// Who the client is.
    pub client_info: ClientInfo,
    /// What the client can take, or wants otherwise than usual.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Capabilities>,
}

/// Who the client is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientInfo {
    /// Its name for programs; must be usable as the value of an HTTP header.
    pub name: String,
    /// Its name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its version.
    pub version: String,
}

/// What a client can take, or wants otherwise than usual.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// Whether `process/*` and `permissionProfile` may be used.
    #[serde(default)]
    pub experimental_api: bool,
    /// The exact names of notifications that are not to be sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opt_out_notification_methods: Option<Vec<String>>,
    /// Windlass's own: processes shall outlive this connection for a while, or those of an earlier one be taken over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<ResumeRequest>,
}

/// How the processes of a connection survive its loss.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResumeRequest {
    /// How long processes go on without a client, in milliseconds; at most ten minutes. 30 seconds where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
    /// The token of an earlier connection whose processes are taken over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// Result of `initialize`. Requests may follow at once; the notification `initialized` is welcome and not required.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// The server's name and version.
    pub user_agent: String,
    /// The absolute path of the directory in which the server keeps what it remembers.
    pub codex_home: String,
    /// `unix`.
    pub platform_family: String,
    /// `linux`.
    pub platform_os: String,
    /// Windlass's own: how to come back after the connection is lost, if the client asked for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<Resumable>,
}

/// How to come back after the connection is lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resumable {
    /// What to send as `capabilities.resume.token` on the next connection. Whoever has it has the processes. Of a connection
    /// that was resumed it is the same as before.
    pub token: String,
    /// How long the processes wait for it, in milliseconds.
    pub grace_ms: u64,
    /// Whether the processes of the connection that was named are here now.
    pub resumed: bool,
}
