//! Which way out a request takes: directly, or through the proxy that the environment names. What is on this machine, and
//! what NO_PROXY lists, is always reached directly.

use anyhow::{Context, Result};
use windlass_model::Proxy;

use crate::config::Config;

/// What the environment says about proxies.
#[derive(Clone, Debug, Default)]
pub(super) struct Proxies {
    encrypted: Option<String>,
    plain: Option<String>,
    direct: Vec<String>,
}

impl Proxies {
    pub(super) fn of(config: &Config) -> Self {
        let first =
            |names: &[&str]| names.iter().find_map(|name| Some(config.variable(name)?.to_str()?.to_owned()));
        let list = first(&["NO_PROXY", "no_proxy"]).unwrap_or_default();
        Self {
            encrypted: first(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]),
            // Only in small letters: a web server hands its programs HTTP_PROXY from a visitor's header.
            plain: first(&["http_proxy", "ALL_PROXY", "all_proxy"]),
            direct: list.split(',').map(|entry| entry.trim().to_ascii_lowercase()).collect(),
        }
    }

    /// The proxy on the way to an address, which messages call by this name.
    pub(super) fn to(&self, name: &str, url: &str) -> Result<Option<Proxy>> {
        if self.is_direct(host_of(url)) {
            return Ok(None);
        }
        let address = if url.starts_with("https:") { &self.encrypted } else { &self.plain };
        address.as_deref().map(|address| parse(name, address)).transpose()
    }

    fn is_direct(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let loopback = matches!(host.as_str(), "localhost" | "[::1]") || host.starts_with("127.");
        let named = |entry: &String| {
            let entry = entry.trim_start_matches('.');
            !entry.is_empty() && (entry == "*" || host == entry || host.ends_with(&format!(".{entry}")))
        };
        loopback || self.direct.iter().any(named)
    }
}

/// A proxy by its address.
pub(super) fn parse(name: &str, address: &str) -> Result<Proxy> {
    Proxy::parse(address).with_context(|| format!("the proxy for {name} cannot be used"))
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

    #[test]
    fn the_way_follows_the_address() {
        let proxies = Proxies {
            encrypted: Some("http://secure:1".into()),
            plain: Some("plain:2".into()),
            direct: vec!["example.com".into(), ".inner".into()],
        };
        for (url, expected) in [
            ("https://api.example.org/v1", Some("secure")),
            ("http://api.example.org/v1", Some("plain")),
            ("https://API.Example.com/v1", None),
            ("https://example.com:8443/", None),
            ("https://notexample.com/", Some("secure")),
            ("http://a.inner/", None),
            ("http://127.0.0.2:1/", None),
            ("http://localhost:1/", None),
        ] {
            let found = proxies.to("it", url).unwrap().map(|proxy| proxy.host);
            assert_eq!(found.as_deref(), expected, "{url}");
        }
    }
}
