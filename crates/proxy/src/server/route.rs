//! From a target to a connection: the list is asked, the name is looked up once, each address is judged, and those that
//! passed are tried in order. There is no second look-up, so a name cannot answer differently after it was judged.

use std::io;
use std::net::{IpAddr, SocketAddr};

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::ProxyShared;
use crate::decision::DenyReason;
use crate::host::{Host, Name, Target};

/// The most addresses of a name that are looked at.
const ADDRESS_LIMIT: usize = 16;

/// The result of judging a target.
pub(crate) struct RouteVerdict {
    /// The address that decided, if it came to that.
    pub(crate) address: Option<IpAddr>,
    pub(crate) verdict: Result<Upstream, DenyReason>,
}

/// A route that the list allows.
pub(crate) struct Upstream {
    /// The entry that allows it.
    pub(crate) entry: String,
    /// In the order in which they are tried; never empty.
    addresses: Vec<SocketAddr>,
}

impl ProxyShared {
    /// Decides whether and where a target may be reached.
    pub(crate) async fn judge(&self, target: &Target) -> RouteVerdict {
        // Before anything leaves the machine.
        if let Err(unlisted) = self.allow.lists(target) {
            let address = if let Host::Address(address) = target.host { Some(address) } else { None };
            return RouteVerdict { address, verdict: Err(unlisted.into()) };
        }
        let looked_up = match &target.host {
            Host::Address(address) => Ok(vec![*address]),
            Host::Name(name) => self.lookup(name).await,
        };
        match looked_up {
            Ok(addresses) => self.choose(target, &addresses),
            Err(refusal) => RouteVerdict { address: None, verdict: Err(refusal) },
        }
    }

    async fn lookup(&self, name: &Name) -> Result<Vec<IpAddr>, DenyReason> {
        // timer: the client gets an error, instead of waiting for a name server that does not answer.
        match timeout(self.options.lookup_time, self.resolver.lookup(name)).await {
            Ok(Ok(addresses)) if addresses.is_empty() => Err(DenyReason::NoAddress),
            Ok(Ok(addresses)) => Ok(addresses),
            Ok(Err(error)) => Err(DenyReason::LookupFailed(error.to_string())),
            Err(_) => Err(DenyReason::LookupTimedOut),
        }
    }

    /// Keeps the addresses that may be reached; the first refusal counts if there are none.
    fn choose(&self, target: &Target, addresses: &[IpAddr]) -> RouteVerdict {
        let mut way: Option<Upstream> = None;
        let mut refused = None;
        for address in addresses.iter().take(ADDRESS_LIMIT).map(IpAddr::to_canonical) {
            match self.allow.leads(target, address) {
                Ok(entry) => {
                    let way = way
                        .get_or_insert_with(|| Upstream { entry: entry.to_string(), addresses: Vec::new() });
                    way.addresses.push(SocketAddr::new(address, target.port));
                }
                Err(unlisted) => drop(refused.get_or_insert((address, unlisted))),
            }
        }
        match (way, refused) {
            (Some(way), _) => {
                RouteVerdict { address: way.addresses.first().map(SocketAddr::ip), verdict: Ok(way) }
            }
            (None, Some((address, unlisted))) => {
                RouteVerdict { address: Some(address), verdict: Err(unlisted.into()) }
            }
            (None, None) => RouteVerdict { address: None, verdict: Err(DenyReason::NoAddress) },
        }
    }

    /// Connects to the first address that answers. The error is that of the last one.
    pub(crate) async fn connect(&self, way: &Upstream) -> io::Result<(TcpStream, SocketAddr)> {
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for &address in &way.addresses {
            // timer: the next address gets its chance when one does not answer.
            match timeout(self.options.connect_time, self.connector.connect(address)).await {
                Ok(Ok(stream)) => {
                    // `TCP_NODELAY`: small messages must not wait for one another. A socket that refuses the option
                    // still works.
                    let _ = stream.set_nodelay(true);
                    return Ok((stream, address));
                }
                Ok(Err(error)) => last = error,
                Err(_) => last = io::Error::from(io::ErrorKind::TimedOut),
            }
        }
        Err(last)
    }
}
