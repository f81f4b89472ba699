//! The words about what a command may touch, the same wherever commands are run.

use clap::{Args, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use windlass_config::SandboxMode;

/// What a command may touch.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SandboxWords {
    /// What the command may touch: read-only, workspace-write, full-access, external, or a file that says it
    #[arg(long, value_name = "POLICY")]
    pub(crate) sandbox: Option<String>,

    /// Let it also change this file or directory; repeatable
    #[arg(long, value_name = "PATH", requires = "sandbox")]
    pub(crate) writable: Vec<String>,

    /// Let it read but not change what matches, inside writable directories; repeatable
    #[arg(long, value_name = "PATTERN", requires = "sandbox")]
    pub(crate) read_only: Vec<String>,

    /// Do not even let it read what matches, such as ~/.ssh or '**/.env'; repeatable
    #[arg(long, value_name = "PATTERN", requires = "sandbox")]
    pub(crate) deny_read: Vec<String>,

    /// What of the network it may use: off, loopback, on, or hosts such as 'crates.io,*.npmjs.org' [default: off]. `loopback` is one
    /// of its own, for servers that commands start: servers of this machine are reached with 'localhost:PORT'
    #[arg(long, value_name = "NETWORK", requires = "sandbox")]
    pub(crate) network: Option<String>,

    /// The layers that enforce it; `landlock` leaves namespaces out, to see what a machine without them can do
    #[arg(long, value_enum, value_name = "LAYERS", default_value_t, requires = "sandbox")]
    pub(crate) sandbox_layers: LayersName,
}

/// The sandbox modes, by the names that policies and settings have. The second name is that of Codex and of the protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SandboxModeName {
    /// Reading everything, changing nothing, no network
    ReadOnly,
    /// The same, but for changes in the working directory and the temporary ones
    WorkspaceWrite,
    /// Everything that this program may
    #[value(alias = "danger-full-access")]
    FullAccess,
    /// Everything too, because something outside of Windlass confines commands
    External,
}

impl SandboxModeName {
    /// The same as a setting.
    pub(crate) fn mode(self) -> SandboxMode {
        match self {
            Self::ReadOnly => SandboxMode::ReadOnly,
            Self::WorkspaceWrite => SandboxMode::WorkspaceWrite,
            Self::FullAccess => SandboxMode::FullAccess,
            Self::External => SandboxMode::External,
        }
    }
}

/// Which of the machine's means to use, by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LayersName {
    /// Everything that this machine has
    #[default]
    All,
    /// Landlock, seccomp and the supervisor, without namespaces
    Landlock,
}

#[derive(Debug, Args)]
pub(crate) struct SandboxArgs {
    #[command(subcommand)]
    pub(crate) command: SandboxCommand,
}

/// What can be asked about sandboxes.
#[derive(Debug, Subcommand)]
pub(crate) enum SandboxCommand {
    /// Say what would be enforced for a command, by what, and what this machine cannot enforce
    Explain(SandboxExplain),
}

#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub(crate) struct SandboxExplain {
    /// The policy: a name, or a file that says it
    #[arg(long, alias = "sandbox", value_name = "POLICY", default_value = "workspace-write")]
    pub(crate) policy: String,

    /// Let it also change this file or directory; repeatable
    #[arg(long, value_name = "PATH")]
    pub(crate) writable: Vec<String>,

    /// Let it read but not change what matches; repeatable
    #[arg(long, value_name = "PATTERN")]
    pub(crate) read_only: Vec<String>,

    /// Do not even let it read what matches; repeatable
    #[arg(long, value_name = "PATTERN")]
    pub(crate) deny_read: Vec<String>,

    /// What of the network it may use. `loopback` is one of its own, not that of this machine
    #[arg(long, value_name = "NETWORK")]
    pub(crate) network: Option<String>,

    /// Run it in this directory
    #[arg(long, short = 'C', value_name = "DIRECTORY")]
    pub(crate) cwd: Option<PathBuf>,

    /// The layers that enforce it; `landlock` leaves namespaces out, to see what a machine without them can do
    #[arg(long, value_enum, value_name = "LAYERS", default_value_t)]
    pub(crate) sandbox_layers: LayersName,

    /// List every rule, where it comes from, and what enforces it
    #[arg(long, short)]
    pub(crate) verbose: bool,

    /// Print the plan with every rule as JSON
    #[arg(long, conflicts_with = "verbose")]
    pub(crate) json: bool,

    /// The command. It is not run
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  windlass sandbox explain --policy workspace-write -- cargo build
  windlass sandbox explain --policy read-only --deny-read ~/.ssh";

impl SandboxExplain {
    /// The same words as `run` takes.
    pub(crate) fn words(&self) -> SandboxWords {
        SandboxWords {
            sandbox: Some(self.policy.clone()),
            writable: self.writable.clone(),
            read_only: self.read_only.clone(),
            deny_read: self.deny_read.clone(),
            network: self.network.clone(),
            sandbox_layers: self.sandbox_layers,
        }
    }
}

impl SandboxWords {
    /// The same words again, for another process.
    pub(crate) fn again(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        let mut push = |name: &str, value: &str| words.extend([name.into(), value.into()]);
        self.sandbox.iter().for_each(|policy| push("--sandbox", policy));
        self.writable.iter().for_each(|path| push("--writable", path));
        self.read_only.iter().for_each(|pattern| push("--read-only", pattern));
        self.deny_read.iter().for_each(|pattern| push("--deny-read", pattern));
        self.network.iter().for_each(|network| push("--network", network));
        if self.sandbox_layers == LayersName::Landlock {
            push("--sandbox-layers", "landlock");
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use windlass_engine::sandbox::Policy;

    use super::*;

    #[test]
    fn options_policies_and_settings_call_the_sandbox_modes_by_the_same_words() {
        let shown: Vec<String> = SandboxModeName::value_variants()
            .iter()
            .filter_map(|mode| mode.to_possible_value().map(|value| value.get_name().to_owned()))
            .collect();
        assert_eq!(shown, Policy::NAMES);
        for word in Policy::NAMES.into_iter().chain(["danger-full-access"]) {
            let mode = SandboxModeName::from_str(word, false).map(SandboxModeName::mode);
            assert_eq!(mode.ok(), SandboxMode::from_word(word), "{word}");
            let policy = Policy::named(word).expect("a policy of this name");
            assert_eq!(SandboxMode::from_word(word).map(SandboxMode::word), Some(policy.name()), "{word}");
        }
    }
}
