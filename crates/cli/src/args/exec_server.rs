//! The words of `windlass exec-server`.

use clap::Args;

use crate::args::{DialectCommand, LayersName, ListenWords, ServerLimitWords};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXEC_SERVER_EXAMPLES)]
pub(crate) struct ExecServerArgs {
    /// What to do instead of serving
    #[command(subcommand)]
    pub(crate) command: Option<DialectCommand>,

    #[command(flatten)]
    pub(crate) serve: ExecServe,
}

/// How to serve.
#[derive(Debug, Args)]
pub(crate) struct ExecServe {
    #[command(flatten)]
    pub(crate) listening: ListenWords,

    #[command(flatten)]
    pub(crate) limits: ServerLimitWords,

    /// The layers that enforce sandboxes; `landlock` leaves namespaces out, to see what a machine without them can do
    #[arg(long, value_enum, value_name = "LAYERS", default_value_t)]
    pub(crate) sandbox_layers: LayersName,
}

const EXEC_SERVER_EXAMPLES: &str = "\
Without --listen it serves one client on standard input and output. Elsewhere the first line on \
standard output is the address to connect to. Commands may touch whatever this user may, unless \
their clients say less.

Examples:
  windlass exec-server                   one client on standard input and output
  windlass exec-server --listen unix:///run/user/1000/exec.sock
  windlass exec-server --listen ws://127.0.0.1:8788 --ws-token-file token

Codex cannot send a token. For it, and only on a machine whose other processes you trust:
  windlass exec-server --listen ws://127.0.0.1:0 --insecure-loopback
  CODEX_EXEC_SERVER_URL=ws://127.0.0.1:41561 codex";
