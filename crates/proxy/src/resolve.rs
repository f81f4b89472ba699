//! The two operations that the proxy needs from the outside: resolving a name, and connecting to an address. Both can
//! be replaced: by tests that have names of their own, and by callers that reach the network in another way.
//!
//! They are separate on purpose. Between them the proxy judges the addresses, and connects to the very address that it
//! judged: a name that is looked up twice may resolve differently.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::host::Name;
use crate::own_server::is_announced;

/// A boxed future, so that the traits below can be used as objects.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Resolves names.
pub trait Resolver: Send + Sync + 'static {
    /// Looks a name up. The addresses are tried in the order of the answer.
    fn lookup<'a>(&'a self, name: &'a Name) -> Later<'a, io::Result<Vec<IpAddr>>>;
}

/// Makes connections.
pub trait Connector: Send + Sync + 'static {
    /// Connects to an address.
    fn connect(&self, address: SocketAddr) -> Later<'_, io::Result<TcpStream>>;
}

/// Connects with the system's sockets.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemConnector;

impl Connector for SystemConnector {
    fn connect(&self, address: SocketAddr) -> Later<'_, io::Result<TcpStream>> {
        Box::pin(async move {
            let stream = TcpStream::connect(address).await?;
            // On both ends the same address: the other one is on this machine.
            let is_here = stream.local_addr()?.ip() == stream.peer_addr()?.ip();
            if is_here && is_announced(address.port()) {
                let why = "a server of Windlass listens there, which does nothing for confined commands";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
            }
            Ok(stream)
        })
    }
}

/// Asks the system: `/etc/hosts` and name servers, as every program on this machine.
#[derive(Clone, Debug)]
pub struct SystemResolver {
    free: Arc<Semaphore>,
}

impl SystemResolver {
    /// The most look-ups at once. The system's own cannot be cancelled: one whose client has stopped waiting holds a
    /// thread until it is answered, and counts here as long.
    pub const LOOKUPS: usize = 32;
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self { free: Arc::new(Semaphore::new(Self::LOOKUPS)) }
    }
}

impl Resolver for SystemResolver {
    fn lookup<'a>(&'a self, name: &'a Name) -> Later<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let place = Arc::clone(&self.free).acquire_owned().await.map_err(io::Error::other)?;
            let name = name.to_string();
            let looked_up = tokio::task::spawn_blocking(move || {
                let addresses = (name, 0).to_socket_addrs().map(|all| all.map(|one| one.ip()).collect());
                drop(place);
                addresses
            });
            looked_up.await.map_err(io::Error::other)?
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_system_knows_its_own_name() {
        let name = Name::parse("localhost").expect("a name");
        let addresses = SystemResolver::default().lookup(&name).await.expect("every machine has it");
        assert!(!addresses.is_empty() && addresses.iter().all(IpAddr::is_loopback), "{addresses:?}");
    }
}
