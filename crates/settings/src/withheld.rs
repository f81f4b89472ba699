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

/// Which of these variables commands do not get, `include_only` counted in. A name that is not listed here may be passed on.
pub fn withheld_among<'n>(settings: &Settings, names: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let withheld = withheld(settings);
    let only = &settings.environment.include_only;
    let fits_any = |patterns: &[String], name: &str| patterns.iter().any(|pattern| fits(pattern, name));
    let kept_back = |name: &&str| fits_any(&withheld, name) || (!only.is_empty() && !fits_any(only, name));
    names.into_iter().filter(kept_back).map(str::to_owned).collect()
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

/// Whether a whole name fits a pattern, without regard to case.
fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_ascii_uppercase(), name.to_ascii_uppercase());
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_whole_names() {
        for (pattern, name, expected) in [
            ("*KEY*", "my_key", true),
            ("AWS_*", "AWS_ID", true),
            ("AWS_*", "MY_AWS_ID", false),
            ("PATH", "PATHS", false),
            ("A*B*C", "AxBxC", true),
            ("AB*BA", "ABA", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
