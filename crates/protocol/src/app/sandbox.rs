//! What a command may touch.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;

/// What a command may touch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum SandboxPolicy {
    /// Everything the server may.
    DangerFullAccess,
    /// Reading only.
    #[serde(rename_all = "camelCase")]
    ReadOnly {
        /// Whether it may use the network.
        #[serde(default)]
        network_access: bool,
    },
    /// The server is inside a sandbox already: nothing more is enforced.
    #[serde(rename_all = "camelCase")]
    ExternalSandbox {
        /// Whether that sandbox lets it use the network.
        #[serde(default)]
        network_access: NetworkAccess,
    },
    /// Writing below the server's directory, some roots and the temporary directories; reading everywhere.
    #[serde(rename_all = "camelCase")]
    WorkspaceWrite {
        /// Further absolute directories it may write below.
        #[serde(default)]
        writable_roots: Vec<AbsolutePath>,
        /// Whether it may use the network.
        #[serde(default)]
        network_access: bool,
        /// Whether `$TMPDIR` is not writable.
        #[serde(default)]
        exclude_tmpdir_env_var: bool,
        /// Whether `/tmp` is not writable.
        #[serde(default)]
        exclude_slash_tmp: bool,
    },
}

/// Whether a sandbox around the server lets its commands use the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum NetworkAccess {
    /// It does not.
    #[default]
    Restricted,
    /// It does.
    Enabled,
}

/// As it is read. The name of this type is what a client sees that sends something else.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum SandboxPolicyDeserialize {
    DangerFullAccess,
    #[serde(rename_all = "camelCase")]
    ReadOnly {
        #[serde(default)]
        network_access: bool,
        #[serde(default, rename = "access", deserialize_with = "gone")]
        _access: (),
    },
    #[serde(rename_all = "camelCase")]
    ExternalSandbox {
        #[serde(default)]
        network_access: NetworkAccess,
    },
    #[serde(rename_all = "camelCase")]
    WorkspaceWrite {
        #[serde(default)]
        writable_roots: Vec<AbsolutePath>,
        #[serde(default)]
        network_access: bool,
        #[serde(default)]
        exclude_tmpdir_env_var: bool,
        #[serde(default)]
        exclude_slash_tmp: bool,
    },
}

impl<'de> Deserialize<'de> for SandboxPolicy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        SandboxPolicyDeserialize::deserialize(deserializer).map(Self::from)
    }
}

impl From<SandboxPolicyDeserialize> for SandboxPolicy {
    fn from(read: SandboxPolicyDeserialize) -> Self {
        match read {
            SandboxPolicyDeserialize::DangerFullAccess => Self::DangerFullAccess,
            SandboxPolicyDeserialize::ReadOnly { network_access, .. } => Self::ReadOnly { network_access },
            SandboxPolicyDeserialize::ExternalSandbox { network_access } => {
                Self::ExternalSandbox { network_access }
            }
            SandboxPolicyDeserialize::WorkspaceWrite {
                writable_roots,
                network_access,
                exclude_tmpdir_env_var,
                exclude_slash_tmp,
            } => Self::WorkspaceWrite {
                writable_roots,
                network_access,
                exclude_tmpdir_env_var,
                exclude_slash_tmp,
            },
        }
    }
}

/// A member that clients used to send. One that would be ignored would be a restriction that is not there.
fn gone<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    Value::deserialize(deserializer)?;
    let advice = "readOnly.access is no longer supported; use permissionProfile for restricted reads";
    Err(de::Error::custom(advice))
}

/// A path from the root on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct AbsolutePath(String);

impl AbsolutePath {
    /// The path, if it is absolute.
    pub fn new(path: impl Into<String>) -> Option<Self> {
        Some(path.into()).filter(|path| Path::new(path).is_absolute()).map(Self)
    }

    /// The same for the file system.
    pub fn to_path(&self) -> PathBuf {
        PathBuf::from(&self.0)
    }
}

impl<'de> Deserialize<'de> for AbsolutePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let path = String::deserialize(deserializer)?;
        Self::new(path).ok_or_else(|| de::Error::custom("AbsolutePathBuf deserialized without a base path"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(sent: &Value, expected: Result<SandboxPolicy, &str>) {
        let read = SandboxPolicy::deserialize(sent).map_err(|error| error.to_string());
        assert_eq!(read, expected.map_err(str::to_owned), "{sent}");
    }

    #[test]
    fn every_form_is_read_with_its_defaults() {
        check(&json!({ "type": "dangerFullAccess", "more": 1 }), Ok(SandboxPolicy::DangerFullAccess));
        check(&json!({ "type": "readOnly" }), Ok(SandboxPolicy::ReadOnly { network_access: false }));
        let network_access = NetworkAccess::Restricted;
        check(&json!({ "type": "externalSandbox" }), Ok(SandboxPolicy::ExternalSandbox { network_access }));
        let roots = AbsolutePath::new("/srv").into_iter().collect();
        check(
            &json!({ "type": "workspaceWrite", "writableRoots": ["/srv"], "excludeSlashTmp": true }),
            Ok(SandboxPolicy::WorkspaceWrite {
                writable_roots: roots,
                network_access: false,
                exclude_tmpdir_env_var: false,
                exclude_slash_tmp: true,
            }),
        );
    }

    #[test]
    fn what_is_wrong_is_said_in_the_dialects_words() {
        check(
            &json!({ "type": "bogus" }),
            Err(
                "unknown variant `bogus`, expected one of `dangerFullAccess`, `readOnly`, `externalSandbox`, `workspaceWrite`",
            ),
        );
        check(&json!({}), Err("missing field `type`"));
        check(
            &json!("readOnly"),
            Err(
                "invalid type: string \"readOnly\", expected internally tagged enum SandboxPolicyDeserialize",
            ),
        );
        check(
            &json!({ "type": "workspaceWrite", "writableRoots": ["here"] }),
            Err("AbsolutePathBuf deserialized without a base path"),
        );
        check(
            &json!({ "type": "readOnly", "access": { "type": "fullAccess" } }),
            Err("readOnly.access is no longer supported; use permissionProfile for restricted reads"),
        );
    }
}
