//! Starting other programs: always in the workspace root, always waited for.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The workspace root. Cargo passes the folder of this crate, both to `cargo xtask` and to its tests.
pub(crate) fn root() -> Result<PathBuf> {
    let here = env::var_os("CARGO_MANIFEST_DIR").context("start it with `cargo xtask`")?;
    let root = Path::new(&here).parent().context("xtask lies in the workspace root")?;
    Ok(root.to_path_buf())
}

/// Cargo, with these arguments.
pub(crate) fn cargo<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<Command> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root()?).args(arguments);
    Ok(command)
}

/// Runs a command, showing what it prints; anything but success is an error.
pub(crate) fn run(mut command: Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", line(&command)))?;
    if !status.success() {
        bail!("{} failed ({status})", line(&command));
    }
    Ok(())
}

/// Runs a command and returns its standard output; its standard error is shown.
pub(crate) fn stdout_of(mut command: Command) -> Result<String> {
    command.stderr(Stdio::inherit());
    let output = command.output().with_context(|| format!("cannot start {}", line(&command)))?;
    if !output.status.success() {
        bail!("{} failed ({})", line(&command), output.status);
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("{} printed bytes that are not UTF-8", line(&command)))
}

/// Whether a command can be run at all, such as `cargo nextest --version`; nothing is shown.
pub(crate) fn works(mut command: Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The command as one would type it.
fn line(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    format!("`{}`", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_it_would_be_typed() {
        let mut command = Command::new("/usr/bin/cargo");
        command.args(["fmt", "--check"]);
        assert_eq!(line(&command), "`cargo fmt --check`");
    }

    #[test]
    fn a_missing_program_does_not_work_and_is_named_in_the_error() {
        assert!(!works(Command::new("no-such-program-anywhere")));
        let error = run(Command::new("no-such-program-anywhere")).unwrap_err();
        assert!(format!("{error:#}").starts_with("cannot start `no-such-program-anywhere`"), "{error:#}");
    }

    #[test]
    fn what_a_command_printed_comes_back() {
        let version = stdout_of(cargo(["--version"]).unwrap()).unwrap();
        assert!(version.starts_with("cargo "), "{version}");
    }
}
