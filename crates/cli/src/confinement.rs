//! Builds a policy from the sandbox options: named policies, policy files, and additions on the command line.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use toml_edit::{DocumentMut, Item};
use windlass_engine::sandbox::{
    Access, Base, Confined, EnabledLayers, NamespacePool, Network, OwnFiles, Pattern, Plan, Policy,
    PolicyContext, Rule, StateInside,
};
use windlass_engine::{Engine, check_hosts};

use crate::args::{LayersName, SandboxWords};
use crate::commands::confine;
use crate::config::{Config, STATE_DIRECTORY};
use crate::failure::Usage;
use crate::remedies::Interface;
use crate::server_places;

/// The message if the kernel does not list unix sockets.
pub(crate) const NO_UNIX_SOCKETS: &str =
    "confined commands connect to none: this kernel does not list sockets with their owners (no unix_diag)";

/// The namespace pool that an engine needs for confined commands; nothing is created before the first one.
pub(crate) fn grounds(layers: LayersName, config: &Config) -> Arc<NamespacePool> {
    grounds_with(layers, config, NamedFiles::default(), Interface::CommandLine)
}

/// Files that a command line or a configuration names and that confined commands must not reach. Absolute paths.
#[derive(Debug, Default)]
pub(crate) struct NamedFiles {
    /// Files that windlass obeys, or runs outside of the sandbox: commands cannot change them.
    pub(crate) obeyed: Vec<PathBuf>,
    /// Files from which windlass reads secrets: commands cannot read them.
    pub(crate) secrets: Vec<PathBuf>,
}

impl NamedFiles {
    /// The policy file that the options name, if any, and the rules file.
    pub(crate) fn of_words(words: &SandboxWords, rules: Option<&Path>) -> Self {
        let policy = words.sandbox.as_deref().filter(|name| Policy::named(name).is_none()).map(Path::new);
        let here = Config::working_directory().unwrap_or_default();
        let obeyed = policy.into_iter().chain(rules).map(|path| here.join(path)).collect();
        Self { obeyed, secrets: Vec::new() }
    }
}

/// The pool for the options of a command line: a command must not change the policy by which the next one is judged.
pub(crate) fn grounds_of(words: &SandboxWords, config: &Config) -> Arc<NamespacePool> {
    grounds_with(words.sandbox_layers, config, NamedFiles::of_words(words, None), Interface::CommandLine)
}

/// The pool if further files are protected from commands.
pub(crate) fn grounds_with(
    layers: LayersName,
    config: &Config,
    named: NamedFiles,
    interface: Interface,
) -> Arc<NamespacePool> {
    let means = match layers {
        LayersName::All => EnabledLayers::All,
        LayersName::Landlock => EnabledLayers::LandlockAlone,
    };
    let mut own_files = own_files(config);
    own_files.configuration.extend(named.obeyed);
    own_files.secrets = named.secrets;
    Arc::new(NamespacePool::new(confine::program(), means, own_files, interface.remedies()))
}

/// The files that this program, and the user's shells, obey.
fn own_files(config: &Config) -> OwnFiles {
    let directory = |name: &str| config.variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = directory("HOME");
    let configuration = directory("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
    // Files that shells, git and other programs read at their start if the environment names them.
    let named = ["BASH_ENV", "ENV", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "INPUTRC", "PYTHONSTARTUP"];
    let own =
        configuration.iter().flat_map(|directory| ["windlass", "git/config"].map(|it| directory.join(it)));
    OwnFiles {
        program: Some(Config::own_program()).filter(|program| program.is_absolute()),
        configuration: own.chain(named.into_iter().filter_map(directory)).collect(),
        startup: home.into_iter().chain(directory("ZDOTDIR")).collect(),
        search_path: search_path(config),
        secrets: Vec::new(),
        server_places: server_places::of(|name| config.variable(name)),
        state_inside: Some(StateInside {
            variable: STATE_DIRECTORY.to_owned(),
            directory: format!("/tmp/windlass-inside-{}", rustix::process::getuid().as_raw()).into(),
        }),
    }
}

/// The absolute entries of `PATH`. A relative entry means another directory for each shell, and cannot be protected.
fn search_path(config: &Config) -> Vec<PathBuf> {
    let path = config.variable("PATH").unwrap_or_default();
    let mut directories: Vec<PathBuf> = std::env::split_paths(&path).filter(|it| it.is_absolute()).collect();
    let mut seen = HashSet::new();
    directories.retain(|directory| seen.insert(directory.clone()));
    directories
}

/// The requested policy; without one nothing is enforced.
pub(crate) fn policy(words: &SandboxWords) -> Result<Policy> {
    let Some(name) = &words.sandbox else { return Ok(Policy::FullAccess) };
    if name.is_empty() {
        return Err(Usage(format!("--sandbox is empty; there are {}", Policy::NAMES.join(", "))).into());
    }
    let policy = match Policy::named(name) {
        Some(policy) => policy,
        None if name.contains(['/', '.']) => from_file(Path::new(name))?,
        None => return Err(unknown(name).into()),
    };
    match policy {
        Policy::Confined(confined) => Ok(Policy::Confined(with_words(confined, words)?)),
        open => refuse_words(open, words),
    }
}

fn unknown(name: &str) -> Usage {
    let names = Policy::NAMES.join(", ");
    Usage(match similar(name) {
        Some(meant) => format!(
            "there is no policy `{name}`; did you mean `{meant}`? There are {names}, or give the path of a file"
        ),
        None => format!("there is no policy `{name}`; there are {names}, or give the path of a file"),
    })
}

/// The policy that the user may have meant: another spelling, a part of the name, or the name in other sandboxes.
fn similar(name: &str) -> Option<&'static str> {
    let letters = |text: &str| text.to_lowercase().replace(|it: char| !it.is_ascii_alphabetic(), "");
    let given = letters(name);
    match given.as_str() {
        "none" | "off" | "no" | "disabled" => return Some("full-access"),
        "ro" => return Some("read-only"),
        "" => return None,
        _ => {}
    }
    let is_near = |meant: &&&str| {
        let meant = letters(meant);
        let sorted = |text: &str| {
            let mut letters: Vec<char> = text.chars().collect();
            letters.sort_unstable();
            letters
        };
        given.len() >= 4 && meant.contains(&given) || sorted(&meant) == sorted(&given)
    };
    Policy::NAMES.iter().find(is_near).copied()
}

fn refuse_words(policy: Policy, words: &SandboxWords) -> Result<Policy> {
    let given = [
        ("--writable", !words.writable.is_empty()),
        ("--read-only", !words.read_only.is_empty()),
        ("--deny-read", !words.deny_read.is_empty()),
        ("--network", words.network.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((name, _)) => Err(Usage(format!(
            "{name} does not go with the policy {}, which enforces nothing; use read-only or workspace-write, or leave \
             {name} out",
            policy.name()
        ))
        .into()),
        None => Ok(policy),
    }
}

fn with_words(mut confined: Confined, words: &SandboxWords) -> Result<Confined> {
    let lists = [
        ("--writable", &words.writable, Access::Write),
        ("--read-only", &words.read_only, Access::Read),
        ("--deny-read", &words.deny_read, Access::Deny),
    ];
    for (option, list, access) in lists {
        for place in list {
            let place = pattern(place).map_err(|why| Usage(format!("{option}: {why}")))?;
            confined.rules.push(Rule { place, access });
        }
    }
    confined = resolved(confined);
    if let Some(text) = &words.network {
        confined.network = network(text).map_err(|why| Usage(format!("--network {text}: {why}")))?;
    }
    Ok(confined)
}

/// Resolves the writable paths now, so that they mean the same later, whatever commands put in their place.
fn resolved(mut confined: Confined) -> Confined {
    let home = std::env::home_dir();
    let Ok(directory) = Config::working_directory() else { return confined };
    for rule in confined.rules.iter_mut().filter(|rule| rule.access == Access::Write) {
        rule.place = rule.place.clone().resolved(&directory, home.as_deref());
    }
    confined
}

/// Parses a pattern. A server rejects an invalid pattern at its start, not with its first command.
fn pattern(text: &str) -> Result<Pattern, String> {
    let pattern = Pattern::new(text);
    pattern.check().map_err(|reason| format!("`{text}` is no pattern: {reason}"))?;
    Ok(pattern)
}

/// The words for a whole network.
const NETWORKS: [&str; 3] = ["off", "loopback", "on"];

fn network(text: &str) -> Result<Network, String> {
    match text {
        "off" => Ok(Network::Off),
        "loopback" => Ok(Network::Loopback),
        "on" => Ok(Network::On),
        "localhost" => Err("write `loopback` for servers that the command itself starts, or `localhost:PORT` for one outside of \
                            the sandbox"
            .to_owned()),
        text => {
            let names = text.split(',').map(str::trim).filter(|host| !host.is_empty());
            let listed: Vec<String> = names.map(str::to_owned).collect();
            let is_word = |host: &String| NETWORKS.contains(&host.as_str());
            if let Some(name) = listed.iter().find(|host| is_word(host)) {
                return Err(format!("`{name}` stands alone; give off, loopback or on, or a list of hosts"));
            }
            // A word that could be a misspelling of one of these is not taken for a host.
            if listed.iter().all(|host| !host.contains(['.', ':', '*'])) {
                return Err("give off, loopback, on, or hosts such as crates.io".to_owned());
            }
            hosts(listed)
        }
    }
}

fn hosts(hosts: Vec<String>) -> Result<Network, String> {
    check_hosts(&hosts).map_err(|error| error.to_string())?;
    Ok(Network::Hosts(hosts))
}

/// A policy in a file:
///
/// ```toml
/// base = "workspace-write"         # or read-only
/// network = ["crates.io"]          # or "off", "loopback", "on"
/// write = ["../cache"]
/// read = ["vendor"]
/// deny = ["~/.ssh", "**/.env"]
/// ```
fn from_file(path: &Path) -> Result<Policy> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the policy {}", path.display()))?;
    from_text(&text).with_context(|| format!("the policy {}", path.display()))
}

fn from_text(text: &str) -> Result<Policy> {
    const KEYS: [&str; 5] = ["base", "network", "write", "read", "deny"];
    let document: DocumentMut = text.parse()?;
    if let Some((key, _)) = document.iter().find(|(key, _)| !KEYS.contains(key)) {
        bail!("there is no key `{key}`; there are {}", KEYS.join(", "));
    }
    let base = match document.get("base").and_then(Item::as_str) {
        Some("read-only") => Base::ReadOnly,
        Some("workspace-write") => Base::WorkspaceWrite,
        None if !document.contains_key("base") => {
            bail!("the key `base` is missing; it says \"read-only\" or \"workspace-write\"")
        }
        _ => bail!("`base` must be \"read-only\" or \"workspace-write\""),
    };
    let mut confined = Confined::new(base);
    for (key, access) in [("write", Access::Write), ("read", Access::Read), ("deny", Access::Deny)] {
        for place in texts(&document, key)? {
            let place = pattern(&place).map_err(|why| anyhow!("`{key}`: {why}"))?;
            confined = confined.with(place, access);
        }
    }
    if let Some(item) = document.get("network") {
        confined.network = file_network(item).map_err(|why| anyhow!("`network`: {why}"))?;
    }
    Ok(Policy::Confined(confined))
}

/// The network of a policy file: a word, or a list of hosts.
fn file_network(item: &Item) -> Result<Network, String> {
    if let Some(name) = item.as_str() {
        return network(name);
    }
    let form =
        || "write \"off\", \"loopback\", \"on\", or a list of hosts such as [\"crates.io\"]".to_owned();
    let list = item.as_array().ok_or_else(form)?;
    let listed: Option<Vec<String>> = list.iter().map(|host| host.as_str().map(str::to_owned)).collect();
    let listed = listed.ok_or_else(form)?;
    if let Some(word) = listed.iter().find(|host| NETWORKS.contains(&host.as_str())) {
        return Err(format!("\"{word}\" is among the hosts; write `network = \"{word}\"` for that"));
    }
    if listed.is_empty() {
        return Err("it lists no host; write `network = \"off\"` for no network".to_owned());
    }
    hosts(listed)
}

fn texts(document: &DocumentMut, key: &str) -> Result<Vec<String>> {
    let Some(item) = document.get(key) else { return Ok(Vec::new()) };
    let list = item
        .as_array()
        .with_context(|| format!("`{key}` must be a list of strings, such as {key} = [\"vendor\"]"))?;
    let text = |value: &toml_edit::Value| {
        value.as_str().map(str::to_owned).with_context(|| format!("`{key}` must be a list of strings"))
    };
    list.iter().map(text).collect()
}

/// The directory, home and other facts about a command's environment that policies refer to.
pub(crate) fn surroundings(workspace: PathBuf, config: &Config) -> PolicyContext {
    let directory = |name: &str| config.variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let (kept, doors) = own_places(config);
    PolicyContext {
        workspace,
        temporary: directory("TMPDIR"),
        home: directory("HOME"),
        kept,
        doors,
        ..PolicyContext::default()
    }
}

/// The state directory, which no confined command may change, and the part of it that none may see. Absolute paths.
pub(crate) fn own_places(config: &Config) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let state = config.state_directory.as_deref().and_then(|state| std::path::absolute(state).ok());
    let doors = state.as_deref().map(doors);
    (state.into_iter().collect(), doors.into_iter().collect())
}

/// The part of a state directory that confined commands do not see.
fn doors(state: &Path) -> PathBuf {
    state.join(windlass_server::shim::DOORS)
}

/// The plan for a command that runs in this directory.
pub(crate) fn plan(
    words: &SandboxWords,
    directory: &Path,
    config: &Config,
    engine: &Engine,
) -> Result<Option<Arc<Plan>>> {
    let surroundings = surroundings(directory.to_owned(), config);
    Ok(engine.confine(&policy(words)?, &surroundings)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(sandbox: &str) -> SandboxWords {
        SandboxWords { sandbox: Some(sandbox.to_owned()), ..SandboxWords::default() }
    }

    #[test]
    fn words_are_added_to_a_named_policy() {
        let words = SandboxWords {
            writable: vec!["../cache".into()],
            deny_read: vec!["~/.ssh".into()],
            network: Some("crates.io, *.npmjs.org:443".into()),
            ..words("workspace-write")
        };
        let expected = Confined::new(Base::WorkspaceWrite)
            .with(Pattern::new("../cache"), Access::Write)
            .with(Pattern::new("~/.ssh"), Access::Deny)
            .with_network(Network::Hosts(vec!["crates.io".into(), "*.npmjs.org:443".into()]));
        assert_eq!(policy(&words).unwrap(), Policy::Confined(expected));
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        let check = |words: &SandboxWords, expected: &str| {
            let error = policy(words).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check(&words("workspace"), "there is no policy `workspace`; did you mean `workspace-write`?");
        check(&words("worskpace-write"), "did you mean `workspace-write`?");
        check(&words("readonly"), "did you mean `read-only`?");
        check(&words("none"), "did you mean `full-access`?");
        check(&words("strict"), "there is no policy `strict`; there are");
        check(
            &SandboxWords { network: Some("none".into()), ..words("read-only") },
            "--network none: give off",
        );
        for host in ["https://crates.io", "crates.io:99999", "1.2.3", "a b.c"] {
            let expected = format!("--network {host}: `{host}` cannot be listed: ");
            check(&SandboxWords { network: Some(host.into()), ..words("read-only") }, &expected);
        }
        check(
            &SandboxWords { writable: vec!["x".into()], ..words("full-access") },
            "--writable does not go with",
        );
    }

    #[test]
    fn a_file_says_the_same_as_words() {
        let text = "base = \"read-only\"\nnetwork = \"loopback\"\nwrite = [\"out\"]\ndeny = [\"**/.env\"]\n";
        let expected = Confined::new(Base::ReadOnly)
            .with(Pattern::new("out"), Access::Write)
            .with(Pattern::new("**/.env"), Access::Deny)
            .with_network(Network::Loopback);
        assert_eq!(from_text(text).unwrap(), Policy::Confined(expected));
        for (text, expected) in [
            ("base = \"read\"", "`base` must be"),
            ("network = \"off\"", "the key `base` is missing"),
            ("base = \"read-only\"\nnetwork = [\"off\"]", "`network = \"off\"`"),
            ("base = \"read-only\"\nnetwork = []", "lists no host"),
            ("base = \"read-only\"\nnetwork = \"of\"", "`network`: give off, loopback, on"),
            ("base = \"read-only\"\nnetwork = true", "`network`: write \"off\""),
            ("base = \"read-only\"\nnetwork = [\"http://x.y\"]", "`network`: `http://x.y` cannot be listed"),
            ("base = \"read-only\"\ndeny = [\"a{b\"]", "`deny`: `a{b` is no pattern"),
            ("base = \"read-only\"\nwirte = []", "there is no key `wirte`"),
            ("base = \"read-only\"\nwrite = \"x\"", "`write` must be a list"),
        ] {
            let error = from_text(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
