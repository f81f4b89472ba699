//! Packages from PyPI, each list in a virtual environment of its own, so that two versions of one package can be there.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::debian;
use crate::command;

/// The Debian package that makes virtual environments; it is not part of the package `python3`.
const DEBIAN_VENV: &str = "python3-venv";

/// Makes the folder a virtual environment with what the lists say.
pub(super) fn install(folder: &Path, wanted: &[PathBuf]) -> Result<()> {
    if !command::works(python(["-c", "import ensurepip"])) {
        debian::install(&[DEBIAN_VENV])?;
    }
    let mut make = python(["-m", "venv"]);
    make.arg(folder);
    command::run(make)?;
    // Only what is built already: a package that has to be compiled would need more than a bare machine has.
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]);
    for list in wanted {
        pip.arg("--requirement").arg(list);
    }
    command::run(pip).context("pip must reach its index; then try again")
}

fn python<const COUNT: usize>(words: [&str; COUNT]) -> Command {
    let mut python = Command::new("python3");
    python.args(words);
    python
}
