//! The environment: its description for clients, and the variables of a process.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use windlass_protocol::exec::{
    Capabilities, EnvironmentInfo, ExecEnvPolicy, Inherit, PathUri, ServerInfo, ShellInfo,
};

use windlass_tools::{BadVariablePattern, VariablePatterns, looks_secret};

use super::ExecEnvironment;

/// The variables of the inheritance mode `core`.
const CORE: [&str; 12] = [
    "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TEMP", "TMP", "TMPDIR", "USER",
    "USERNAME",
];

/// The description of the environment for clients.
pub(super) fn info(place: &ExecEnvironment) -> EnvironmentInfo {
    EnvironmentInfo {
        shell: shell(&place.shell),
        cwd: PathUri::of(&place.directory),
        user_home_dir: place.home.as_ref().map(PathUri::of),
        platform_os: "linux".to_owned(),
        prepend_path_dirs: Vec::new(),
        temporary_directories: Vec::new(),
        temp_dir: PathUri::of(&place.temporary),
        capabilities: Capabilities {
            process_resize: true,
            process_close_stdin: true,
            process_list: true,
            process_signals: true,
        },
        server: ServerInfo { name: "windlass".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() },
    }
}

fn shell(program: &Path) -> ShellInfo {
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    ShellInfo { name, path: program.to_string_lossy().into_owned() }
}

/// The variables of a process. Without a policy it has its own and no others.
pub(super) fn variables(
    place: &ExecEnvironment,
    policy: Option<&ExecEnvPolicy>,
    own: &BTreeMap<String, String>,
) -> Result<Vec<(OsString, OsString)>, BadVariablePattern> {
    let mut variables = policy.map(|policy| inherited(place, policy)).transpose()?.unwrap_or_default();
    for (name, value) in own {
        variables.insert(name.into(), value.into());
    }
    Ok(variables.into_iter().collect())
}

fn inherited(
    place: &ExecEnvironment,
    policy: &ExecEnvPolicy,
) -> Result<BTreeMap<OsString, OsString>, BadVariablePattern> {
    let exclude = VariablePatterns::parse(&policy.exclude)?;
    let include_only = VariablePatterns::parse(&policy.include_only)?;
    let begin = place.variables.iter().filter(|(name, _)| takes(policy.inherit, name));
    let mut variables: BTreeMap<OsString, OsString> = begin.cloned().collect();
    if !policy.ignore_default_excludes {
        variables.retain(|name, value| !looks_secret(name, value));
    }
    variables.retain(|name, _| !exclude.matches(name));
    for (name, value) in &policy.set {
        variables.insert(name.into(), value.into());
    }
    if !include_only.is_empty() {
        variables.retain(|name, _| include_only.matches(name));
    }
    Ok(variables)
}

fn takes(inherit: Inherit, name: &OsStr) -> bool {
    match inherit {
        Inherit::All => true,
        Inherit::Core => CORE.iter().any(|core| name.eq_ignore_ascii_case(core)),
        Inherit::None => false,
    }
}

#[cfg(test)]
mod tests {
    use windlass_engine::sandbox::HelperProgram;

    use super::*;

    fn place() -> ExecEnvironment {
        let variables = [("HOME", "/h"), ("API_TOKEN", "t"), ("FOO", "bar"), ("LANG", "C")];
        ExecEnvironment {
            variables: variables.map(|(name, value)| (name.into(), value.into())).to_vec(),
            shell: "/bin/bash".into(),
            home: None,
            directory: "/".into(),
            temporary: "/tmp".into(),
            state_directory: "/nobody/state".into(),
            file_helper: HelperProgram { program: c"/nobody/files".into(), arguments: Vec::new() },
        }
    }

    fn check(change: impl FnOnce(&mut ExecEnvPolicy), expected: &[&str]) {
        let mut policy = ExecEnvPolicy {
            inherit: Inherit::All,
            ignore_default_excludes: true,
            exclude: Vec::new(),
            set: BTreeMap::new(),
            include_only: Vec::new(),
        };
        change(&mut policy);
        let own = BTreeMap::from([("A".to_owned(), "b".to_owned())]);
        let variables = variables(&place(), Some(&policy), &own).unwrap();
        let seen: Vec<String> =
            variables.iter().map(|(name, value)| format!("{}={}", name.display(), value.display())).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_policy_takes_leaves_out_sets_and_chooses_in_this_order() {
        check(|_| {}, &["A=b", "API_TOKEN=t", "FOO=bar", "HOME=/h", "LANG=C"]);
        check(|policy| policy.ignore_default_excludes = false, &["A=b", "FOO=bar", "HOME=/h", "LANG=C"]);
        check(|policy| policy.inherit = Inherit::Core, &["A=b", "HOME=/h", "LANG=C"]);
        check(|policy| policy.inherit = Inherit::None, &["A=b"]);
        let narrow = |policy: &mut ExecEnvPolicy| {
            policy.exclude.push("a*".to_owned());
            policy.set.insert("AX".to_owned(), "1".to_owned());
            policy.set.insert("FOX".to_owned(), "2".to_owned());
            policy.include_only.push("f*".to_owned());
        };
        check(narrow, &["A=b", "FOO=bar", "FOX=2"]);
    }

    #[test]
    fn without_a_policy_a_process_has_its_own_variables_only() {
        let own = BTreeMap::from([("A".to_owned(), "b".to_owned())]);
        assert_eq!(variables(&place(), None, &own).unwrap(), [("A".into(), "b".into())]);
    }
}
