//! Keeps confined commands away from the servers of Windlass on this machine. Those servers reject confined callers,
//! but for a command with listed hosts the caller is this proxy, which is not confined. So a server announces its port,
//! and the proxy connects to no port that is announced.
//!
//! The announcement is a unix socket with an abstract name, because the kernel removes it with the process. Confined
//! commands are in a network namespace of their own and cannot take such a name.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Holds while a server of Windlass listens on a port.
#[derive(Debug)]
pub struct Announcement {
    _socket: UnixDatagram,
}

impl Announcement {
    /// Announces a port. The error means that it is announced already.
    pub fn of(port: u16) -> io::Result<Self> {
        Ok(Self { _socket: UnixDatagram::bind_addr(&name(port)?)? })
    }
}

/// The name that stands for a port. It is not part of a protocol and has no version: servers and proxies of every
/// Windlass from now on must agree on it.
fn name(port: u16) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("windlass-server-{port}"))
}

/// Whether a server of Windlass listens on this port. This connects to the name and does not bind it, even for a
/// moment: a server that starts in that moment could not announce itself.
pub(crate) fn is_announced(port: u16) -> bool {
    let connected =
        name(port).and_then(|name| UnixDatagram::unbound().and_then(|socket| socket.connect_addr(&name)));
    connected.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::{Connector, SystemConnector};
    use tokio::net::TcpListener;

    #[test]
    fn a_proxy_that_looks_for_a_server_keeps_none_from_announcing_itself() {
        // Port 0, which no server of Windlass can have.
        const PORT: u16 = 0;
        let over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let looking = scope.spawn(|| {
                while !over.load(std::sync::atomic::Ordering::Relaxed) {
                    let _ = is_announced(PORT);
                }
            });
            let failed = (0..10_000).find_map(|_| Announcement::of(PORT).err());
            over.store(true, std::sync::atomic::Ordering::Relaxed);
            looking.join().expect("it looks");
            assert!(failed.is_none(), "{failed:?}");
        });
        let announced = Announcement::of(PORT).expect("it is free");
        assert!(is_announced(PORT));
        drop(announced);
        assert!(!is_announced(PORT));
    }

    #[tokio::test]
    async fn no_connection_leads_to_a_server_of_our_own() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        assert!(SystemConnector.connect(address).await.is_ok());
        let announced = Announcement::of(address.port()).expect("it is free");
        let refused = SystemConnector.connect(address).await.expect_err("it is announced");
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        drop(announced);
        assert!(SystemConnector.connect(address).await.is_ok());
    }
}
