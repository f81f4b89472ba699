//! The configuration of a server as plain data: the transport, limits and tools, with every variable already looked up.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::secret::Secret;

/// A configured server.
#[derive(Clone, Debug)]
pub struct ServerSpec {
    /// Its name, which is the middle of its tools' full names.
    pub name: String,
    /// Its transport.
    pub transport: Transport,
    /// Whether it is enabled.
    pub enabled: bool,
    /// Whether its absence is an error.
    pub required: bool,
    /// How long it may take until its tools are known.
    pub startup_timeout: Duration,
    /// How long a call may take, not counting the time in which the user is asked.
    pub tool_timeout: Duration,
    /// The tools that are offered.
    pub tools: ToolFilter,
    /// Whether its tools may be called in parallel. The caller must observe it; this crate sends calls as they come.
    pub parallel: bool,
}

impl ServerSpec {
    /// The default of `startup_timeout`.
    pub const STARTUP_TIMEOUT: Duration = Duration::from_secs(30);
    /// The default of `tool_timeout`.
    pub const TOOL_TIMEOUT: Duration = Duration::from_secs(300);

    /// An enabled, optional server with the default timeouts and all of its tools.
    pub fn new(name: impl Into<String>, transport: Transport) -> Self {
        Self {
            name: name.into(),
            transport,
            enabled: true,
            required: false,
            startup_timeout: Self::STARTUP_TIMEOUT,
            tool_timeout: Self::TOOL_TIMEOUT,
            tools: ToolFilter::default(),
            parallel: false,
        }
    }
}

/// The transport of a server.
#[derive(Clone, Debug)]
pub enum Transport {
    /// A program that is started and reached through its standard input and output.
    Stdio {
        /// The program.
        command: OsString,
        /// Its arguments.
        args: Vec<OsString>,
        /// Variables that are set for it.
        env: BTreeMap<String, OsString>,
        /// Names of variables that it gets from our own environment, in addition to the harmless ones that every server
        /// gets.
        env_vars: Vec<String>,
        /// Its directory, relative to the workspace.
        cwd: Option<PathBuf>,
    },
    /// A URL that is reached by streamable HTTP.
    Http {
        /// The URL.
        url: String,
        /// The token that authorises us.
        bearer: Option<Bearer>,
        /// Further headers of every request.
        headers: Vec<(String, Secret)>,
    },
}

/// A bearer token for a server that is reached over HTTP.
#[derive(Clone, Debug)]
pub struct Bearer {
    /// The variable that it came from, for messages.
    pub variable: String,
    /// The token.
    pub token: Secret,
}

/// The choice of a server's tools that are offered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolFilter {
    /// If present: only these.
    pub enabled: Option<Vec<String>>,
    /// Never these.
    pub disabled: Vec<String>,
}

impl ToolFilter {
    /// Whether the tool is offered. `tool` is its name at the server.
    pub fn admits(&self, tool: &str) -> bool {
        let listed = self.enabled.as_ref().is_none_or(|names| names.iter().any(|name| name == tool));
        listed && !self.disabled.iter().any(|name| name == tool)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(enabled: Option<&[&str]>, disabled: &[&str], tool: &str, expected: bool) {
        let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let filter = ToolFilter { enabled: enabled.map(owned), disabled: owned(disabled) };
        assert_eq!(filter.admits(tool), expected, "{filter:?} {tool}");
    }

    #[test]
    fn a_tool_is_offered_if_it_is_listed_and_not_disabled() {
        check(None, &[], "a", true);
        check(None, &["a"], "a", false);
        check(None, &["b"], "a", true);
        check(Some(&["a"]), &[], "a", true);
        check(Some(&["a"]), &[], "b", false);
        check(Some(&["a"]), &["a"], "a", false);
        check(Some(&[]), &[], "a", false);
    }

    #[test]
    fn what_is_shown_to_be_let_in_is_not_shown_to_others() {
        let bearer = Some(Bearer { variable: "TOKEN".into(), token: Secret::new("hush") });
        let headers = vec![("X-Key".to_owned(), Secret::new("hush"))];
        let spec =
            ServerSpec::new("web", Transport::Http { url: "https://example.test".into(), bearer, headers });
        let shown = format!("{spec:?}");
        assert!(shown.contains("TOKEN") && !shown.contains("hush"), "{shown}");
    }
}
