//! Decides whether a request is sent directly or through the proxy that the environment names. Addresses on this
//! machine, and those that NO_PROXY lists, are always reached directly.

mod no_proxy;

use anyhow::{Context, Result};
use windlass_llm::Proxy;

use self::no_proxy::{Exceptions, Host};
use crate::config::Config;

/// The proxy variables of the environment.
#[derive(Clone, Debug, Default)]
pub(super) struct Proxies {
    encrypted: Option<String>,
    plain: Option<String>,
    direct: Exceptions,
}

impl Proxies {
    pub(super) fn of(config: &Config) -> Self {
        let first =
            |names: &[&str]| names.iter().find_map(|name| Some(config.variable(name)?.to_str()?.to_owned()));
        Self {
            encrypted: first(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]),
            // Only the lower-case name is read: a CGI program gets HTTP_PROXY from a header of the request.
            plain: first(&["http_proxy", "ALL_PROXY", "all_proxy"]),
            direct: Exceptions::parse(&first(&["NO_PROXY", "no_proxy"]).unwrap_or_default()),
        }
    }

    /// The proxy for requests to an address. Messages refer to the setting by `name`.
    pub(super) fn to(&self, name: &str, url: &str) -> Result<Option<Proxy>> {
        let host = Host::of(url);
        if host.is_this_machine() || self.direct.list(&host) {
            return Ok(None);
        }
        let address = if url.starts_with("https:") { &self.encrypted } else { &self.plain };
        address.as_deref().map(|address| parse(name, address)).transpose()
    }
}

/// Parses the address of a proxy.
pub(super) fn parse(name: &str, address: &str) -> Result<Proxy> {
    Proxy::parse(address).with_context(|| format!("the proxy for {name} cannot be used"))
}

#[cfg(test)]
mod tests {
    use windlass_llm::{NameLookup, ProxyKind};

    use super::*;

    #[test]
    fn the_way_follows_the_address() {
        let proxies = Proxies {
            encrypted: Some("http://secure:1".into()),
            plain: Some("plain:2".into()),
            direct: Exceptions::parse("example.com,.inner,10.0.0.0/8"),
        };
        for (url, expected) in [
            ("https://api.example.org/v1", Some("secure")),
            ("http://api.example.org/v1", Some("plain")),
            ("https://API.Example.com/v1", None),
            ("https://example.com:8443/", None),
            ("https://notexample.com/", Some("secure")),
            ("http://a.inner/", None),
            ("http://10.1.2.3:8080/v1", None),
            ("http://11.1.2.3:8080/v1", Some("plain")),
            ("http://127.0.0.2:1/", None),
            ("http://localhost:1/", None),
        ] {
            let found = proxies.to("it", url).unwrap().map(|proxy| proxy.host);
            assert_eq!(found.as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn a_proxy_for_everything_may_speak_socks() {
        let all = Some("socks5h://me:pass@proxy".to_owned());
        let proxies = Proxies { encrypted: all.clone(), plain: all, direct: Exceptions::default() };
        for url in ["https://api.example.org/v1", "http://api.example.org/v1"] {
            let proxy = proxies.to("it", url).unwrap().unwrap();
            assert_eq!(proxy.kind, ProxyKind::Socks5(NameLookup::AtTheProxy));
            assert_eq!((proxy.host.as_str(), proxy.port), ("proxy", 1080));
        }
    }
}
