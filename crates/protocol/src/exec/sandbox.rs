//! What a client wants a process or a file operation to be kept from. Read so that it can be refused, never ignored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What may be touched. Members that are not named here say where, and are read by nobody yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SandboxContext {
    /// Who keeps to what.
    pub permissions: Permissions,
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
    Restricted {},
    /// All that the user may touch.
    Unrestricted,
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
