//! The bare program, from source to file: its text is in this program, so it needs a C compiler and nothing else.

use crate::place::BenchFolder;
use anyhow::{Context, Result, ensure};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SOURCE: &str = include_str!("../bare/bare.c");

/// The compiled bare program, removed on drop.
#[derive(Debug)]
pub(crate) struct Bare(PathBuf);

impl Bare {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        // A file that cannot be removed stays in the build directory, where it does no harm.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Compiles it with the system's `cc`.
pub(crate) fn compile(place: &BenchFolder) -> Result<Bare> {
    let bare = Bare(place.bare_program());
    let mut compiler = Command::new("cc")
        .args(["-O2", "-Wall", "-Wextra", "-x", "c", "-", "-o"])
        .arg(bare.path())
        .stdin(Stdio::piped())
        .spawn()
        .context("starting the C compiler, cc")?;
    let mut source = compiler.stdin.take().context("writing to the C compiler")?;
    source.write_all(SOURCE.as_bytes()).context("writing to the C compiler")?;
    drop(source);
    ensure!(compiler.wait()?.success(), "the bare program does not compile");
    Ok(bare)
}
