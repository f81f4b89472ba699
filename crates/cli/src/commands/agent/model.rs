//! Creates a model client from settings.

use anyhow::{Context, Result, anyhow};
use windlass_config::{InstructionsRole as RoleSetting, Provider as Setting, Settings, WireApi};
use windlass_llm::{Client, InstructionsRole, Key, Provider, Proxy, WireKind};

use super::certificates;
use super::proxies::{self, Proxies};
use crate::config::Config;

/// The model's name, and a client for its provider.
pub(crate) fn client(settings: &Settings, config: &Config) -> Result<(String, Client)> {
    let model = settings.model.clone().ok_or_else(|| {
        anyhow!("no model is chosen: give one with -m MODEL, or set `model` in the configuration")
    })?;
    let setting = settings
        .provider()
        .ok_or_else(|| anyhow!("there is no provider `{}` in model_providers", settings.model_provider))?;
    let client = Client::new(provider(setting, config)?);
    Ok((model, client.with_context(|| format!("provider {} cannot be used", setting.name))?))
}

/// A configured provider, with its key.
fn provider(setting: &Setting, config: &Config) -> Result<Provider> {
    Ok(Provider { key: key(setting, config)?, ..without_key(setting, config)? })
}

/// A configured provider without its key, to check whether it can be reached at all.
pub(crate) fn without_key(setting: &Setting, config: &Config) -> Result<Provider> {
    let wire = match setting.wire_api {
        WireApi::Responses => WireKind::Responses,
        WireApi::Chat => WireKind::Chat,
    };
    let mut provider = Provider::at(&setting.name, &setting.base_url, wire);
    provider.key_source.clone_from(&setting.env_key);
    provider.headers = headers(setting, config);
    provider.query =
        setting.query_params.iter().map(|(name, value)| (name.clone(), Key::new(value))).collect();
    provider.idle_timeout = std::time::Duration::from_millis(setting.stream_idle_timeout_ms);
    if wire == WireKind::Chat {
        provider.instructions_role = match setting.instructions_role {
            RoleSetting::Developer => InstructionsRole::Developer,
            RoleSetting::System => InstructionsRole::System,
        };
    }
    provider.has_web_search = wire == WireKind::Responses;
    provider.proxy = proxy(setting, config)?;
    provider.certificates = certificates::named(config);
    Ok(provider)
}

/// The key; an error if the provider needs one and there is none.
pub(crate) fn key(setting: &Setting, config: &Config) -> Result<Option<Key>> {
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

fn headers(setting: &Setting, config: &Config) -> Vec<(String, Key)> {
    let fixed = setting.http_headers.iter().map(|(header, value)| (header.clone(), Key::new(value)));
    let from_environment = setting.env_http_headers.iter().filter_map(|(header, variable)| {
        Some((header.clone(), Key::new(config.variable(variable)?.to_str()?)))
    });
    fixed.chain(from_environment).collect()
}

/// The provider's own proxy, or the environment's.
fn proxy(setting: &Setting, config: &Config) -> Result<Option<Proxy>> {
    match setting.proxy.as_deref() {
        // An empty string means no proxy, whatever the environment says.
        Some("") => Ok(None),
        Some(address) => proxies::parse(&setting.name, address).map(Some),
        None => Proxies::of(config).to(&setting.name, &setting.base_url),
    }
}
