//! From what a client asks for to a running session: where it runs, what it inherits, and why it did not start.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_engine::{CommandSpec, Io, Lifetime, Pace, Queries, Session, Size, Stdin, Terminal};
use windlass_protocol::app::TerminalSize;

use super::follow::WINDOW;
use super::permissions::Permissions;
use super::{AppOptions, AppServer};
use crate::failure;

/// A command to start.
pub(super) struct AppStartRequest {
    pub(super) command: Vec<String>,
    pub(super) directory: PathBuf,
    pub(super) environment: Option<HashMap<String, Option<String>>>,
    pub(super) connection: Connected,
    pub(super) timeout: Option<Duration>,
    /// Whether its output is followed to the end.
    pub(super) followed: bool,
    /// What it may touch.
    pub(super) permissions: Permissions,
}

/// What a command reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connected {
    /// Nothing to read.
    Output,
    /// A pipe to read from.
    Both,
    /// A terminal of this size.
    Terminal(Size),
}

impl Connected {
    /// On a terminal of this size, if there is one.
    pub(super) fn new(terminal: Option<Size>, reads: bool) -> Self {
        match terminal {
            Some(size) => Self::Terminal(size),
            None if reads => Self::Both,
            None => Self::Output,
        }
    }

    /// Whether it can be written to.
    pub(super) fn reads(self) -> bool {
        self != Self::Output
    }
}

/// How long a command may take that says nothing else.
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// Variables that no command gets, not even if it is asked for: they open doors to the client's own accounts.
const NEVER_PASSED_ON: [&str; 5] = [
    "CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN",
    "NODE_REPL_AUTH_TOKEN",
    "OPENAI_FEDERATION_RULE_ID",
    "OPENAI_IDENTITY_TOKEN_FILE",
    "OPENAI_WORKLOAD_IDENTITY_CONTEXT",
];

/// A command that was started.
pub(super) struct Begun {
    pub(super) session: Session,
    /// Remarks of its sandbox's plan.
    pub(super) notes: Vec<String>,
}

/// Starts it. What went wrong is said in the dialect's words.
pub(super) fn start(server: &AppServer, order: AppStartRequest) -> Result<Begun, String> {
    let sandbox = order.permissions.plan(server.engine(), server.options())?;
    let notes = sandbox.iter().flat_map(|plan| plan.remarks.iter().cloned()).collect();
    let spec = CommandSpec { sandbox, ..spec(server.options(), order) };
    let session = failure::start(server.engine(), spec)?;
    Ok(Begun { session, notes })
}

fn spec(options: &AppOptions, order: AppStartRequest) -> CommandSpec {
    let mut spec = CommandSpec::new(order.command, order.directory);
    spec.environment = environment(options, order.environment);
    spec.io = match order.connection {
        Connected::Output => Io::Pipes(Stdin::Closed),
        Connected::Both => Io::Pipes(Stdin::Open),
        // The client has the terminal, and answers what programs ask it.
        Connected::Terminal(size) => Io::Terminal(Terminal { size, queries: Queries::PassedOn }),
    };
    // It ends with the connection, which is what holds it.
    spec.lifetime = Lifetime::Call;
    spec.timeout = order.timeout;
    spec.pace = if order.followed { Pace::Reader { window: WINDOW } } else { Pace::Free };
    spec
}

fn environment(
    options: &AppOptions,
    changes: Option<HashMap<String, Option<String>>>,
) -> Vec<(OsString, OsString)> {
    let changes = changes.unwrap_or_default();
    let is_changed = |name: &OsStr| name.to_str().is_some_and(|name| changes.contains_key(name));
    let inherited = options.environment.iter().filter(|(name, _)| !is_changed(name)).cloned();
    let mut environment: Vec<(OsString, OsString)> = inherited.collect();
    environment.extend(changes.into_iter().filter_map(|(name, value)| Some((name.into(), value?.into()))));
    environment.retain(|(name, _)| !NEVER_PASSED_ON.iter().any(|never| name.eq_ignore_ascii_case(never)));
    environment
}

/// The directory that a client means.
pub(super) fn directory(options: &AppOptions, given: Option<&str>) -> PathBuf {
    let given = given.unwrap_or_default();
    let home = variable(options, "HOME");
    match (given.strip_prefix('~'), home) {
        (Some(""), Some(home)) => PathBuf::from(home),
        (Some(below), Some(home)) if below.starts_with('/') => {
            Path::new(home).join(below.trim_start_matches('/'))
        }
        _ if given.is_empty() => options.directory.clone(),
        _ => options.directory.join(given),
    }
}

pub(super) fn variable<'a>(options: &'a AppOptions, name: &str) -> Option<&'a OsStr> {
    let found = options.environment.iter().find(|(found, _)| found == name);
    found.map(|(_, value)| value.as_os_str())
}

/// The size that a client means, if both of its numbers are sizes.
pub(super) fn size_of(size: TerminalSize) -> Option<Size> {
    let TerminalSize { rows, cols } = size;
    (rows > 0 && cols > 0).then_some(Size { rows, cols })
}

#[cfg(test)]
mod tests {
    use windlass_engine::sandbox::Policy;

    use super::*;

    fn options() -> AppOptions {
        let variables = [("HOME", "/h/ada"), ("PATH", "/bin"), ("OPENAI_IDENTITY_TOKEN_FILE", "x")];
        AppOptions {
            directory: "/srv".into(),
            environment: variables.map(|(name, value)| (name.into(), value.into())).to_vec(),
            state_directory: "/state".into(),
            sandbox: Policy::FullAccess,
            process_sandbox: Policy::FullAccess,
        }
    }

    #[test]
    fn a_directory_is_seen_from_the_servers_own() {
        let table = [
            (None, "/srv"),
            (Some(""), "/srv"),
            (Some("/a/b"), "/a/b"),
            (Some("x/.."), "/srv/x/.."),
            (Some("~"), "/h/ada"),
            (Some("~/src"), "/h/ada/src"),
            (Some("~bob"), "/srv/~bob"),
        ];
        for (given, expected) in table {
            assert_eq!(directory(&options(), given), Path::new(expected), "{given:?}");
        }
    }

    #[test]
    fn changes_are_made_to_what_is_inherited_and_some_names_never_pass() {
        let changes = [("PATH", None), ("A", Some("1")), ("node_repl_auth_token", Some("t"))];
        let changes = changes.map(|(name, value)| (name.to_owned(), value.map(str::to_owned)));
        let changed = environment(&options(), Some(HashMap::from(changes)));
        let expected = [("HOME", "/h/ada"), ("A", "1")];
        assert_eq!(changed, expected.map(|(name, value)| (name.into(), value.into())));
    }
}
