//! Hosts and targets as clients and entries write them. One parser for both, so that what is listed and what is asked
//! for cannot be read in two ways.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The longest name that DNS can hold.
const NAME_LIMIT: usize = 253;
/// The longest part between two dots.
const LABEL_LIMIT: usize = 63;

/// The host and port that a client wants to reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The host.
    pub host: Host,
    /// Its port; never zero.
    pub port: u16,
}

/// A host, by name or by address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// To be looked up.
    Name(Name),
    /// The address itself. An IPv4 address that was mapped into IPv6 has become IPv4 again.
    Address(IpAddr),
}

/// A name in lower case and without a dot at its end. Letters outside ASCII are left as they are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name(String);

/// Why something is not a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadHost {
    /// The text is empty.
    #[error("the host is empty")]
    Empty,
    /// The name or a part of it is too long.
    #[error("the host name is too long")]
    TooLong,
    /// There is nothing between two dots, or before the first.
    #[error("the host name has an empty part")]
    EmptyLabel,
    /// A character that names do not have.
    #[error("the host name has {0:?} in it")]
    Character(char),
    /// Systems differ in what they make of `127.1` or `0x7f000001`.
    #[error("invalid IP address")]
    NearlyAddress,
    /// Brackets are for IPv6 addresses.
    #[error("there is no IPv6 address in the brackets")]
    Brackets,
    /// The port is missing, zero, or no number.
    #[error("the port is not a number from 1 to 65535")]
    Port,
}

impl Host {
    /// Reads a name, an IPv4 address, or an IPv6 address with or without brackets.
    ///
    /// # Errors
    ///
    /// When it is none of these.
    pub fn parse(text: &str) -> Result<Self, BadHost> {
        if let Some(rest) = text.strip_prefix('[') {
            let inner = rest.strip_suffix(']').ok_or(BadHost::Brackets)?;
            let address: Ipv6Addr = inner.parse().map_err(|_| BadHost::Brackets)?;
            return Ok(Self::of(IpAddr::V6(address)));
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self::of(address));
        }
        // Some resolvers take an address with a dot at its end for the address.
        if text.strip_suffix('.').is_some_and(|text| text.parse::<Ipv4Addr>().is_ok()) {
            return Err(BadHost::NearlyAddress);
        }
        Name::parse(text).map(Self::Name)
    }

    /// The host that is this address.
    pub fn of(address: IpAddr) -> Self {
        Self::Address(address.to_canonical())
    }
}

impl Name {
    /// Reads a name.
    ///
    /// # Errors
    ///
    /// When it is not a valid name.
    pub fn parse(text: &str) -> Result<Self, BadHost> {
        let text = text.strip_suffix('.').unwrap_or(text);
        if text.is_empty() {
            return Err(BadHost::Empty);
        }
        if let Some(character) = text.chars().find(|&character| !is_of_names(character)) {
            return Err(BadHost::Character(character));
        }
        if text.len() > NAME_LIMIT || text.split('.').any(|label| label.len() > LABEL_LIMIT) {
            return Err(BadHost::TooLong);
        }
        if text.split('.').any(str::is_empty) {
            return Err(BadHost::EmptyLabel);
        }
        if text.rsplit('.').next().is_some_and(is_number) {
            return Err(BadHost::NearlyAddress);
        }
        Ok(Self(text.to_ascii_lowercase()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this lies below a domain, at any depth, and is not the domain itself.
    pub fn is_below(&self, domain: &Self) -> bool {
        self.0.strip_suffix(domain.as_str()).is_some_and(|rest| rest.ends_with('.'))
    }

    /// Whether the standards give this name to the machine that asks.
    pub fn is_of_this_machine(&self) -> bool {
        self.0 == "localhost" || self.0.ends_with(".localhost")
    }
}

impl Target {
    /// Reads `host:port`, with the brackets around an IPv6 address that make the colon plain.
    ///
    /// # Errors
    ///
    /// When it is nothing of the kind, or the port is missing and there is no usual one.
    pub fn parse(text: &str, usual_port: Option<u16>) -> Result<Self, BadHost> {
        let (host, port) = split(text)?;
        let port = match port {
            Some(port) => parse_port(port)?,
            None => usual_port.ok_or(BadHost::Port)?,
        };
        // Without brackets the end of an IPv6 address is ambiguous.
        if host.contains(':') && !host.starts_with('[') {
            return Err(BadHost::Character(':'));
        }
        Ok(Self { host: Host::parse(host)?, port })
    }
}

/// The text before the last colon, and the text after it if that is a port.
pub(crate) fn split(text: &str) -> Result<(&str, Option<&str>), BadHost> {
    if text.starts_with('[') {
        let end = text.find(']').ok_or(BadHost::Brackets)?;
        let (host, rest) = text.split_at(end + 1);
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err(BadHost::Brackets),
        };
    }
    match text.rsplit_once(':') {
        Some((host, port)) => Ok((host, Some(port))),
        None => Ok((text, None)),
    }
}

pub(crate) fn parse_port(text: &str) -> Result<u16, BadHost> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let port: u16 = if plain { text.parse().map_err(|_| BadHost::Port)? } else { return Err(BadHost::Port) };
    if port == 0 { Err(BadHost::Port) } else { Ok(port) }
}

/// Outside ASCII the resolver decides what is valid, except for characters that would deceive the reader of a log.
fn is_of_names(character: char) -> bool {
    match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '.' => true,
        '\0'..='\x7f' => false,
        // Invisible characters, those that turn the direction of writing, and other alphabets' dots.
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => false,
        // Also the replacement character, which stands for bytes that are not UTF-8.
        '\u{fffd}' => false,
        '\u{ad}' | '\u{feff}' | '\u{3002}' | '\u{ff0e}' | '\u{ff61}' => false,
        other => !other.is_control() && !other.is_whitespace(),
    }
}

/// Whether a resolver may take it for a part of an address: digits, or hexadecimal ones after `0x`.
fn is_number(label: &str) -> bool {
    let hexadecimal = label.strip_prefix("0x").or_else(|| label.strip_prefix("0X"));
    hexadecimal.map_or_else(
        || label.bytes().all(|byte| byte.is_ascii_digit()),
        |digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
    )
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => name.fmt(f),
            Self::Address(address) => address.fmt(f),
        }
    }
}

impl fmt::Display for Target {
    /// As it can be read again, and listed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Name(name) => write!(f, "{name}:{}", self.port),
            Host::Address(address) => SocketAddr::new(*address, self.port).fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, BadHost>) {
        let target = Target::parse(text, Some(80));
        assert_eq!(target.map(|target| target.to_string()), expected.map(str::to_owned), "{text:?}");
    }

    #[test]
    fn targets_are_read_and_written_alike() {
        check("example.com:443", Ok("example.com:443"));
        check("Example.COM.:8080", Ok("example.com:8080"));
        check("example.com", Ok("example.com:80"));
        check("a_b-c.example:1", Ok("a_b-c.example:1"));
        check("bücher.example:443", Ok("bücher.example:443"));
        check("127.0.0.1:80", Ok("127.0.0.1:80"));
        check("[::1]:80", Ok("[::1]:80"));
        check("[::1]", Ok("[::1]:80"));
        check("[::ffff:10.0.0.1]:80", Ok("10.0.0.1:80"));
    }

    #[test]
    fn what_two_programs_could_read_in_two_ways_is_no_host() {
        check("", Err(BadHost::Empty));
        check(":80", Err(BadHost::Empty));
        check(".:80", Err(BadHost::Empty));
        check("a..b:80", Err(BadHost::EmptyLabel));
        check(".a:80", Err(BadHost::EmptyLabel));
        check("user@a:80", Err(BadHost::Character('@')));
        check("a b:80", Err(BadHost::Character(' ')));
        check("a\0b:80", Err(BadHost::Character('\0')));
        check("a%2eb:80", Err(BadHost::Character('%')));
        check("a\u{202e}b:80", Err(BadHost::Character('\u{202e}')));
        check("a\u{3002}b:80", Err(BadHost::Character('\u{3002}')));
        check("127.1:80", Err(BadHost::NearlyAddress));
        check("2130706433:80", Err(BadHost::NearlyAddress));
        check("0x7f000001:80", Err(BadHost::NearlyAddress));
        check("0x7f.1:80", Err(BadHost::NearlyAddress));
        check("0177.0.0.01:80", Err(BadHost::NearlyAddress));
        check("127.0.0.1.:80", Err(BadHost::NearlyAddress));
        check("::1:80", Err(BadHost::Character(':')));
        check("[::1:80", Err(BadHost::Brackets));
        check("[::1]80", Err(BadHost::Brackets));
        check("[example.com]:80", Err(BadHost::Brackets));
        check("[fe80::1%eth0]:80", Err(BadHost::Brackets));
        check("a:0", Err(BadHost::Port));
        check("a:65536", Err(BadHost::Port));
        check("a:+80", Err(BadHost::Port));
        check("a:", Err(BadHost::Port));
        check(&format!("{}:80", "a".repeat(64)), Err(BadHost::TooLong));
        check(&format!("{}:80", "a.".repeat(140)), Err(BadHost::TooLong));
    }

    #[test]
    fn a_port_is_asked_for_where_there_is_no_usual_one() {
        assert_eq!(Target::parse("example.com", None), Err(BadHost::Port));
    }
}
