//! A provider's address, parsed once.

use std::fmt;

use zeroize::Zeroizing;

use crate::provider::{Key, Provider, port_of};

/// The address to which requests are sent.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// Whether the connection is encrypted.
    pub(crate) secure: bool,
    /// The name or address, without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The prefix of every path; does not end in a slash.
    prefix: String,
    /// The query with its question mark, or empty. Some providers want their key here.
    query: Zeroizing<String>,
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address").field("place", &self.place()).finish_non_exhaustive()
    }
}

/// An invalid provider address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the address of {provider} is not one: {address} (it looks like https://host/v1)")]
pub struct BadAddress {
    /// The provider's name.
    pub provider: String,
    /// The address as it was given, without user name and password.
    pub address: String,
}

impl Address {
    pub(crate) fn of(provider: &Provider) -> Result<Self, BadAddress> {
        Self::parse(provider).ok_or_else(|| BadAddress {
            provider: provider.name.clone(),
            address: without_credentials(&provider.base_url),
        })
    }

    fn parse(provider: &Provider) -> Option<Self> {
        let uri: http::Uri = provider.base_url.trim().parse().ok()?;
        let secure = match uri.scheme_str()? {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let authority = uri.authority()?;
        if authority.as_str().contains('@') || authority.host().is_empty() {
            return None;
        }
        let port = port_of(authority, if secure { 443 } else { 80 })?;
        let own = uri.query().filter(|query| !query.is_empty()).map(str::to_owned);
        Some(Self {
            secure,
            host: authority.host().trim_start_matches('[').trim_end_matches(']').to_owned(),
            port,
            prefix: uri.path().trim_end_matches('/').to_owned(),
            query: query(own, &provider.query),
        })
    }

    /// The request target on a connection to the provider itself.
    pub(crate) fn target(&self, path: &str) -> String {
        format!("{}{path}{}", self.prefix, *self.query)
    }

    /// The absolute request target, for a proxy that forwards requests.
    pub(crate) fn whole(&self, path: &str) -> String {
        format!("http://{}{}", self.authority(), self.target(path))
    }

    /// The host, and the port unless it is the scheme's default.
    pub(crate) fn authority(&self) -> String {
        match (self.secure, self.port) {
            (true, 443) | (false, 80) => self.bracketed(),
            _ => self.place(),
        }
    }

    /// Host and port, as messages and proxies show them.
    pub(crate) fn place(&self) -> String {
        format!("{}:{}", self.bracketed(), self.port)
    }

    fn bracketed(&self) -> String {
        if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() }
    }
}

/// Removes the part before an `@`, which may contain a password.
fn without_credentials(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    match authority.rsplit_once('@') {
        Some((credentials, _)) => format!("{scheme}://(hidden){}", &rest[credentials.len()..]),
        None => address.to_owned(),
    }
}

fn query(own: Option<String>, added: &[(String, Key)]) -> Zeroizing<String> {
    let added = added.iter().map(|(name, value)| format!("{}={}", escaped(name), escaped(value.reveal())));
    let all: Zeroizing<Vec<String>> = Zeroizing::new(own.into_iter().chain(added).collect());
    Zeroizing::new(if all.is_empty() { String::new() } else { format!("?{}", all.join("&")) })
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => escaped.push(byte.into()),
            _ => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::WireKind;

    #[test]
    fn a_password_in_an_address_is_refused_and_not_shown() {
        let provider = Provider::at("it", "http://me:secret@it/v1", WireKind::Chat);
        let shown = Address::of(&provider).unwrap_err().to_string();
        assert!(shown.contains("http://(hidden)@it/v1") && !shown.contains("secret"), "{shown}");
    }

    #[test]
    fn an_address_is_taken_apart() {
        let check = |base_url: &str, expected: Option<(&str, &str)>| {
            let mut provider = Provider::at("it", base_url, WireKind::Chat);
            provider.query = vec![("v".to_owned(), Key::new("1 &2"))];
            let address = Address::of(&provider).ok();
            let seen = address.map(|address| (address.place(), address.whole("/x")));
            assert_eq!(
                seen.as_ref().map(|(place, whole)| (place.as_str(), whole.as_str())),
                expected,
                "{base_url}"
            );
        };
        check("https://api.it/v1/", Some(("api.it:443", "http://api.it/v1/x?v=1%20%262")));
        check(
            "http://localhost:11434/v1",
            Some(("localhost:11434", "http://localhost:11434/v1/x?v=1%20%262")),
        );
        check("http://[::1]", Some(("[::1]:80", "http://[::1]/x?v=1%20%262")));
        check("https://it/a?b=c", Some(("it:443", "http://it/a/x?b=c&v=1%20%262")));
        check("it:443", None);
        check("/v1", None);
        check("ftp://it/", None);
        check("http://me:secret@it/", None);
        check("http://it:70000/", None);
    }
}
