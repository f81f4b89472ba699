//! The sources of connections: the program's own input and output, a WebSocket on an address, a WebSocket on a path.
//!
//! Every connection is a task of its own with a message handler of its own. When serving is over, all connections are
//! closed, and everything that their handlers had to end has ended.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use tokio::net::{TcpListener, UnixStream};
use tokio_util::sync::CancellationToken;
use windlass_engine::Announcement;

use super::connection::{Inbox, MESSAGE_LIMIT, MessageHandler, Next, Source, serve};
use super::peer::{Framing, Peer, Sink, Stamping};
use super::socket_path::{SocketPath, SocketPathError};
use super::websocket::Sender;
use super::ws_upgrade::WsUpgrade;
use crate::caller::{Caller, TurnedAway};
use crate::connections::{Entrance, PeerKey, Slot, accept_until};
use crate::gate::{Access, Perimeter, ServerReach};
use crate::pipe::Pipe;

/// The address of a server, written `stdio://`, `ws://IP:PORT`, `wss://IP:PORT`, `unix://PATH` or `off`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// One client on the program's own input and output.
    Stdio,
    /// WebSockets on this address; with port 0 the system chooses one.
    WebSocket(SocketAddr),
    /// The same, encrypted.
    SecureWebSocket(SocketAddr),
    /// WebSockets on a socket at this path.
    Unix(PathBuf),
    /// No clients.
    Off,
}

/// The text is not an address to listen on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no place to listen: it is `stdio://`, `ws://IP:PORT`, `wss://IP:PORT`, `unix://PATH` or `off`"
)]
pub struct NoListen(String);

impl FromStr for Listen {
    type Err = NoListen;

    fn from_str(text: &str) -> Result<Self, NoListen> {
        let unknown = || NoListen(text.to_owned());
        match text.split_once("://") {
            None if text == "off" => Ok(Self::Off),
            None if text == "stdio" => Ok(Self::Stdio),
            Some(("stdio", "")) => Ok(Self::Stdio),
            Some((scheme @ ("ws" | "wss"), address)) => {
                let kind = if scheme == "ws" { Self::WebSocket } else { Self::SecureWebSocket };
                let address = address.strip_suffix('/').unwrap_or(address);
                let address = address.replacen("localhost:", "127.0.0.1:", 1);
                address.parse().map(kind).map_err(|_| unknown())
            }
            Some(("unix", path)) if !path.is_empty() => Ok(Self::Unix(path.into())),
            _ => Err(unknown()),
        }
    }
}

/// Why a server cannot listen on an address.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Other machines could reach it, and that was not allowed.
    #[error("{address} can be reached from other machines")]
    NotLoopback {
        /// The address.
        address: SocketAddr,
    },
    /// Other machines could reach it, and it demands no token.
    #[error("{address} can be reached from other machines, and no token is asked for")]
    OpenToAll {
        /// The address.
        address: SocketAddr,
    },
    /// Every process of this machine could reach it, and it demands no token.
    #[error("any process on this machine could run commands through {address}: no token is asked for")]
    OpenLoopback {
        /// The address.
        address: SocketAddr,
    },
    /// Other machines could reach it, and the traffic would not be encrypted, the token included.
    #[error("{address} can be reached from other machines, and connections are not encrypted")]
    Unencrypted {
        /// The address.
        address: SocketAddr,
    },
    /// The address is an encrypted one, and there is no certificate.
    #[error("an encrypted address needs a certificate")]
    NoCertificate,
    /// The system refuses.
    #[error("cannot listen on {address}: {error}")]
    Refused {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        error: io::Error,
    },
    /// The path cannot hold a socket.
    #[error(transparent)]
    SocketPath(#[from] SocketPathError),
    /// The program's own input or output is closed or unusable.
    #[error("cannot use standard input and output: {0}")]
    Stdio(io::Error),
}

/// A bound listener.
pub struct Listener {
    at: At,
    door: Arc<WsUpgrade>,
}

enum At {
    Stdio(Pipe, Pipe),
    Address(TcpListener),
    SocketPath(SocketPath),
    Nowhere,
}

/// How a client is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    /// It started this program, and there will be no other client.
    Stdio,
    /// It connected to a socket, and may do so again.
    Socket,
}

impl Listener {
    /// Binds an address. The perimeter applies to sockets: the process that started this program is always served. Only
    /// `SecureWebSocket` is encrypted.
    ///
    /// # Errors
    ///
    /// When the address reaches further than allowed, or is taken.
    pub async fn bind(listen: &Listen, perimeter: Perimeter) -> Result<Self, BindError> {
        let Perimeter { gate, reach, tls, report } = perimeter;
        let tls = tls.filter(|_| matches!(listen, Listen::SecureWebSocket(_)));
        let at = match listen {
            Listen::Off => At::Nowhere,
            Listen::Stdio => {
                At::Stdio(Pipe::input().map_err(BindError::Stdio)?, Pipe::output().map_err(BindError::Stdio)?)
            }
            Listen::Unix(path) => At::SocketPath(SocketPath::take(path).await?),
            Listen::SecureWebSocket(_) if tls.is_none() => return Err(BindError::NoCertificate),
            &(Listen::WebSocket(address) | Listen::SecureWebSocket(address)) => {
                may_bind(address, &gate.access, reach)?;
                if !address.ip().is_loopback() && reach == ServerReach::Network && tls.is_none() {
                    return Err(BindError::Unencrypted { address });
                }
                let listener = TcpListener::bind(address).await;
                At::Address(listener.map_err(|error| BindError::Refused { address, error })?)
            }
        };
        let bound = match listen {
            Listen::WebSocket(address) | Listen::SecureWebSocket(address) => Some(address.ip()),
            Listen::Stdio | Listen::Unix(_) | Listen::Off => None,
        };
        let port = match &at {
            At::Address(listener) => listener.local_addr().ok().map(|address| address.port()),
            At::Stdio(..) | At::SocketPath(_) | At::Nowhere => None,
        };
        let announced = port.and_then(|port| Announcement::of(port).ok());
        let turned_away = TurnedAway::new(report);
        Ok(Self { at, door: Arc::new(WsUpgrade { gate, bound, tls, turned_away, announced }) })
    }

    /// The URL for clients, if they can connect.
    pub fn url(&self) -> Option<String> {
        match &self.at {
            At::Stdio(..) | At::Nowhere => None,
            At::Address(listener) => {
                let scheme = if self.door.tls.is_some() { "wss" } else { "ws" };
                listener.local_addr().ok().map(|address| format!("{scheme}://{address}"))
            }
            At::SocketPath(place) => Some(format!("unix://{}", place.path().display())),
        }
    }

    /// Serves all clients that connect until `stop` is done or, on standard input and output, until that client has
    /// gone. Each connection gets a message handler of its own. All connections are closed by the time this returns.
    pub(crate) async fn serve<D: MessageHandler + 'static>(
        self,
        stamping: Stamping,
        open: impl Fn(Peer, Via) -> D + Send + Sync + 'static,
        stop: impl Future<Output = ()> + Send,
    ) {
        let dialects = Dialects { stamping, open };
        match self.at {
            At::Nowhere => stop.await,
            At::Stdio(input, output) => serve_stdio((input, output), &dialects, stop).await,
            At::Address(listener) => serve_sockets(listener, (self.door, dialects), stop).await,
            At::SocketPath(place) => serve_sockets(place, (self.door, dialects), stop).await,
        }
    }
}

/// Checks that an address may be served with this access.
fn may_bind(address: SocketAddr, access: &Access, reach: ServerReach) -> Result<(), BindError> {
    match (reach, access) {
        (ServerReach::Loopback, Access::Open) if address.ip().is_loopback() => {
            return Err(BindError::OpenLoopback { address });
        }
        _ if address.ip().is_loopback() => {}
        (ServerReach::Loopback | ServerReach::OpenLoopback, _) => {
            return Err(BindError::NotLoopback { address });
        }
        (ServerReach::Network | ServerReach::PlaintextNetwork, Access::Open) => {
            return Err(BindError::OpenToAll { address });
        }
        (ServerReach::Network | ServerReach::PlaintextNetwork, _) => {}
    }
    Ok(())
}

/// Creates the message handler of each connection.
struct Dialects<F> {
    stamping: Stamping,
    open: F,
}

async fn serve_stdio<D: MessageHandler>(
    (input, output): (Pipe, Pipe),
    dialects: &Dialects<impl Fn(Peer, Via) -> D>,
    stop: impl Future<Output = ()> + Send,
) {
    let over = either(stop, output.closed());
    let open = |peer| (dialects.open)(peer, Via::Stdio);
    serve_streams((Box::new(input), Box::new(output)), (dialects.stamping, open), over).await;
}

/// Waits until the server stops, or a client stops reading: the server may never write to such a client, so a failed
/// write would not reveal it.
async fn either(stop: impl Future<Output = ()>, unread: impl Future<Output = ()>) {
    tokio::select! {
        () = stop => {}
        () = unread => {}
    }
}

/// Serves one client on any pair of streams, one message per line.
pub(crate) async fn serve_streams<D: MessageHandler>(
    (source, sink): (Source, Sink),
    (stamping, open): (Stamping, impl FnOnce(Peer) -> D),
    stop: impl Future<Output = ()> + Send,
) {
    let peer = Peer::new(sink, Framing::Lines, stamping);
    let dialect = open(peer.clone());
    serve(dialect, Inbox::lines(source), peer, stop).await;
}

impl Entrance for SocketPath {
    type Stream = UnixStream;

    async fn next(&self) -> io::Result<UnixStream> {
        self.accept().await
    }

    fn caller(stream: &UnixStream) -> Caller {
        Caller::local(stream)
    }

    fn peer(stream: &UnixStream) -> PeerKey {
        stream.peer_cred().map_or(PeerKey::Unknown, |caller| PeerKey::Process(caller.uid(), caller.pid()))
    }
}

async fn serve_sockets<E: Entrance + 'static, D: MessageHandler + 'static>(
    entrance: E,
    (door, dialects): (Arc<WsUpgrade>, Dialects<impl Fn(Peer, Via) -> D + Send + Sync + 'static>),
    stop: impl Future<Output = ()> + Send,
) {
    let over = CancellationToken::new();
    let dialects = Arc::new(dialects);
    let connection = |stream, slot| {
        converse::<E, D>((stream, slot), (Arc::clone(&door), Arc::clone(&dialects)), over.clone())
    };
    let mut connections = accept_until(&entrance, connection, stop).await;
    over.cancel();
    while connections.join_next().await.is_some() {}
}

/// One connection, from the first byte to its end.
async fn converse<E: Entrance + 'static, D: MessageHandler + 'static>(
    (stream, slot): (E::Stream, Arc<Slot>),
    (door, dialects): (Arc<WsUpgrade>, Arc<Dialects<impl Fn(Peer, Via) -> D>>),
    over: CancellationToken,
) {
    let caller = E::caller(&stream);
    let opened = tokio::select! {
        opened = door.open(stream, (&caller, &slot)) => opened,
        () = over.cancelled() => None,
    };
    let Some((source, sink, unread)) = opened else { return };
    let peer = Peer::new(sink, Framing::WebSocket, dialects.stamping);
    let dialect =
        UntilFirstMessage { dialect: (dialects.open)(peer.clone(), Via::Socket), slot, begun: false };
    let inbox = Inbox::frames_up_to(MESSAGE_LIMIT, source, (Sender::Client, peer.clone()));
    serve(dialect, inbox, peer, either(over.cancelled(), unread)).await;
}

/// Until its first message has arrived, a connection can be closed to make room for others: no request of it is lost.
struct UntilFirstMessage<D> {
    dialect: D,
    slot: Arc<Slot>,
    begun: bool,
}

impl<D> UntilFirstMessage<D> {
    /// `false` if the connection is being closed.
    fn begin(&mut self) -> bool {
        self.begun = self.begun || self.slot.establish();
        self.begun
    }
}

impl<D: MessageHandler> MessageHandler for UntilFirstMessage<D> {
    async fn take(&mut self, message: &[u8]) -> Next {
        if self.begin() { self.dialect.take(message).await } else { Next::HangUp }
    }

    fn too_long(&mut self, beginning: &[u8]) {
        if self.begin() {
            self.dialect.too_long(beginning);
        }
    }

    async fn close(self) {
        self.dialect.close().await;
    }
}

#[cfg(test)]
mod tests;
