//! What is to be reached and how, as plain data: the configuration of one server, with every value already looked up.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::secret::Secret;

/// One server that people configured.
#[derive(Clone, Debug)]
pub struct ServerSpec {
    /// Its name; the middle of its tools' names.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
    /// Whether it is used at all.
    pub enabled: bool,
    /// Whether nothing should be done without it.
    pub required: bool,
    /// How long it may take until its tools are known.
    pub startup_timeout: Duration,
    /// How long one call may take, not counting the time in which a person is asked.
    pub tool_timeout: Duration,
    /// Which of its tools are offered.
    pub tools: ToolFilter,
    /// Whether its tools may be called at the same time. For the caller to heed; calls are sent as they come.
    pub parallel: bool,
}

impl ServerSpec {
    /// How long a server may take to start where nothing else is said.
    pub const STARTUP_TIMEOUT: Duration = Duration::from_secs(30);
    /// How long a call may take where nothing else is said.
    pub const TOOL_TIMEOUT: Duration = Duration::from_secs(300);

    /// A server that is used and could be done without, with the usual times and all of its tools.
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

/// How a server is reached.
#[derive(Clone, Debug)]
pub enum Transport {
    /// A program that is started and spoken to through its standard input and output.
    Stdio {
        /// The program.
        command: OsString,
        /// Its arguments.
        args: Vec<OsString>,
        /// Variables it is given.
        env: BTreeMap<String, OsString>,
        /// Names of variables that it gets from our own environment, beside the harmless ones that every server gets.
        env_vars: Vec<String>,
        /// Where it runs, seen from the workspace.
        cwd: Option<PathBuf>,
    },
    /// An address on the web that speaks streamable HTTP.
    Http {
        /// The address.
        url: String,
        /// What is shown to be let in.
        bearer: Option<Bearer>,
        /// More headers of every request.
        headers: Vec<(String, Secret)>,
    },
}

/// What is shown to a server on the web to be let in.
#[derive(Clone, Debug)]
pub struct Bearer {
    /// The variable it came from, for messages.
    pub variable: String,
    /// The token.
    pub token: Secret,
}

/// Which tools of a server are offered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolFilter {
    /// These alone, if there is a list.
    pub enabled: Option<Vec<String>>,
    /// Never these.
    pub disabled: Vec<String>,
}

impl ToolFilter {
    /// Whether the tool of this name, as the server calls it, is offered.
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
