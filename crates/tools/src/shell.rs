//! Shells, and how a script reaches one without appearing in its arguments: `pkill -f` with a word of the script must
//! not hit the shell that runs it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use windlass_exec_policy::ShellKind;

use crate::arguments::BadArgument;
use crate::environment::get;
use crate::login::{Captured, Startup};
use crate::report;

/// A shell that scripts can be given to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shell {
    pub(crate) program: PathBuf,
    pub(crate) dialect: ShellDialect,
}

/// The features of a shell beyond POSIX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ShellDialect {
    Bash,
    Zsh,
    Posix,
}

impl From<ShellDialect> for ShellKind {
    fn from(dialect: ShellDialect) -> Self {
        match dialect {
            ShellDialect::Bash => Self::Bash,
            ShellDialect::Zsh => Self::Zsh,
            ShellDialect::Posix => Self::Posix,
        }
    }
}

/// A script as a command: arguments that are the same for every script, and the files in memory that the shell reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShellCommand {
    pub(crate) argv: Vec<OsString>,
    pub(crate) memory_files: Vec<Vec<u8>>,
}

/// The most bytes a script may have.
const LONGEST_SCRIPT: usize = 12 * 120 * 1024;

/// How each shell reads its script from descriptor 3, and the state of the login from descriptor 4. Both are closed
/// before the script's first command runs, so no child inherits them. The text in quotation marks is expanded before
/// any of it runs, so the script is already read when the variable goes; and as that happens on the script's first
/// line, the shell counts lines as the author does.
///
/// An environment variable would be simpler, but a caller of the tools could set it, too, and so run another script
/// than the one that was judged and recorded.
const BASH: &str = "mapfile -d '' -t -u 3 windlass_code_mode; exec 3<&-; eval \"unset windlass_code_mode; $windlass_code_mode\"";
const BASH_WITH_STATE: &str = "mapfile -d '' -t -u 4 windlass_code_mode; exec 4<&-; eval \"$windlass_code_mode\"; \
     mapfile -d '' -t -u 3 windlass_code_mode; exec 3<&-; \
     eval \"unset windlass_code_mode windlass_options; $windlass_options$windlass_code_mode\"";
const ZSH: &str = "windlass_code_mode=\"$(</proc/self/fd/3)\"; exec 3<&-; eval \"unset windlass_code_mode; $windlass_code_mode\"";
const ZSH_WITH_STATE: &str = "windlass_code_mode=\"$(</proc/self/fd/4)\"; exec 4<&-; eval \"$windlass_code_mode\"; \
     windlass_code_mode=\"$(</proc/self/fd/3)\"; exec 3<&-; \
     eval \"unset windlass_code_mode windlass_options; $windlass_options$windlass_code_mode\"";
const POSIX: &str = ". /proc/self/fd/3";
/// A POSIX shell has no way to read a whole file into a variable without another process, so it reads the script as a
/// file, through a descriptor of its own; the one that it inherited is closed by the script's first words.
const POSIX_CLOSES: &str = "exec 3<&-; ";

/// The script as a file, for bash that traces it: bash prints a `+` for each level of evaluation, so a script within
/// `eval` would be traced with two. A file costs something else: messages of bash begin with its name, so other scripts
/// are not run this way. The words that close the descriptor stand on the script's first line, and bash reads that line
/// whole before it runs a word of it.
const BASH_FILE: &str = "/proc/self/fd/3";
const BASH_FILE_CLOSES: &str = "exec 3<&-; BASH_ARGV0=$BASH; unset BASH_ARGV0; ";
const BASH_FILE_CLOSES_WITH_STATE: &str = "mapfile -d '' -t -u 4 windlass_code_mode; exec 4<&-; eval \"$windlass_code_mode\"; \
     exec 3<&-; BASH_ARGV0=$BASH; unset BASH_ARGV0; \
     eval \"unset windlass_code_mode windlass_options; $windlass_options\"; ";

/// Why a shell cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ShellError {
    /// A path that is neither configured nor a login shell of this machine.
    #[error(
        "`{path}` is neither listed in /etc/shells nor the configured shell: give a name such as `bash`, or leave it out"
    )]
    NotAllowed {
        /// The path in the call.
        path: String,
    },
}

/// The shells that may be given as a path.
#[derive(Clone, Debug)]
pub(crate) struct AllowedShells<'a> {
    /// The user's own.
    pub(crate) configured: &'a Path,
    /// The text of `/etc/shells`.
    pub(crate) listed: &'a str,
}

impl AllowedShells<'_> {
    fn contains(&self, path: &Path) -> bool {
        let listed = self.listed.lines().map(str::trim).filter(|line| line.starts_with('/'));
        path == self.configured || listed.map(Path::new).any(|shell| shell == path)
    }
}

impl Shell {
    /// The shell with this name or path, and a note if another one is used in its place: `/bin/sh` runs scripts for
    /// shells of an unknown kind. A path may lead into a directory that commands can write, so only known ones are
    /// accepted.
    pub(crate) fn find(
        asked: &OsStr,
        allowed: &AllowedShells<'_>,
        variables: &[(OsString, OsString)],
    ) -> Result<(Self, Option<String>), ShellError> {
        let path = Path::new(asked);
        if is_path(path) && !allowed.contains(path) {
            return Err(ShellError::NotAllowed { path: report::shortened(&asked.to_string_lossy(), 200) });
        }
        Ok(Self::configured(path, variables))
    }

    /// A shell that need not be checked, by name or path.
    pub(crate) fn configured(shell: &Path, variables: &[(OsString, OsString)]) -> (Self, Option<String>) {
        let program = match is_path(shell) {
            true => is_program(shell).then(|| shell.to_owned()),
            false => find_in_path(shell.as_os_str(), variables),
        };
        if let Some((dialect, program)) = ShellDialect::of(shell).zip(program) {
            return (Self { program, dialect }, None);
        }
        let name = report::shortened(&shell.to_string_lossy(), 80);
        let fault = match ShellDialect::of(shell) {
            Some(_) => "is not installed",
            None => "is not supported (bash, zsh and POSIX shells are)",
        };
        let note = format!("the shell `{name}` {fault}; /bin/sh ran the script instead");
        (Self { program: PathBuf::from("/bin/sh"), dialect: ShellDialect::Posix }, Some(note))
    }

    /// The command that runs a checked script in the state that a login left.
    pub(crate) fn command(&self, script: &str, login: &Captured) -> ShellCommand {
        let has_state = !login.state.script.is_empty();
        // The file's first line is read before the login's aliases are there, which it may use.
        let traces = login.state.traces || turns_trace_on(script);
        if self.dialect == ShellDialect::Bash && traces && !login.state.expands_aliases {
            return self.traced_command(script, login);
        }
        let boot = match (self.dialect, has_state) {
            (ShellDialect::Bash, false) => BASH,
            (ShellDialect::Bash, true) => BASH_WITH_STATE,
            (ShellDialect::Zsh, false) => ZSH,
            (ShellDialect::Zsh, true) => ZSH_WITH_STATE,
            (ShellDialect::Posix, _) => POSIX,
        };
        let script = match self.dialect {
            ShellDialect::Posix => format!("{POSIX_CLOSES}{script}"),
            ShellDialect::Bash | ShellDialect::Zsh => script.to_owned(),
        };
        let mut memory_files = vec![script.into_bytes()];
        if has_state && self.dialect != ShellDialect::Posix {
            memory_files.push(login.state.script.clone().into_bytes());
        }
        let mut argv = vec![self.program.clone().into_os_string()];
        if self.dialect == ShellDialect::Zsh && login.startup == Startup::Done {
            // It would read `.zshenv` for every command; the login has done that.
            argv.push("-f".into());
        }
        argv.extend(["-c".into(), boot.into()]);
        ShellCommand { argv, memory_files }
    }
}

impl Shell {
    fn traced_command(&self, script: &str, login: &Captured) -> ShellCommand {
        let state = &login.state.script;
        let closes = if state.is_empty() { BASH_FILE_CLOSES } else { BASH_FILE_CLOSES_WITH_STATE };
        let mut memory_files = vec![format!("{closes}{script}").into_bytes()];
        if !state.is_empty() {
            memory_files.push(state.clone().into_bytes());
        }
        ShellCommand { argv: vec![self.program.clone().into_os_string(), BASH_FILE.into()], memory_files }
    }
}

/// Whether a script may set the option `xtrace`. Words that only look like it cost a different name in messages, no
/// more.
fn turns_trace_on(script: &str) -> bool {
    let is_between = |char: char| char.is_whitespace() || ";&|(){}`".contains(char);
    let is_trace = |word: &str| {
        word == "xtrace" || (word.starts_with('-') && !word.starts_with("--") && word.contains('x'))
    };
    script.lines().any(|line| {
        let mut words = line.split(is_between).skip_while(|word| *word != "set");
        words.next().is_some() && words.any(is_trace)
    })
}

/// Whether a script can be given to a shell at all.
pub(crate) fn check_script(field: &str, script: &str) -> Result<(), BadArgument> {
    if script.contains('\0') {
        return Err(BadArgument::new(field, "contains a NUL byte, which no shell can be given"));
    }
    if script.len() > LONGEST_SCRIPT {
        let complaint = format!(
            "has {} bytes, more than {LONGEST_SCRIPT}; write it to a file and run that",
            script.len()
        );
        return Err(BadArgument::new(field, complaint));
    }
    Ok(())
}

/// The command line of a process as a person would write it: a shell's own arguments do not show the script.
pub(crate) fn readable_command(command: &str, script: &str) -> Option<String> {
    let (program, arguments) = command.split_once(' ')?;
    let boots = [BASH, BASH_WITH_STATE, BASH_FILE, ZSH, ZSH_WITH_STATE, POSIX];
    boots.iter().any(|boot| is_last_argument(boot, arguments)).then(|| format!("{program} -c '{script}'"))
}

/// Whether a command line ends with this text, or was cut within it.
fn is_last_argument(text: &str, arguments: &str) -> bool {
    const TOLD_BY: usize = 12;
    let Some(cut) = arguments.strip_suffix('…') else { return arguments.ends_with(text) };
    let begun = text.get(..TOLD_BY).and_then(|start| cut.find(start));
    begun.is_some_and(|begun| text.starts_with(&cut[begun..]))
}

impl ShellDialect {
    fn of(program: &Path) -> Option<Self> {
        match program.file_name()?.to_str()? {
            "bash" => Some(Self::Bash),
            "zsh" => Some(Self::Zsh),
            "sh" | "dash" | "ksh" | "ash" => Some(Self::Posix),
            _ => None,
        }
    }
}

fn is_path(shell: &Path) -> bool {
    shell.as_os_str().as_bytes().contains(&b'/')
}

/// In absolute directories alone: a relative one begins in the workspace, where commands write.
fn find_in_path(name: &OsStr, variables: &[(OsString, OsString)]) -> Option<PathBuf> {
    find_program(name, variables, Path::new("")).filter(|program| program.is_absolute())
}

/// The program of this name in the directories of `PATH`, seen from a directory.
pub(crate) fn find_program(name: &OsStr, variables: &[(OsString, OsString)], from: &Path) -> Option<PathBuf> {
    let path = get(variables, "PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin".as_ref());
    let directories = path.as_bytes().split(|byte| *byte == b':').map(OsStr::from_bytes);
    directories.map(|directory| from.join(directory).join(name)).find(|program| is_program(program))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(asked: &str) -> Result<(Shell, Option<String>), ShellError> {
        let allowed =
            AllowedShells { configured: Path::new("/nowhere/zsh"), listed: "# shells\n/bin/sh\n/bin/bash\n" };
        Shell::find(asked.as_ref(), &allowed, &[("PATH".into(), "/nowhere:/bin".into())])
    }

    fn found(asked: &str) -> Shell {
        find(asked).expect("it is allowed").0
    }

    #[test]
    fn an_unknown_name_or_a_configured_shell_that_is_missing_falls_back_to_bin_sh_with_a_note() {
        for asked in ["fish", "nosuchshell", "", "/nowhere/zsh"] {
            let (shell, note) = find(asked).expect("it is allowed");
            assert_eq!(shell, Shell { program: "/bin/sh".into(), dialect: ShellDialect::Posix }, "{asked}");
            assert!(note.is_some_and(|note| note.contains("/bin/sh ran the script")), "{asked}");
        }
    }

    #[test]
    fn a_path_that_is_no_login_shell_of_this_machine_is_refused() {
        for asked in ["/bin/cat", "/workspace/bash", "./bash", "x/bash", "/bin/../tmp/bash", "/bin/zsh"] {
            let error = find(asked).expect_err("it is not listed").to_string();
            assert!(error.contains(asked) && error.contains("/etc/shells"), "{error}");
        }
    }

    #[test]
    fn a_shell_is_found_by_name_or_listed_path() {
        let bash = Shell { program: "/bin/bash".into(), dialect: ShellDialect::Bash };
        assert_eq!((find("bash"), find("/bin/bash")), (Ok((bash.clone(), None)), Ok((bash, None))));
        assert_eq!(found("sh").dialect, ShellDialect::Posix);
    }

    #[test]
    fn a_relative_directory_of_path_gives_no_shell() {
        let allowed = AllowedShells { configured: Path::new("/bin/sh"), listed: "" };
        let variables = [(OsString::from("PATH"), OsString::from("../../../../bin:bin:"))];
        let (shell, _) = Shell::find("bash".as_ref(), &allowed, &variables).expect("a name is never refused");
        assert_eq!(shell.program, Path::new("/bin/sh"));
    }

    #[test]
    fn no_word_of_a_script_stands_in_the_arguments() {
        let mut login = Captured::default();
        login.state.script = "greet () { echo hi; }".into();
        let command = found("bash").command("echo precious", &login);
        let argv: Vec<_> = command.argv.iter().map(|arg| arg.to_string_lossy()).collect();
        assert!(!argv.join(" ").contains("precious") && !argv.join(" ").contains("greet"));
        let readable = readable_command(&argv.join(" "), "echo precious").unwrap();
        assert_eq!(readable, "/bin/bash -c 'echo precious'");
        assert_eq!(readable_command("sleep 5", "echo precious"), None);
        assert_eq!(readable_command("sleep 5…", "echo precious"), None);
        // The login state makes these command lines longer than the part that is kept of one.
        for boot in [BASH_WITH_STATE, ZSH_WITH_STATE] {
            for cut in 30..boot.len() {
                let command = format!("/bin/shell -c {}…", &boot[..cut]);
                let readable = readable_command(&command, "echo precious");
                assert_eq!(readable.as_deref(), Some("/bin/shell -c 'echo precious'"), "{command}");
            }
        }
    }

    #[test]
    fn a_script_that_turns_tracing_on_is_known_by_its_words() {
        for script in
            ["set -x", "cd /; set -eux", "set -e -o xtrace", "if a; then set -x; fi", "#!/bin/sh\nset -ex"]
        {
            assert!(turns_trace_on(script), "{script}");
        }
        for script in
            ["set -e", "echo -x", "set -e\ntar -x", "git config --unset x", "set --extra", "settle -x"]
        {
            assert!(!turns_trace_on(script), "{script}");
        }
    }

    #[test]
    fn a_script_that_is_too_long_is_refused() {
        let complaint = check_script("cmd", &"x".repeat(LONGEST_SCRIPT + 1)).unwrap_err().to_string();
        assert!(complaint.starts_with("cmd: has 1474561 bytes"), "{complaint}");
        assert!(check_script("cmd", "a\0b").is_err());
        assert!(check_script("cmd", &"x".repeat(LONGEST_SCRIPT)).is_ok());
    }
}
