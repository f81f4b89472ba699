//! `cargo xtask fuzz`: gives each fuzz target some time. Needs nightly Rust, so `check` does not run it.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::command;

const TARGETS: &str = "fuzz/fuzz_targets";

/// Fuzzes the chosen targets, or all, one after the other.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let request = Request::parse(arguments)?;
    let targets = request.choose(known_targets(&command::root()?)?)?;
    require_nightly()?;
    require_cargo_fuzz()?;
    for target in targets {
        eprintln!("\n== fuzz {target}: {} seconds ==", request.seconds);
        command::run(nightly_cargo(&fuzz_words(&target, request.seconds))?)
            .with_context(|| format!("the input that broke `{target}` lies in fuzz/artifacts/{target}"))?;
    }
    Ok(())
}

/// The arguments of the command line: `[seconds] [target...]`.
#[derive(Debug, PartialEq)]
struct Request {
    seconds: u64,
    targets: Vec<String>,
}

impl Request {
    const SECONDS: u64 = 60;

    fn parse(arguments: &[String]) -> Result<Self> {
        let (seconds, targets) = match arguments.split_first() {
            Some((first, rest)) if first.starts_with(|c: char| c.is_ascii_digit()) => {
                let seconds =
                    first.parse().with_context(|| format!("`{first}` is not a number of seconds"))?;
                (seconds, rest)
            }
            _ => (Self::SECONDS, arguments),
        };
        Ok(Self { seconds, targets: targets.to_vec() })
    }

    fn choose(&self, known: Vec<String>) -> Result<Vec<String>> {
        if self.targets.is_empty() {
            return Ok(known);
        }
        if let Some(unknown) = self.targets.iter().find(|target| !known.contains(target)) {
            bail!("there is no fuzz target `{unknown}`; there are: {}", known.join(", "));
        }
        Ok(self.targets.clone())
    }
}

fn known_targets(root: &Path) -> Result<Vec<String>> {
    let folder = root.join(TARGETS);
    ensure!(folder.is_dir(), "there are no fuzz targets yet: each is a file in {TARGETS}");
    let mut targets = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            targets.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    targets.sort();
    Ok(targets)
}

fn require_nightly() -> Result<()> {
    let works = command::works(nightly_cargo(&["--version"])?);
    ensure!(works, "fuzzing needs nightly Rust: `rustup toolchain install nightly --profile minimal`");
    Ok(())
}

fn require_cargo_fuzz() -> Result<()> {
    if command::works(nightly_cargo(&["fuzz", "--version"])?) {
        return Ok(());
    }
    eprintln!("cargo-fuzz is missing: installing it, once");
    command::run(command::cargo(["install", "cargo-fuzz", "--locked"])?)
}

fn fuzz_words(target: &str, seconds: u64) -> [String; 5] {
    let time = format!("-max_total_time={seconds}");
    ["fuzz", "run", target, "--", &time].map(str::to_owned)
}

/// Cargo of the nightly toolchain. `rustup run` works from inside another toolchain's cargo, where `+nightly` does not.
fn nightly_cargo(words: &[impl AsRef<std::ffi::OsStr>]) -> Result<Command> {
    let mut command = Command::new("rustup");
    command.current_dir(command::root()?).args(["run", "nightly", "cargo"]).args(words);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    fn check(arguments: &[&str], seconds: u64, targets: &[&str]) {
        let expected = Request { seconds, targets: owned(targets) };
        assert_eq!(Request::parse(&owned(arguments)).unwrap(), expected);
    }

    #[test]
    fn seconds_and_targets_may_both_be_left_out() {
        check(&[], 60, &[]);
        check(&["5"], 5, &[]);
        check(&["screen"], 60, &["screen"]);
        check(&["5", "screen", "text"], 5, &["screen", "text"]);
    }

    #[test]
    fn an_unknown_target_is_refused_with_the_known_ones() {
        let request = Request { seconds: 1, targets: owned(&["screan"]) };
        let error = request.choose(owned(&["screen", "text"])).unwrap_err();
        assert_eq!(error.to_string(), "there is no fuzz target `screan`; there are: screen, text");
    }
}
