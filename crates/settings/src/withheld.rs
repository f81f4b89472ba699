//! What must never reach a command's environment: the variables that hold the agent's own keys, whatever they are called,
//! and what looks like a secret. Only names and patterns; whoever starts commands acts on them.

use std::collections::BTreeSet;

use crate::settings::{McpTransport, Settings};

/// Names that look like secrets. `*` stands for anything; case does not matter.
const LOOKS_SECRET: [&str; 6] =
    ["*KEY*", "*SECRET*", "*TOKEN*", "*PASSWORD*", "*PASSPHRASE*", "*CREDENTIAL*"];

/// Names and patterns of variables that commands do not get. `ignore_default_excludes` lets through what only looks like a
/// secret, but never the variables that the settings name as such.
pub fn withheld(settings: &Settings) -> Vec<String> {
    let mut names = own_secrets(settings);
    if !settings.environment.ignore_default_excludes {
        names.extend(LOOKS_SECRET.map(str::to_owned));
    }
    names.extend(settings.environment.exclude.iter().cloned());
    names.into_iter().collect()
}

/// The variables that the settings themselves name as holding secrets.
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
