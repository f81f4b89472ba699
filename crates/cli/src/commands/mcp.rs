//! `windlass mcp`: the verbs around serving tools to MCP clients.

pub(crate) mod install;

use anyhow::{Result, bail};

use crate::args::{McpArgs, McpCommand};
use crate::config::Config;
use crate::failure::Exit;

/// Serves, or does what was asked for instead.
pub(crate) fn run(order: McpArgs, config: &Config) -> Result<Exit> {
    match order.command {
        Some(McpCommand::Install(order)) => install::run(&order, config),
        None => bail!("serving MCP clients is not built yet"),
    }
}
