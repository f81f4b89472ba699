//! Makes the command of a server from its configuration: its directory, and the variables that it gets from our
//! environment.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use windlass_engine::{CommandSpec, Keeping};

/// Variables that every server gets: enough to find programs, a home and a language. None of them is secret.
const HARMLESS: [&str; 15] = [
    "HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
];

/// The program of a server, as configured.
pub(crate) struct LaunchSpec<'a> {
    pub(crate) command: &'a OsStr,
    pub(crate) args: &'a [OsString],
    pub(crate) env: &'a BTreeMap<String, OsString>,
    pub(crate) env_vars: &'a [String],
    pub(crate) cwd: Option<&'a Path>,
}

/// The context in which servers are started.
pub(crate) struct LaunchContext<'a> {
    pub(crate) directory: &'a Path,
    pub(crate) environment: &'a [(OsString, OsString)],
    pub(crate) keeping: Keeping,
}

impl LaunchSpec<'_> {
    /// The command.
    pub(crate) fn spec(&self, place: &LaunchContext<'_>) -> CommandSpec {
        let argv = std::iter::once(self.command.to_owned()).chain(self.args.iter().cloned());
        let directory: PathBuf =
            self.cwd.map_or_else(|| place.directory.to_owned(), |cwd| place.directory.join(cwd));
        let mut spec = CommandSpec::new(argv, directory);
        spec.environment = self.environment(place.environment);
        spec.keeping = place.keeping;
        spec
    }

    fn environment(&self, ours: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
        let is_given = |name: &str| self.env.contains_key(name);
        let is_wanted = |name: &str| {
            HARMLESS.contains(&name)
                || name.starts_with("LC_")
                || self.env_vars.iter().any(|wanted| wanted == name)
        };
        let passes = |name: &OsStr| name.to_str().is_some_and(|name| is_wanted(name) && !is_given(name));
        let passed = ours.iter().filter(|(name, _)| passes(name)).cloned();
        passed.chain(self.env.iter().map(|(name, value)| (name.into(), value.clone()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_sees_what_is_harmless_and_what_it_was_given() {
        let pairs = [("PATH", "/bin"), ("LC_ALL", "C"), ("API_KEY", "k"), ("OTHER_KEY", "o"), ("LANG", "de")];
        let ours = pairs.map(|(name, value)| (name.into(), value.into()));
        let env = BTreeMap::from([("LANG".to_owned(), "en".into()), ("MODE".to_owned(), "x".into())]);
        let order = LaunchSpec {
            command: OsStr::new("serve"),
            args: &["--fast".into()],
            env: &env,
            env_vars: &["API_KEY".to_owned(), "MISSING".to_owned()],
            cwd: Some(Path::new("sub")),
        };
        let place =
            LaunchContext { directory: Path::new("/srv"), environment: &ours, keeping: Keeping::Memory };
        let spec = order.spec(&place);
        let expected = [("PATH", "/bin"), ("LC_ALL", "C"), ("API_KEY", "k"), ("LANG", "en"), ("MODE", "x")];
        assert_eq!(spec.environment, expected.map(|(name, value)| (name.into(), value.into())));
        assert_eq!((spec.directory, spec.argv), ("/srv/sub".into(), vec!["serve".into(), "--fast".into()]));
    }
}
