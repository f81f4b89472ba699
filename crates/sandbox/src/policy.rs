//! Policies: what a command may access, as plain data that can be put together, compared and explained.

use crate::pattern::Pattern;

/// The access that a command has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Full access: everything that the user may do.
    FullAccess,
    /// Full access for the runtime: a sandbox around the runtime enforces its own limits.
    External,
    /// Only what the rules allow.
    Confined(Confined),
}

/// Limits on what a command may access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confined {
    /// The access where no rule says otherwise.
    pub base: Base,
    /// Rules for particular places. The most specific one wins; of two for the same place, the later.
    pub rules: Vec<Rule>,
    /// The network that it may use.
    pub network: Network,
    /// The temporary directories that it may write to.
    pub temporary: Temporary,
}

/// The access where no rule says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// It may read everything and change nothing.
    ReadOnly,
    /// It may read everything and change its workspace and temporary directories.
    WorkspaceWrite,
}

/// The access to one place, or to all places that fit a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The place, with everything below.
    pub place: Pattern,
    /// The access there.
    pub access: Access,
}

/// The access to files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Nothing, not even reading.
    Deny,
    /// Reading and executing.
    Read,
    /// Everything that the files' owners allow.
    Write,
}

/// The network that a command may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Network {
    /// No network, not even this machine's own addresses.
    Off,
    /// Addresses of the loopback device, which commands of one runtime with the same network share.
    Loopback,
    /// Hosts of a list, through the runtime, beside the loopback device.
    Hosts(Vec<String>),
    /// Everything.
    On,
}

/// The temporary directories that a command may write to, where the base allows any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Temporary {
    /// `/tmp`.
    pub common: bool,
    /// The temporary directory of the environment, `$TMPDIR`.
    pub own: bool,
}

impl Default for Temporary {
    fn default() -> Self {
        Self { common: true, own: true }
    }
}

impl Confined {
    /// A policy with only a base, without rules and network.
    pub fn new(base: Base) -> Self {
        Self { base, rules: Vec::new(), network: Network::Off, temporary: Temporary::default() }
    }

    /// The same with one more rule.
    #[must_use]
    pub fn with(mut self, place: Pattern, access: Access) -> Self {
        self.rules.push(Rule { place, access });
        self
    }

    /// The same with another network.
    #[must_use]
    pub fn with_network(mut self, network: Network) -> Self {
        self.network = network;
        self
    }
}

impl Policy {
    /// The policies that have a name.
    pub const NAMES: [&'static str; 4] = ["read-only", "workspace-write", "full-access", "external"];

    /// The policy of this name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "read-only" => Self::Confined(Confined::new(Base::ReadOnly)),
            "workspace-write" => Self::Confined(Confined::new(Base::WorkspaceWrite)),
            // The second name is that of Codex, of the agent's settings and of the protocols.
            "full-access" | "danger-full-access" => Self::FullAccess,
            "external" => Self::External,
            _ => return None,
        })
    }

    /// The name of the policy, or of what it builds on.
    pub fn name(&self) -> &'static str {
        match self {
            Self::FullAccess => "full-access",
            Self::External => "external",
            Self::Confined(confined) => confined.base.name(),
        }
    }
}

impl Base {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
        }
    }
}

impl Network {
    /// In one word.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Loopback => "loopback",
            Self::Hosts(_) => "hosts",
            Self::On => "on",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_policy_knows_its_name() {
        for name in Policy::NAMES {
            assert_eq!(Policy::named(name).map(|policy| policy.name()), Some(name));
        }
        assert_eq!(Policy::named("workspace"), None);
    }
}
