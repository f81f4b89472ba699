//! From the parameters of a request to a running session: its directory, its environment, and the error if it did not
//! start.

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
    /// The files and network that it may access.
    pub(super) permissions: Permissions,
}

/// The input and output of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connected {
    /// Output only: stdin is at its end.
    Output,
    /// Output and a pipe for input.
    Both,
    /// A terminal of this size.
    Terminal(Size),
}

impl Connected {
    /// A terminal of this size, or else pipes.
    pub(super) fn new(terminal: Option<Size>, reads: bool) -> Self {
        match terminal {
            Some(size) => Self::Terminal(size),
            None if reads => Self::Both,
            None => Self::Output,
        }
    }

    /// Whether the client can write to it.
    pub(super) fn reads(self) -> bool {
        self != Self::Output
    }
}

/// The timeout of a command that names none.
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// Variables that no command gets, not even on request: they hold credentials of the client's own accounts.
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
    /// The remarks of its sandbox's plan.
    pub(super) notes: Vec<String>,
}

/// Starts a command. Errors are worded as in the dialect.
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
        // The client has the terminal, and answers the queries of its programs.
        Connected::Terminal(size) => Io::Terminal(Terminal { size, queries: Queries::PassedOn }),
    };
    // Its lifetime is a call, because the connection holds the session and ends it.
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

/// Resolves the directory that a client named.
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

/// The size, if both of its numbers are positive.
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
