//! A sandbox as words on the command line. The one place that knows how it is asked for.

use super::attempts::Attempt;
use super::stage::Stage;

/// What the sandbox lets a command change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    ReadOnly,
    WorkspaceWrite,
}

/// Whom the sandbox lets it speak to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Network {
    Off,
    Loopback,
    On,
}

/// Of what the sandbox is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layers {
    /// Whatever the machine offers.
    All,
    /// Only what needs no namespaces.
    Landlock,
}

/// What every sandbox says beforehand (docs/sandbox.md) that it does not stop: a name that must not come into being is read
/// by the supervisor before it is read by the kernel.
const RACES: &[&str] = &["new_repository_race"];

/// What one without namespaces says beside that (`windlass sandbox explain`): races against the supervisor, the sight of others,
/// and memory that everybody shares.
const ADMITTED: &[&str] = &[
    "race_path_in_memory_chmod",
    "hook_race_of_path_in_memory",
    "victim_seen",
    "network_table_read",
    "posix_shared_memory_written",
];

/// Where those races leave their traces.
const RACED: &[&str] = &["/race_path_in_memory_chmod/", "/.git/hooks/fsmonitor-watchman"];

/// One sandbox to hold to account.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Confinement {
    pub(crate) policy: Policy,
    pub(crate) network: Network,
    pub(crate) layers: Layers,
}

impl Confinement {
    /// The words that go before a command to run it in this sandbox.
    pub(crate) fn words(self, stage: &Stage) -> Vec<String> {
        let run = [stage.windlass(), "run".to_owned()];
        run.into_iter().chain(self.flags(stage)).chain(["--".to_owned()]).collect()
    }

    /// What `windlass run` is told, with the stage's roots and secrets.
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

    /// Whether this sandbox promises that nobody changes a place outside.
    pub(crate) fn keeps(self, path: &str) -> bool {
        // What a race has made cannot be removed from inside.
        let raced = path.ends_with("/work2/.git");
        !raced && (self.layers == Layers::All || !RACED.iter().any(|raced| path.contains(raced)))
    }

    /// Whether this sandbox promises to stop an attempt.
    pub(crate) fn must_stop(self, attempt: &Attempt) -> bool {
        let admitted = match self.layers {
            Layers::All => RACES,
            Layers::Landlock => ADMITTED,
        };
        if RACES.iter().chain(admitted).any(|name| *name == attempt.name) {
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
