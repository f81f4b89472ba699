//! Changes of a sandbox that its caller can request, in the words of the caller's interface. Denials and errors name
//! them.

use windlass_engine::sandbox::Remedies;

/// The interface through which a caller uses this runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interface {
    /// `windlass run` and `windlass sandbox explain`.
    CommandLine,
    /// `windlass mcp`: its callers are models, which cannot change the options of the server.
    Mcp,
    /// `windlass agent`.
    Agent,
    /// `windlass app-server`.
    AppServer,
    /// `windlass exec-server`.
    ExecServer,
}

impl Interface {
    pub(crate) fn remedies(self) -> Remedies {
        let words = match self {
            Self::CommandLine => [
                "--network loopback allows servers that commands start",
                "--network with a list of hosts allows those, such as --network example.com",
                "only --network on allows more",
                "use --network off or on",
                "use no --sandbox, or --sandbox external",
            ],
            Self::Mcp => [
                "the operator of this MCP server can allow servers that commands start: windlass mcp --network loopback",
                "the operator of this MCP server can allow hosts: windlass mcp --network example.com",
                "the operator of this MCP server can allow it: windlass mcp --network on",
                "start the MCP server with --network off or on",
                "start the MCP server without --sandbox, or with --sandbox external",
            ],
            Self::Agent => [
                "network_access = \"loopback\" in [sandbox_workspace_write] allows servers that commands start",
                "network_access = [\"example.com\"] in [sandbox_workspace_write] allows hosts",
                "network_access = true in [sandbox_workspace_write] allows it",
                "set network_access in [sandbox_workspace_write] to false or true",
                "start the agent with --sandbox full-access",
            ],
            Self::AppServer => {
                return Remedies::with_one_network_switch(
                    "`networkAccess: true` in the sandboxPolicy allows it",
                    "send the sandboxPolicy `externalSandbox`",
                );
            }
            Self::ExecServer => [
                "a `managedNetwork` with `allowLocalBinding: true` allows servers that processes start",
                "permissions with the network `enabled` allow it",
                "permissions with the network `enabled` allow it",
                "send no `allowLocalBinding`",
                "send no `sandbox`, or `external` permissions",
            ],
        };
        let [loopback, hosts, whole_network, other_network, no_sandbox] = words.map(str::to_owned);
        Remedies { loopback, hosts, whole_network, other_network, no_sandbox }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_are_offered_no_options_of_a_command_line() {
        for interface in [Interface::AppServer, Interface::ExecServer] {
            let said = format!("{:?}", interface.remedies());
            assert!(!said.contains("--"), "{said}");
        }
    }
}
