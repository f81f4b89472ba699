//! The errors of calls, in words that a model or a person can act on.

use std::time::Duration;

use crate::state::ServerState;

/// Why a call has no outcome. A tool that reports a failure has an outcome and is not such an error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// No tool of that name is offered.
    #[error("there is no tool `{name}`; {}", listing(.known))]
    NoSuchTool {
        /// The name that was asked for.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// No server of that name is configured and in use.
    #[error("there is no MCP server `{name}`; {}", listing(.known))]
    NoSuchServer {
        /// The name that was asked for.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// The server could not be started or reached.
    #[error("the MCP server `{server}` is not available: {reason}")]
    Unavailable {
        /// The server.
        server: String,
        /// The reason.
        reason: String,
    },
    /// The server or the connection ended before the answer. It is unknown whether the call was carried out.
    #[error("the MCP server `{server}` ended before it answered: {reason}")]
    Ended {
        /// The server.
        server: String,
        /// How it ended.
        reason: String,
    },
    /// The server did not answer in time, and the request was cancelled.
    #[error("the MCP server `{server}` did not answer {what} within {} seconds", .after.as_secs_f64())]
    TimedOut {
        /// The server.
        server: String,
        /// The request, in words.
        what: String,
        /// The limit that it exceeded.
        after: Duration,
    },
    /// The server answered with an error.
    #[error("the MCP server `{server}` refused {what}: {message} (code {code})")]
    Refused {
        /// The server.
        server: String,
        /// The request, in words.
        what: String,
        /// The error's code.
        code: i64,
        /// The error's message.
        message: String,
    },
    /// The server's answer violates the protocol.
    #[error("the MCP server `{server}` gave an answer to {what} that makes no sense: {problem}")]
    Senseless {
        /// The server.
        server: String,
        /// The request, in words.
        what: String,
        /// The violation.
        problem: String,
    },
    /// All servers have been ended.
    #[error("the MCP server `{server}` was ended because this program is ending")]
    ShutDown {
        /// The server.
        server: String,
    },
}

/// Required servers are down.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .failed.iter().map(|(name, reason)| format!("the required MCP server `{name}` is not available: {reason}")).collect::<Vec<_>>().join("\n"))]
pub struct RequiredError {
    /// Each with the reason.
    pub failed: Vec<(String, String)>,
}

impl RequiredError {
    /// Fails if a required server among these is down.
    pub fn check(states: &[ServerState]) -> Result<(), Self> {
        use crate::state::Standing;
        let failed = states.iter().filter(|state| state.required).filter_map(|state| match &state.standing {
            Standing::Down { reason } => Some((state.name.clone(), reason.clone())),
            Standing::Off | Standing::Starting | Standing::Up(_) => None,
        });
        let failed: Vec<_> = failed.collect();
        if failed.is_empty() { Ok(()) } else { Err(Self { failed }) }
    }
}

/// The most names that a message lists.
const SHOWN: usize = 50;

fn listing(known: &[String]) -> String {
    let shown = known[..known.len().min(SHOWN)].join(", ");
    match known.len() {
        0 => "there are none".to_owned(),
        count if count > SHOWN => format!("there are: {shown} and {} more", count - SHOWN),
        _ => format!("there are: {shown}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(count: usize, expected: &str) {
        let known: Vec<String> = (0..count).map(|number| format!("t{number}")).collect();
        assert!(listing(&known).ends_with(expected), "{}", listing(&known));
    }

    #[test]
    fn what_there_is_is_named_within_bounds() {
        check(0, "there are none");
        check(2, "there are: t0, t1");
        check(53, "t48, t49 and 3 more");
    }
}
