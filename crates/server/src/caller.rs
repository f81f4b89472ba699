//! Checks the process behind a connection: a server rejects a caller that is confined more than the server itself.
//!
//! A confined command could otherwise have a server do what its sandbox denies. A socket cannot be hidden from every
//! command that can see its directory or its port, but the server can inspect the process that connected. Over TCP it
//! finds that process only on this machine, and not always; where it does not, the token protects.

mod rejected;

use std::net::SocketAddr;
use std::os::fd::AsFd;

use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::sync::OnceCell;
use windlass_engine::peer::{self, Holder, PeerConfinement};

use crate::gate::Access;
use crate::unread::network::{self, Owned};

pub use self::rejected::Report;
pub(crate) use self::rejected::TurnedAway;

/// Why a caller is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// It is confined more than the server.
    Confined,
    /// It runs as another user, and the server has no token.
    OtherUser,
    /// It cannot be found or inspected.
    Unidentified,
}

impl Denied {
    /// The text for the caller and for the operator.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Confined => {
                "the calling process runs in a sandbox, and this server would act outside of it"
            }
            Self::OtherUser => {
                "the calling process belongs to another user, and this server asks for no token"
            }
            Self::Unidentified => "the calling process is gone or cannot be identified",
        }
    }
}

impl std::fmt::Display for Denied {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.text())
    }
}

/// Accepts the next caller that is not confined. The connections of others are closed.
pub(crate) async fn accept(listener: &UnixListener) -> std::io::Result<UnixStream> {
    loop {
        let (stream, _) = listener.accept().await?;
        if judge_local(&stream).is_ok() {
            return Ok(stream);
        }
    }
}

/// Whether a caller over a unix socket is served.
fn judge_local(stream: &UnixStream) -> Result<(), Denied> {
    match peer::of_unix_socket(stream.as_fd()) {
        PeerConfinement::NoMore => Ok(()),
        PeerConfinement::More => Err(Denied::Confined),
        PeerConfinement::Unknown => Err(Denied::Unidentified),
    }
}

/// The process behind a connection. The server looks for it only after the connection has sent a request: the search
/// takes milliseconds, and a process that opens hundreds of connections and sends nothing would otherwise keep the
/// server busy. A connection keeps its two addresses for as long as the server holds it, so the search cannot find
/// another process instead.
#[derive(Debug)]
pub(crate) struct Caller {
    found: CallerAddress,
    judged: OnceCell<Result<(), Denied>>,
}

#[derive(Debug)]
enum CallerAddress {
    /// Judged by its credentials, which come with the connection.
    Local(Result<(), Denied>),
    /// Only the addresses of the connection are known: the server's and the client's.
    Tcp(SocketAddr, SocketAddr),
}

impl Caller {
    pub(crate) fn local(stream: &UnixStream) -> Self {
        Self { found: CallerAddress::Local(judge_local(stream)), judged: OnceCell::new() }
    }

    pub(crate) fn tcp(stream: &TcpStream) -> Self {
        let found = match (stream.local_addr(), stream.peer_addr()) {
            (Ok(ours), Ok(theirs)) => CallerAddress::Tcp(ours, theirs),
            _ => CallerAddress::Local(Err(Denied::Unidentified)),
        };
        Self { found, judged: OnceCell::new() }
    }

    /// The result of [`Self::judge`], if there is one yet.
    pub(crate) fn judged(&self) -> Option<Result<(), Denied>> {
        self.judged.get().copied()
    }

    /// Whether the caller is served. The search runs once.
    pub(crate) async fn judge(&self, access: &Access) -> Result<(), Denied> {
        let look = || async {
            match self.found {
                CallerAddress::Local(judged) => judged,
                CallerAddress::Tcp(ours, theirs) => judge_tcp(ours, theirs, access).await,
            }
        };
        *self.judged.get_or_init(look).await
    }
}

async fn judge_tcp(ours: SocketAddr, theirs: SocketAddr, access: &Access) -> Result<(), Denied> {
    let without_token = matches!(access, Access::Open);
    // The search reads hundreds of small files, which blocks.
    let looked = tokio::task::spawn_blocking(move || match without_token {
        true => judge_without_token(ours, theirs),
        false if is_confined(ours, theirs) => Err(Denied::Confined),
        false => Ok(()),
    });
    looked.await.unwrap_or(Err(Denied::Unidentified))
}

/// With a token, the server looks only for commands in a sandbox of Windlass: clients may connect for every request.
fn is_confined(ours: SocketAddr, theirs: SocketAddr) -> bool {
    match network::owner(theirs, ours) {
        Owned::By(owner) => peer::is_held_in_a_sandbox(owner.inode),
        Owned::Gone | Owned::Untold => false,
    }
}

/// Without a token the caller must be of the same user, or root, and still be alive: a confined command could send
/// everything at once and exit before the server looks for it. A process that hides its descriptors is rejected while
/// confined processes of Windlass can reach this port.
fn judge_without_token(ours: SocketAddr, theirs: SocketAddr) -> Result<(), Denied> {
    let owner = match network::owner(theirs, ours) {
        Owned::By(owner) => owner,
        Owned::Gone => return Err(Denied::Unidentified),
        Owned::Untold => return Ok(()),
    };
    let user = rustix::process::geteuid().as_raw();
    if owner.user != user && owner.user != 0 {
        return Err(Denied::OtherUser);
    }
    match peer::holder_of_socket(owner.inode) {
        Holder::Unconfined | Holder::Unknown => Ok(()),
        Holder::Confined => Err(Denied::Confined),
        Holder::PerhapsConfined => Err(Denied::Unidentified),
    }
}
