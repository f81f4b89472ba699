//! Shells, and how a script reaches one without standing in its arguments: `pkill -f` with a word of the script must not
//! hit the shell that runs it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use windlass_rules::ShellKind;

use crate::arguments::BadArgument;
use crate::environment::{Variables, get};
use crate::login::{Captured, Startup};

/// A shell that scripts can be given to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shell {
    pub(crate) program: PathBuf,
    pub(crate) dialect: Dialect,
}

/// What a shell understands beyond POSIX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Dialect {
    Bash,
    Zsh,
    Posix,
}

impl From<Dialect> for ShellKind {
    fn from(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Bash => Self::Bash,
            Dialect::Zsh => Self::Zsh,
            Dialect::Posix => Self::Posix,
        }
    }
}

/// A script as a command: arguments that are the same for every script, and the script beside them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShellCommand {
    pub(crate) argv: Vec<OsString>,
    pub(crate) variables: Variables,
}

/// The variables a script travels in. They are gone before its first command runs.
const SCRIPT: &str = "WINDLASS_SCRIPT";
const FUNCTIONS: &str = "WINDLASS_FUNCTIONS";
/// The kernel takes no string longer than 128 KiB into an environment, its name included.
const PART: usize = 120 * 1024;
/// The most parts: the kernel takes about 2 MiB of arguments and environment together. A part may end a few bytes early, at
/// a character, so that there may be one more.
const MOST_PARTS: usize = 12;

impl Shell {
    /// The shell that was asked for, by name or path; `/bin/sh` where there is no such shell.
    pub(crate) fn find(asked: &OsStr, variables: &[(OsString, OsString)]) -> Self {
        let known = Dialect::of(Path::new(asked)).zip(locate(asked, variables));
        match known {
            Some((dialect, program)) => Self { program, dialect },
            None => Self { program: PathBuf::from("/bin/sh"), dialect: Dialect::Posix },
        }
    }

    /// The command that runs a script that was checked, in what a login left behind.
    pub(crate) fn command(&self, script: &str, login: &Captured) -> ShellCommand {
        let functions = &login.functions;
        let parts: Vec<&str> = parts(script).collect();
        let named = |(place, part): (usize, &&str)| (part_name(place).into(), OsString::from(*part));
        let mut variables: Variables = parts.iter().enumerate().map(named).collect();
        if !functions.is_empty() {
            variables.push((FUNCTIONS.into(), functions.into()));
        }
        let boot = boot(parts.len(), !functions.is_empty());
        let mut argv = vec![self.program.clone().into_os_string()];
        if self.dialect == Dialect::Zsh && login.startup == Startup::Done {
            // It would read `.zshenv` for every command; the login has done that.
            argv.push("-f".into());
        }
        argv.extend(["-c".into(), boot.into()]);
        ShellCommand { argv, variables }
    }
}

/// Whether a script can be given to a shell at all.
pub(crate) fn check_script(field: &str, script: &str) -> Result<(), BadArgument> {
    const MOST: usize = MOST_PARTS * PART;
    if script.contains('\0') {
        return Err(BadArgument::new(field, "contains a NUL byte, which no shell can be given"));
    }
    if script.len() > MOST {
        let complaint =
            format!("has {} bytes, more than {MOST}; write it to a file and run that", script.len());
        return Err(BadArgument::new(field, complaint));
    }
    Ok(())
}

/// The name of a process as a person would write it: a shell's own arguments say nothing about what it runs.
pub(crate) fn readable_command(command: &str, script: &str) -> Option<String> {
    let (program, boot) = command.split_once(' ')?;
    let is_ours = boot.contains(&format!("unset {SCRIPT}")) || boot.contains(&format!("unset {FUNCTIONS}"));
    is_ours.then(|| format!("{program} -c '{script}'"))
}

/// The text between the quotes is expanded before any of it runs, so the script is already read when its variables go;
/// and as they go on the script's first line, the shell counts its lines as its author does.
fn boot(parts: usize, functions: bool) -> String {
    let names: Vec<String> = (0..parts).map(part_name).collect();
    let values: String = names.iter().map(|name| format!("${name}")).collect();
    let names = names.join(" ");
    if functions {
        format!("eval \"${FUNCTIONS}\"; eval \"unset {FUNCTIONS} {names}; {values}\"")
    } else {
        format!("eval \"unset {names}; {values}\"")
    }
}

fn part_name(place: usize) -> String {
    if place == 0 { SCRIPT.to_owned() } else { format!("{SCRIPT}_{place}") }
}

/// At least one part, also of an empty script.
fn parts(script: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(script);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let (part, later) = text.split_at(text.floor_char_boundary(PART));
        rest = Some(later).filter(|later| !later.is_empty());
        Some(part)
    })
}

impl Dialect {
    fn of(program: &Path) -> Option<Self> {
        match program.file_name()?.to_str()? {
            "bash" => Some(Self::Bash),
            "zsh" => Some(Self::Zsh),
            "sh" | "dash" | "ksh" | "ash" => Some(Self::Posix),
            _ => None,
        }
    }
}

fn locate(asked: &OsStr, variables: &[(OsString, OsString)]) -> Option<PathBuf> {
    let path = Path::new(asked);
    if path.components().count() > 1 {
        return is_program(path).then(|| path.to_owned());
    }
    find_program(asked, variables, Path::new(""))
}

/// The program of this name in the directories of `PATH`, seen from a directory.
pub(crate) fn find_program(name: &OsStr, variables: &[(OsString, OsString)], from: &Path) -> Option<PathBuf> {
    let path = get(variables, "PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin".as_ref());
    let directories = path.as_bytes().split(|byte| *byte == b':').map(OsStr::from_bytes);
    directories.map(|directory| from.join(directory).join(name)).find(|program| is_program(program))
}

/// Whether a variable carries a script, or a part of one, to its shell.
pub(crate) fn is_of_script(name: &OsStr) -> bool {
    name == FUNCTIONS || name.as_bytes().starts_with(SCRIPT.as_bytes())
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(asked: &str) -> Shell {
        Shell::find(asked.as_ref(), &[("PATH".into(), "/nowhere:/bin".into())])
    }

    #[test]
    fn an_unknown_shell_falls_back_to_bin_sh() {
        for asked in ["fish", "/bin/cat", "/nowhere/bash", "nosuchshell", "", "./bash"] {
            assert_eq!(find(asked), Shell { program: "/bin/sh".into(), dialect: Dialect::Posix }, "{asked}");
        }
    }

    #[test]
    fn a_shell_is_found_by_name_or_path() {
        let bash = Shell { program: "/bin/bash".into(), dialect: Dialect::Bash };
        assert_eq!((find("bash"), find("/bin/bash")), (bash.clone(), bash));
        assert_eq!(find("sh").dialect, Dialect::Posix);
    }

    #[test]
    fn no_word_of_a_script_stands_in_the_arguments() {
        let mut login = Captured::default();
        login.functions = "greet () { echo hi; }".into();
        let command = find("bash").command("echo precious", &login);
        let argv: Vec<_> = command.argv.iter().map(|arg| arg.to_string_lossy()).collect();
        assert!(!argv.join(" ").contains("precious") && !argv.join(" ").contains("greet"));
        let readable = readable_command(&argv.join(" "), "echo precious").unwrap();
        assert_eq!(readable, "/bin/bash -c 'echo precious'");
        assert_eq!(readable_command("sleep 5", "echo precious"), None);
    }

    #[test]
    fn a_long_script_travels_in_parts_and_one_too_long_is_refused() {
        let script = "é".repeat(PART);
        let command = find("sh").command(&script, &Captured::default());
        let together: String = command.variables.iter().map(|(_, part)| part.to_string_lossy()).collect();
        assert_eq!(together, script);
        assert!(command.variables.iter().all(|(_, part)| part.len() <= PART));
        let complaint = check_script("cmd", &"x".repeat(PART * MOST_PARTS + 1)).unwrap_err().to_string();
        assert!(complaint.starts_with("cmd: has 1474561 bytes"), "{complaint}");
        assert!(check_script("cmd", "a\0b").is_err());
        assert!(check_script("cmd", &script).is_ok());
    }
}
