//! Scripts that need no shell: one program and words that mean nothing but themselves. `bash -c` looks such a program
//! up and becomes it, so the program is started at once, with the environment that the shell would have left.
//!
//! It leads its session then, as it does behind `bash -c`. Programs that depend on that, and programs that may run as
//! another user, are left to a shell that stays.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, FileType, Mode, OFlags, access, fstat, open};
use windlass_engine::CommandSpec;

use crate::environment::{get, put};
use crate::login::Captured;
use crate::shell::{Shell, ShellDialect, find_program};

/// Builtins and reserved words of shells. A program may have such a name, too, but is not meant.
const OWN: &[&str] = &[
    ".",
    ":",
    "[",
    "[[",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "case",
    "cd",
    "chdir",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "coproc",
    "declare",
    "dirs",
    "disown",
    "do",
    "done",
    "echo",
    "elif",
    "else",
    "enable",
    "esac",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "fi",
    "for",
    "function",
    "getopts",
    "hash",
    "help",
    "history",
    "if",
    "in",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "newgrp",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "select",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "then",
    "time",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "until",
    "wait",
    "while",
];

/// The program that a shell would become, if it is certain to be the same. The environment and the directory of the
/// shell command are complete already. If the program does not start, the shell is used and reports why.
pub(crate) fn without_shell(
    spec: &CommandSpec,
    (shell, script): (&Shell, &str),
    login: &Captured,
) -> Option<CommandSpec> {
    let words = words(script)?;
    let is_known = match shell.dialect {
        ShellDialect::Bash => is_usual(&spec.environment),
        ShellDialect::Posix => shell.program.ends_with("sh") || shell.program.ends_with("dash"),
        ShellDialect::Zsh => false,
    } && get(&spec.environment, "PATH").is_some();
    if !is_known || login.state.changes_programs || is_function(words[0], &spec.environment, login) {
        return None;
    }
    let program = program(words[0], spec)?;
    let mut spec = spec.clone();
    if shell.dialect == ShellDialect::Bash {
        put(&mut spec.environment, "_".as_ref(), Some(program.as_os_str()));
        if get(&spec.environment, "SHLVL").is_none() {
            put(&mut spec.environment, "SHLVL".as_ref(), Some("0".as_ref()));
        }
    }
    if let Some(directory) = own_directory(&spec) {
        put(&mut spec.environment, "PWD".as_ref(), Some(&directory));
    }
    spec.memory_files.clear();
    spec.argv = words.into_iter().map(OsString::from).collect();
    Some(spec)
}

/// Programs that do something else when they lead their session or group.
const MIND_THEIR_PLACE: &[&str] =
    &["setsid", "daemonize", "start-stop-daemon", "bash", "dash", "fish", "ksh", "sh", "zsh"];

/// Variables that change how bash starts a program.
const CHANGE_BASH: &[&str] = &["BASH_ENV", "BASHOPTS", "EXECIGNORE", "SHELLOPTS"];

/// Whether no variable changes how a shell reads a word.
fn is_usual(variables: &[(OsString, OsString)]) -> bool {
    let path = get(variables, "PATH").map(OsStrExt::as_bytes);
    let has_tilde = |path: &[u8]| path.split(|byte| *byte == b':').any(|entry| entry.starts_with(b"~"));
    path.is_some_and(|path| !has_tilde(path)) && CHANGE_BASH.iter().all(|name| get(variables, name).is_none())
}

/// The words of a script that is one command, if every one of them means itself in every shell.
fn words(script: &str) -> Option<Vec<&str>> {
    let script = script.trim_matches([' ', '\t', '\n']);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:,+@%= \t".contains(&byte);
    if !script.bytes().all(is_plain) {
        return None;
    }
    let words: Vec<&str> = script.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
    let first = *words.first()?;
    // A variable is set, a job is meant, or the shell has a command of its own.
    let name = first.rsplit('/').next().unwrap_or(first);
    let is_left = first.contains(['=', '%']) || OWN.contains(&first) || MIND_THEIR_PLACE.contains(&name);
    (!is_left).then_some(words)
}

/// Whether a function or an alias of that name may be there.
fn is_function(word: &str, variables: &[(OsString, OsString)], login: &Captured) -> bool {
    login.state.definitions.contains(word) || get(variables, &format!("BASH_FUNC_{word}%%")).is_some()
}

/// The file that would be executed, if its format is that of a program: the shell reads others as scripts.
fn program(word: &str, spec: &CommandSpec) -> Option<PathBuf> {
    let file = if word.contains('/') {
        spec.directory.join(word)
    } else {
        find_program(word.as_ref(), &spec.environment, &spec.directory)?
    };
    access(&file, Access::EXEC_OK).ok()?;
    // Another process may have a lease on the file, or have put a pipe in its place: no open here may block.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = open(&file, flags, Mode::empty()).ok()?;
    let about = fstat(&opened).ok()?;
    let is_file = FileType::from_raw_mode(about.st_mode) == FileType::RegularFile;
    // A process that becomes another user cannot be ended by this one; a shell above it can.
    if !is_file || about.st_mode & SETS_IDENTITY != 0 {
        return None;
    }
    let mut start = [0; 4];
    let read = rustix::io::read(&opened, &mut start).ok()?;
    let named = if word.contains('/') { PathBuf::from(word) } else { file };
    (start[..read].starts_with(b"#!") || start[..read] == *b"\x7fELF").then_some(named)
}

/// The bits by which a program runs as its owner or group.
const SETS_IDENTITY: u32 = 0o6000;

/// A shell's name for its directory: `PWD` if that is correct, otherwise the path without links.
fn own_directory(spec: &CommandSpec) -> Option<OsString> {
    let place = |path: &Path| path.metadata().ok().map(|about| (about.dev(), about.ino()));
    let told = get(&spec.environment, "PWD").map(Path::new).filter(|told| told.is_absolute());
    if told.is_some_and(|told| place(told).is_some() && place(told) == place(&spec.directory)) {
        return None;
    }
    spec.directory.canonicalize().ok().map(PathBuf::into_os_string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_words_that_mean_themselves_are_taken() {
        let check = |script: &str, expected: Option<&[&str]>| {
            assert_eq!(words(script).as_deref(), expected, "{script:?}");
        };
        check("git status", Some(&["git", "status"]));
        check("  ls\t-la --color=always\n", Some(&["ls", "-la", "--color=always"]));
        check("./run.sh a/b c:d", Some(&["./run.sh", "a/b", "c:d"]));
        for script in [
            "",
            " \n",
            "setsid x",
            "/usr/bin/setsid x",
            "bash",
            "cd /",
            "A=1 env",
            "true",
            "time ls",
            "ls *",
            "ls ~",
            "ls; ls",
            "ls\nls",
            "echo x",
            "ls $HOME",
            "ls 'a'",
            "ls > x",
            "ls &",
            "ls \\",
            "{ls}",
            "!ls",
            "ls #",
            "%1",
            "(ls)",
            "ls `x`",
            "ls é",
            "ls ?",
            "ls a\rb",
        ] {
            check(script, None);
        }
    }

    fn spec(directory: &Path) -> CommandSpec {
        let mut spec = CommandSpec::new(["bash", "-c", "boot"], directory);
        spec.environment =
            vec![("PATH".into(), "/nowhere:/usr/bin:/bin".into()), ("PWD".into(), "/nowhere".into())];
        spec
    }

    fn bash() -> Shell {
        Shell { program: "/bin/bash".into(), dialect: ShellDialect::Bash }
    }

    fn changed(script: &str, change: impl FnOnce(&mut CommandSpec, &mut Captured)) -> Option<CommandSpec> {
        let (mut spec, mut login) = (spec(Path::new("/")), Captured::default());
        change(&mut spec, &mut login);
        without_shell(&spec, (&bash(), script), &login)
    }

    #[test]
    fn a_program_gets_what_the_shell_would_have_left() {
        let spec = changed("env -0", |_, _| {}).expect("it is a program");
        assert_eq!(spec.argv, ["env", "-0"]);
        let variable = |name: &str| get(&spec.environment, name).unwrap_or_default().to_owned();
        assert_eq!([variable("PWD"), variable("SHLVL")], ["/", "0"]);
        assert!(variable("_").to_string_lossy().ends_with("bin/env"));
    }

    #[test]
    fn where_it_could_be_something_else_the_shell_decides() {
        let is_left = |script: &str, change: fn(&mut CommandSpec, &mut Captured)| {
            assert!(changed(script, change).is_none(), "{script}");
        };
        is_left("no-such-program-at-all", |_, _| {});
        is_left("/etc/hostname", |_, _| {});
        is_left("/usr", |_, _| {});
        is_left("env", |spec, _| spec.environment.push(("BASH_ENV".into(), "/x".into())));
        is_left("env", |spec, _| spec.environment.push(("SHELLOPTS".into(), "xtrace".into())));
        is_left("env", |spec, _| spec.environment.push(("PATH".into(), "/usr/bin:~/bin".into())));
        is_left("env", |spec, _| spec.environment.retain(|(name, _)| name != "PATH"));
        is_left("su", |_, _| {});
        is_left("env", |spec, _| spec.environment.push(("BASH_FUNC_env%%".into(), "() { :; }".into())));
        is_left("env", |_, login| login.state.definitions = "env () { echo mine; }".into());
        is_left("env", |_, login| login.state.changes_programs = true);
    }

    #[test]
    fn a_text_that_does_not_say_who_reads_it_is_the_shells() {
        let scratch = windlass_testkit::Scratch::new("plain");
        for (text, expected) in [("echo x\n", false), ("#!/bin/sh\necho x\n", true)] {
            let file = scratch.path().join("run");
            std::fs::write(&file, text).expect("it can be written");
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(&file, mode).expect("it is ours");
            let found = without_shell(&spec(scratch.path()), (&bash(), "./run"), &Captured::default());
            assert_eq!(found.is_some_and(|spec| spec.argv == ["./run"]), expected, "{text}");
        }
    }

    proptest! {
        /// The words that are split here are those that a real shell sees.
        #[test]
        fn a_shell_sees_the_same_words(script in "[a-z./:,+@%= \t-]{1,20}") {
            if let Some(words) = words(&script) {
                let shown = std::process::Command::new("bash")
                    .args(["-c", &format!("printf '%s\\n' {script}")])
                    .output()
                    .expect("bash runs");
                let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
                prop_assert_eq!(shown.lines().collect::<Vec<_>>(), words);
            }
        }
    }
}
