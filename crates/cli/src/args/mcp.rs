//! The words of `windlass mcp`: serving the tools to a client, and telling a client to start us.

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = MCP_EXAMPLES)]
pub(crate) struct McpArgs {
    /// What to do instead of serving
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
}

const MCP_EXAMPLES: &str = "\
Examples:
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
The change is shown as a diff, and everything else in the file stays as it is, comments included.
The file as it was is kept beside it as FILE.windlass-backup-1, -2 and so on. A file that cannot be
understood is left alone.

Examples:
  windlass mcp install claude
  windlass mcp install vscode --project       for everybody who works on this project
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
