//! The allow-list: which hosts and ports may be reached, and where inside their names may lead.
//!
//! | entry | allows |
//! |---|---|
//! | `example.com` | this name, ports 80 and 443, as long as it leads to public addresses |
//! | `example.com:8443`, `example.com:*` | this name, that port or any port |
//! | `*.example.com` | every name below it, at any depth, and not `example.com` |
//! | `localhost:3000` | this machine: the name says so |
//! | `db.corp:5432+private` | this name, also where it leads to loopback, private, unique local or shared addresses |
//! | `127.0.0.1:5432`, `[::1]:80`, `10.0.0.0/8`, `[fd00::/8]:*` | these addresses, whatever they are |
//!
//! An address that is listed may be requested directly, and a name *that is listed* may resolve to it. A name that is
//! not listed is refused without a look-up, whatever its addresses are, because the look-up would reveal the name to
//! the name server that answers for it.

mod entry;

use std::net::IpAddr;

pub use self::entry::{AllowEntry, BadEntry, EntryError};
use crate::host::{Host, Target};
use crate::zone::Zone;

/// The most entries of a list.
pub const ENTRY_LIMIT: usize = 4096;

/// The hosts and ports that a command may reach: a bounded list of entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowList {
    entries: Vec<AllowEntry>,
}

/// The reason why the list does not allow a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unlisted {
    /// No entry covers the host.
    #[error("no entry of the allow-list covers this host")]
    Host,
    /// An entry covers the host, but for other ports.
    #[error("the entry `{entry}` covers this host on other ports only")]
    Port {
        /// The first such entry.
        entry: String,
    },
    /// The name is listed, but resolves to an address that its entry does not allow.
    #[error("the entry `{entry}` covers this name, which leads to {address}, {zone}")]
    Inward {
        /// The entry.
        entry: String,
        /// Where the name leads.
        address: IpAddr,
        /// The zone of that address.
        zone: Zone,
    },
}

impl AllowList {
    /// Reads entries.
    ///
    /// # Errors
    ///
    /// At the first entry that cannot be understood, and says why.
    pub fn parse<S: AsRef<str>>(entries: impl IntoIterator<Item = S>) -> Result<Self, EntryError> {
        let mut list = Self::default();
        for entry in entries {
            let entry = AllowEntry::parse(entry.as_ref())?;
            if list.entries.len() == ENTRY_LIMIT {
                return Err(EntryError { entry: entry.to_string(), reason: BadEntry::TooMany(ENTRY_LIMIT) });
            }
            list.entries.push(entry);
        }
        Ok(list)
    }

    /// The entries, in their order.
    pub fn entries(&self) -> impl Iterator<Item = &AllowEntry> {
        self.entries.iter()
    }

    /// Whether a target may be considered at all: an address may then be connected to, a name may be looked up.
    ///
    /// # Errors
    ///
    /// When no entry covers it.
    pub fn lists(&self, target: &Target) -> Result<&AllowEntry, Unlisted> {
        let mut hosts = self.entries.iter().filter(|entry| covers(entry, &target.host));
        let mut other_port = None;
        hosts
            .find(|entry| {
                other_port.get_or_insert(*entry);
                entry.has_port(target.port)
            })
            .ok_or_else(|| match other_port {
                Some(entry) => Unlisted::Port { entry: entry.to_string() },
                None => Unlisted::Host,
            })
    }

    /// Whether a target may be reached at an address that its name leads to; the answer is the entry by which it may.
    ///
    /// # Errors
    ///
    /// When no entry covers the target, or the address is neither public nor listed.
    pub fn leads(&self, target: &Target, address: IpAddr) -> Result<&AllowEntry, Unlisted> {
        let listed = self.lists(target)?;
        let address = address.to_canonical();
        let zone = Zone::of(address);
        let inward = || Unlisted::Inward { entry: listed.to_string(), address, zone };
        if zone.is_never_reached() {
            return Err(inward());
        }
        let with_port = || self.entries.iter().filter(|entry| entry.has_port(target.port));
        with_port()
            .find(|entry| covers(entry, &target.host) && entry.leads_into(zone))
            .or_else(|| with_port().find(|entry| entry.has_address(address)))
            .ok_or_else(inward)
    }

    /// Whether an entry names exactly this host, on whatever port.
    pub(crate) fn speaks_of(&self, host: &Host) -> bool {
        self.entries.iter().any(|entry| covers(entry, host))
    }
}

fn covers(entry: &AllowEntry, host: &Host) -> bool {
    match host {
        Host::Name(name) => entry.has_name(name),
        Host::Address(address) => !Zone::of(*address).is_never_reached() && entry.has_address(*address),
    }
}

#[cfg(test)]
mod tests;
