//! The sandbox options of the command line. Only this file knows their syntax.

use super::attempts::Attempt;
use super::stage::Stage;

/// The files that the sandbox lets a command change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    ReadOnly,
    WorkspaceWrite,
}

/// The hosts to which the sandbox lets a command connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Network {
    Off,
    Loopback,
    On,
}

/// The layers of the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layers {
    /// All layers of the machine.
    All,
    /// Only those that need no namespaces.
    Landlock,
}

/// Attempts that a sandbox without namespaces admits not to stop (`windlass sandbox explain`): they see processes and
/// sockets of others.
const ADMITTED: &[&str] = &["victim_seen", "network_table_read"];

/// A sandbox under test.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Confinement {
    pub(crate) policy: Policy,
    pub(crate) network: Network,
    pub(crate) layers: Layers,
}

impl Confinement {
    /// The words before a command that run it in this sandbox.
    pub(crate) fn words(self, stage: &Stage) -> Vec<String> {
        let run = [stage.windlass(), "run".to_owned()];
        run.into_iter().chain(self.flags(stage)).chain(["--".to_owned()]).collect()
    }

    /// The options of `windlass run`, with the stage's roots and secrets.
    pub(crate) fn flags(self, stage: &Stage) -> Vec<String> {
        let policy = match self.policy {
            Policy::ReadOnly => "read-only",
            Policy::WorkspaceWrite => "workspace-write",
        };
        let network = match self.network {
            Network::Off => "off",
            Network::Loopback => "loopback",
            Network::On => "on",
        };
        let mut flags = ["--sandbox", policy, "--network", network].map(str::to_owned).to_vec();
        let roots: &[&str] = if self.policy == Policy::WorkspaceWrite { &["work", "work2"] } else { &[] };
        for root in roots {
            flags.extend(["--writable".to_owned(), stage.path(root)]);
        }
        for secret in ["secret", "secrets"] {
            flags.extend(["--deny-read".to_owned(), stage.path(secret)]);
        }
        if self.layers == Layers::Landlock {
            flags.extend(["--sandbox-layers", "landlock"].map(str::to_owned));
        }
        flags
    }

    /// Whether this sandbox promises to stop an attempt.
    pub(crate) fn must_stop(self, attempt: &Attempt) -> bool {
        if self.layers == Layers::Landlock && ADMITTED.contains(&attempt.name.as_str()) {
            return false;
        }
        match attempt.stopped_by.as_str() {
            "both" => true,
            "read-only" => self.policy == Policy::ReadOnly,
            "network-off" => self.network == Network::Off,
            "network-not-on" => self.network != Network::On,
            other => panic!("{other} is no policy"),
        }
    }
}
