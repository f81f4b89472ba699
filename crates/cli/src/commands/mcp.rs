//! `windlass mcp`: serves the tools to MCP clients; also the subcommands of `mcp`.

pub(crate) mod install;
pub(crate) mod serve;

use anyhow::Result;

use crate::args::McpCommand;
use crate::config::Config;
use crate::failure::Exit;

/// Runs a subcommand.
pub(crate) fn run(order: &McpCommand, config: &Config) -> Result<Exit> {
    match order {
        McpCommand::Install(order) => install::run(order, config),
    }
}
