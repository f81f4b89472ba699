//! The host name by which a request calls the server: a page can make any name of its own point at the loopback
//! address, and then only the `Host` header reveals it.
//!
//! Parsed strictly. Programs on the way may differ in which part of `a@b`, `a,b` or two fields they believe.

use std::net::IpAddr;

use http::header::{HOST, ORIGIN};
use http::{HeaderMap, Uri};

/// How a connection reached the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Called {
    /// Over the network, at one of these addresses.
    At(Vec<IpAddr>),
    /// Over a unix socket, which no page can reach.
    ByPath,
}

impl Called {
    /// From the address that the server bound, which may stand for all of the machine's, and the one that the client
    /// reached.
    pub(crate) fn new(bound: Option<IpAddr>, reached: Option<IpAddr>) -> Self {
        match (bound, reached) {
            (None, None) => Self::ByPath,
            (bound, reached) => {
                Self::At(bound.into_iter().chain(reached).map(|one| one.to_canonical()).collect())
            }
        }
    }
}

/// Why a request is not for this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostError {
    /// There is no `Host`, more than one, one that is not `NAME` or `NAME:PORT`, or one that differs from the request's URI.
    Malformed,
    /// It is not a name of this server.
    Foreign,
}

/// Checks that a request calls the server by one of its names: the loopback's, an address at which it was reached, or a
/// listed one.
pub(crate) fn check(
    (uri, headers): (&Uri, &HeaderMap),
    called: &Called,
    names: &[String],
) -> Result<(), HostError> {
    let Called::At(addresses) = called else { return Ok(()) };
    let field = super::only(headers, HOST).and_then(|host| host.to_str().ok()).ok_or(HostError::Malformed)?;
    if uri.authority().is_some_and(|authority| !authority.as_str().eq_ignore_ascii_case(field)) {
        return Err(HostError::Malformed);
    }
    let host = Host::parse(field).ok_or(HostError::Malformed)?;
    let is_listed = |listed: &String| listed.eq_ignore_ascii_case(field) || host.is(listed);
    let is_ours = match host {
        Host::Address(address) => address.is_loopback() || addresses.contains(&address),
        Host::Name(name) => name.eq_ignore_ascii_case("localhost"),
    };
    if is_ours || names.iter().any(is_listed) { Ok(()) } else { Err(HostError::Foreign) }
}

/// Whether there is at most one `Origin`, written as browsers do: `null`, `SCHEME://NAME` or `SCHEME://NAME:PORT`.
pub(crate) fn has_plain_origin(headers: &HeaderMap) -> bool {
    if !headers.contains_key(ORIGIN) {
        return true;
    }
    let origin = super::only(headers, ORIGIN).and_then(|origin| origin.to_str().ok());
    let is_plain = |origin: &str| match origin.split_once("://") {
        Some((_, host)) => Host::parse(host).is_some(),
        None => origin == "null",
    };
    origin.is_some_and(is_plain)
}

#[derive(Clone, Copy)]
enum Host<'a> {
    Address(IpAddr),
    Name(&'a str),
}

impl<'a> Host<'a> {
    /// Parses `NAME`, `NAME:PORT`, and the same with an address, and nothing else.
    fn parse(field: &'a str) -> Option<Self> {
        let (host, port) = match field.strip_prefix('[') {
            Some(rest) => {
                let (address, port) = rest.split_once(']')?;
                (Self::Address(IpAddr::V6(address.parse().ok()?)), port)
            }
            None => {
                let end = field.find(':').unwrap_or(field.len());
                let (name, port) = field.split_at(end);
                let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
                if name.is_empty() || !name.bytes().all(is_plain) {
                    return None;
                }
                (name.parse().map_or(Self::Name(name), |address| Self::Address(IpAddr::V4(address))), port)
            }
        };
        is_port(port).then_some(host.canonical())
    }

    fn canonical(self) -> Self {
        match self {
            Self::Address(address) => Self::Address(address.to_canonical()),
            Self::Name(_) => self,
        }
    }

    /// Whether this equals a listed name or address, which has no port.
    fn is(self, listed: &str) -> bool {
        match self {
            Self::Address(address) => listed
                .trim_start_matches('[')
                .trim_end_matches(']')
                .parse()
                .is_ok_and(|listed: IpAddr| listed.to_canonical() == address),
            Self::Name(name) => listed.eq_ignore_ascii_case(name),
        }
    }
}

/// A colon and a number, or nothing.
fn is_port(text: &str) -> bool {
    let is_number =
        |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse::<u16>().is_ok();
    text.is_empty() || text.strip_prefix(':').is_some_and(is_number)
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn checked(uri: &str, hosts: &[&str]) -> Result<(), HostError> {
        let called = Called::new(Some([127, 0, 0, 1].into()), Some([192, 0, 2, 1].into()));
        let request =
            hosts.iter().fold(Request::builder().uri(uri), |request, host| request.header(HOST, *host));
        let request = request.body(()).expect("a request");
        let names = ["box.example", "one.example:9", "2001:db8::1"].map(str::to_owned);
        check((request.uri(), request.headers()), &called, &names)
    }

    #[test]
    fn its_own_names_are_the_loopbacks_the_listed_and_the_address_that_was_reached() {
        for ours in [
            "127.0.0.1:80",
            "127.0.0.2",
            "[::1]:80",
            "[::1]",
            "[::ffff:127.0.0.1]:1",
            "LOCALHOST:1",
            "localhost",
            "box.example:9",
            "Box.Example",
            "one.example:9",
            "192.0.2.1",
            "[2001:DB8::1]:80",
        ] {
            assert_eq!(checked("/", &[ours]), Ok(()), "{ours}");
        }
    }

    #[test]
    fn a_name_that_a_page_made_up_is_foreign() {
        for theirs in [
            "evil.example",
            "evil.example:80",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "localhost.",
            "one.example",
            "one.example:10",
            "0.0.0.0",
            "0.0.0.0:80",
            "[::]",
            "192.0.2.2",
            "0x7f000001",
            "2130706433",
            "127.1",
        ] {
            assert_eq!(checked("/", &[theirs]), Err(HostError::Foreign), "{theirs}");
        }
    }

    #[test]
    fn anything_but_one_name_and_a_port_is_malformed() {
        for malformed in [
            "",
            ":1",
            "localhost:",
            "localhost:x",
            "localhost:+1",
            "localhost:65536",
            "localhost:1:2",
            "evil.example@127.0.0.1",
            "evil.example:x@127.0.0.1:80",
            "127.0.0.1:80,evil.example",
            "127.0.0.1, evil.example",
            "localhost/evil",
            "localhost evil.example",
            "localhost#",
            "http://localhost",
            "[::1",
            "[::1]x",
            "[::1]80",
            "[127.0.0.1]",
            "[::1%25lo]",
            "::1",
        ] {
            assert_eq!(checked("/", &[malformed]), Err(HostError::Malformed), "{malformed}");
        }
        for several in [&[][..], &["localhost", "localhost"], &["localhost", "evil.example"]] {
            assert_eq!(checked("/", several), Err(HostError::Malformed), "{several:?}");
        }
    }

    #[test]
    fn an_absolute_uri_says_the_same_as_the_host() {
        assert_eq!(checked("http://LOCALHOST:1/", &["localhost:1"]), Ok(()));
        for uri in ["http://evil.example/", "http://localhost/", "http://evil.example@localhost:1/"] {
            assert_eq!(checked(uri, &["localhost:1"]), Err(HostError::Malformed), "{uri}");
        }
        assert_eq!(checked("http://localhost:1/", &[]), Err(HostError::Malformed));
        assert_eq!(checked("http://evil.example/", &["evil.example"]), Err(HostError::Foreign));
    }

    #[test]
    fn an_origin_is_written_once_and_as_browsers_do() {
        let is_plain = |origins: &[&str]| {
            let request =
                origins.iter().fold(Request::builder(), |request, one| request.header(ORIGIN, *one));
            has_plain_origin(request.body(()).expect("a request").headers())
        };
        for plain in [&[][..], &["null"], &["http://localhost"], &["https://[::1]:80"]] {
            assert!(is_plain(plain), "{plain:?}");
        }
        for odd in [
            &[""][..],
            &["localhost"],
            &["http://evil.example@localhost"],
            &["http://localhost/"],
            &["http://localhost,http://evil.example"],
            &["http://localhost", "http://evil.example"],
        ] {
            assert!(!is_plain(odd), "{odd:?}");
        }
    }

    #[test]
    fn a_path_is_called_anything() {
        let request = Request::builder().header(HOST, "a b").body(()).expect("a request");
        let parts = (request.uri(), request.headers());
        assert_eq!(check(parts, &Called::new(None, None), &[]), Ok(()));
    }
}
