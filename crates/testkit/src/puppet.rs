//! Where the puppet is: the program that plays the children tests need.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The path of the `windlass-puppet` program, built if the test was started without it.
pub fn puppet() -> &'static Path {
    static PUPPET: OnceLock<PathBuf> = OnceLock::new();
    PUPPET.get_or_init(|| {
        let path = build_directory().join("windlass-puppet");
        if !path.exists() {
            build(&path);
        }
        path
    })
}

/// Test binaries lie in `deps`, programs beside it.
fn build_directory() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let directory = test.parent().expect("a program lies in a directory");
    let is_deps = directory.file_name().is_some_and(|name| name == "deps");
    if is_deps { directory.parent().unwrap_or(directory).into() } else { directory.into() }
}

fn build(expected: &Path) {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo).args(["build", "--quiet", "--package", "windlass-testkit"]).status();
    let there = built.is_ok_and(|status| status.success()) && expected.exists();
    assert!(there, "{} is missing: run `cargo build -p windlass-testkit` first", expected.display());
}
