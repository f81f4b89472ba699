//! The words of `windlass app-server`.

use clap::Args;

use crate::args::{DialectCommand, LayersName, ListenWords, SandboxModeName, ServerLimitWords};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = APP_SERVER_EXAMPLES)]
pub(crate) struct AppServerArgs {
    /// What to do instead of serving
    #[command(subcommand)]
    pub(crate) command: Option<DialectCommand>,

    #[command(flatten)]
    pub(crate) serve: AppServe,
}

/// How to serve.
#[derive(Debug, Args)]
pub(crate) struct AppServe {
    #[command(flatten)]
    pub(crate) listening: ListenWords,

    #[command(flatten)]
    pub(crate) limits: ServerLimitWords,

    /// The policy of commands whose clients name none, and of processes, whose clients cannot [default: `sandbox_mode` of your
    /// settings; without one, commands are read-only and processes have no sandbox]
    #[arg(long, value_enum, value_name = "POLICY")]
    pub(crate) sandbox: Option<SandboxModeName>,

    /// The layers that enforce sandboxes; `landlock` leaves namespaces out, to see what a machine without them can do
    #[arg(long, value_enum, value_name = "LAYERS", default_value_t)]
    pub(crate) sandbox_layers: LayersName,
}

const APP_SERVER_EXAMPLES: &str = "\
Examples:
  windlass app-server                    one client on standard input and output
  windlass app-server --listen unix:///run/user/1000/w.sock
  windlass app-server --listen ws://127.0.0.1:0 --ws-token-file token";
