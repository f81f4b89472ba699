//! Servers of Windlass on this machine do nothing for confined commands. They see who calls them, but for a command with listed
//! hosts the caller is this proxy, which is not confined. So a server announces its port, and the proxy leads to none that is
//! announced.
//!
//! The announcement is a unix socket with an abstract name, because the kernel removes it with the process. Confined commands are
//! in a network namespace of their own and cannot take such a name.

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
        let name = SocketAddr::from_abstract_name(format!("windlass-server-{port}"))?;
        Ok(Self { _socket: UnixDatagram::bind_addr(&name)? })
    }
}

/// Whether a server of Windlass listens on this port.
pub(crate) fn is_announced(port: u16) -> bool {
    Announcement::of(port).is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::{Connector, SystemConnector};
    use tokio::net::TcpListener;

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
