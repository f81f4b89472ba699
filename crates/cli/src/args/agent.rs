//! The words of `windlass agent`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use crate::args::values::duration;
use crate::args::{LayersName, SandboxModeName};
use crate::failure::Usage;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = AGENT_EXAMPLES)]
pub(crate) struct AgentArgs {
    #[command(subcommand)]
    pub(crate) command: Option<AgentCommand>,

    #[command(flatten)]
    pub(crate) work: AgentWork,

    // Last: its heading holds for everything behind it.
    #[command(flatten)]
    pub(crate) portable: AgentPortable,
}

/// Settings, instructions and skills as one encrypted file.
#[derive(Debug, Args)]
#[command(next_help_heading = "Settings to take along")]
pub(crate) struct AgentPortable {
    /// `export` or `import` settings, AGENTS.md and skills as one file, encrypted with a passphrase (age)
    #[arg(long, num_args = 2, value_names = ["export|import", "FILE"], conflicts_with_all = ["prompt", "json"])]
    portable: Option<Vec<String>>,

    /// With export: keys and tokens go along too
    #[arg(long)]
    pub(crate) with_secrets: bool,

    /// Overwrite what is there and differs
    #[arg(long)]
    pub(crate) replace: bool,

    /// The file whose first line is the passphrase; without it $WINDLASS_PASSPHRASE, or else it is asked for
    #[arg(long, value_name = "FILE")]
    pub(crate) passphrase_file: Option<PathBuf>,
}

impl AgentPortable {
    /// What is to be done with which file, if anything.
    pub(crate) fn asked(&self) -> Result<Option<(PortableName, &Path)>, Usage> {
        let Some([what, file]) = self.portable.as_deref() else {
            // The parser does not see this, because --portable and a prompt exclude each other.
            let beside = self.with_secrets || self.replace || self.passphrase_file.is_some();
            let said = "--with-secrets, --replace and --passphrase-file go with --portable";
            return if beside { Err(Usage(said.into())) } else { Ok(None) };
        };
        let what = match what.as_str() {
            "export" => PortableName::Export,
            "import" => PortableName::Import,
            other => return Err(Usage(format!("--portable does `export` or `import`, not `{other}`"))),
        };
        Ok(Some((what, Path::new(file))))
    }
}

/// What to do with a portable file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PortableName {
    Export,
    Import,
}

const AGENT_EXAMPLES: &str = "\
Examples:
  windlass agent                                  talk to it
  windlass agent 'make the tests pass'            talk to it, this first
  windlass agent 'which tests are slow?' > slow   one task; prints its answer
  git diff | windlass agent 'review this change'  a task and what it is about
  windlass agent --json - < task.md               events, one JSON object a line
  windlass agent resume --last 'now the docs'     go on with the newest one here
  windlass agent --portable export settings.age   take settings and skills along

Settings are in $XDG_CONFIG_HOME/windlass/config.toml, else ~/.config/windlass/config.toml; `windlass agent config` shows \
them. Conversations are kept in the state directory, under agent/.";

/// What else can be done.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// Go on with an earlier conversation
    Resume(AgentResume),
    /// Begin with a copy of an earlier conversation
    Fork(AgentFork),
    /// List conversations, newest first
    Threads(AgentThreads),
    /// Show every setting in force and where it comes from
    Config(AgentConfig),
    /// Let this directory's project bring its own settings, instructions and skills
    Trust(AgentTrust),
}

#[derive(Debug, Args)]
pub(crate) struct AgentResume {
    /// The conversation; with --last there is none, and the task stands here
    #[arg(value_name = "ID")]
    id: Option<String>,

    /// What to do; `-` reads it from standard input
    #[arg(value_name = "PROMPT")]
    prompt: Option<String>,

    /// Words behind the task, which is one argument: an error names the right form
    #[arg(hide = true, value_name = "WORDS")]
    surplus: Vec<String>,

    /// The newest conversation of this directory
    #[arg(long)]
    pub(crate) last: bool,

    /// With --last: the newest conversation of any directory
    #[arg(long, requires = "last")]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) options: AgentOptions,
}

impl AgentResume {
    /// The conversation, if it is named, and the words of the task.
    pub(crate) fn words(&self) -> (Option<&str>, Vec<&str>) {
        let mut words: Vec<&str> =
            self.id.iter().chain(&self.prompt).chain(&self.surplus).map(String::as_str).collect();
        let id = if self.last || words.is_empty() { None } else { Some(words.remove(0)) };
        (id, words)
    }
}

#[derive(Debug, Args)]
pub(crate) struct AgentFork {
    /// The conversation
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// What to do; `-` reads it from standard input
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,

    /// Words behind the task, which is one argument: an error names the right form
    #[arg(hide = true, value_name = "WORDS")]
    surplus: Vec<String>,

    #[command(flatten)]
    pub(crate) options: AgentOptions,
}

#[derive(Debug, Args)]
pub(crate) struct AgentThreads {
    /// Also those of other directories
    #[arg(long)]
    pub(crate) all: bool,

    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AgentConfig {
    #[command(flatten)]
    pub(crate) options: AgentOptions,
}

#[derive(Debug, Args)]
pub(crate) struct AgentTrust {
    /// Take the trust back
    #[arg(long)]
    pub(crate) revoke: bool,
}

impl AgentFork {
    /// The words of the task.
    pub(crate) fn words(&self) -> Vec<&str> {
        self.prompt.iter().chain(&self.surplus).map(String::as_str).collect()
    }
}

/// A task and how to work on it.
#[derive(Debug, Args)]
pub(crate) struct AgentWork {
    /// What to do; `-` reads it from standard input
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,

    /// Words behind the task, which is one argument: an error names the right form
    #[arg(hide = true, value_name = "WORDS")]
    surplus: Vec<String>,

    #[command(flatten)]
    pub(crate) options: AgentOptions,
}

impl AgentWork {
    /// The words of the task.
    pub(crate) fn words(&self) -> Vec<&str> {
        self.prompt.iter().chain(&self.surplus).map(String::as_str).collect()
    }
}

/// How to work.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct AgentOptions {
    /// The model
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// Set a setting, as KEY=VALUE with dots between names; the value is TOML, or else text; repeatable
    #[arg(long = "config", short = 'c', value_name = "KEY=VALUE")]
    pub(crate) config: Vec<String>,

    /// The profile of settings to use
    #[arg(long, short, value_name = "NAME")]
    pub(crate) profile: Option<String>,

    /// What commands may touch
    #[arg(long, short, value_enum, value_name = "MODE")]
    pub(crate) sandbox: Option<SandboxModeName>,

    /// When a person is asked
    #[arg(long, short, value_enum, value_name = "POLICY")]
    pub(crate) ask_for_approval: Option<ApprovalName>,

    /// Work in this directory
    #[arg(long = "cd", short = 'C', value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,

    /// Let commands also write in this directory; repeatable
    #[arg(long, value_name = "DIR")]
    pub(crate) add_dir: Vec<PathBuf>,

    /// Let neither commands nor the tools for files read what matches, such as ~/.ssh or '**/.env'; repeatable
    #[arg(long, value_name = "PATTERN")]
    pub(crate) deny_read: Vec<String>,

    /// Show the model this picture with the task; repeatable
    #[arg(long, short, value_name = "FILE", value_delimiter = ',')]
    pub(crate) image: Vec<PathBuf>,

    /// A file with the JSON Schema that the last message must have
    #[arg(long, value_name = "FILE")]
    pub(crate) output_schema: Option<PathBuf>,

    /// Also write the last message to this file
    #[arg(long, short = 'o', value_name = "FILE")]
    pub(crate) output_last_message: Option<PathBuf>,

    /// Print what happens as JSON, one event a line
    #[arg(long)]
    pub(crate) json: bool,

    /// Work on this one task and end, also at a terminal
    #[arg(long)]
    pub(crate) once: bool,

    /// Before the answer, wait for what still runs, at most TIME, and let the model go on at each end
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, value_parser = duration)]
    pub(crate) wait_background: Option<Option<Duration>>,

    /// Keep nothing of the conversation
    #[arg(long)]
    pub(crate) ephemeral: bool,

    /// Whether to use colour
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub(crate) color: ColorName,

    /// Accepted and not needed: work begins in any directory
    #[arg(long)]
    pub(crate) skip_git_repo_check: bool,

    /// Also read Codex's configuration, below the own one
    #[arg(long)]
    pub(crate) import_codex: bool,

    /// Do not read the user's configuration file
    #[arg(long)]
    pub(crate) ignore_user_config: bool,

    /// Run everything without asking and without a sandbox: only where the machine itself is one
    #[arg(long, conflicts_with_all = ["sandbox", "ask_for_approval"])]
    pub(crate) dangerously_bypass_approvals_and_sandbox: bool,

    /// The layers that enforce sandboxes; `landlock` leaves namespaces out, to see what a machine without them can do
    #[arg(long, value_enum, value_name = "LAYERS", default_value_t)]
    pub(crate) sandbox_layers: LayersName,
}

/// When a person is asked, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ApprovalName {
    /// Before every command that no rule allows
    Untrusted,
    /// When the model asks to go beyond the sandbox
    #[value(alias = "on-failure")]
    OnRequest,
    /// Never: what is not allowed is refused
    Never,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorName {
    /// On a terminal
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}
