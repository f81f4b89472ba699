//! Errors of a start, in the words that clients of the dialects know. They differ for a command on a terminal: the
//! reference implementation looks for the program itself then, and reports what it found.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use rustix::io::Errno;
use windlass_engine::{CommandSpec, Engine, Io, Session, StartError};

/// Starts a command; the error is worded for clients.
pub(crate) fn start(engine: &Engine, command: CommandSpec) -> Result<Session, String> {
    let attempt = Attempt::of(&command);
    engine.start(command).map_err(|error| attempt.explain(&error))
}

/// The parts of a command that its error names.
struct Attempt {
    program: String,
    directory: PathBuf,
    /// The `PATH` that is searched, if the command is to run on a terminal.
    terminal: Option<String>,
}

impl Attempt {
    fn of(command: &CommandSpec) -> Self {
        let text = |text: &OsString| text.to_string_lossy().into_owned();
        let path = || {
            let path = command.environment.iter().find(|(name, _)| name == "PATH");
            path.map(|(_, path)| text(path)).unwrap_or_default()
        };
        Self {
            program: command.argv.first().map(text).unwrap_or_default(),
            directory: command.directory.clone(),
            terminal: matches!(command.io, Io::Terminal(_)).then(path),
        }
    }

    fn explain(&self, error: &StartError) -> String {
        match (error, &self.terminal) {
            (StartError::Empty, None) => "missing program for pipe spawn".to_owned(),
            (StartError::Empty, Some(_)) => "missing program for PTY spawn".to_owned(),
            (StartError::Nul { what: "environment" }, None) => "data provided contains a nul byte".to_owned(),
            (StartError::Nul { .. }, _) => "nul byte found in provided data".to_owned(),
            (StartError::ProgramNotFound { .. }, path) => self.found(path.as_deref(), Errno::NOENT),
            (StartError::DeniedProgram { .. }, path) => self.found(path.as_deref(), Errno::ACCESS),
            (StartError::CannotExecute { source, .. }, path) => self.found(path.as_deref(), *source),
            (StartError::Directory { source, .. } | StartError::System { source, .. }, _) => system(*source),
            (error, _) => error.to_string(),
        }
    }

    /// The result of the search for the program, or else the system's error.
    fn found(&self, path: Option<&str>, said: Errno) -> String {
        path.and_then(|path| self.found_nothing(path)).unwrap_or_else(|| system(said))
    }

    /// The error of the search for the program; `None` if the program could be started or the system's error is good
    /// enough.
    fn found_nothing(&self, path: &str) -> Option<String> {
        match Path::new(&self.program).components().next()? {
            Component::RootDir | Component::Prefix(_) => None,
            Component::CurDir | Component::ParentDir => {
                let place = self.directory.join(&self.program);
                let obstacle = Obstacle::at(&place)?;
                Some(format!("Unable to spawn {} because it {}", place.display(), obstacle.words()))
            }
            Component::Normal(_) => self.found_nowhere(path),
        }
    }

    fn found_nowhere(&self, path: &str) -> Option<String> {
        let mut said = format!("Unable to spawn {} because:\n", self.program);
        for folder in path.split(':') {
            let candidate = self.directory.join(folder).join(&self.program);
            let obstacle = Obstacle::at(&candidate)?;
            if obstacle != Obstacle::Missing {
                said += &format!("{} exists but {}.\n", candidate.display(), obstacle.words());
            }
        }
        Some(said + &format!("No viable candidates found in PATH {path:?}"))
    }
}

/// Why a file cannot be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Obstacle {
    Directory,
    NotExecutable,
    Missing,
}

impl Obstacle {
    fn at(place: &Path) -> Option<Self> {
        use rustix::fs::{Access, access};
        match access(place, Access::EXEC_OK) {
            _ if place.is_dir() => Some(Self::Directory),
            Ok(()) => None,
            Err(_) if access(place, Access::EXISTS).is_ok() => Some(Self::NotExecutable),
            Err(_) => Some(Self::Missing),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Directory => "is a directory",
            Self::NotExecutable => "is not executable",
            Self::Missing => "does not exist",
        }
    }
}

fn system(error: Errno) -> String {
    io::Error::from_raw_os_error(error.raw_os_error()).to_string()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use windlass_testkit::Scratch;

    use super::*;

    const MISSING: StartError =
        StartError::ProgramNotFound { program: PathBuf::new(), searched: String::new() };

    #[test]
    fn without_a_terminal_it_is_what_the_system_said() {
        let attempt = Attempt { program: "./x".to_owned(), directory: "/".into(), terminal: None };
        let check = |error: StartError, said: &str| assert_eq!(attempt.explain(&error), said);
        check(MISSING, "No such file or directory (os error 2)");
        check(StartError::Empty, "missing program for pipe spawn");
        check(StartError::Nul { what: "environment" }, "data provided contains a nul byte");
        check(StartError::Nul { what: "working directory" }, "nul byte found in provided data");
        let directory = StartError::Directory { directory: "/etc/passwd".into(), source: Errno::NOTDIR };
        check(directory, "Not a directory (os error 20)");
    }

    #[test]
    fn on_a_terminal_it_is_what_was_found_in_each_place() {
        let scratch = Scratch::new("failure");
        let at = |name: &str| scratch.path().join(name);
        for folder in ["bin", "bin/folder", "sbin"] {
            std::fs::create_dir(at(folder)).expect("a directory");
        }
        for (name, mode) in [("bin/text", 0o600), ("sbin/program", 0o700)] {
            std::fs::write(at(name), "").expect("a file");
            std::fs::set_permissions(at(name), PermissionsExt::from_mode(mode)).expect("it is ours");
        }
        let home = scratch.path().display().to_string();
        let path = format!("{home}/bin:{home}/sbin");
        let none = format!("No viable candidates found in PATH {path:?}");
        let check = |program: &str, said: &str| {
            let terminal = Some(path.clone());
            let attempt = Attempt { program: program.to_owned(), directory: scratch.path().into(), terminal };
            assert_eq!(attempt.explain(&MISSING), said.replace("HOME", &home).replace("NONE", &none));
        };
        check("missing", "Unable to spawn missing because:\nNONE");
        check("x/y", "Unable to spawn x/y because:\nNONE");
        check("folder", "Unable to spawn folder because:\nHOME/bin/folder exists but is a directory.\nNONE");
        check("text", "Unable to spawn text because:\nHOME/bin/text exists but is not executable.\nNONE");
        check("./x", "Unable to spawn HOME/./x because it does not exist");
        check("./bin/text", "Unable to spawn HOME/./bin/text because it is not executable");
        check("..", "Unable to spawn HOME/.. because it is a directory");
        // For a program that exists, or needs no search, the system's error is returned.
        check("program", "No such file or directory (os error 2)");
        check("/nowhere", "No such file or directory (os error 2)");
    }
}
