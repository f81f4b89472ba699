//! Programs that the agent starts outside of the sandbox: MCP servers and `notify`. A command could rewrite one that
//! lies in the workspace, and it would run unconfined at its next start, so commands cannot write these files.
//!
//! Many programs load code from their working directory (`npx`, `python3 -m`) or find other programs by a `PATH` that
//! contains a virtual environment. If the project is not trusted, neither leads into the project.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use windlass_config::McpTransport;

use super::context::Configured;
use super::private_directory::PrivateDirectory;
use crate::config::Config;

/// File name extensions of scripts that an interpreter runs.
const SCRIPTS: [&str; 14] =
    ["cjs", "cts", "jar", "js", "lua", "mjs", "mts", "php", "pl", "py", "rb", "sh", "ts", "tsx"];

/// The directory that they run in, unless the settings name another: the project that is trusted, otherwise an empty one
/// that this start made.
pub(super) fn directory(configured: &Configured, config: &Config) -> PathBuf {
    if configured.loaded.project.is_trusted() {
        return configured.directory.clone();
    }
    let made = configured.private.get_or_init(|| {
        let made = PrivateDirectory::create(config.state_directory.as_deref()?);
        made.inspect_err(|error| {
            crate::printing::say!(
                "windlass: no private directory for MCP servers, so they run in /: {error}"
            );
        })
        .ok()
    });
    // Without a state directory: one in which commands can make nothing either, unlike the temporary directory.
    made.as_ref().map_or_else(|| PathBuf::from("/"), |made| made.path().to_owned())
}

/// The `PATH` of these programs: without relative directories, and without those of an untrusted project.
pub(super) fn search_path(configured: &Configured, config: &Config) -> OsString {
    let given = config.variable("PATH").unwrap_or_default();
    let is_foreign = |path: &Path| {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        !path.is_absolute()
            || !configured.loaded.project.is_trusted() && real.starts_with(&configured.loaded.project.root)
    };
    let kept = std::env::split_paths(given).filter(|path| !is_foreign(path));
    std::env::join_paths(kept).unwrap_or_default()
}

/// The file of a program that is looked up in `PATH`, as it is found now: a command cannot put another one into an
/// earlier directory of `PATH`. `None` if the name is already a path, or the program is not found.
pub(super) fn found(program: &OsStr, search: &OsStr) -> Option<PathBuf> {
    let is_name = !program.as_encoded_bytes().contains(&b'/');
    let mut places = std::env::split_paths(search).map(|directory| directory.join(program));
    places.find(|path| path.is_file()).filter(|_| is_name)
}

/// The files of all these programs, as far as the settings name them.
pub(super) fn of(configured: &Configured, config: &Config) -> Vec<PathBuf> {
    let settings = &configured.loaded.settings;
    let search = search_path(configured, config);
    let here = directory(configured, config);
    let mut found = named(&settings.notify, &here, &search);
    for server in settings.mcp_servers.values().filter(|server| server.enabled) {
        if let McpTransport::Stdio { command, args, cwd, env, .. } = &server.transport {
            let words: Vec<String> = std::iter::once(command).chain(args).cloned().collect();
            let directory = cwd.as_ref().map_or(here.clone(), |cwd| configured.directory.join(cwd));
            found.extend(named(&words, &directory, &search));
            found.extend(env.values().flat_map(|value| existing_scripts(value, &directory)));
        }
    }
    found
}

/// Options of shells and of node whose value is a script, whatever it is called.
const SCRIPT_OPTIONS: [&str; 5] = ["--import", "--init-file", "--loader", "--rcfile", "--require"];

/// The program of a command line, and the scripts among its arguments, also behind `=` and in the text of a shell's `-c`. A
/// script that is not there must not be made by a command. Other arguments are data, which commands may write.
fn named(words: &[String], directory: &Path, search: &OsStr) -> Vec<PathBuf> {
    let Some((program, arguments)) = words.split_first() else { return Vec::new() };
    let program = match program.contains('/') {
        true => Some(directory.join(program)),
        false => found(program.as_ref(), search),
    };
    let mut scripts = Vec::new();
    let mut before = "";
    for argument in arguments {
        let value = argument.split_once('=').map(|(_, value)| value);
        let is_named = SCRIPT_OPTIONS.contains(&before);
        scripts.extend(Some(directory.join(argument)).filter(|path| is_named && path.is_file()));
        let paths = [Some(argument.as_str()), value].into_iter().flatten().map(|path| directory.join(path));
        scripts.extend(paths.filter(|path| is_script(path) || is_missing_script(path, argument)));
        if argument.contains(char::is_whitespace) {
            scripts.extend(existing_scripts(argument, directory));
        }
        before = argument;
    }
    let mut seen = HashSet::new();
    program.into_iter().chain(scripts).filter(|path| seen.insert(path.clone())).collect()
}

/// The scripts among the words of a text, such as a shell's command or `NODE_OPTIONS`.
fn existing_scripts(text: &str, directory: &Path) -> Vec<PathBuf> {
    const BETWEEN: [char; 9] = ['=', ';', '&', '|', '(', ')', '"', '\'', '`'];
    let words = text.split(|letter: char| letter.is_whitespace() || BETWEEN.contains(&letter));
    words
        .filter(|word| !word.is_empty())
        .map(|word| directory.join(word))
        .filter(|path| is_script(path))
        .collect()
}

/// Its name says that an interpreter is to run it, and a command could make it.
fn is_missing_script(path: &Path, argument: &str) -> bool {
    // An option with its value is no path as a whole.
    let is_option = argument.starts_with('-') && path.ends_with(argument);
    let is_one_path = !argument.contains(char::is_whitespace) && !is_option;
    is_one_path && is_called_script(path) && path.symlink_metadata().is_err()
}

fn is_called_script(path: &Path) -> bool {
    path.extension().and_then(OsStr::to_str).is_some_and(|it| SCRIPTS.contains(&it))
}

fn is_script(path: &Path) -> bool {
    if !path.is_file() {
        return false;
    }
    is_called_script(path) || begins_as_script(path)
}

fn begins_as_script(path: &Path) -> bool {
    let mut beginning = [0; 2];
    File::open(path).and_then(|mut file| file.read_exact(&mut beginning)).is_ok() && beginning == *b"#!"
}

#[cfg(test)]
mod tests {
    use windlass_testkit::Scratch;

    use super::*;

    #[test]
    fn programs_and_scripts_are_found_and_data_is_not() {
        let scratch = Scratch::new("programs");
        let root = scratch.path();
        std::fs::create_dir(root.join("bin")).unwrap();
        for (name, text) in [("bin/tool", ""), ("server.py", ""), ("run", "#!/bin/sh\n"), ("data.db", "x")] {
            std::fs::write(root.join(name), text).unwrap();
        }
        let check = |words: &[&str], expected: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            let search = std::env::join_paths([root.join("bin"), "/nowhere".into()]).unwrap();
            let found = named(&words, root, &search);
            assert_eq!(found, expected.iter().map(|name| root.join(name)).collect::<Vec<_>>(), "{words:?}");
        };
        check(&["./server", "x"], &["./server"]);
        check(&["tool", "server.py", "run", "data.db", ".", "--flag"], &["bin/tool", "server.py", "run"]);
        check(&["missing"], &[]);
        check(&["tool", "--require=server.py", "--db=data.db"], &["bin/tool", "server.py"]);
        check(&["tool", "dist/later.js", "later.db"], &["bin/tool", "dist/later.js"]);
        check(&["tool", "--rcfile", "data.db", "-i"], &["bin/tool", "data.db"]);
        check(&["tool", "-c", "cd x && exec ./run data.db other.py"], &["bin/tool", "./run"]);
        check(&["tool", "NODE_OPTIONS=--require server.py"], &["bin/tool", "server.py"]);
        check(&[], &[]);
    }
}
