//! NO_PROXY: domain names including their subdomains, addresses, and networks in CIDR notation; each may end in a port.
//!
//! A network is compared with addresses only. A name is not resolved for that: the query would leave this machine, and
//! where a proxy is needed there is often no DNS server that answers.

use std::net::IpAddr;

/// The host and the port of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Host {
    /// In lower case, without brackets and without a dot at the end.
    name: String,
    port: Option<u16>,
}

/// The hosts that are reached directly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Exceptions(Vec<Exception>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Exception {
    place: NoProxyEntry,
    /// The only port to which the exception applies; `None`: all ports.
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum NoProxyEntry {
    Everything,
    /// This name and its subdomains.
    Domain(String),
    /// The addresses that begin with these bits.
    Network {
        base: IpAddr,
        bits: u32,
    },
}

impl Host {
    /// The host of a URL, such as `https://host:port/path`.
    pub(super) fn of(url: &str) -> Self {
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (name, port) = split_port(authority.rsplit('@').next().unwrap_or_default());
        let usual = match scheme {
            "https" => Some(443),
            "http" => Some(80),
            _ => None,
        };
        Self { name: plain_name(name), port: port.or(usual) }
    }

    pub(super) fn is_this_machine(&self) -> bool {
        self.name == "localhost" || self.address().is_some_and(|address| address.is_loopback())
    }

    fn address(&self) -> Option<IpAddr> {
        self.name.parse().ok().map(|address: IpAddr| address.to_canonical())
    }
}

impl Exceptions {
    /// Reads a list, separated by commas or blanks.
    pub(super) fn parse(list: &str) -> Self {
        let entries = list.split(|c: char| c == ',' || c.is_whitespace());
        Self(entries.filter_map(Exception::parse).collect())
    }

    pub(super) fn list(&self, host: &Host) -> bool {
        self.0.iter().any(|exception| exception.covers(host))
    }
}

impl Exception {
    /// Parses an entry. `None` if it cannot be compared with a host.
    fn parse(entry: &str) -> Option<Self> {
        if let Some(network) = NoProxyEntry::network(entry) {
            return Some(Self { place: network, port: None });
        }
        let (name, port) = split_port(entry);
        let name = plain_name(name);
        let name = name.strip_prefix("*.").unwrap_or(&name).trim_start_matches('.');
        let place = match (name, NoProxyEntry::network(name)) {
            ("", _) => return None,
            ("*", _) => NoProxyEntry::Everything,
            (_, Some(network)) => network,
            // An invalid network is not a name.
            (name, None) if name.contains('/') => return None,
            (name, None) => NoProxyEntry::Domain(name.to_owned()),
        };
        Some(Self { place, port })
    }

    fn covers(&self, host: &Host) -> bool {
        let is_port = self.port.is_none() || self.port == host.port;
        is_port && self.place.covers(host)
    }
}

impl NoProxyEntry {
    /// An address, or a network as CIDR.
    fn network(text: &str) -> Option<Self> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let base: IpAddr = plain_name(address).parse().ok()?;
        let most = if base.is_ipv4() { 32 } else { 128 };
        let is_number = |bits: &&str| !bits.is_empty() && bits.bytes().all(|digit| digit.is_ascii_digit());
        let bits = match bits {
            None => most,
            Some(bits) => Some(bits).filter(is_number)?.parse().ok().filter(|bits| *bits <= most)?,
        };
        Some(Self::Network { base, bits })
    }

    fn covers(&self, host: &Host) -> bool {
        match self {
            Self::Everything => true,
            Self::Domain(domain) => {
                let above = host.name.strip_suffix(domain.as_str());
                above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
            }
            Self::Network { base, bits } => {
                host.address().is_some_and(|address| have_same_beginning(*base, address, *bits))
            }
        }
    }
}

/// Whether two addresses of the same family agree in their first `bits` bits.
fn have_same_beginning(one: IpAddr, other: IpAddr, bits: u32) -> bool {
    match (one, other) {
        (IpAddr::V4(one), IpAddr::V4(other)) => (one.to_bits() ^ other.to_bits()).leading_zeros() >= bits,
        (IpAddr::V6(one), IpAddr::V6(other)) => (one.to_bits() ^ other.to_bits()).leading_zeros() >= bits,
        _ => false,
    }
}

/// Splits a name from its port. An IPv6 address can have a port only if it is in brackets.
fn split_port(text: &str) -> (&str, Option<u16>) {
    let is_bare_ipv6 = text.matches(':').count() > 1 && !text.starts_with('[');
    match text.rsplit_once(':') {
        Some((name, port)) if !is_bare_ipv6 && !port.ends_with(']') => (name, port.parse().ok()),
        _ => (text, None),
    }
}

fn plain_name(name: &str) -> String {
    name.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_in_addresses() {
        for (url, name, port) in [
            ("https://API.example.com/v1", "api.example.com", Some(443)),
            ("http://127.0.0.1:8080/v1", "127.0.0.1", Some(8080)),
            ("http://[::1]:8080", "::1", Some(8080)),
            ("http://[::1]", "::1", Some(80)),
            ("http://user:pass@host:1/x?y", "host", Some(1)),
            ("https://example.org.#x", "example.org", Some(443)),
        ] {
            assert_eq!(Host::of(url), Host { name: name.to_owned(), port }, "{url}");
        }
    }

    #[test]
    fn this_machine_is_known_by_its_addresses_and_not_by_names_that_look_like_them() {
        for (url, expected) in [
            ("http://localhost:1", true),
            ("http://127.0.0.2", true),
            ("http://[::1]", true),
            ("http://[::ffff:127.0.0.1]", true),
            ("http://127.example.org", false),
            ("http://localhost.example.org", false),
            ("http://128.0.0.1", false),
        ] {
            assert_eq!(Host::of(url).is_this_machine(), expected, "{url}");
        }
    }

    fn check(list: &str, direct: &[&str], proxied: &[&str]) {
        let exceptions = Exceptions::parse(list);
        for url in direct {
            assert!(exceptions.list(&Host::of(url)), "{list} lists {url}");
        }
        for url in proxied {
            assert!(!exceptions.list(&Host::of(url)), "{list} does not list {url}");
        }
    }

    #[test]
    fn names_stand_for_everything_below_them() {
        let below = ["https://example.org", "https://a.EXAMPLE.org:1/v1", "https://example.org./"];
        let others = ["https://notexample.org", "https://example.org.uk", "https://org"];
        for list in ["example.org", ".example.org", "*.example.org", " x , Example.Org", "a.b example.org"] {
            check(list, &below, &others);
        }
        check("*", &["https://example.org", "http://192.0.2.1", "http://[2001:db8::1]"], &[]);
        check("", &[], &["https://example.org"]);
        check(",. ,", &[], &["https://example.org"]);
    }

    #[test]
    fn networks_stand_for_the_addresses_in_them() {
        check(
            "10.0.0.0/8",
            &["http://10.0.0.0", "https://10.255.1.2:8443/v1"],
            &["http://11.0.0.1", "http://10.example.org", "http://[::a00:1]"],
        );
        check("192.168.4.0/22", &["http://192.168.7.255"], &["http://192.168.8.0", "http://192.168.3.255"]);
        check("192.0.2.7", &["http://192.0.2.7:1"], &["http://192.0.2.8"]);
        check("192.0.2.7/32", &["http://192.0.2.7"], &["http://192.0.2.6"]);
        check("0.0.0.0/0", &["http://192.0.2.7"], &["http://[2001:db8::1]", "http://example.org"]);
        check("2001:db8::/32", &["http://[2001:db8:1::1]:1"], &["http://[2001:db9::1]", "http://192.0.2.7"]);
        check("[2001:db8::1]", &["http://[2001:DB8::1]/"], &["http://[2001:db8::2]"]);
        check("10.0.0.0/8", &["http://[::ffff:10.0.0.1]"], &[]);
    }

    #[test]
    fn a_port_narrows_an_entry() {
        check("example.org:8443", &["https://example.org:8443"], &["https://example.org"]);
        check("example.org:443", &["https://example.org"], &["http://example.org"]);
        check("192.0.2.7:80", &["http://192.0.2.7"], &["https://192.0.2.7"]);
        check("[2001:db8::1]:80", &["http://[2001:db8::1]"], &["https://[2001:db8::1]"]);
    }

    #[test]
    fn networks_with_a_mistake_in_them_stand_for_nothing() {
        for list in
            ["10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0/8", "2001:db8::/129", "a/8"]
        {
            check(list, &[], &["http://10.0.0.1", "http://[2001:db8::1]", "http://a"]);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_list_and_any_address_can_be_compared(list in "\\PC{0,40}", url in "\\PC{0,40}") {
            let _ = Exceptions::parse(&list).list(&Host::of(&url));
        }
    }
}
