//! The client side of SOCKS 5: RFC 1928, with the user name and password of RFC 1929.

use std::io;
use std::net::IpAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use zeroize::Zeroizing;

use super::Address;
use super::connect::Stream;
use crate::failure::{Failure, Remedy};
use crate::provider::Key;
use crate::proxy::NameLookup;

const VERSION: u8 = 5;
const CONNECT: u8 = 1;
const NO_AUTHENTICATION: u8 = 0;
const PASSWORD: u8 = 2;
/// The version of the password sub-negotiation, which is numbered separately.
const PASSWORD_VERSION: u8 = 1;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// A request to a proxy to connect to an address.
pub(super) struct ConnectRequest<'a> {
    pub(super) address: &'a Address,
    pub(super) lookup: NameLookup,
    /// `user:password`.
    pub(super) credentials: &'a Option<Key>,
}

/// The reason why the proxy made no connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum SocksError {
    #[error("broke off: {0}")]
    Io(#[from] io::Error),
    #[error("does not speak SOCKS 5")]
    NotSocks5,
    #[error("wants another kind of login than a password")]
    NoMethod,
    #[error("wants a user name and a password, and got none")]
    NoCredentials,
    #[error("cannot be given this user name or password: each has 1 to 255 bytes")]
    CredentialsTooLong,
    #[error("refuses the user name and the password")]
    CredentialsRefused,
    #[error("cannot be given this name: {0} is longer than 255 bytes")]
    NameTooLong(String),
    #[error("cannot be given an address: {name} was not found: {source}")]
    NotFound { name: String, source: io::Error },
    #[error("refuses to connect: {0}")]
    Refused(Reply),
}

/// The code of the proxy's reply to a connect request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reply(u8);

impl std::fmt::Display for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = match self.0 {
            1 => "general failure",
            2 => "its rules do not allow it",
            3 => "network unreachable",
            4 => "host unreachable",
            5 => "connection refused",
            6 => "time to live expired",
            7 => "command not supported",
            8 => "address type not supported",
            code => return write!(f, "error {code}"),
        };
        f.write_str(words)
    }
}

impl SocksError {
    /// The failure, with the name of the proxy.
    pub(super) fn into_failure(self, proxy: &str) -> Failure {
        let may_pass =
            matches!(self, Self::Io(_) | Self::NotFound { .. } | Self::Refused(Reply(1 | 3 | 4 | 5 | 6)));
        let remedy = if may_pass { Remedy::Retry { after: None } } else { Remedy::GiveUp };
        Failure { remedy, message: format!("{proxy} {self}") }
    }
}

/// Asks the proxy to connect this stream to the address.
pub(super) async fn connect(mut stream: Stream, wanted: &ConnectRequest<'_>) -> Result<Stream, SocksError> {
    log_in(&mut stream, wanted.credentials.as_ref()).await?;
    let mut request = vec![VERSION, CONNECT, 0];
    request.extend(destination(wanted).await?);
    request.extend(wanted.address.port.to_be_bytes());
    stream.write_all(&request).await?;
    read_reply(&mut stream).await?;
    Ok(stream)
}

async fn log_in(stream: &mut Stream, credentials: Option<&Key>) -> Result<(), SocksError> {
    let methods: &[u8] = match credentials {
        Some(_) => &[VERSION, 2, NO_AUTHENTICATION, PASSWORD],
        None => &[VERSION, 1, NO_AUTHENTICATION],
    };
    stream.write_all(methods).await?;
    let [version, method] = read(stream).await?;
    match (version, method, credentials) {
        (VERSION, NO_AUTHENTICATION, _) => Ok(()),
        (VERSION, PASSWORD, Some(credentials)) => show_password(stream, credentials).await,
        (VERSION, _, None) => Err(SocksError::NoCredentials),
        (VERSION, _, Some(_)) => Err(SocksError::NoMethod),
        _ => Err(SocksError::NotSocks5),
    }
}

async fn show_password(stream: &mut Stream, credentials: &Key) -> Result<(), SocksError> {
    let (user, password) = credentials.reveal().split_once(':').unwrap_or((credentials.reveal(), ""));
    let length = |text: &str| u8::try_from(text.len()).ok().filter(|length| *length > 0);
    let lengths = length(user).zip(length(password)).ok_or(SocksError::CredentialsTooLong)?;
    let message = [&[PASSWORD_VERSION, lengths.0], user.as_bytes(), &[lengths.1], password.as_bytes()];
    stream.write_all(&Zeroizing::new(message.concat())).await?;
    match read(stream).await? {
        [PASSWORD_VERSION, 0] => Ok(()),
        [PASSWORD_VERSION, _] => Err(SocksError::CredentialsRefused),
        _ => Err(SocksError::NotSocks5),
    }
}

/// The type and the bytes of the address to connect to.
async fn destination(wanted: &ConnectRequest<'_>) -> Result<Vec<u8>, SocksError> {
    let host = &wanted.address.host;
    match (host.parse::<IpAddr>(), wanted.lookup) {
        (Ok(address), _) => Ok(address_bytes(address)),
        (Err(_), NameLookup::Here) => Ok(address_bytes(look_up(host, wanted.address.port).await?)),
        (Err(_), NameLookup::AtTheProxy) => {
            let length = u8::try_from(host.len()).map_err(|_| SocksError::NameTooLong(host.clone()))?;
            Ok([&[NAME, length], host.as_bytes()].concat())
        }
    }
}

/// The first address of the name. IPv4 is preferred: a proxy always has it, and the request is sent only once.
async fn look_up(name: &str, port: u16) -> Result<IpAddr, SocksError> {
    let not_found = |source| SocksError::NotFound { name: name.to_owned(), source };
    let found = tokio::net::lookup_host((name, port)).await.map_err(not_found)?;
    let found: Vec<IpAddr> = found.map(|address| address.ip()).collect();
    let first = found.iter().find(|address| address.is_ipv4()).or(found.first());
    first.copied().ok_or_else(|| not_found(io::ErrorKind::NotFound.into()))
}

fn address_bytes(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => [&[IPV4][..], &address.octets()].concat(),
        IpAddr::V6(address) => [&[IPV6][..], &address.octets()].concat(),
    }
}

/// Reads exactly to the end of the reply, because the next byte is the provider's.
async fn read_reply(stream: &mut Stream) -> Result<(), SocksError> {
    let [version, reply, _, kind] = read(stream).await?;
    if version != VERSION {
        return Err(SocksError::NotSocks5);
    }
    if reply != 0 {
        return Err(SocksError::Refused(Reply(reply)));
    }
    let length = match kind {
        IPV4 => 4,
        IPV6 => 16,
        NAME => {
            let [length] = read(stream).await?;
            length.into()
        }
        _ => return Err(SocksError::NotSocks5),
    };
    // The address and port from which the proxy connects. Nothing depends on them.
    let mut bound = vec![0; length + 2];
    stream.read_exact(&mut bound).await?;
    Ok(())
}

async fn read<const LENGTH: usize>(stream: &mut Stream) -> io::Result<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}
