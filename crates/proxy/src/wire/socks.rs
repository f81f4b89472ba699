//! The messages of SOCKS, version 5 (RFC 1928): which ways to prove oneself a client knows, what it wants, our answers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::request::ParsedTarget;
use crate::host::{BadHost, Host, Target};

/// The first byte of every message.
pub(crate) const VERSION: u8 = 5;
/// The first byte of SOCKS 4 and 4a, which have no way to ask for IPv6.
pub(crate) const OLD_VERSION: u8 = 4;

/// The longest message of a client: a request with the longest name.
pub(crate) const MESSAGE_LIMIT: usize = 4 + 1 + 255 + 2;

/// The answer to a greeting that offers to connect without authentication.
pub(crate) const WELCOME: [u8; 2] = [VERSION, 0];
/// The answer to a greeting that offers only authentication methods.
pub(crate) const NO_COMMON_WAY: [u8; 2] = [VERSION, 0xff];
/// The refusal of SOCKS 4.
pub(crate) const OLD_REFUSED: [u8; 8] = [0, 0x5b, 0, 0, 0, 0, 0, 0];

/// How a request is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Reply {
    Done = 0,
    Failed = 1,
    NotAllowed = 2,
    HostUnreachable = 4,
    ConnectionRefused = 5,
    NoSuchCommand = 7,
    NoSuchAddressType = 8,
}

/// The faults of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadSocks {
    #[error("the message is not one of SOCKS 5")]
    Version,
    #[error("the client insists on proving who it is")]
    NoCommonWay,
    #[error("the client asks for something else than a connection")]
    Command,
    #[error("the address is of an unknown type")]
    AddressType,
    #[error("the target is wrong: {0}")]
    Host(#[from] BadHost),
}

impl BadSocks {
    /// The last words to a client that said this.
    pub(crate) fn answer(self) -> Vec<u8> {
        match self {
            Self::Version => Vec::new(),
            Self::NoCommonWay => NO_COMMON_WAY.to_vec(),
            Self::Command => Reply::NoSuchCommand.message(),
            Self::AddressType => Reply::NoSuchAddressType.message(),
            Self::Host(_) => Reply::Failed.message(),
        }
    }
}

impl Reply {
    /// The answer as bytes. The address from which the proxy connected is zeroed: clients do not need it.
    pub(crate) fn message(self) -> Vec<u8> {
        vec![VERSION, self as u8, 0, 1, 0, 0, 0, 0, 0, 0]
    }
}

/// How long the greeting is; none if it goes on.
pub(crate) fn greeting(bytes: &[u8]) -> Result<Option<usize>, BadSocks> {
    match *bytes {
        [] | [VERSION] => Ok(None),
        [VERSION, count, ref rest @ ..] => {
            let Some(ways) = rest.get(..usize::from(count)) else { return Ok(None) };
            if ways.contains(&0) { Ok(Some(2 + ways.len())) } else { Err(BadSocks::NoCommonWay) }
        }
        _ => Err(BadSocks::Version),
    }
}

/// The target of a client's request and the length of its message; none while the message is incomplete.
pub(crate) fn request(bytes: &[u8]) -> Result<Option<(ParsedTarget, usize)>, BadSocks> {
    match *bytes {
        [] | [VERSION] => Ok(None),
        [VERSION, 1, ref rest @ ..] => match *rest {
            [] | [_] => Ok(None),
            [_, 1, ref rest @ ..] => {
                address(rest.first_chunk().map(|&bytes| Ipv4Addr::from_octets(bytes)), rest, 4)
            }
            [_, 3, ref rest @ ..] => name(rest),
            [_, 4, ref rest @ ..] => {
                address(rest.first_chunk().map(|&bytes| Ipv6Addr::from_octets(bytes)), rest, 16)
            }
            _ => Err(BadSocks::AddressType),
        },
        [VERSION, ..] => Err(BadSocks::Command),
        _ => Err(BadSocks::Version),
    }
}

fn address(
    address: Option<impl Into<IpAddr>>,
    rest: &[u8],
    length: usize,
) -> Result<Option<(ParsedTarget, usize)>, BadSocks> {
    let (Some(address), Some(port)) = (address.map(Into::into), port(rest, length)?) else { return Ok(None) };
    let target = Target { host: Host::of(address), port };
    Ok(Some((ParsedTarget { target, host: address.to_string() }, 4 + length + 2)))
}

fn name(rest: &[u8]) -> Result<Option<(ParsedTarget, usize)>, BadSocks> {
    let Some((&length, rest)) = rest.split_first() else { return Ok(None) };
    let length = usize::from(length);
    let (Some(name), Some(port)) = (rest.get(..length), port(rest, length)?) else { return Ok(None) };
    // Some clients send an address as a name; others put brackets around it.
    let host = String::from_utf8_lossy(name).into_owned();
    let target = Target { host: Host::parse(&host)?, port };
    Ok(Some((ParsedTarget { target, host }, 4 + 1 + length + 2)))
}

fn port(rest: &[u8], at: usize) -> Result<Option<u16>, BadSocks> {
    let port = rest.get(at..).and_then(|rest| rest.first_chunk()).map(|&bytes| u16::from_be_bytes(bytes));
    if port == Some(0) { Err(BadHost::Port.into()) } else { Ok(port) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(bytes: &[u8], expected: Result<Option<(&str, usize)>, BadSocks>) {
        let found =
            request(bytes).map(|found| found.map(|(asked, length)| (asked.target.to_string(), length)));
        let expected = expected.map(|found| found.map(|(target, length)| (target.to_owned(), length)));
        assert_eq!(found, expected, "{bytes:?}");
    }

    #[test]
    fn requests_name_their_target_in_three_ways() {
        check(b"\x05\x01\0\x01\x7f\0\0\x01\x01\xbbrest", Ok(Some(("127.0.0.1:443", 10))));
        check(b"\x05\x01\0\x03\x06a.TEST\0\x50", Ok(Some(("a.test:80", 13))));
        check(b"\x05\x01\0\x03\x0910.0.0.99\0\x50", Ok(Some(("10.0.0.99:80", 16))));
        let v6 = [b"\x05\x01\0\x04".as_slice(), &Ipv6Addr::LOCALHOST.octets(), b"\0\x50"].concat();
        check(&v6, Ok(Some(("[::1]:80", 22))));
        let mapped = Ipv4Addr::new(10, 0, 0, 1).to_ipv6_mapped().octets();
        let mapped = [b"\x05\x01\0\x04".as_slice(), &mapped, b"\0\x50"].concat();
        check(&mapped, Ok(Some(("10.0.0.1:80", 22))));
    }

    #[test]
    fn other_requests_are_refused_by_their_kind() {
        check(b"\x05\x02\0\x01", Err(BadSocks::Command));
        check(b"\x05\x03\0\x01", Err(BadSocks::Command));
        check(b"\x05\x01\0\x02", Err(BadSocks::AddressType));
        check(b"\x04\x01", Err(BadSocks::Version));
        check(b"\x05\x01\0\x03\0\0\x50", Err(BadSocks::Host(BadHost::Empty)));
        check(b"\x05\x01\0\x03\x03a b\0\x50", Err(BadSocks::Host(BadHost::Character(' '))));
        check(b"\x05\x01\0\x03\x02a\xff\0\x50", Err(BadSocks::Host(BadHost::Character('\u{fffd}'))));
        check(b"\x05\x01\0\x01\x7f\0\0\x01\0\0", Err(BadSocks::Host(BadHost::Port)));
    }

    #[test]
    fn a_greeting_offers_to_come_without_proof() {
        assert_eq!(greeting(b"\x05\x01\0rest"), Ok(Some(3)));
        assert_eq!(greeting(b"\x05\x03\x02\x01\0"), Ok(Some(5)));
        assert_eq!(greeting(b"\x05\x02\0"), Ok(None));
        assert_eq!(greeting(b"\x05\x01\x02"), Err(BadSocks::NoCommonWay));
        assert_eq!(greeting(b"\x05\0"), Err(BadSocks::NoCommonWay));
    }

    proptest! {
        #[test]
        fn a_message_is_known_as_soon_as_it_is_complete_and_not_before(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..300),
            kind in proptest::sample::select(vec![1u8, 3, 4]),
        ) {
            bytes.splice(0..0, [5, 1, 0, kind]);
            if let Ok(Some((asked, length))) = request(&bytes) {
                prop_assert!(length <= bytes.len() && length <= MESSAGE_LIMIT);
                prop_assert_eq!(request(&bytes[..length]), Ok(Some((asked, length))));
                for short in 0..length {
                    prop_assert_eq!(request(&bytes[..short]), Ok(None));
                }
            }
        }

        #[test]
        fn every_message_comes_to_an_end(bytes in proptest::collection::vec(any::<u8>(), MESSAGE_LIMIT)) {
            prop_assert!(request(&bytes) != Ok(None));
            prop_assert!(greeting(&bytes) != Ok(None));
        }
    }
}
