//! The locations of configuration files. The caller reads the environment; this module only applies the rules to it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The directories that are searched for settings, instructions and skills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The administrator's: `/etc/windlass`.
    pub system: PathBuf,
    /// The user's: `$XDG_CONFIG_HOME/windlass`, else `~/.config/windlass`. `None` without a home.
    pub config: Option<PathBuf>,
    /// The user's home directory, for `~` in paths and for `~/.agents/skills`.
    pub home: Option<PathBuf>,
    /// The directory of Codex's configuration: `$CODEX_HOME`, else `~/.codex`.
    pub codex: Option<PathBuf>,
    /// The working directory; absolute.
    pub cwd: PathBuf,
}

impl Places {
    /// The locations that these variables give. Relative paths in variables are ignored, as the XDG specification
    /// demands.
    pub fn from_variables(variable: impl Fn(&str) -> Option<OsString>, cwd: &Path) -> Self {
        let directory =
            |name: &str| variable(name).map(PathBuf::from).filter(|directory| directory.is_absolute());
        let home = directory("HOME");
        let below_home = |name: &str| home.as_ref().map(|home| home.join(name));
        let configs = directory("XDG_CONFIG_HOME").or_else(|| below_home(".config"));
        Self {
            system: "/etc/windlass".into(),
            config: configs.map(|configs| configs.join("windlass")),
            codex: directory("CODEX_HOME").or_else(|| below_home(".codex")),
            cwd: cwd.to_owned(),
            home,
        }
    }

    /// The path of the user's configuration file, whether or not it exists.
    pub fn user_file(&self) -> Option<PathBuf> {
        self.config.as_ref().map(|config| config.join("config.toml"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(variables: &[(&str, &str)], config: Option<&str>, codex: Option<&str>) {
        let variable = |name: &str| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let places = Places::from_variables(variable, Path::new("/w"));
        assert_eq!(places.config, config.map(PathBuf::from), "{variables:?}");
        assert_eq!(places.codex, codex.map(PathBuf::from), "{variables:?}");
    }

    #[test]
    fn places_follow_the_variables_and_then_the_home() {
        let home = ("HOME", "/h");
        check(&[home], Some("/h/.config/windlass"), Some("/h/.codex"));
        check(&[home, ("XDG_CONFIG_HOME", "/x")], Some("/x/windlass"), Some("/h/.codex"));
        check(&[home, ("XDG_CONFIG_HOME", "relative")], Some("/h/.config/windlass"), Some("/h/.codex"));
        check(&[home, ("CODEX_HOME", "/c")], Some("/h/.config/windlass"), Some("/c"));
        check(&[], None, None);
    }
}
