//! What certain clients make of an answer, so that a model behind them sees what was written for it.
//!
//! A result comes as text for models and as structure for programs. Some clients show their model the structure alone, or
//! both: then a model pays for escaped JSON, or for the same output twice, and may miss the text altogether. Those get
//! the text alone. Known by the names they give themselves; everybody else gets what the protocol says.

use std::time::Duration;

use rmcp::service::{RequestContext, RoleServer};
use windlass_tools::Call;

/// How one client is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReplyStyle {
    /// Results carry their structure, and tools its schema.
    pub(super) structure: bool,
    /// The longest a call may take while the client is told of progress.
    pub(super) patience: Duration,
}

/// Clients whose models see the structure instead of the text, or both.
const TEXT_ONLY: [&str; 2] = ["codex-mcp-client", "qwen-cli-mcp-client"];
/// Codex gives a call up after five minutes, whatever it is told meanwhile; the answer must be there before.
const BEFORE_FIVE_MINUTES: Duration = Duration::from_secs(280);

impl ReplyStyle {
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        Self::of_client(context.client_info().as_ref().map(|client| client.name.as_str()).unwrap_or_default())
    }

    fn of_client(name: &str) -> Self {
        let known = TEXT_ONLY.iter().any(|client| name.starts_with(client));
        let patience = if known { BEFORE_FIVE_MINUTES } else { Call::PATIENT_CEILING };
        Self { structure: !known, patience }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_that_hide_the_text_behind_the_structure_get_the_text_alone() {
        for (name, structure) in [
            ("codex-mcp-client", false),
            ("qwen-cli-mcp-client-windlass", false),
            ("claude-code", true),
            ("", true),
        ] {
            assert_eq!(ReplyStyle::of_client(name).structure, structure, "{name}");
        }
    }
}
