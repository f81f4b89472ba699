//! Whether a call that is asked about would be refused, and by which rule.
//!
//! What the kernel refuses by itself (a read-only place, a missing network) is recognised and written down; what only this
//! judge refuses are names that must not come into being and, without namespaces, changes outside writable places. A call
//! about a path that cannot be made out is refused: nobody has a reason to hide one.

mod place;

use self::place::{Entry, Found, Hidden, Located, Look, Seen};
use crate::calls::{Flags, Links, Place, Subject, WRITING, meaning};
use crate::denial::{Denial, Operation};
use crate::order::{NetworkKind, Order};
use crate::plan::{Ruling, ruling_at};
use crate::policy::Access;
use rustix::io::Errno;
use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use windlass_sys::lockdown::notice::{Notice, read_memory};

/// What a caller is told.
#[derive(Debug)]
pub(super) enum Answer {
    /// The kernel decides.
    GoOn,
    /// No.
    Refuse(Errno, Denial),
}

/// One command's rules.
pub(super) struct Judge<'a> {
    pub(super) order: &'a Order,
}

const CREATE: u32 = 0o100;
const EXCLUSIVE: u32 = 0o200;
const TRUNCATE: u32 = 0o1000;
const NO_FOLLOW: u32 = 0o400_000;
const UNNAMED: u32 = 0o20_000_000;
const ACCESS_MODE: u32 = 0o3;
const AT_NO_FOLLOW: u64 = 0x100;

impl Judge<'_> {
    pub(super) fn answer(&self, notice: &Notice) -> Answer {
        let Some(told) = meaning(notice.number) else { return Answer::GoOn };
        let refused = match told.subject {
            Subject::Opened { place, flags } => self.opened(notice, place, flags),
            Subject::Object { place, links } => {
                let look = match Located::of(notice, place) {
                    Found::Here(located) => located.look(follows(notice, links)),
                    Found::Nothing => Look::Nothing,
                    Found::Hidden => Look::Hidden,
                };
                self.looked_at(told.operation, look)
            }
            Subject::NewEntry { place } => match self.entry(notice, place) {
                Ok(entry) => entry.and_then(|entry| self.new_entry(told.operation, &entry)),
                Err(Hidden) => Some(self.hidden(told.operation)),
            },
            Subject::OldEntry { place } => match self.entry(notice, place) {
                Ok(entry) => entry.and_then(|entry| self.old_entry(told.operation, &entry)),
                Err(Hidden) => Some(self.hidden(told.operation)),
            },
            Subject::Linked { from, to } => {
                self.linked(notice, from, to).unwrap_or_else(|Hidden| Some(self.hidden(told.operation)))
            }
            Subject::Moved { from, to } => {
                self.moved(notice, from, to).unwrap_or_else(|Hidden| Some(self.hidden(told.operation)))
            }
            Subject::Descriptor { argument } => self.descriptor(notice, told.operation, argument),
            Subject::Address { argument } => {
                let address =
                    read_address(notice, notice.arguments[argument], notice.arguments[argument + 1]);
                address.and_then(|address| self.address(notice, told.operation, address))
            }
            Subject::Family { .. } => {
                Some(self.no_network(told.operation, "an internet socket".into(), Errno::ACCESS))
            }
        };
        refused.map_or(Answer::GoOn, |(errno, denial)| Answer::Refuse(errno, denial))
    }

    fn opened(&self, notice: &Notice, place: Place, flags: Flags) -> Option<Refused> {
        let flags = match flags {
            Flags::In(argument) => notice.arguments[argument] as u32,
            Flags::Creat => 0o1 | CREATE | TRUNCATE,
        };
        let located = match Located::of(notice, place) {
            Found::Here(located) => located,
            Found::Nothing => return None,
            Found::Hidden => return Some(self.hidden(Operation::Write)),
        };
        let follows = flags & (NO_FOLLOW | EXCLUSIVE) == 0;
        match located.look(follows) {
            Look::At(seen) => self.opened_there(&seen, flags),
            Look::Hidden if flags & WRITING != 0 => Some(self.hidden(Operation::Write)),
            Look::Hidden => None,
            Look::Nothing => {
                let entry = if follows { located.last_entry() } else { located.entry() };
                match (entry, flags & CREATE) {
                    (Ok(entry), 0) => self.denied_to_read(&entry?.path()),
                    (Ok(entry), _) => self.new_entry(Operation::Create, &entry?),
                    (Err(Hidden), 0) => None,
                    (Err(Hidden), _) => Some(self.hidden(Operation::Create)),
                }
            }
        }
    }

    /// A path that could not be made out.
    fn hidden(&self, operation: Operation) -> Refused {
        let (target, rule) = ("a path that cannot be made out".to_owned(), "supervisor".to_owned());
        (Errno::ACCESS, Denial { operation, target, rule, times: 1 })
    }

    fn opened_there(&self, seen: &Seen, flags: u32) -> Option<Refused> {
        if let Some(refused) = self.denied_to_read(&seen.path) {
            return Some(refused);
        }
        let unnamed = flags & UNNAMED != 0;
        if flags & WRITING == 0 || seen.is_directory && !unnamed || !seen.is_directory && !seen.is_regular {
            return None;
        }
        if flags & ACCESS_MODE == 0 && flags & TRUNCATE == 0 {
            return None;
        }
        let operation = if unnamed { Operation::Create } else { Operation::Write };
        // Who could not write to the file anyway is not refused by a rule.
        (self.is_kept(seen) && seen.owner_lets_write()).then(|| self.refused(operation, &seen.path))
    }

    fn denied_to_read(&self, path: &Path) -> Option<Refused> {
        let ruling = ruling_at(&self.order.rulings, path)?;
        (ruling.access == Access::Deny).then(|| (Errno::ACCESS, denial(Operation::Read, path, ruling)))
    }

    fn descriptor(&self, notice: &Notice, operation: Operation, argument: usize) -> Option<Refused> {
        self.looked_at(operation, Located::descriptor(notice, argument).look(true))
    }

    fn looked_at(&self, operation: Operation, look: Look) -> Option<Refused> {
        match look {
            Look::At(seen) => self.changed(operation, &seen),
            Look::Nothing => None,
            Look::Hidden => Some(self.hidden(operation)),
        }
    }

    fn changed(&self, operation: Operation, seen: &Seen) -> Option<Refused> {
        // What has no path, such as a pipe, belongs to whoever holds it.
        let kept = if self.order.namespaces {
            self.is_kept(seen)
        } else {
            let ruling = ruling_at(&self.order.rulings, &seen.path);
            seen.path.is_absolute() && ruling.is_some_and(|ruling| ruling.access != Access::Write)
        };
        kept.then(|| self.refused(operation, &seen.path))
    }

    fn entry(&self, notice: &Notice, place: Place) -> Result<Option<Entry>, Hidden> {
        match Located::of(notice, place) {
            Found::Here(located) => located.entry(),
            Found::Nothing => Ok(None),
            Found::Hidden => Err(Hidden),
        }
    }

    fn new_entry(&self, operation: Operation, entry: &Entry) -> Option<Refused> {
        if entry.exists() {
            return None;
        }
        let path = entry.path();
        if let Some(unborn) = self.order.unborn.iter().find(|unborn| {
            unborn.directory == entry.directory.path && Path::new(&unborn.name) == Path::new(&entry.name)
        }) {
            let target = path.display().to_string();
            return Some((Errno::PERM, Denial { operation, target, rule: unborn.origin.clone(), times: 1 }));
        }
        self.is_kept(&entry.directory).then(|| self.refused(operation, &path))
    }

    /// A name that must not come into being; a link that bears it already must not be replaced either.
    fn unborn(&self, operation: Operation, entry: &Entry) -> Option<Refused> {
        let unborn = self.order.unborn.iter().find(|unborn| {
            unborn.directory == entry.directory.path && Path::new(&unborn.name) == Path::new(&entry.name)
        })?;
        let target = entry.path().display().to_string();
        Some((Errno::PERM, Denial { operation, target, rule: unborn.origin.clone(), times: 1 }))
    }

    fn old_entry(&self, operation: Operation, entry: &Entry) -> Option<Refused> {
        if !entry.exists() {
            return None;
        }
        if let Some(refused) = self.unborn(operation, entry) {
            return Some(refused);
        }
        let path = entry.path();
        let fixed = self.order.rulings.iter().any(|ruling| ruling.path == path);
        (fixed || self.is_kept(&entry.directory)).then(|| self.refused(operation, &path))
    }

    /// Under another name a file could be changed that must not be, or read.
    fn linked(&self, notice: &Notice, from: Place, to: Place) -> Result<Option<Refused>, Hidden> {
        let Some(to) = self.entry(notice, to)? else { return Ok(None) };
        if let Some(refused) = self.new_entry(Operation::Link, &to) {
            return Ok(Some(refused));
        }
        let Found::Here(from) = Located::of(notice, from) else { return Err(Hidden) };
        Ok(match from.look(false) {
            Look::At(seen) if self.is_kept(&seen) => Some(self.refused(Operation::Link, &seen.path)),
            Look::At(_) | Look::Nothing => None,
            Look::Hidden => return Err(Hidden),
        })
    }

    fn moved(&self, notice: &Notice, from: Place, to: Place) -> Result<Option<Refused>, Hidden> {
        let (Some(from), Some(to)) = (self.entry(notice, from)?, self.entry(notice, to)?) else {
            return Ok(None);
        };
        if !from.exists() {
            return Ok(None);
        }
        let check = |entry: &Entry| {
            if entry.exists() {
                self.old_entry(Operation::Rename, entry)
            } else {
                self.new_entry(Operation::Rename, entry)
            }
        };
        Ok(check(&from).or_else(|| check(&to)))
    }

    /// Whether a place may not be changed: the kernel says so of a mount, and so do the rules. A mount over a single file goes
    /// away when somebody outside replaces the file.
    fn is_kept(&self, seen: &Seen) -> bool {
        let own = ["/dev", "/proc", "/run"];
        let shared = ["/dev", "/proc"];
        let exempt: &[&str] = if self.order.namespaces { &own } else { &shared };
        let exempt = exempt.iter().any(|place| seen.path.starts_with(place));
        let ruled =
            ruling_at(&self.order.rulings, &seen.path).is_some_and(|ruling| ruling.access != Access::Write);
        !exempt && seen.path.is_absolute() && ruled || self.order.namespaces && seen.is_on_read_only_mount()
    }

    fn refused(&self, operation: Operation, path: &Path) -> Refused {
        let rule =
            ruling_at(&self.order.rulings, path).map_or_else(String::new, |ruling| ruling.origin.clone());
        let target = path.display().to_string();
        (Errno::ROFS, Denial { operation, target, rule, times: 1 })
    }

    fn address(&self, notice: &Notice, operation: Operation, address: Address) -> Option<Refused> {
        match address {
            Address::Internet(address) => {
                let allowed = match self.order.network {
                    NetworkKind::On => true,
                    // Without a network of its own the socket could not even be made.
                    NetworkKind::Off => !self.order.own_network,
                    NetworkKind::Loopback | NetworkKind::Hosts => is_own(address.ip()),
                };
                (!allowed).then(|| self.no_network(operation, address.to_string(), Errno::NETUNREACH))
            }
            Address::Path(path) => self.socket_of_others(notice, operation, &path),
        }
    }

    /// Behind a socket outside writable places somebody waits who could act for the command.
    fn socket_of_others(&self, notice: &Notice, operation: Operation, path: &Path) -> Option<Refused> {
        let seen = match Located::from_working_directory(notice, path).look(true) {
            Look::At(seen) => seen,
            Look::Nothing => return None,
            Look::Hidden => return Some(self.hidden(operation)),
        };
        let ruling = ruling_at(&self.order.rulings, &seen.path)?;
        let own = self.order.namespaces && ["/dev", "/run"].iter().any(|own| seen.path.starts_with(own));
        (ruling.access != Access::Write && !own)
            .then(|| (Errno::ACCESS, denial(operation, &seen.path, ruling)))
    }

    fn no_network(&self, operation: Operation, target: String, errno: Errno) -> Refused {
        let rule = match self.order.network {
            NetworkKind::Off | NetworkKind::On => "network off",
            NetworkKind::Loopback => "network loopback",
            NetworkKind::Hosts => "network hosts: others are reached through the proxy alone",
        };
        (errno, Denial { operation, target, rule: rule.to_owned(), times: 1 })
    }
}

/// Whether a link at the end of a path is followed.
fn follows(notice: &Notice, links: Links) -> bool {
    match links {
        Links::Followed => true,
        Links::Kept => false,
        Links::FollowedUnless(argument) => notice.arguments[argument] & AT_NO_FOLLOW == 0,
    }
}

type Refused = (Errno, Denial);

fn denial(operation: Operation, path: &Path, ruling: &Ruling) -> Denial {
    Denial { operation, target: path.display().to_string(), rule: ruling.origin.clone(), times: 1 }
}

/// Where something is sent to.
enum Address {
    Internet(SocketAddr),
    Path(PathBuf),
}

/// An address that leads somewhere. Whoever connects to nothing, or to a name that is no path, is not asked about here.
fn read_address(notice: &Notice, at: u64, length: u64) -> Option<Address> {
    const UNIX: u16 = 1;
    const INET: u16 = 2;
    const INET6: u16 = 10;
    let mut bytes = [0; 110];
    let length = usize::try_from(length).ok()?.min(bytes.len());
    let read = read_memory(notice.pid, at, &mut bytes[..length]).ok()?;
    let port = u16::from_be_bytes([bytes[2], bytes[3]]);
    match u16::from_ne_bytes([bytes[0], bytes[1]]) {
        INET if read >= 8 => {
            let octets: [u8; 4] = bytes[4..8].try_into().ok()?;
            Some(Address::Internet(SocketAddr::new(IpAddr::V4(Ipv4Addr::from(octets)), port)))
        }
        INET6 if read >= 24 => {
            let octets: [u8; 16] = bytes[8..24].try_into().ok()?;
            Some(Address::Internet(SocketAddr::new(IpAddr::V6(Ipv6Addr::from(octets)), port)))
        }
        UNIX if read > 2 && bytes[2] != 0 => {
            let path = bytes[2..read].split(|byte| *byte == 0).next()?;
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
