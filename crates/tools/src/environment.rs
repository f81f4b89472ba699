//! The environment of a command: inherited variables, withheld ones, and those that make output readable.

use std::ffi::{OsStr, OsString};

use crate::secrets::looks_secret;
use crate::variable_patterns::VariablePatterns;

/// Variables, in order; a later one of the same name wins.
pub type Variables = Vec<(OsString, OsString)>;

/// The rules for the environment of commands.
#[derive(Clone, Debug, Default)]
pub struct EnvironmentPolicy {
    /// How much of the login environment they get.
    pub inherit: Inherit,
    /// The treatment of variables that look like secrets.
    pub secrets: SecretVariables,
    /// Further names that are withheld.
    pub exclude: VariablePatterns,
    /// Where it is not empty, only names that match one of these are passed on.
    pub include_only: VariablePatterns,
    /// Variables that are set for all commands, after everything but a call's own `env`.
    pub set: Variables,
}

/// The treatment of variables that look like secrets, by name or by value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SecretVariables {
    /// Commands do not get them.
    #[default]
    Withheld,
    /// They are passed on like all others.
    PassedOn,
}

/// How much is inherited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inherit {
    /// Everything.
    #[default]
    All,
    /// The variables by which a program finds its files: home, path, user, locale.
    Core,
    /// Nothing.
    None,
}

/// The kind of streams that a command is connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connection {
    Terminal,
    Pipes,
}

/// An environment, and the names of the variables that were withheld from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Composed {
    pub(crate) variables: Variables,
    /// The names that the policy removed, sorted.
    pub(crate) removed: Vec<String>,
}

/// Changes that one call asks for; `None` removes.
pub(crate) type Overrides = [(String, Option<String>)];

impl EnvironmentPolicy {
    pub(crate) fn compose(
        &self,
        base: &[(OsString, OsString)],
        connection: Connection,
        overrides: &Overrides,
    ) -> Composed {
        let (mut variables, mut removed) = self.inherited(base);
        readable(&mut variables, connection);
        for (name, value) in &self.set {
            put(&mut variables, name, Some(value));
        }
        for (name, value) in overrides {
            put(&mut variables, name.as_ref(), value.as_ref().map(OsStr::new));
        }
        let asked_for = |name: &String| overrides.iter().any(|(asked, _)| asked == name);
        removed.retain(|name| !asked_for(name));
        Composed { variables, removed }
    }

    /// An environment without the variables that are withheld from every command, and the names of those.
    pub(crate) fn withhold(&self, base: &[(OsString, OsString)]) -> (Variables, Vec<String>) {
        let include_only = VariablePatterns::default();
        let all = Self { inherit: Inherit::All, include_only, ..self.clone() };
        all.inherited(base)
    }

    /// The variables of an environment that are passed on unchanged.
    pub fn passed_on(&self, base: &[(OsString, OsString)]) -> Variables {
        self.inherited(base).0
    }

    fn inherited(&self, base: &[(OsString, OsString)]) -> (Variables, Vec<String>) {
        let (mut kept, mut removed) = (Variables::with_capacity(base.len() + 8), Vec::new());
        for (name, value) in base.iter().filter(|(name, _)| self.inherit.takes(name)) {
            let secret = self.secrets == SecretVariables::Withheld && looks_secret(name, value);
            let included = self.include_only.is_empty() || self.include_only.matches(name);
            if secret || self.exclude.matches(name) || !included {
                removed.push(name.to_string_lossy().into_owned());
            } else {
                put(&mut kept, name, Some(value));
            }
        }
        removed.sort();
        removed.dedup();
        (kept, removed)
    }
}

impl Inherit {
    fn takes(self, name: &OsStr) -> bool {
        const CORE: [&str; 10] =
            ["HOME", "PATH", "SHELL", "USER", "LOGNAME", "LANG", "TMPDIR", "TZ", "TERM", "PWD"];
        match self {
            Self::All => true,
            Self::Core => name.to_str().is_some_and(|name| CORE.contains(&name) || name.starts_with("LC_")),
            Self::None => false,
        }
    }
}

/// Turns pagers off, leaves colours to terminals, and makes text UTF-8.
fn readable(variables: &mut Variables, connection: Connection) {
    let mut set = |name: &str, value: &str| put(variables, name.as_ref(), Some(value.as_ref()));
    match connection {
        Connection::Terminal => set("TERM", "xterm-256color"),
        Connection::Pipes => {
            set("TERM", "dumb");
            set("NO_COLOR", "1");
        }
    }
    for pager in ["PAGER", "GIT_PAGER", "GH_PAGER"] {
        set(pager, "cat");
    }
    speak_utf8(variables);
}

/// The first of these that is set decides how characters are encoded.
fn speak_utf8(variables: &mut Variables) {
    let is_set = |name: &&str| get(variables, name).is_some_and(|value| !value.is_empty());
    let deciding = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find(is_set);
    let speaks = deciding.and_then(|name| get(variables, name)).is_some_and(is_utf8);
    if !speaks {
        put(variables, deciding.unwrap_or("LANG").as_ref(), Some("C.UTF-8".as_ref()));
    }
}

fn is_utf8(locale: &OsStr) -> bool {
    let locale = locale.to_string_lossy().to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

pub(crate) fn get<'a>(variables: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    variables.iter().rev().find(|(found, _)| found == name).map(|(_, value)| value.as_os_str())
}

/// Sets a variable, or removes it.
pub(crate) fn put(variables: &mut Variables, name: &OsStr, value: Option<&OsStr>) {
    variables.retain(|(found, _)| found != name);
    variables.extend(value.map(|value| (name.to_owned(), value.to_owned())));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Variables {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    fn composed(policy: &EnvironmentPolicy, base: &[(&str, &str)], overrides: &Overrides) -> Composed {
        policy.compose(&variables(base), Connection::Pipes, overrides)
    }

    #[test]
    fn only_what_is_listed_passes_where_there_is_a_list() {
        let policy = EnvironmentPolicy {
            include_only: VariablePatterns::parse(["PATH", "lc_*"]).unwrap(),
            ..EnvironmentPolicy::default()
        };
        let base = variables(&[("PATH", "/bin"), ("LC_ALL", "C"), ("HOME", "/h"), ("LC_TOKEN", "t")]);
        assert_eq!(policy.passed_on(&base), variables(&[("PATH", "/bin"), ("LC_ALL", "C")]));
    }

    #[test]
    fn secrets_are_kept_out_and_named_unless_a_call_asks_for_them() {
        let policy = EnvironmentPolicy::default();
        let base = [("API_KEY", "k"), ("GH_TOKEN", "t"), ("PATH", "/bin"), ("CACHE", "redis://:pw@host")];
        let plain = composed(&policy, &base, &[]);
        assert_eq!(plain.removed, ["API_KEY", "CACHE", "GH_TOKEN"]);
        assert_eq!(get(&plain.variables, "PATH"), Some("/bin".as_ref()));
        let asked =
            composed(&policy, &base, &[("API_KEY".into(), Some("mine".into())), ("PATH".into(), None)]);
        assert_eq!(asked.removed, ["CACHE", "GH_TOKEN"]);
        assert_eq!(get(&asked.variables, "API_KEY"), Some("mine".as_ref()));
        assert_eq!(get(&asked.variables, "PATH"), None);
    }

    #[test]
    fn what_is_inherited_is_all_the_core_or_nothing() {
        let base = [("HOME", "/h"), ("LC_TIME", "de"), ("EDITOR", "vi")];
        let names = |inherit| {
            let policy = EnvironmentPolicy { inherit, ..EnvironmentPolicy::default() };
            let composed = composed(&policy, &base, &[]);
            ["HOME", "LC_TIME", "EDITOR"].map(|name| get(&composed.variables, name).is_some())
        };
        assert_eq!(names(Inherit::All), [true, true, true]);
        assert_eq!(names(Inherit::Core), [true, true, false]);
        assert_eq!(names(Inherit::None), [false, false, false]);
    }

    #[test]
    fn the_terminal_decides_term_and_colour_and_what_is_set_wins() {
        let mut policy = EnvironmentPolicy::default();
        let of = |policy: &EnvironmentPolicy, connection, name: &str| {
            let composed =
                policy.compose(&variables(&[("TERM", "vt52"), ("PAGER", "less")]), connection, &[]);
            get(&composed.variables, name).map(|value| value.to_string_lossy().into_owned())
        };
        assert_eq!(of(&policy, Connection::Terminal, "TERM").unwrap(), "xterm-256color");
        assert_eq!(of(&policy, Connection::Terminal, "NO_COLOR"), None);
        assert_eq!(of(&policy, Connection::Pipes, "TERM").unwrap(), "dumb");
        assert_eq!(of(&policy, Connection::Pipes, "NO_COLOR").unwrap(), "1");
        assert_eq!(of(&policy, Connection::Pipes, "PAGER").unwrap(), "cat");
        policy.set = variables(&[("PAGER", "more")]);
        assert_eq!(of(&policy, Connection::Pipes, "PAGER").unwrap(), "more");
    }

    #[test]
    fn the_locale_speaks_utf8() {
        let policy = EnvironmentPolicy::default();
        for (base, name, value) in [
            (vec![], "LANG", "C.UTF-8"),
            (vec![("LANG", "de_DE.UTF-8")], "LANG", "de_DE.UTF-8"),
            (vec![("LANG", "C")], "LANG", "C.UTF-8"),
            (vec![("LANG", "C"), ("LC_ALL", "POSIX")], "LC_ALL", "C.UTF-8"),
            (vec![("LANG", "C"), ("LC_ALL", "en_GB.utf8")], "LC_ALL", "en_GB.utf8"),
        ] {
            let composed = composed(&policy, &base, &[]);
            assert_eq!(get(&composed.variables, name), Some(value.as_ref()), "{base:?}");
        }
    }
}
