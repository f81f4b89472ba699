//! How replies are adapted to certain clients, so that a model behind them sees the text that was written for it.
//!
//! A result has text for models and structure for programs. Some clients show their model the structure alone, or both:
//! then a model pays for escaped JSON, or for the same output twice, and may miss the text altogether. Those clients
//! get the text alone. The server recognises them by the names that they declare; all other clients get what the
//! protocol prescribes.

use std::time::Duration;

use rmcp::service::{RequestContext, RoleServer};
use windlass_tools::Call;

/// The form of replies to one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReplyStyle {
    /// Results carry their structure, and tools its schema.
    pub(super) structure: bool,
    /// The longest duration of a call about whose progress the client is informed.
    pub(super) patience: Duration,
}

/// Clients whose models see the structure instead of the text, or both.
const TEXT_ONLY: [&str; 2] = ["codex-mcp-client", "qwen-cli-mcp-client"];
/// Codex gives a call up after five minutes in spite of progress notifications; the reply must be there before.
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
