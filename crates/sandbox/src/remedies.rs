//! How a caller changes a policy: a denial and an error name what would allow the command. An option of the command
//! line helps no client of a JSON-RPC protocol, so each runtime states the remedies of its own interface.

use crate::request::bytes::{Reader, Writer};

/// Changes that a caller can make, as fragments of sentences in the words of one interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedies {
    /// Allows servers that commands start.
    pub loopback: String,
    /// Allows single hosts.
    pub hosts: String,
    /// Allows the whole network.
    pub whole_network: String,
    /// The networks that need no network namespace.
    pub other_network: String,
    /// Runs a command without a sandbox of Windlass.
    pub no_sandbox: String,
}

impl Remedies {
    /// The remedies of an interface that has one switch for the network.
    pub fn with_one_network_switch(switch: &str, no_sandbox: &str) -> Self {
        Self {
            loopback: switch.to_owned(),
            hosts: switch.to_owned(),
            whole_network: switch.to_owned(),
            other_network: switch.to_owned(),
            no_sandbox: no_sandbox.to_owned(),
        }
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        for text in [&self.loopback, &self.hosts, &self.whole_network, &self.other_network, &self.no_sandbox]
        {
            out.block(text.as_bytes());
        }
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            loopback: from.text()?,
            hosts: from.text()?,
            whole_network: from.text()?,
            other_network: from.text()?,
            no_sandbox: from.text()?,
        })
    }
}

impl Default for Remedies {
    /// Remedies in the words of a policy, for a runtime whose interface is not known.
    fn default() -> Self {
        Self {
            loopback: "the network `loopback` allows servers that commands start".to_owned(),
            hosts: "a list of hosts, such as example.com, allows those".to_owned(),
            whole_network: "only the network `on` allows more".to_owned(),
            other_network: "use the network `off` or `on`".to_owned(),
            no_sandbox: "use the policy `external`".to_owned(),
        }
    }
}
