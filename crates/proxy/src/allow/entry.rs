//! One entry of the allow-list, as people write it.

use std::fmt;
use std::net::IpAddr;

use crate::host::{BadHost, Host, Name, parse_port, split};
use crate::zone::Zone;

/// The ports of an entry that names none.
const USUAL_PORTS: [u16; 2] = [80, 443];

/// The suffix of a name that may resolve to private addresses.
const PRIVATE: &str = "+private";

/// An entry: which hosts, which ports. It is shown as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowEntry {
    written: String,
    pub(super) hosts: Hosts,
    ports: Ports,
}

/// The hosts of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Hosts {
    /// This name.
    Named(Name, Inward),
    /// Every name below this one.
    Below(Name, Inward),
    /// The addresses that begin with these bits.
    Range(Range),
}

/// The zones that a name of an entry may resolve to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inward {
    /// Public addresses only.
    Nowhere,
    /// This machine as well: the name says so itself.
    ThisMachine,
    /// Private networks as well: the entry says so.
    Private,
}

/// Addresses that begin alike; a single one when all bits count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    first: IpAddr,
    bits: u8,
}

/// The ports of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ports {
    Usual,
    One(u16),
    All,
}

/// An entry that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{entry}` cannot be listed: {reason}")]
pub struct EntryError {
    /// The entry, as it was written.
    pub entry: String,
    /// The fault.
    pub reason: BadEntry,
}

/// The faults of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadEntry {
    /// The host is not valid.
    #[error("{0}")]
    Host(#[from] BadHost),
    /// It is a URL.
    #[error("it is a URL; list the host alone, as in `example.com`")]
    Url,
    /// There is a path after the host.
    #[error("a path cannot be listed; list the host alone, as in `example.com`")]
    Path,
    /// A star that is not the first part of a name.
    #[error(
        "`*` can only be the first part of a name, as in `*.example.com`, or a port, as in `example.com:*`"
    )]
    Star,
    /// The length of the prefix is not valid.
    #[error("the number after `/` is not a count of bits of this address")]
    Prefix,
    /// The address has bits beyond its prefix.
    #[error("the address has bits set beyond its prefix")]
    StrayBits,
    /// The address is multicast or unspecified: no TCP connection can go there.
    #[error("nothing can be reached at {0}")]
    Never(Zone),
    /// `+private` on an address, which needs no such suffix: a listed address may be reached whatever its zone is.
    #[error("`+private` is for names; an address that is listed needs no leave")]
    PrivateAddress,
    /// More entries than the limit, which is far above any list that a person writes.
    #[error("there are more than {0} entries")]
    TooMany(usize),
}

impl AllowEntry {
    pub(super) fn parse(written: &str) -> Result<Self, EntryError> {
        let error = |reason| EntryError { entry: written.to_owned(), reason };
        let (hosts, ports) = parse(written.trim()).map_err(error)?;
        Ok(Self { written: written.trim().to_owned(), hosts, ports })
    }

    pub(super) fn has_port(&self, port: u16) -> bool {
        match self.ports {
            Ports::Usual => USUAL_PORTS.contains(&port),
            Ports::One(one) => one == port,
            Ports::All => true,
        }
    }

    pub(super) fn has_name(&self, name: &Name) -> bool {
        match &self.hosts {
            Hosts::Named(named, _) => named == name,
            Hosts::Below(domain, _) => name.is_below(domain),
            Hosts::Range(_) => false,
        }
    }

    pub(super) fn has_address(&self, address: IpAddr) -> bool {
        matches!(&self.hosts, Hosts::Range(range) if range.lists(address))
    }

    /// Whether a name that is listed by this entry may lead into this zone.
    pub(super) fn leads_into(&self, zone: Zone) -> bool {
        let (Hosts::Named(_, inward) | Hosts::Below(_, inward)) = &self.hosts else { return false };
        match inward {
            Inward::Nowhere => zone == Zone::Public,
            Inward::ThisMachine => matches!(zone, Zone::Public | Zone::Loopback),
            Inward::Private => zone == Zone::Public || zone.is_of_people(),
        }
    }
}

impl Range {
    /// Whether this entry names the address. A range that spans several zones names only its public addresses: a user
    /// who writes `0.0.0.0/0` does not mean the machine itself, nor the metadata service where its cloud keeps
    /// credentials.
    fn lists(&self, address: IpAddr) -> bool {
        let zone = Zone::of(address);
        self.covers(address)
            && (zone == Zone::Public || (Zone::of(self.first) == zone && Zone::of(self.last()) == zone))
    }

    fn covers(&self, address: IpAddr) -> bool {
        let (first, width) = number(self.first);
        let (other, other_width) = number(address);
        width == other_width && shift(first ^ other, u32::from(width - self.bits)) == 0
    }

    fn last(&self) -> IpAddr {
        let (first, width) = number(self.first);
        let rest = !(u128::MAX.checked_shl(u32::from(width - self.bits)).unwrap_or(0));
        match self.first {
            IpAddr::V4(_) => IpAddr::V4(u32::try_from(first | rest).unwrap_or(u32::MAX).into()),
            IpAddr::V6(_) => IpAddr::V6((first | rest).into()),
        }
    }
}

/// An address as a number, and how many bits it has.
fn number(address: IpAddr) -> (u128, u8) {
    match address {
        IpAddr::V4(address) => (u128::from(u32::from(address)), 32),
        IpAddr::V6(address) => (address.into(), 128),
    }
}

fn shift(number: u128, by: u32) -> u128 {
    number.checked_shr(by).unwrap_or(0)
}

fn parse(text: &str) -> Result<(Hosts, Ports), BadEntry> {
    if text.contains("://") {
        return Err(BadEntry::Url);
    }
    let (text, inward) = match text.strip_suffix(PRIVATE) {
        Some(text) => (text, Inward::Private),
        None => (text, Inward::Nowhere),
    };
    let (host, ports) = split_ports(text)?;
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if let Some((first, bits)) = inner.split_once('/') {
        return Ok((parse_range(first, bits, inward)?, ports));
    }
    if let Some(domain) = host.strip_prefix("*.") {
        let domain = Name::parse(domain).map_err(star_or)?;
        let inward = inward.for_name(&domain);
        return Ok((Hosts::Below(domain, inward), ports));
    }
    let hosts = match Host::parse(host).map_err(star_or)? {
        Host::Name(name) => {
            let inward = inward.for_name(&name);
            Hosts::Named(name, inward)
        }
        Host::Address(address) => single(address, inward)?,
    };
    Ok((hosts, ports))
}

impl Inward {
    fn for_name(self, name: &Name) -> Self {
        if self == Self::Nowhere && name.is_of_this_machine() { Self::ThisMachine } else { self }
    }
}

fn star_or(error: BadHost) -> BadEntry {
    if error == BadHost::Character('*') { BadEntry::Star } else { BadEntry::Host(error) }
}

/// The host and the ports. More than one colon without brackets is an IPv6 address.
fn split_ports(text: &str) -> Result<(&str, Ports), BadEntry> {
    if !text.starts_with('[') && text.matches(':').count() > 1 {
        return Ok((text, Ports::Usual));
    }
    let (host, ports) = split(text)?;
    let ports = match ports {
        None => Ports::Usual,
        Some("*") => Ports::All,
        Some(port) => Ports::One(parse_port(port)?),
    };
    Ok((host, ports))
}

fn parse_range(first: &str, bits: &str, inward: Inward) -> Result<Hosts, BadEntry> {
    let Host::Address(first) = Host::parse(first)? else { return Err(BadEntry::Path) };
    if inward == Inward::Private {
        return Err(BadEntry::PrivateAddress);
    }
    let (value, width) = number(first);
    let plain = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
    let bits: u8 = bits.parse().ok().filter(|&bits| plain && bits <= width).ok_or(BadEntry::Prefix)?;
    let range = Range { first, bits };
    let kept = u128::MAX.checked_shl(u32::from(width - bits)).unwrap_or(0);
    if value & !kept != 0 {
        return Err(BadEntry::StrayBits);
    }
    let zone = Zone::of(first);
    // The first address of everything is the unspecified one, and everything may be listed.
    if zone.is_never_reached() && Zone::of(range.last()) == zone {
        return Err(BadEntry::Never(zone));
    }
    Ok(Hosts::Range(range))
}

fn single(address: IpAddr, inward: Inward) -> Result<Hosts, BadEntry> {
    let zone = Zone::of(address);
    match inward {
        Inward::Private => Err(BadEntry::PrivateAddress),
        _ if zone.is_never_reached() => Err(BadEntry::Never(zone)),
        _ => Ok(Hosts::Range(Range { first: address, bits: number(address).1 })),
    }
}

impl fmt::Display for AllowEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}
