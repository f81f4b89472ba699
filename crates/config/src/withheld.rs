//! The variables that must never reach a command's environment: those that hold the agent's own keys, and those that
//! the settings exclude. The code that starts commands recognises variables that only look like secrets, because it
//! also sees their values.

use std::collections::BTreeSet;

use crate::settings::{McpTransport, Settings};

/// Names and patterns of the withheld variables. `*` matches anything; case is ignored. No setting passes the agent's
/// own keys on, not even `ignore_default_excludes`.
pub fn withheld(settings: &Settings) -> Vec<String> {
    let mut names = own_secrets(settings);
    names.extend(settings.environment.exclude.iter().cloned());
    names.into_iter().collect()
}

/// The variables that the settings themselves declare to hold secrets.
fn own_secrets(settings: &Settings) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for provider in settings.providers.values() {
        names.extend(provider.env_key.clone());
        names.extend(provider.env_http_headers.values().cloned());
    }
    for server in settings.mcp_servers.values() {
        if let McpTransport::Http { bearer_token_env_var, env_http_headers, .. } = &server.transport {
            names.extend(bearer_token_env_var.clone());
            names.extend(env_http_headers.values().cloned());
        }
    }
    names.retain(|name| !name.is_empty());
    names
}
