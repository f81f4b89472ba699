//! `windlass doctor`: what this machine supports and what is missing.

use anyhow::{Result, bail};

use crate::args::Doctor;
use crate::config::Config;
use crate::failure::Exit;

/// Looks at everything.
pub(crate) fn run(_order: &Doctor, _config: &Config) -> Result<Exit> {
    bail!("looking at this machine is not built yet")
}
