//! `cargo xtask bench`: measures the release build, never the debug one.

use anyhow::Result;

use crate::{command, peers};

/// Builds everything for release, since the measurements also start our own programs, and runs `windlass-bench`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    peers::for_bench()?;
    command::run(command::cargo(["build", "--release", "--workspace", "--bins"])?)?;
    let words = ["run", "--release", "--quiet", "--package", "windlass-bench", "--"];
    let arguments = arguments.iter().map(String::as_str);
    command::run(command::cargo(words.into_iter().chain(arguments))?)
}
