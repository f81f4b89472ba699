//! What a command may touch.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

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
        #[serde(default, rename = "access", deserialize_with = "access")]
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
        #[serde(default, rename = "readOnlyAccess", deserialize_with = "read_only_access")]
        _read_only_access: (),
    },
}

/// What policies used to say of reading, as it is read. The name of this type is seen as well.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum LegacyReadOnlyAccess {
    FullAccess,
    Restricted,
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
                ..
            } => Self::WorkspaceWrite {
                writable_roots,
                network_access,
                exclude_tmpdir_env_var,
                exclude_slash_tmp,
            },
        }
    }
}

fn access<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    unrestricted(deserializer, "readOnly.access")
}

fn read_only_access<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    unrestricted(deserializer, "workspaceWrite.readOnlyAccess")
}

/// A member that clients used to send. If it asks for a restriction it is refused: one that is ignored is not there.
fn unrestricted<'de, D: Deserializer<'de>>(deserializer: D, member: &str) -> Result<(), D::Error> {
    match Option::deserialize(deserializer)? {
        None | Some(LegacyReadOnlyAccess::FullAccess) => Ok(()),
        Some(LegacyReadOnlyAccess::Restricted) => {
            let advice =
                format!("{member} is no longer supported; use permissionProfile for restricted reads");
            Err(de::Error::custom(advice))
        }
    }
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
        let path = path_text(deserializer)?;
        Self::new(path).ok_or_else(|| de::Error::custom("AbsolutePathBuf deserialized without a base path"))
    }
}

/// A path as text. What is none is called by its name.
pub(super) fn path_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let path = PathBuf::deserialize(deserializer)?.into_os_string().into_string();
    path.map_err(|_| de::Error::custom("a path that is no text"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

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
    }

    /// A restriction that older clients asked for was passed over in one of the two places.
    #[test]
    fn a_restriction_of_reading_is_never_passed_over() {
        for (form, member) in [("readOnly", "access"), ("workspaceWrite", "readOnlyAccess")] {
            let policy = |access: Value| json!({ "type": form, member: access });
            let advice =
                format!("{form}.{member} is no longer supported; use permissionProfile for restricted reads");
            let restricted = json!({ "type": "restricted", "readableRoots": ["/usr"] });
            check(&policy(restricted), Err(&advice));
            let unknown = "unknown variant `some`, expected `fullAccess` or `restricted`";
            check(&policy(json!({ "type": "some" })), Err(unknown));
            let no_access =
                "invalid type: string \"all\", expected internally tagged enum LegacyReadOnlyAccess";
            check(&policy(json!("all")), Err(no_access));
            for nothing in [Value::Null, json!({ "type": "fullAccess" })] {
                SandboxPolicy::deserialize(policy(nothing)).expect("nothing is restricted");
            }
        }
    }
}
