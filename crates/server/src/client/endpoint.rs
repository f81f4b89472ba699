//! The address of a server, and how to connect to it.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;

use tokio::net::unix::pipe;
use tokio::net::{TcpStream, UnixStream};
use windlass_engine::peer;

use super::ClientOptions;
use super::error::ClientError;
use super::handshake::{self, UpgradeRequest};
use crate::jsonrpc::connection::{Inbox, Source};
use crate::jsonrpc::peer::{Framing, Peer, Sink, Stamping};
use crate::jsonrpc::socket_path;
use crate::jsonrpc::websocket::Sender;
use crate::tls;

/// The largest message that the client accepts: a command may be run without a cap on its output. After a larger one
/// the client gives the connection up, because it cannot tell which request the message answers.
const ANSWER_LIMIT: usize = 1 << 30;

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A WebSocket on a network address, written `ws://HOST:PORT` or, encrypted, `wss://HOST:PORT`, perhaps with a path
    /// after it.
    WebSocket {
        /// Whether it is encrypted.
        encryption: Encryption,
        /// The host and the port.
        authority: String,
        /// The path of the HTTP request.
        path: String,
    },
    /// A WebSocket on a socket at a path, written `unix://PATH`.
    Unix(PathBuf),
    /// A program that the client starts, and that speaks the dialect on its standard input and output.
    Program(Vec<OsString>),
}

/// Whether a connection is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// Plain text: `ws`.
    None,
    /// TLS: `wss`.
    Tls,
}

impl Encryption {
    fn scheme(self) -> &'static str {
        match self {
            Self::None => "ws",
            Self::Tls => "wss",
        }
    }
}

/// The text is not the address of a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no server's address: it is `ws://HOST:PORT`, `wss://HOST:PORT` or `unix://PATH`")]
pub struct NoEndpoint(String);

impl FromStr for Endpoint {
    type Err = NoEndpoint;

    fn from_str(text: &str) -> Result<Self, NoEndpoint> {
        match text.split_once("://") {
            Some(("unix", path)) if !path.is_empty() => Ok(Self::Unix(path.into())),
            Some((scheme @ ("ws" | "wss"), rest)) => {
                let encryption = if scheme == "ws" { Encryption::None } else { Encryption::Tls };
                let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                let has_port = authority.rsplit_once(':').is_some_and(|(host, port)| {
                    !host.is_empty() && port.parse::<u16>().is_ok() && !authority.contains('@')
                });
                let path = if path.is_empty() { "/" } else { path };
                has_port
                    .then(|| Self::WebSocket {
                        encryption,
                        authority: authority.to_owned(),
                        path: path.to_owned(),
                    })
                    .ok_or_else(|| NoEndpoint(text.to_owned()))
            }
            _ => Err(NoEndpoint(text.to_owned())),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WebSocket { encryption, authority, path } => {
                write!(f, "{}://{authority}{}", encryption.scheme(), path.trim_end_matches('/'))
            }
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
            Self::Program(command) => {
                let program = command.first().map(|program| program.to_string_lossy()).unwrap_or_default();
                write!(f, "the program {program}")
            }
        }
    }
}

/// Both directions of a connection, and the process at its end if the client started it.
pub(super) struct Wires {
    pub(super) inbox: Inbox,
    pub(super) peer: Peer,
    pub(super) child: Option<Child>,
}

impl Endpoint {
    /// Connects to the server, or starts its program.
    pub(super) async fn open(&self, options: &ClientOptions) -> Result<Wires, ClientError> {
        let token = options.token.as_ref();
        let unreachable = |error| ClientError::Unreachable { endpoint: self.to_string(), error };
        match self {
            Self::Program(command) => start(command).map_err(unreachable),
            Self::Unix(path) => {
                let stream = socket_path::connect(path).await.map_err(unreachable)?;
                // A command can put its own socket in the place of a server's, where it may write.
                if token.is_some() && !trustworthy(&stream).await {
                    return Err(ClientError::Impostor { endpoint: self.to_string() });
                }
                let asked = UpgradeRequest { endpoint: self, host: "localhost", path: "/", token };
                handshake::upgrade(stream, asked).await.and_then(|halves| self.framed(halves))
            }
            Self::WebSocket { encryption, authority, path } => {
                let stream = TcpStream::connect(authority).await.map_err(unreachable)?;
                // Without this, Nagle's algorithm may hold a key back until the server acknowledges the one before.
                let _ = stream.set_nodelay(true);
                let asked = UpgradeRequest { endpoint: self, host: authority, path, token };
                let upgraded = match encryption {
                    Encryption::None => handshake::upgrade(stream, asked).await,
                    Encryption::Tls => {
                        let authorities = options.authorities.as_deref();
                        let stream = tls::connect(stream, host_of(authority), authorities).await;
                        let failed = |error| match tls::distrust(&error) {
                            Some(reason) => ClientError::Certificate { endpoint: self.to_string(), reason },
                            None => unreachable(error),
                        };
                        handshake::upgrade(stream.map_err(failed)?, asked).await
                    }
                };
                upgraded.and_then(|halves| self.framed(halves))
            }
        }
    }

    fn framed(&self, (source, sink): (Source, Sink)) -> Result<Wires, ClientError> {
        let seed = handshake::random()
            .map_err(|error| ClientError::Unreachable { endpoint: self.to_string(), error })?;
        let peer =
            Peer::new(sink, Framing::MaskedWebSocket { seed: u64::from_ne_bytes(seed) }, Stamping::Plain);
        Ok(Wires {
            inbox: Inbox::frames_up_to(ANSWER_LIMIT, source, (Sender::Server, peer.clone())),
            peer,
            child: None,
        })
    }
}

/// Whether a token may be shown to the process that listens there. The process table may have to be read, which blocks.
async fn trustworthy(stream: &UnixStream) -> bool {
    let Ok(descriptor) = stream.as_fd().try_clone_to_owned() else { return false };
    let looked = tokio::task::spawn_blocking(move || peer::is_trustworthy_server(descriptor));
    looked.await.unwrap_or(false)
}

/// The host in `HOST:PORT`, without the brackets of an address.
fn host_of(authority: &str) -> &str {
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

/// Both directions of streams that carry one message per line.
pub(super) fn lines(source: Source, sink: Sink) -> Wires {
    Wires {
        inbox: Inbox::lines_up_to(ANSWER_LIMIT, source),
        peer: Peer::new(sink, Framing::Lines, Stamping::Plain),
        child: None,
    }
}

/// Starts a program on pipes. The client alone has their ends, so it may make them non-blocking.
fn start(command: &[OsString]) -> io::Result<Wires> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut child =
        Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    let sink = pipe::Sender::from_owned_fd(input.into())?;
    let source = pipe::Receiver::from_owned_fd(output.into())?;
    Ok(Wires { child: Some(child), ..lines(Box::new(source), Box::new(sink)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_for_the_host_without_its_port() {
        for (authority, host) in
            [("box.example:1", "box.example"), ("[::1]:1", "::1"), ("127.0.0.1:1", "127.0.0.1")]
        {
            assert_eq!(host_of(authority), host);
        }
    }

    #[test]
    fn addresses_of_servers_are_read_as_they_are_written() {
        for (text, shown) in [
            ("ws://127.0.0.1:80", "ws://127.0.0.1:80"),
            ("ws://localhost:80/", "ws://localhost:80"),
            ("ws://[::1]:80/rpc", "ws://[::1]:80/rpc"),
            ("wss://box.example:443", "wss://box.example:443"),
            ("unix:///a b", "unix:///a b"),
        ] {
            assert_eq!(text.parse::<Endpoint>().map(|endpoint| endpoint.to_string()), Ok(shown.to_owned()));
        }
        for text in
            ["", "ws://", "ws://a", "ws://:1", "ws://a:x", "ws://u:p@a:1", "wss://a", "http://a:1", "unix://"]
        {
            assert_eq!(text.parse::<Endpoint>(), Err(NoEndpoint(text.to_owned())), "{text}");
        }
    }
}
