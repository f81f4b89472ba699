//! `cargo xtask deny`: whether every dependency has a licence, an origin and a name that `deny.toml` allows, and
//! whether `THIRD-PARTY.txt` has the licence texts of those that are linked.
//!
//! cargo-deny checks it. Where this very version is not on the path, it is built once into the user's cache: about two
//! minutes of one core. Known vulnerabilities are checked where their database can be fetched; where it cannot be
//! reached, one line says so and the check passes, because the code has not become worse.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::step::{self, NamedStep};
use crate::{command, generated};

/// The version whose verdict counts, on every machine the same.
const VERSION: &str = "0.20.2";

/// How long the database of vulnerabilities may take to arrive.
const FETCH_SECONDS: &str = "60";

/// Checks all dependencies.
pub(crate) fn run() -> Result<()> {
    let tool = Tool::at_hand()?;
    step::run_all(&[
        NamedStep::call("licences, bans, sources", || tool.check_graph())
            .or("use another crate, or allow it in deny.toml and say there why"),
        NamedStep::call("licence texts", generated::check_licence_texts)
            .or("run `cargo xtask generate THIRD-PARTY.txt` and commit what changed"),
        NamedStep::call("advisories", || tool.check_advisories())
            .or("update the crate that is named: `cargo update -p`"),
    ])
}

/// A cargo-deny that can be started.
struct Tool {
    program: PathBuf,
}

impl Tool {
    fn at_hand() -> Result<Self> {
        let on_path = Self { program: "cargo-deny".into() };
        if on_path.is_wanted_version() {
            return Ok(on_path);
        }
        let folder = cache_folder()?;
        let cached = Self { program: folder.join("bin/cargo-deny") };
        if !cached.is_wanted_version() {
            eprintln!("cargo-deny {VERSION} is missing: building it, which takes a few minutes, once");
            install(&folder)?;
        }
        Ok(cached)
    }

    fn is_wanted_version(&self) -> bool {
        let output = Command::new(&self.program).arg("--version").stderr(Stdio::null()).output();
        output.is_ok_and(|output| is_wanted(&String::from_utf8_lossy(&output.stdout)))
    }

    fn check_graph(&self) -> Result<()> {
        // Two versions of one crate are not a fault; without this each fills a screen.
        let words = ["check", "--hide-inclusion-graph", "--allow", "duplicate"];
        let mut check = self.command(&["--locked", "--log-level", "error"])?;
        check.args(words).args(["licenses", "bans", "sources"]);
        command::run(check)
    }

    fn check_advisories(&self) -> Result<()> {
        // `timeout` also ends the git that fetches: a network that swallows everything lets it wait for minutes.
        let mut fetch = Command::new("timeout");
        fetch.args(["--kill-after=5", FETCH_SECONDS]).arg(&self.program).args(["fetch", "db"]);
        // git must not ask for a name and password: no answer would ever come.
        fetch.current_dir(command::root()?).env("GIT_TERMINAL_PROMPT", "0");
        if !command::works(fetch) {
            eprintln!("!! advisories NOT checked: the database of RustSec cannot be fetched from here");
            return Ok(());
        }
        // Everything it needs was fetched by now, so a network that goes away cannot fail it.
        let mut check = self.command(&["--locked", "--offline", "--log-level", "error"])?;
        check.args(["check", "--hide-inclusion-graph", "advisories"]);
        command::run(check)
    }

    fn command(&self, words: &[&str]) -> Result<Command> {
        let mut command = Command::new(&self.program);
        command.current_dir(command::root()?).args(words);
        Ok(command)
    }
}

fn is_wanted(said: &str) -> bool {
    said.trim().strip_prefix("cargo-deny ") == Some(VERSION)
}

/// In the user's cache; in `target/` only without a home folder. The cache outlives `cargo clean` and serves every
/// checkout.
fn cache_folder() -> Result<PathBuf> {
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    let cache = match cache {
        Some(cache) => cache,
        None => command::root()?.join("target"),
    };
    Ok(cache.join(format!("windlass-xtask/cargo-deny-{VERSION}")))
}

/// Unoptimised, because building takes far longer than all checks.
fn install(folder: &Path) -> Result<()> {
    let words = ["install", "cargo-deny", "--version", VERSION, "--locked", "--debug", "--quiet", "--root"];
    let mut install = command::cargo(words)?;
    install.arg(folder).env("CARGO_PROFILE_DEV_DEBUG", "false");
    command::run(install).context("cargo-deny cannot be built, so no licence was checked")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_wanted_version_counts() {
        assert!(is_wanted("cargo-deny 0.20.2\n"));
        for other in ["cargo-deny 0.20.20", "cargo-deny 0.14.2", "cargo-deny", "", "0.20.2"] {
            assert!(!is_wanted(other), "{other}");
        }
    }
}
