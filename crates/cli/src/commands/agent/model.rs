//! From settings to a model that can be asked.

use anyhow::{Context, Result, anyhow};
use windlass_model::{Client, InstructionsRole, Key, Provider, Proxy, WireKind};
use windlass_settings::{InstructionsRole as RoleSetting, Provider as Setting, Settings, WireApi};

use crate::config::Config;

/// The model's name, and whom to ask.
pub(super) fn client(settings: &Settings, config: &Config) -> Result<(String, Client)> {
    let model = settings.model.clone().ok_or_else(|| {
        anyhow!("no model is chosen: give one with -m MODEL, or set `model` in the configuration")
    })?;
    let setting = settings
        .provider()
        .ok_or_else(|| anyhow!("there is no provider `{}` in model_providers", settings.model_provider))?;
    let client = Client::new(provider(setting, config)?);
    Ok((model, client.with_context(|| format!("provider {} cannot be used", setting.name))?))
}

/// A provider as it is configured, with its key.
pub(super) fn provider(setting: &Setting, config: &Config) -> Result<Provider> {
    let wire = match setting.wire_api {
        WireApi::Responses => WireKind::Responses,
        WireApi::Chat => WireKind::Chat,
    };
    let mut provider = Provider::at(&setting.name, &setting.base_url, wire);
    provider.key = key(setting, config)?;
    provider.key_source.clone_from(&setting.env_key);
    provider.headers = headers(setting, config);
    provider.query = setting.query_params.clone().into_iter().collect();
    provider.idle_timeout = std::time::Duration::from_millis(setting.stream_idle_timeout_ms);
    if wire == WireKind::Chat {
        provider.instructions_role = match setting.instructions_role {
            RoleSetting::Developer => InstructionsRole::Developer,
            RoleSetting::System => InstructionsRole::System,
        };
    }
    provider.has_web_search = wire == WireKind::Responses;
    provider.proxy = proxy(setting, config)?;
    Ok(provider)
}

fn key(setting: &Setting, config: &Config) -> Result<Option<Key>> {
    let Some(name) = &setting.env_key else { return Ok(None) };
    let found = config.variable(name).and_then(|value| value.to_str());
    match found {
        Some(key) => Ok(Some(Key::new(key))),
        None => {
            let more = setting.env_key_instructions.as_deref().unwrap_or("set it to your API key");
            Err(anyhow!("the key of {} is missing: the variable {name} is not set; {more}", setting.name))
        }
    }
}

fn headers(setting: &Setting, config: &Config) -> Vec<(String, String)> {
    let fixed = setting.http_headers.clone().into_iter();
    let from_environment = setting.env_http_headers.iter().filter_map(|(header, variable)| {
        Some((header.clone(), config.variable(variable)?.to_str()?.to_owned()))
    });
    fixed.chain(from_environment).collect()
}

/// The provider's own proxy, or the environment's; loopback is never sent through one.
fn proxy(setting: &Setting, config: &Config) -> Result<Option<Proxy>> {
    let address = match &setting.proxy {
        Some(address) => Some(address.clone()),
        None if is_direct(&setting.base_url, config) => None,
        None => {
            let names: &[&str] = if setting.base_url.starts_with("https:") {
                &["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
            } else {
                &["http_proxy", "ALL_PROXY", "all_proxy"]
            };
            names.iter().find_map(|name| Some(config.variable(name)?.to_str()?.to_owned()))
        }
    };
    let parse = |address: String| {
        Proxy::parse(&address).with_context(|| format!("the proxy for {} cannot be used", setting.name))
    };
    address.filter(|address| !address.is_empty()).map(parse).transpose()
}

/// Whether an address is this machine, or stands in NO_PROXY.
fn is_direct(url: &str, config: &Config) -> bool {
    let host = host_of(url);
    let loopback = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
    let list = ["NO_PROXY", "no_proxy"].iter().find_map(|name| config.variable(name)?.to_str());
    let named = |entry: &str| {
        let entry = entry.trim().trim_start_matches('.');
        !entry.is_empty() && (entry == "*" || host == entry || host.ends_with(&format!(".{entry}")))
    };
    loopback || list.is_some_and(|list| list.split(',').any(named))
}

fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    match host.strip_prefix('[') {
        Some(_) => host.split_inclusive(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_in_addresses() {
        for (url, host) in [
            ("https://api.example.com/v1", "api.example.com"),
            ("http://127.0.0.1:8080/v1", "127.0.0.1"),
            ("http://[::1]:8080", "[::1]"),
            ("http://user:pass@host:1/x?y", "host"),
        ] {
            assert_eq!(host_of(url), host);
        }
    }
}
