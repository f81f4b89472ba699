//! The words of `windlass mcp`: serving the tools to a client, and telling a client to start us.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::args::{EnvironmentChange, SandboxWords, ServerLimitWords, TlsWords, TokenizerName, values};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = MCP_EXAMPLES)]
pub(crate) struct McpArgs {
    /// What to do instead of serving
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,

    #[command(flatten)]
    pub(crate) serve: McpServe,
}

/// How to serve.
#[derive(Debug, Args)]
pub(crate) struct McpServe {
    /// Serve over HTTP on this address, to clients that have the token, instead of standard input and output. A port alone
    /// is one of 127.0.0.1; port 0 is a free one
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = values::http_address)]
    pub(crate) http: Option<SocketAddr>,

    /// Let --http take an address that other machines can reach; asks for a certificate
    #[arg(long, requires = "http")]
    pub(crate) allow_remote: bool,

    #[command(flatten)]
    pub(crate) tls: TlsWords,

    /// Another name by which clients call this server; may be given several times
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) host: Vec<String>,

    /// Take the token from this file, which only its owner may be able to read, instead of printing a new one. Where there is
    /// no such file, it is made, with a new token; one that is there is never changed
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,

    /// Say where and with which token as one JSON object on standard output
    #[arg(long, requires = "http")]
    pub(crate) json: bool,

    /// Let clients also list, read and stop sessions of other clients and of `windlass run`; otherwise a client sees the
    /// sessions that clients of its name started in the same directory
    #[arg(long)]
    pub(crate) share: bool,

    /// Judge commands by the rules in this file instead of the usual ones
    #[arg(long, value_name = "FILE", conflicts_with = "no_rules")]
    pub(crate) rules: Option<PathBuf>,

    /// Run every command, whatever rules files say
    #[arg(long)]
    pub(crate) no_rules: bool,

    #[command(flatten)]
    pub(crate) tools: ToolWords,

    /// Offer what the protocol's conformance suite asks for, and nothing else
    #[arg(long, hide = true)]
    pub(crate) conformance_fixtures: bool,
}

/// How the tools are set up.
#[derive(Clone, Debug, Args)]
pub(crate) struct ToolWords {
    /// Which tools there are
    #[arg(long, value_enum, default_value_t = ProfileName::Default)]
    pub(crate) profile: ProfileName,

    /// What counts the tokens of a reply's budget
    #[arg(long, value_enum, value_name = "NAME", default_value_t = TokenizerName::O200k)]
    pub(crate) tokenizer: TokenizerName,

    /// How much of your environment commands inherit
    #[arg(long, value_enum, value_name = "HOW", default_value_t = InheritName::All)]
    pub(crate) env_inherit: InheritName,

    /// Keep variables whose name matches from commands; `*` stands for anything. May be given several times, and then
    /// replaces the usual check for what looks like a secret; an empty pattern keeps nothing out
    #[arg(long, value_name = "PATTERN")]
    pub(crate) env_exclude: Vec<String>,

    #[command(flatten)]
    pub(crate) sandbox: SandboxWords,

    /// Set a variable for every command, or keep one out; may be given several times
    #[arg(long, value_name = "NAME[=VALUE]", value_parser = values::environment_change())]
    pub(crate) env_set: Vec<EnvironmentChange>,

    #[command(flatten)]
    pub(crate) limits: ServerLimitWords,
}

/// How much is inherited, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InheritName {
    /// Everything but what is excluded
    All,
    /// Home, path, user, locale and the like
    Core,
    /// Nothing
    None,
}

/// What a shim is told.
#[derive(Debug, Args)]
pub(crate) struct ShimOrder {
    /// Where commands run that do not say where
    #[arg(long)]
    pub(crate) directory: PathBuf,

    /// Give the session a number that nobody can guess
    #[arg(long)]
    pub(crate) secret: bool,

    /// Keep confined commands from changing this file
    #[arg(long, value_name = "FILE")]
    pub(crate) obeyed_file: Vec<PathBuf>,

    /// Keep confined commands from reading this file
    #[arg(long, value_name = "FILE")]
    pub(crate) secret_file: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) tools: ToolWords,
}

/// The sets of tools, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileName {
    /// The few that everything can be done with
    Default,
    /// These, and the ones that wait for the end of one command
    Classic,
}

const MCP_EXAMPLES: &str = "\
Without --http it serves one client on standard input and output, until that client closes them.

Without --sandbox nothing confines commands: they may do all that the user who starts the server may. `--sandbox \
workspace-write` lets them change the working directory and /tmp, and reach no network.

Examples:
  windlass mcp --http 127.0.0.1:8787
  windlass mcp install claude -- --sandbox workspace-write
  windlass mcp install claude      Claude Code starts `windlass mcp` from now on
  windlass mcp install codex --print";

/// What `windlass mcp` does besides serving.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Tell a client to start `windlass mcp`, in that client's own configuration file
    Install(McpInstall),
}

#[derive(Debug, Args)]
#[command(after_help = INSTALL_EXAMPLES)]
pub(crate) struct McpInstall {
    /// The client to tell
    #[arg(value_enum)]
    pub(crate) client: McpClient,

    /// Only print what would be written, and where; write nothing
    #[arg(long, conflicts_with = "remove")]
    pub(crate) print: bool,

    /// Write the file of the project in the working directory instead of the user's
    #[arg(long)]
    pub(crate) project: bool,

    /// Take windlass out of the client's configuration again
    #[arg(long, conflicts_with_all = ["command", "arguments"])]
    pub(crate) remove: bool,

    /// The program the client starts [default: `windlass` if PATH finds this one, else its path]
    #[arg(long, value_name = "PATH")]
    pub(crate) command: Option<String>,

    /// Arguments for `windlass mcp`, after `--`
    #[arg(last = true, value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<String>,
}

const INSTALL_EXAMPLES: &str = "\
The change is shown as a diff, and everything else in the file stays as it is, comments included. \
The file as it was is kept beside it as FILE.windlass-backup-1, -2 and so on. A file that cannot be \
understood is left alone.

Examples:
  windlass mcp install claude
  windlass mcp install vscode --project       for all who work on this project
  windlass mcp install codex -- --profile classic
  windlass mcp install zed --print            look first
  windlass mcp install zed --remove";

/// The clients whose configuration we know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpClient {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
    /// Gemini CLI
    Gemini,
    /// Cursor
    Cursor,
    /// Visual Studio Code
    Vscode,
    /// Zed
    Zed,
    /// Goose
    Goose,
}
