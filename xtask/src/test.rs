//! `cargo xtask test`: brings what is missing, builds everything, then runs every test. This is what the README gives
//! and what CI calls.
//!
//! Tests run under `cargo nextest`, which gives each its own process and ends those that hang. Where it is missing it
//! is installed; where that is impossible, plain `cargo test` runs the same tests without those two guarantees.

use anyhow::Result;

use crate::step::{self, NamedStep};
use crate::{command, hanging, peers};

/// Runs the tests. Arguments go to the test runner and select what runs; doc tests run only when nothing is selected.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    peers::for_tests()?;
    let runner = Runner::at_hand()?;
    // Tests start programs of the workspace, and cargo builds for a test only the programs of its own package.
    step::run_all(&[NamedStep::cargo("build", &["build", "--workspace", "--bins"])])?;
    let mut steps = Vec::new();
    if arguments.is_empty() {
        steps.push(NamedStep::cargo("doc tests", &["test", "--workspace", "--doc"]));
    }
    // Last, so that the run closes with the count of what it tested.
    let tests = NamedStep::call("tests", || runner.run(arguments));
    steps.push(tests.or("run one again with `cargo xtask test <part of its name>`"));
    step::run_all(&steps)
}

/// The program that runs the tests.
enum Runner {
    Nextest,
    CargoTest,
}

impl Runner {
    /// Nextest if there is any way to have it.
    fn at_hand() -> Result<Self> {
        if nextest_works()? {
            return Ok(Self::Nextest);
        }
        eprintln!("cargo-nextest is missing: installing it, which takes a few minutes, once");
        let install = command::run(command::cargo(["install", "cargo-nextest", "--locked"])?);
        if install.is_ok() && nextest_works()? {
            return Ok(Self::Nextest);
        }
        eprintln!("\n!! cargo-nextest cannot be installed here.");
        eprintln!("!! FALLING BACK to plain `cargo test`: a test that hangs will hang the run.\n");
        Ok(Self::CargoTest)
    }

    fn run(&self, arguments: &[String]) -> Result<()> {
        let words = self.words().iter().copied();
        let scope = scope(arguments).iter().copied();
        let arguments = arguments.iter().map(String::as_str);
        let _watch = hanging::watch();
        let mut tests = command::cargo(words.chain(scope).chain(arguments))?;
        for name in PERSONAL {
            tests.env_remove(name);
        }
        command::run(tests)
    }

    fn words(&self) -> &'static [&'static str] {
        match self {
            Self::Nextest => &["nextest", "run"],
            Self::CargoTest => &["test", "--lib", "--bins", "--tests", "--no-fail-fast"],
        }
    }
}

/// Variables of a developer's own environment, which must make no difference to the tests: a test that needs any of
/// them sets it.
const PERSONAL: &[&str] = &[
    "SHELL",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "ENV",
    "BASH_ENV",
    "LS_COLORS",
];

fn nextest_works() -> Result<bool> {
    Ok(command::works(command::cargo(["nextest", "--version"])?))
}

/// The whole workspace, unless the arguments name packages: cargo lets `--workspace` win over `-p`.
fn scope(arguments: &[String]) -> &'static [&'static str] {
    let names_a_package = |argument: &String| argument.starts_with("-p") || argument.starts_with("--package");
    if arguments.iter().any(names_a_package) { &[] } else { &["--workspace"] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_scope(arguments: &[&str], expected: &[&str]) {
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        assert_eq!(scope(&arguments), expected, "{arguments:?}");
    }

    #[test]
    fn naming_a_package_narrows_the_run_to_it() {
        check_scope(&[], &["--workspace"]);
        check_scope(&["exit_is_reported"], &["--workspace"]);
        check_scope(&["-p", "windlass-sys"], &[]);
        check_scope(&["-pwindlass-sys"], &[]);
        check_scope(&["--package=windlass-sys"], &[]);
    }
}
