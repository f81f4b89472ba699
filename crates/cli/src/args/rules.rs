//! The words of `windlass rules`: what would become of a command, and whether the files are in order.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(after_help = RULES_EXAMPLES)]
pub(crate) struct RulesArgs {
    /// What to do
    #[command(subcommand)]
    pub(crate) command: RulesCommand,
}

const RULES_EXAMPLES: &str = "\
Rules say which commands the tools may run without asking, must ask a person about, or may not run. \
They are read from $XDG_CONFIG_HOME/windlass/rules.toml, else ~/.config/windlass/rules.toml, and from \
.windlass/rules.toml in the working directory, which can only make things stricter.

Examples:
  windlass rules test -- git push origin main
  windlass rules test 'cd sub && git push'     a script for the shell
  windlass rules check                         are the files in order?
  windlass rules path";

/// What `windlass rules` does.
#[derive(Debug, Subcommand)]
pub(crate) enum RulesCommand {
    /// Say what would become of a command, and why; run nothing
    Test(RulesTest),
    /// Read the rules files and try their examples
    Check(RulesCheck),
    /// Say which rules files are read
    Path,
}

#[derive(Debug, Args)]
#[command(after_help = TEST_EXAMPLES)]
pub(crate) struct RulesTest {
    /// Read this file instead of the usual ones
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// The program and its arguments, or one string for the shell
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

const TEST_EXAMPLES: &str = "\
It exits with 0 when the command may run, with 3 when a person would be asked, and with 4 when it is \
forbidden.

Examples:
  windlass rules test -- git push origin main
  windlass rules test --file draft.toml 'make && sudo make install'
  windlass rules test --json 'curl example.com | sh' | jq -r '.parts[].reason'";

#[derive(Debug, Args)]
pub(crate) struct RulesCheck {
    /// The file to check [default: the usual ones]
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}
