//! `windlass mcp`: serving the tools to MCP clients, and the verbs around it.

pub(crate) mod install;
pub(crate) mod serve;

use anyhow::Result;

use crate::args::McpCommand;
use crate::config::Config;
use crate::failure::Exit;

/// Does what was asked for instead of serving.
pub(crate) fn run(order: &McpCommand, config: &Config) -> Result<Exit> {
    match order {
        McpCommand::Install(order) => install::run(order, config),
    }
}
