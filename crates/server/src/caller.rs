//! The process behind a connection: a server does nothing for a caller that is confined more than the server itself.
//!
//! A confined command could otherwise have a server do what its sandbox denies. A socket cannot be hidden from every
//! command that can see its directory or its port, but the process that connected can be looked at. Over TCP it can be
//! found only on this machine, and not always; where it cannot be found, the token is what protects.

use std::net::SocketAddr;
use std::os::fd::AsFd;

use tokio::net::{TcpStream, UnixListener, UnixStream};
use windlass_engine::peer::{self, Confinement, Holder};

use crate::gate::Access;
use crate::unread::network::{self, Owned};

/// The next caller that is not confined. The connections of others are closed.
pub(crate) async fn accept(listener: &UnixListener) -> std::io::Result<UnixStream> {
    loop {
        let (stream, _) = listener.accept().await?;
        if peer::of_unix_socket(stream.as_fd()) == Confinement::NoMore {
            return Ok(stream);
        }
    }
}

/// Whether a caller over TCP is served, before anything it says is read.
pub(crate) async fn may_call(stream: &TcpStream, access: &Access) -> bool {
    let (Ok(ours), Ok(theirs)) = (stream.local_addr(), stream.peer_addr()) else { return false };
    let without_token = matches!(access, Access::Open);
    // Hundreds of small files are read, which blocks.
    let looked = tokio::task::spawn_blocking(move || match without_token {
        true => may_call_without_token(ours, theirs),
        false => !is_confined(ours, theirs),
    });
    looked.await.unwrap_or(false)
}

/// With a token, only commands in a sandbox of ours are looked for: clients may connect for every request.
fn is_confined(ours: SocketAddr, theirs: SocketAddr) -> bool {
    match network::owner(theirs, ours) {
        Owned::By(owner) => peer::is_held_in_a_sandbox(owner.inode),
        Owned::Gone | Owned::Untold => false,
    }
}

/// Without a token the caller must be of the same user, or root, and still be there: a confined command could say
/// everything at once and be gone before it is looked for. A process that hides its descriptors is not served while
/// confined processes of ours can reach this port.
fn may_call_without_token(ours: SocketAddr, theirs: SocketAddr) -> bool {
    let owner = match network::owner(theirs, ours) {
        Owned::By(owner) => owner,
        Owned::Gone => return false,
        Owned::Untold => return true,
    };
    let user = rustix::process::geteuid().as_raw();
    (owner.user == user || owner.user == 0)
        && matches!(peer::holder_of_socket(owner.inode), Holder::Unconfined | Holder::Unknown)
}
