//! `windlass mcp install`: tells a client to start us, in its own configuration file.

use anyhow::{Result, bail};

use crate::args::McpInstall;
use crate::config::Config;
use crate::failure::Exit;

/// Changes the client's configuration.
pub(crate) fn run(order: &McpInstall, _config: &Config) -> Result<Exit> {
    bail!("telling {:?} to start windlass is not built yet", order.client)
}
