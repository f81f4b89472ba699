//! What a client wants a process or a file operation to be kept from. What is not understood is refused, never ignored.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PathUri;

/// What may be touched. Members that are not named here concern other systems.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SandboxContext {
    /// Who keeps to what.
    pub permissions: Permissions,
    /// The folder that the permissions are about, if not that of the process.
    #[serde(default)]
    pub cwd: Option<PathUri>,
    /// The folders of the project, if there are others than that.
    #[serde(default)]
    pub workspace_roots: Vec<PathUri>,
}

/// Who keeps to what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Permissions {
    /// The server enforces these.
    Managed {
        /// Files.
        file_system: ManagedFileSystem,
        /// The network.
        #[serde(default)]
        network: NetworkPermission,
    },
    /// Nobody enforces anything.
    Disabled,
    /// Somebody around the server enforces what there is to enforce.
    External,
}

/// Which files may be touched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ManagedFileSystem {
    /// Those of a list.
    Restricted {
        /// The most specific one counts; of two for the same place, `deny` before `write` before `read`.
        entries: Vec<PermissionEntry>,
    },
    /// All that the user may touch.
    Unrestricted,
}

/// What may be done at one place and below.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PermissionEntry {
    /// The place.
    pub path: PermissionPath,
    /// What may be done there.
    pub access: PermissionAccess,
    /// What becomes of the entry where there is no such place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_path_behavior: Option<MissingPath>,
}

/// What becomes of an entry about a place that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MissingPath {
    /// Nothing.
    Skip,
}

/// What may be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PermissionAccess {
    /// Reading.
    Read,
    /// Reading and changing.
    Write,
    /// Nothing.
    #[serde(alias = "none")]
    Deny,
}

/// A place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PermissionPath {
    /// This one.
    Path {
        /// Where it is.
        path: PathUri,
    },
    /// All that fit.
    GlobPattern {
        /// `*`, `?`, `[…]` within a name, `**` for any folders.
        pattern: String,
    },
    /// One that is called by what it is for.
    Special {
        /// What for.
        value: SpecialPath,
    },
}

/// A place that is called by what it is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SpecialPath {
    /// Everything.
    Root,
    /// What programs need to run at all.
    Minimal,
    /// The folders of the project.
    #[serde(alias = "current_working_directory")]
    ProjectRoots {
        /// A place below each of them.
        #[serde(default)]
        subpath: Option<PathBuf>,
    },
    /// The user's folder for temporary files.
    Tmpdir,
    /// `/tmp`.
    SlashTmp,
    /// Something that the client knows and did not explain.
    Unknown {
        /// Its name.
        path: String,
        /// A place below it.
        #[serde(default)]
        subpath: Option<PathBuf>,
    },
}

/// Whether the network may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum NetworkPermission {
    /// It may not.
    #[default]
    Restricted,
    /// It may.
    Enabled,
}

/// How a process's network is controlled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ManagedNetwork {
    /// Ports of the server's own machine that it may connect to. Refused unless empty: its network is another one.
    #[serde(default)]
    pub loopback_ports: Vec<u16>,
    /// Whether it may listen on, and connect to, 127.0.0.1 of its own network.
    #[serde(default)]
    pub allow_local_binding: bool,
    /// Sockets at paths that it may connect to. Refused unless empty.
    #[serde(default)]
    pub allow_unix_sockets: Vec<String>,
    /// Whether it may connect to any of them. Refused unless false.
    #[serde(default)]
    pub dangerously_allow_all_unix_sockets: bool,
}

impl SandboxContext {
    /// Whether nothing has to be enforced here.
    pub fn is_full_access(&self) -> bool {
        match &self.permissions {
            Permissions::Disabled | Permissions::External => true,
            Permissions::Managed { file_system, network } => {
                *file_system == ManagedFileSystem::Unrestricted && *network == NetworkPermission::Enabled
            }
        }
    }

    /// Whether nothing has to be enforced here where only files are touched.
    pub fn is_full_access_to_files(&self) -> bool {
        match &self.permissions {
            Permissions::Disabled | Permissions::External => true,
            Permissions::Managed { file_system, .. } => *file_system == ManagedFileSystem::Unrestricted,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(permissions: &Value, full: bool) {
        let context = json!({ "permissions": permissions.clone(), "cwd": "file:///", "windowsSandboxLevel": "disabled" });
        let context: SandboxContext = serde_json::from_value(context).expect("a context");
        assert_eq!(context.is_full_access(), full, "{context:?}");
    }

    #[test]
    fn only_what_asks_for_nothing_is_full_access() {
        check(&json!({ "type": "disabled" }), true);
        check(&json!({ "type": "external", "network": "restricted" }), true);
        check(
            &json!({ "type": "managed", "file_system": { "type": "unrestricted" }, "network": "enabled" }),
            true,
        );
        check(
            &json!({ "type": "managed", "file_system": { "type": "unrestricted" }, "network": "restricted" }),
            false,
        );
        check(
            &json!({ "type": "managed", "file_system": { "type": "restricted", "entries": [] }, "network": "enabled" }),
            false,
        );
    }

    #[test]
    fn permissions_of_an_unknown_kind_are_named() {
        let context = serde_json::from_value::<SandboxContext>(json!({ "permissions": { "type": "bogus" } }));
        let expected = "unknown variant `bogus`, expected one of `managed`, `disabled`, `external`";
        assert_eq!(context.expect_err("no such kind").to_string(), expected);
    }
}
