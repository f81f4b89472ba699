//! The other end of a socket that a process waits for.

use crate::process::Pid;
use rustix::fd::AsFd;
use rustix::net::{AddressFamily, getpeername, sockopt};

/// The peer of a connected socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    /// A process of this machine, over a Unix socket: the one that listened, or that made a pair of sockets. `None` if
    /// it is in another pid namespace.
    Local(Option<Pid>),
    /// Over the network, which may be this machine's own.
    Network,
}

impl Peer {
    /// `None`: nothing comes from this socket but new connections, if anything.
    pub(super) fn of(socket: impl AsFd) -> Option<Self> {
        if sockopt::socket_acceptconn(&socket).ok()? {
            return None;
        }
        match sockopt::socket_domain(&socket).ok()? {
            AddressFamily::UNIX => {
                getpeername(&socket).ok()?;
                Some(Self::Local(crate::peer::pid_of(socket.as_fd())))
            }
            AddressFamily::INET | AddressFamily::INET6 => getpeername(&socket).ok().map(|_| Self::Network),
            _ => None,
        }
    }

    pub(super) fn is_local(self) -> bool {
        matches!(self, Self::Local(_))
    }

    pub(super) fn is(self, pid: Pid) -> bool {
        self == Self::Local(Some(pid))
    }

    /// Whether the peer is known to be none of these processes.
    pub(super) fn is_outside(self, is_member: impl Fn(Pid) -> bool) -> bool {
        match self {
            Self::Local(Some(pid)) => !is_member(pid),
            Self::Local(None) | Self::Network => true,
        }
    }
}
