//! The process environment: variables, working directory, standard streams. It is read once, here, and passed on as
//! values.

use std::ffi::{CStr, OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use windlass_engine::{Store, StoreLimits};
use windlass_sys::pty::Size;
use windlass_sys::terminal;

use crate::clients::Places;

/// The file that this process executes, which the kernel has held open since the start. Every helper is started from
/// it: a command that can write at the program's path may have put another file there by now.
pub(crate) const ITSELF: &CStr = c"/proc/self/exe";

/// The variable that names the state directory.
pub(crate) const STATE_DIRECTORY: &str = "WINDLASS_STATE_DIR";

/// Everything that windlass takes from outside its command line.
pub(crate) struct Config {
    /// The directory in which sessions are recorded; `None` if not even a home directory is known.
    pub(crate) state_directory: Option<PathBuf>,
    /// The shell that runs scripts.
    pub(crate) shell: OsString,
    /// The environment that children inherit.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Whether to use colour on a terminal.
    pub(crate) colour: Colour,
    /// Which standard streams are terminals.
    pub(crate) terminals: Terminals,
}

/// Whether to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    On,
    Off,
}

/// Which standard streams are terminals, and the size of the one for output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminals {
    pub(crate) stdin: bool,
    pub(crate) stdout: Option<Size>,
    pub(crate) stderr: bool,
}

/// Omits the environment, which contains keys.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("state_directory", &self.state_directory).finish_non_exhaustive()
    }
}

impl Config {
    /// Reads the environment of this process.
    pub(crate) fn read() -> Self {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let terminals = Terminals::read();
        let plain = variable("NO_COLOR").is_some() || variable("TERM").is_some_and(|term| term == "dumb");
        Self {
            state_directory: state_directory(variable),
            shell: variable("SHELL").unwrap_or_else(|| "/bin/sh".into()),
            environment: std::env::vars_os().collect(),
            colour: if plain || terminals.stdout.is_none() { Colour::Off } else { Colour::On },
            terminals,
        }
    }

    /// A variable of this process's environment; an empty one counts as not set.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        let found = self.environment.iter().find(|(variable, _)| variable == name);
        found.map(|(_, value)| value.as_os_str()).filter(|value| !value.is_empty())
    }

    /// The directories in which MCP clients keep their configuration.
    pub(crate) fn client_places(&self) -> Places {
        Places::from_variables(|name| self.variable(name).map(OsStr::to_owned))
    }

    /// The first executable file of this name on PATH.
    pub(crate) fn find_program(&self, name: &str) -> Option<PathBuf> {
        let candidates = std::env::split_paths(self.variable("PATH")?).map(|directory| directory.join(name));
        candidates.filter(|path| path.is_absolute()).find(|path| is_executable(path))
    }

    /// The directory windlass was started in.
    pub(crate) fn working_directory() -> Result<PathBuf> {
        std::env::current_dir().context("cannot tell the working directory")
    }

    /// The path of this program, for messages and configuration files. To start this program again, use [`ITSELF`].
    pub(crate) fn own_program() -> PathBuf {
        let itself = || PathBuf::from(OsStr::from_bytes(ITSELF.to_bytes()));
        let path = std::fs::read_link(itself()).ok().filter(|path| path.is_file());
        path.unwrap_or_else(itself)
    }

    /// The state directory for writing. If it cannot be used, this says so, and sessions are kept in memory.
    pub(crate) fn open_store(&self) -> Option<Store> {
        match self.writing_store() {
            Ok(store) => Some(store),
            Err(error) => {
                crate::printing::say!("windlass: {error:#}; this session is kept in memory only");
                None
            }
        }
    }

    /// The state directory for writing; an error if it cannot be used.
    pub(crate) fn writing_store(&self) -> Result<Store> {
        let directory = self.state_directory.as_deref();
        let directory =
            directory.context("no place for journals: neither HOME nor WINDLASS_STATE_DIR is set")?;
        Ok(Store::open(directory, StoreLimits::default())?)
    }

    /// The state directory for reading.
    pub(crate) fn reading_store(&self) -> Result<Store> {
        let directory = self.state_directory.as_deref();
        let directory =
            directory.context("no state directory: neither HOME nor WINDLASS_STATE_DIR is set")?;
        Ok(Store::reading(directory, StoreLimits::default()))
    }
}

impl Terminals {
    fn read() -> Self {
        Self {
            stdin: terminal::is_terminal(rustix::stdio::stdin()),
            stdout: terminal::is_terminal(rustix::stdio::stdout()).then(own_size),
            stderr: terminal::is_terminal(rustix::stdio::stderr()),
        }
    }
}

/// Whether this is a file that this process may execute.
pub(crate) fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// The size of the terminal on which windlass is shown.
pub(crate) fn own_size() -> Size {
    terminal::size(rustix::stdio::stdout())
        .or_else(|| terminal::size(rustix::stdio::stdin()))
        .unwrap_or_default()
}

/// `$WINDLASS_STATE_DIR`, else `$XDG_STATE_HOME/windlass`, else `~/.local/state/windlass`.
fn state_directory(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if let Some(own) = variable(STATE_DIRECTORY) {
        return Some(own.into());
    }
    // The XDG specification: a relative path is ignored.
    let absolute = |path: OsString| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
    if let Some(states) = variable("XDG_STATE_HOME").and_then(absolute) {
        return Some(states.join("windlass"));
    }
    let home = variable("HOME").and_then(absolute)?;
    Some(home.join(".local/state/windlass"))
}

/// A path for people: the home directory is `~`.
pub(crate) fn below_home(path: &Path, environment: &[(OsString, OsString)]) -> String {
    let home = environment.iter().find(|(name, _)| name == "HOME").map(|(_, home)| home.as_os_str());
    let home = home.filter(|home| !home.is_empty() && *home != OsStr::new("/"));
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(variables: &[(&str, &str)], expected: Option<&str>) {
        let variable = |name: &str| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| OsString::from(value))
        };
        assert_eq!(state_directory(variable), expected.map(PathBuf::from), "{variables:?}");
    }

    #[test]
    fn the_state_directory_is_ours_then_the_systems_then_below_home() {
        let home = ("HOME", "/h");
        check(&[home, ("XDG_STATE_HOME", "/x"), ("WINDLASS_STATE_DIR", "/own")], Some("/own"));
        check(&[home, ("XDG_STATE_HOME", "/x")], Some("/x/windlass"));
        check(&[home, ("XDG_STATE_HOME", "relative")], Some("/h/.local/state/windlass"));
        check(&[home], Some("/h/.local/state/windlass"));
        check(&[], None);
    }

    #[test]
    fn paths_below_home_are_shortened() {
        let environment = [(OsString::from("HOME"), OsString::from("/h/ada"))];
        for (path, expected) in [("/h/ada", "~"), ("/h/ada/src", "~/src"), ("/h/adam", "/h/adam"), ("/", "/")]
        {
            assert_eq!(below_home(Path::new(path), &environment), expected);
        }
    }

    #[test]
    fn the_environment_is_not_in_debugging_output() {
        let mut config = Config::read();
        config.environment = vec![("OPENAI_API_KEY".into(), "sk-hidden".into())];
        assert!(!format!("{config:?}").contains("sk-hidden"), "{config:?}");
    }
}
