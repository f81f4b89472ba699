//! Addresses: whom a command may speak to, and at which names it may be spoken to.

use super::{Answer, Judge, Judged, denial};
use crate::denial::{Denial, Operation};
use crate::helper::memory::bytes_at;
use crate::helper::place::Located;
use crate::order::NetworkKind;
use crate::plan::ruling_at;
use crate::policy::Access;
use rustix::io::Errno;
use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use windlass_sys::lockdown::notice::Notice;

impl Judge<'_> {
    /// Whoever sends to nothing, or to a name that is no path, is not refused here.
    pub(super) fn sent(&self, notice: &Notice, operation: Operation, argument: usize) -> Judged {
        match address_at(notice, argument) {
            Some(Address::Internet(address)) => Ok(self.internet(operation, address)),
            Some(Address::Path(path)) => self.socket_of_others(notice, operation, &path),
            None => Ok(Answer::GoOn),
        }
    }

    /// A socket gets a name in a directory. It is only judged: what a race could make is a socket, which gives nobody orders.
    pub(super) fn bound(&self, notice: &Notice, operation: Operation, argument: usize) -> Judged {
        let Some(Address::Path(path)) = address_at(notice, argument) else { return Ok(Answer::GoOn) };
        let entry = Located::from_working_directory(notice, &path).entry()?;
        Ok(match entry.exists() {
            true => Answer::GoOn,
            false => self.made(operation, &entry).unwrap_or(Answer::GoOn),
        })
    }

    fn internet(&self, operation: Operation, address: SocketAddr) -> Answer {
        let allowed = match self.order.network {
            NetworkKind::On => true,
            // Without a network of its own the socket could not even be made.
            NetworkKind::Off => !self.order.own_network,
            NetworkKind::Loopback | NetworkKind::Hosts => is_own(address.ip()),
        };
        match allowed {
            true => Answer::GoOn,
            false => self.no_network(operation, address.to_string(), Errno::NETUNREACH),
        }
    }

    /// Behind a socket outside writable places somebody waits who could act for the command.
    fn socket_of_others(&self, notice: &Notice, operation: Operation, path: &Path) -> Judged {
        let seen = Located::from_working_directory(notice, path).look(true)?;
        let Some(ruling) = ruling_at(&self.order.rulings, &seen.path) else { return Ok(Answer::GoOn) };
        let own = self.order.namespaces && ["/dev", "/run"].iter().any(|own| seen.path.starts_with(own));
        Ok(match ruling.access == Access::Write || own {
            true => Answer::GoOn,
            false => Answer::Refuse(Errno::ACCESS, denial(operation, &seen.path, ruling)),
        })
    }

    pub(super) fn no_network(&self, operation: Operation, target: String, errno: Errno) -> Answer {
        let rule = match self.order.network {
            NetworkKind::Off | NetworkKind::On => "network off",
            NetworkKind::Loopback => "network loopback",
            NetworkKind::Hosts => "network hosts: others are reached through the proxy alone",
        };
        Answer::Refuse(errno, Denial { operation, target, rule: rule.to_owned(), times: 1 })
    }
}

/// Where something is sent to.
enum Address {
    Internet(SocketAddr),
    Path(PathBuf),
}

/// An address that leads somewhere; its length stands in the argument after it.
fn address_at(notice: &Notice, argument: usize) -> Option<Address> {
    const UNIX: u16 = 1;
    const INET: u16 = 2;
    const INET6: u16 = 10;
    const LONGEST: usize = 110;
    let length = usize::try_from(notice.arguments[argument + 1]).ok()?.min(LONGEST);
    let bytes = bytes_at(notice, notice.arguments[argument], length).ok()?;
    let port = || Some(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?));
    match u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?) {
        INET => {
            let octets: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
            Some(Address::Internet(SocketAddr::new(IpAddr::V4(Ipv4Addr::from(octets)), port()?)))
        }
        INET6 => {
            let octets: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
            Some(Address::Internet(SocketAddr::new(IpAddr::V6(Ipv6Addr::from(octets)), port()?)))
        }
        UNIX => {
            let path = bytes[2..].split(|byte| *byte == 0).next().filter(|path| !path.is_empty())?;
            Some(Address::Path(PathBuf::from(OsStr::from_bytes(path))))
        }
        _ => None,
    }
}

/// Whether an address leads to the machine that asks: to any of its own addresses, too, there is only the loopback device.
fn is_own(address: IpAddr) -> bool {
    let address = match address {
        IpAddr::V6(six) => six.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    };
    address.is_loopback() || address.is_unspecified()
}
