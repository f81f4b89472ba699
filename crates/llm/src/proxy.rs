//! The proxy on the way to a provider: its address, and its abilities.

use std::fmt;

use crate::provider::{Key, port_of};

/// A proxy on the way to a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxy {
    /// The protocol that it speaks.
    pub kind: ProxyKind,
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// `user:password`, if the proxy asks for them.
    pub credentials: Option<Key>,
}

/// The protocol of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyKind {
    /// HTTP: it connects (`CONNECT`) for encrypted addresses, and forwards requests to plain ones.
    Http,
    /// SOCKS 5 (RFC 1928): it connects for every address.
    Socks5(NameLookup),
}

/// Which side of a SOCKS proxy looks up the provider's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameLookup {
    /// This machine does (`socks5://`).
    Here,
    /// The proxy does (`socks5h://`).
    AtTheProxy,
}

/// An invalid proxy address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadProxy {
    /// The address cannot be parsed.
    #[error("the proxy's address is not one; it looks like http://host:port or socks5h://host:port")]
    Unreadable,
    /// The scheme is not supported.
    #[error("proxies of the kind {scheme}:// are not supported; it must be http://, socks5:// or socks5h://")]
    Unsupported {
        /// The scheme.
        scheme: String,
    },
}

impl ProxyKind {
    fn of(scheme: &str) -> Option<Self> {
        match scheme.to_ascii_lowercase().as_str() {
            "http" => Some(Self::Http),
            "socks5" => Some(Self::Socks5(NameLookup::Here)),
            "socks5h" => Some(Self::Socks5(NameLookup::AtTheProxy)),
            _ => None,
        }
    }

    /// The port where an address names none.
    fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Socks5(_) => 1080,
        }
    }
}

impl Proxy {
    /// The proxy at `scheme://[user:password@]host[:port]`; `http://` may be left out.
    pub fn parse(address: &str) -> Result<Self, BadProxy> {
        let (scheme, rest) = address.trim().split_once("://").unwrap_or(("http", address.trim()));
        let unsupported = || BadProxy::Unsupported { scheme: scheme.to_owned() };
        let kind = ProxyKind::of(scheme).ok_or_else(unsupported)?;
        let rest = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (credentials, place) = match rest.rsplit_once('@') {
            Some((credentials, place)) => (Some(Key::new(decoded(credentials))), place),
            None => (None, rest),
        };
        let authority: http::uri::Authority = place.parse().map_err(|_| BadProxy::Unreadable)?;
        let port = port_of(&authority, kind.default_port()).ok_or(BadProxy::Unreadable)?;
        Ok(Self { kind, host: authority.host().to_owned(), port, credentials })
    }

    /// Whether the proxy forwards requests to plain addresses. Only then are its credentials part of a request: in any
    /// other case the provider would see them.
    pub(crate) fn forwards_requests(&self) -> bool {
        self.kind == ProxyKind::Http
    }
}

/// The proxy's address for messages, without its credentials.
impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// A text with its `%XX` sequences decoded, if the result is valid UTF-8.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = (first == b'%').then(|| after.get(..2)).flatten();
        let value = escaped.and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(value.unwrap_or(first));
        rest = if value.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_read_with_their_credentials() {
        let check = |address: &str, expected: Result<(&str, u16, Option<&str>), BadProxy>| {
            let read = Proxy::parse(address);
            let seen = read
                .as_ref()
                .map(|proxy| (proxy.host.as_str(), proxy.port, proxy.credentials.as_ref().map(Key::reveal)));
            assert_eq!(seen.map_err(Clone::clone), expected, "{address}");
        };
        check("http://proxy:3128", Ok(("proxy", 3128, None)));
        check("http://proxy/", Ok(("proxy", 80, None)));
        check(" 10.0.0.1:8080 ", Ok(("10.0.0.1", 8080, None)));
        check("http://me:p%40ss%zz@proxy:1/", Ok(("proxy", 1, Some("me:p@ss%zz"))));
        check("http://[::1]:9", Ok(("[::1]", 9, None)));
        check("http://", Err(BadProxy::Unreadable));
        check("http://host:99999", Err(BadProxy::Unreadable));
        check("socks5://host", Ok(("host", 1080, None)));
        check("SOCKS5h://me:pass@host:1", Ok(("host", 1, Some("me:pass"))));
        for other in ["socks4", "socks", "https", "ftp"] {
            check(&format!("{other}://host:1"), Err(BadProxy::Unsupported { scheme: other.to_owned() }));
        }
    }

    #[test]
    fn the_letter_h_leaves_names_to_the_proxy() {
        let kind = |address: &str| Proxy::parse(address).unwrap().kind;
        assert_eq!(kind("proxy:1"), ProxyKind::Http);
        assert_eq!(kind("socks5://proxy"), ProxyKind::Socks5(NameLookup::Here));
        assert_eq!(kind("socks5h://proxy"), ProxyKind::Socks5(NameLookup::AtTheProxy));
    }
}
