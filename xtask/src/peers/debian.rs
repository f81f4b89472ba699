//! Debian's packages: found missing by the command they bring, installed with apt-get where we may.

use std::env;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::command;

/// Installs the packages of a list whose commands are not on the path.
pub(super) fn install_missing(list: &Path) -> Result<()> {
    let text = fs::read_to_string(list).with_context(|| format!("cannot read {}", list.display()))?;
    let wanted = parse(&text).with_context(|| format!("{} is not as it should be", list.display()))?;
    let mut missing: Vec<&str> =
        wanted.iter().filter(|wanted| !is_on_path(wanted.command)).map(|wanted| wanted.package).collect();
    missing.sort_unstable();
    missing.dedup();
    if missing.is_empty() { Ok(()) } else { install(&missing) }
}

/// Installs packages, or explains how a user with the right to do so installs them.
pub(super) fn install(packages: &[&str]) -> Result<()> {
    let names = packages.join(" ");
    if !is_on_path("apt-get") {
        bail!("this machine has no apt-get: install what Debian calls {names}, and try again");
    }
    if !is_root()? {
        bail!("Debian packages are missing; run `sudo apt-get install -y --no-install-recommends {names}`");
    }
    eprintln!("peers: installing Debian packages: {names}");
    apt_get(&["update", "-qq"])?;
    let words = ["install", "-y", "-qq", "--no-install-recommends"];
    apt_get(&[&words, packages].concat())
}

/// A line of the list.
#[derive(Debug, PartialEq, Eq)]
struct PackageLine<'a> {
    command: &'a str,
    package: &'a str,
}

fn parse(text: &str) -> Result<Vec<PackageLine<'_>>> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, before_comment(line)));
    let entries = lines.filter(|(_, line)| !line.is_empty()).map(|(number, line)| {
        let mut words = line.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some(command), Some(package), None) => Ok(PackageLine { command, package }),
            _ => bail!("line {number} is not `command package`: {line}"),
        }
    });
    entries.collect()
}

fn before_comment(line: &str) -> &str {
    line.split('#').next().unwrap_or_default().trim()
}

fn apt_get(words: &[&str]) -> Result<()> {
    let mut apt_get = Command::new("apt-get");
    apt_get.args(words).env("DEBIAN_FRONTEND", "noninteractive");
    command::run(apt_get)
}

fn is_on_path(name: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| is_program(&folder.join(name)))
}

fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

fn is_root() -> Result<bool> {
    // The kernel gives a process's folder to the user it acts for.
    let own = fs::metadata("/proc/self").context("cannot look at /proc/self")?;
    Ok(own.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_commands_with_their_packages() {
        let parsed = parse("# what\n\nrg ripgrep # search\n  gdb\tgdb\n").unwrap();
        let expected = [
            PackageLine { command: "rg", package: "ripgrep" },
            PackageLine { command: "gdb", package: "gdb" },
        ];
        assert_eq!(parsed, expected);
    }

    #[test]
    fn a_line_that_says_something_else_is_named() {
        let error = parse("rg ripgrep\ngdb\n").unwrap_err();
        assert_eq!(error.to_string(), "line 2 is not `command package`: gdb");
        assert!(parse("one two three").is_err());
    }

    #[test]
    fn a_command_is_looked_up_as_a_shell_would() {
        assert!(is_on_path("sh"));
        assert!(!is_on_path("no-such-program-anywhere"));
        assert!(!is_program(Path::new("/")));
    }
}
