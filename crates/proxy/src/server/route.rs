//! From a target to a connection: the list is asked, the name is looked up once, each address is judged, and those that
//! passed are tried in order. There is no second look-up, so a name cannot answer differently after it was judged.

use std::io;
use std::net::{IpAddr, SocketAddr};

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::House;
use crate::decision::Refusal;
use crate::host::{Host, Name, Target};

/// The most addresses of a name that are looked at.
const ADDRESS_LIMIT: usize = 16;

/// What came of judging a target.
pub(crate) struct Judgement {
    /// The address that decided, if it came to that.
    pub(crate) address: Option<IpAddr>,
    pub(crate) verdict: Result<Way, Refusal>,
}

/// A way that may be taken.
pub(crate) struct Way {
    /// The entry by which it may.
    pub(crate) entry: String,
    /// In the order in which they are tried; never empty.
    addresses: Vec<SocketAddr>,
}

impl House {
    /// Decides whether and where a target may be reached.
    pub(crate) async fn judge(&self, target: &Target) -> Judgement {
        // Before anything leaves the machine.
        if let Err(unlisted) = self.allow.lists(target) {
            let address = if let Host::Address(address) = target.host { Some(address) } else { None };
            return Judgement { address, verdict: Err(unlisted.into()) };
        }
        let looked_up = match &target.host {
            Host::Address(address) => Ok(vec![*address]),
            Host::Name(name) => self.lookup(name).await,
        };
        match looked_up {
            Ok(addresses) => self.choose(target, &addresses),
            Err(refusal) => Judgement { address: None, verdict: Err(refusal) },
        }
    }

    async fn lookup(&self, name: &Name) -> Result<Vec<IpAddr>, Refusal> {
        // timer: the client is told, instead of waiting for a name server that does not answer.
        match timeout(self.options.lookup_time, self.resolver.lookup(name)).await {
            Ok(Ok(addresses)) if addresses.is_empty() => Err(Refusal::NoAddress),
            Ok(Ok(addresses)) => Ok(addresses),
            Ok(Err(error)) => Err(Refusal::LookupFailed(error.to_string())),
            Err(_) => Err(Refusal::LookupTimedOut),
        }
    }

    /// Keeps the addresses that may be reached; the first refusal counts if there are none.
    fn choose(&self, target: &Target, addresses: &[IpAddr]) -> Judgement {
        let mut way: Option<Way> = None;
        let mut refused = None;
        for address in addresses.iter().take(ADDRESS_LIMIT).map(IpAddr::to_canonical) {
            match self.allow.leads(target, address) {
                Ok(entry) => {
                    let way =
                        way.get_or_insert_with(|| Way { entry: entry.to_string(), addresses: Vec::new() });
                    way.addresses.push(SocketAddr::new(address, target.port));
                }
                Err(unlisted) => drop(refused.get_or_insert((address, unlisted))),
            }
        }
        match (way, refused) {
            (Some(way), _) => {
                Judgement { address: way.addresses.first().map(SocketAddr::ip), verdict: Ok(way) }
            }
            (None, Some((address, unlisted))) => {
                Judgement { address: Some(address), verdict: Err(unlisted.into()) }
            }
            (None, None) => Judgement { address: None, verdict: Err(Refusal::NoAddress) },
        }
    }

    /// Takes the way: the first address that answers. The error is that of the last one.
    pub(crate) async fn connect(&self, way: &Way) -> io::Result<(TcpStream, SocketAddr)> {
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for &address in &way.addresses {
            // timer: the next address gets its chance when one does not answer.
            match timeout(self.options.connect_time, self.connector.connect(address)).await {
                Ok(Ok(stream)) => {
                    // Small messages must not wait for one another; a socket that cannot be told so still works.
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
