//! Checks the process behind a connection: a server rejects a caller that is confined more than the server itself.
//!
//! A confined command could otherwise have a server do what its sandbox denies. A socket cannot be hidden from every
//! command that can see its directory or its port, but the process that connected can be looked at. Over TCP it can be
//! found only on this machine; callers from elsewhere are admitted by the token alone.

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
            Self::Unidentified => {
                "the calling process is gone or cannot be identified, and may be a command in a sandbox: keep the \
                 connection open until the reply, or connect over unix://"
            }
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
        false => judge_with_token(ours, theirs),
    });
    looked.await.unwrap_or(Err(Denied::Unidentified))
}

/// With a token, only commands in a sandbox of ours are looked for: clients may connect for every request. A caller on this
/// machine that has closed its socket is not served: a confined command could say everything at once and be gone. Nor is one
/// whose socket no process has open while such commands can reach this port: a descriptor that is on its way through a Unix
/// socket is in no process's table.
fn judge_with_token(ours: SocketAddr, theirs: SocketAddr) -> Result<(), Denied> {
    let owner = match network::owner(theirs, ours) {
        Owned::By(owner) => owner,
        Owned::Gone if network::is_on_this_machine(theirs) => return Err(Denied::Unidentified),
        // Another machine, or a network of its own, such as a container's.
        Owned::Gone => return Ok(()),
        Owned::Untold => return judge_unseen(theirs),
    };
    match peer::sandboxed_holder_of_socket(owner.inode) {
        Holder::Unconfined | Holder::Unknown => Ok(()),
        Holder::Confined => Err(Denied::Confined),
        // The descriptors of other users are hidden from us unless we are root, and commands of ours remain of our user.
        Holder::PerhapsConfined if is_of_other_user(owner) => Ok(()),
        Holder::PerhapsConfined => Err(Denied::Unidentified),
    }
}

fn is_of_other_user(owner: network::Owner) -> bool {
    let user = rustix::process::geteuid();
    !user.is_root() && owner.user != user.as_raw()
}

/// Where the kernel tells nothing of sockets.
fn judge_unseen(theirs: SocketAddr) -> Result<(), Denied> {
    let may_be_confined = network::is_on_this_machine(theirs) && peer::sandboxed_commands_share_network();
    if may_be_confined { Err(Denied::Unidentified) } else { Ok(()) }
}

/// Without a token the caller must be of the same user, or root, and still be there: a confined command could say
/// everything at once and be gone before it is looked for. A process that hides its descriptors is not served while
/// confined processes of ours can reach this port.
fn judge_without_token(ours: SocketAddr, theirs: SocketAddr) -> Result<(), Denied> {
    let owner = match network::owner(theirs, ours) {
        Owned::By(owner) => owner,
        Owned::Gone => return Err(Denied::Unidentified),
        Owned::Untold => return judge_unseen(theirs),
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
