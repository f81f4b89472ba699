//! Addresses: which peers a command's sockets may reach, and at which names they may be reached.
//!
//! Connecting and sending are never left to the kernel, which would look the descriptor up and read the address a
//! second time: the supervisor takes the caller's socket, reads the address once, and makes the call itself.

use super::{CallDecision, Judge, Judged, denial};
use crate::calls::{INTERNET, PROTOCOLS, UNIX};
use crate::denial::{Denial, Operation};
use crate::helper::caller::Caller;
use crate::helper::emulated::{EmulatedSyscall, Peer, Request, SocketCall};
use crate::helper::memory::{Missing, bytes_at};
use crate::helper::place::{Located, Seen};
use crate::helper::socket_owners::Owner;
use crate::policy::Access;
use crate::remedies::Remedies;
use crate::request::NetworkKind;
use rustix::fd::OwnedFd;
use rustix::fs::FileType;
use rustix::io::Errno;
use rustix::net::sockopt::{socket_domain, socket_type};
use rustix::net::{AddressFamily, SocketType, getpeername, getsockname};
use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use windlass_sys::lockdown::notice::Notice;
use windlass_sys::lockdown::socket::copy_descriptor;

/// Whether a call may reach its peer.
enum PeerVerdict {
    Allowed(Peer),
    Answered(CallDecision),
}

impl From<CallDecision> for PeerVerdict {
    fn from(answer: CallDecision) -> Self {
        Self::Answered(answer)
    }
}

impl Judge<'_> {
    pub(super) fn connected(&self, notice: &Notice, operation: Operation) -> Judged {
        let (socket, family) = caller_socket(notice)?;
        let address = address_at(notice, 1)?;
        Ok(match self.peer(notice, operation, (family, address))? {
            PeerVerdict::Allowed(peer) => carried_out(socket, peer, Request::Connect),
            PeerVerdict::Answered(answer) => answer,
        })
    }

    pub(super) fn sent(&self, notice: &Notice, operation: Operation) -> Judged {
        /// The most bytes of a message: more than the kernel takes in one, and more than a stream has to take at once.
        const LONGEST: u64 = 1 << 20;
        /// `MSG_ZEROCOPY`; programs copy where it fails.
        const WITHOUT_COPY: u32 = 0x400_0000;
        let (socket, family) = caller_socket(notice)?;
        let kind = socket_type(&socket)?;
        let mut address = address_at(notice, 4)?;
        if family == AddressFamily::UNIX && kind != SocketType::DGRAM {
            // A connected socket sends to its peer.
            match (kind, getpeername(&socket)) {
                (SocketType::SEQPACKET, _) => address.clear(),
                (_, Ok(_)) => return Err(Errno::ISCONN.into()),
                (_, Err(_)) => return Err(Errno::OPNOTSUPP.into()),
            }
        }
        let (length, flags) = (notice.arguments[2], notice.arguments[3] as u32);
        // The kernel would read the supervisor's memory later, when its content has changed.
        if flags & WITHOUT_COPY != 0 {
            return Err(Errno::NOBUFS.into());
        }
        if length > LONGEST && kind != SocketType::STREAM {
            return Err(Errno::MSGSIZE.into());
        }
        let data = || bytes_at(notice, notice.arguments[1], length.min(LONGEST) as usize);
        Ok(match self.peer(notice, operation, (family, address))? {
            PeerVerdict::Allowed(peer) => carried_out(socket, peer, Request::Send { data: data()?, flags }),
            PeerVerdict::Answered(answer) => answer,
        })
    }

    /// Judges a socket that gets a name in a directory, and leaves the call to the kernel, because the kernel remembers
    /// the text of the path: under another one, programs would not find their own socket again. Mounts and Landlock
    /// protect the places that cannot be written; a race can make a socket under a name that must not exist, but no
    /// program obeys a socket there.
    pub(super) fn bound(&self, notice: &Notice, operation: Operation) -> Judged {
        let (socket, family) = caller_socket(notice)?;
        let address = address_at(notice, 1)?;
        if family != AddressFamily::UNIX {
            return Ok(CallDecision::GoOn);
        }
        // A socket with a name could be one of a program outside that was passed in.
        if has_no_name(&socket) {
            self.sockets.note_bound(&socket)?;
        }
        let Some(UnixName::Path(path)) = unix_name(&address) else { return Ok(CallDecision::GoOn) };
        let entry = Located::from_working_directory(notice, path).entry()?;
        match entry.exists() {
            true => Err(Errno::ADDRINUSE.into()),
            false => {
                let refused = self.made(operation, &entry).or_else(|| self.bound_as_part(operation, &entry));
                Ok(refused.unwrap_or(CallDecision::GoOn))
            }
        }
    }

    fn peer(
        &self,
        notice: &Notice,
        operation: Operation,
        (family, address): (AddressFamily, Vec<u8>),
    ) -> Result<PeerVerdict, Missing> {
        match family {
            AddressFamily::UNIX => self.unix_peer(notice, operation, address),
            AddressFamily::INET | AddressFamily::INET6 => {
                let refused = self.internet(operation, internet_address(&address, operation));
                Ok(refused.map_or(PeerVerdict::Allowed(Peer::Address(address)), PeerVerdict::Answered))
            }
            _ => Ok(PeerVerdict::Allowed(Peer::Address(address))),
        }
    }

    /// Why an internet address must not be reached. For an address that leads nowhere the caller gets the kernel's
    /// error.
    fn internet(&self, operation: Operation, address: Option<SocketAddr>) -> Option<CallDecision> {
        let allowed = match self.order.network {
            NetworkKind::On => true,
            // No address can be reached from an empty network namespace, and only that keeps a command from its own.
            NetworkKind::Off => address.is_none() && self.order.own_network,
            NetworkKind::Loopback | NetworkKind::Hosts => address.is_none_or(|it| is_own(it.ip())),
        };
        let target = || address.map_or_else(|| "an internet address".to_owned(), |it| it.to_string());
        let scope = address.map(Scope::of);
        (!allowed).then(|| self.no_network(operation, (target(), scope), Errno::NETUNREACH))
    }

    fn unix_peer(
        &self,
        notice: &Notice,
        operation: Operation,
        address: Vec<u8>,
    ) -> Result<PeerVerdict, Missing> {
        match unix_name(&address) {
            Some(UnixName::Path(path)) => {
                let seen = Located::from_working_directory(notice, path).look(true)?;
                self.peer_at_file(operation, seen)
            }
            Some(UnixName::Abstract(name)) => {
                let target = format!("@{}", String::from_utf8_lossy(name));
                let answer = match self.sockets.of_abstract_name(name)? {
                    Owner::Session => None,
                    Owner::Nobody => Some(CallDecision::Fail(Errno::CONNREFUSED)),
                    Owner::OtherPolicy => Some(of_other_policy(operation, target)),
                    Owner::Others => Some(foreign(operation, target)),
                };
                Ok(answer.map_or(PeerVerdict::Allowed(Peer::Address(address)), PeerVerdict::Answered))
            }
            Some(UnixName::Invalid) => Err(Errno::INVAL.into()),
            // Another family: the kernel dissolves a connection, or finds the address invalid.
            None => Ok(PeerVerdict::Allowed(Peer::Address(address))),
        }
    }

    /// The program behind a socket could act for the command. So it must belong to the session, or a rule must name the
    /// socket.
    fn peer_at_file(&self, operation: Operation, seen: Seen) -> Result<PeerVerdict, Missing> {
        if seen.kind() != FileType::Socket {
            // An object that the sandbox mounted over a socket of a program outside is not a socket.
            return match self.order.sockets.contains(&seen.path) {
                true => Ok(foreign(operation, seen.path.display().to_string()).into()),
                false => Err(Errno::CONNREFUSED.into()),
            };
        }
        let ruling = self.ruling_at(&seen.path);
        let writes = ruling.is_some_and(|ruling| ruling.access == Access::Write);
        let named = ruling.is_some_and(|ruling| ruling.path == seen.path && !ruling.pinned);
        if writes && named {
            return Ok(PeerVerdict::Allowed(Peer::File(seen)));
        }
        let own = self.order.namespaces && ["/dev", "/run"].iter().any(|own| seen.path.starts_with(own));
        let common = self.is_writable_by_rule(&seen.path);
        if let Some(ruling) = ruling.filter(|_| !writes && !own && !common) {
            return Ok(CallDecision::Refuse(Errno::ACCESS, denial(operation, &seen.path, ruling)).into());
        }
        Ok(match self.sockets.of_file(&seen)? {
            Owner::Session => PeerVerdict::Allowed(Peer::File(seen)),
            Owner::Nobody => CallDecision::Fail(Errno::CONNREFUSED).into(),
            Owner::OtherPolicy => of_other_policy(operation, seen.path.display().to_string()).into(),
            Owner::Others => foreign(operation, seen.path.display().to_string()).into(),
        })
    }

    /// A kind of socket that is refused for any use.
    pub(super) fn socket(&self, notice: &Notice, operation: Operation) -> CallDecision {
        match notice.arguments[0] as u32 {
            UNIX => {
                let target = "a unix socket for datagrams".to_owned();
                let rule =
                    "datagrams could reach programs outside; SOCK_STREAM and SOCK_SEQPACKET can be used";
                CallDecision::Refuse(
                    Errno::ACCESS,
                    Denial { operation, target, rule: rule.to_owned(), times: 1 },
                )
            }
            family if INTERNET.contains(&family) => match PROTOCOLS.contains(&(notice.arguments[2] as u32)) {
                true => self.no_network(operation, ("an internet socket".into(), None), Errno::ACCESS),
                false => {
                    let target = format!("an internet socket of protocol {}", notice.arguments[2] as u32);
                    unusual_socket(operation, target, Errno::PROTONOSUPPORT)
                }
            },
            family => unusual_socket(operation, format!("a socket of family {family}"), Errno::AFNOSUPPORT),
        }
    }

    fn no_network(
        &self,
        operation: Operation,
        (target, scope): (String, Option<Scope>),
        errno: Errno,
    ) -> CallDecision {
        let rule = network_rule(self.order.network, scope, self.is_alone(), &self.order.remedies);
        CallDecision::Refuse(errno, Denial { operation, target, rule, times: 1 })
    }
}

/// The kind of destination of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    OwnMachine,
    Others,
    /// A DNS server. Programs do not report this refusal: they say that a name is not known.
    NameServer,
}

impl Scope {
    fn of(address: SocketAddr) -> Self {
        const NAME_SERVICE: u16 = 53;
        match is_own(address.ip()) {
            _ if address.port() == NAME_SERVICE => Self::NameServer,
            true => Self::OwnMachine,
            false => Self::Others,
        }
    }
}

/// The rule that denies an address, and the change that would allow it.
fn network_rule(
    network: NetworkKind,
    scope: Option<Scope>,
    is_alone: bool,
    Remedies { loopback, hosts, whole_network, .. }: &Remedies,
) -> String {
    const NAMES: &str = "network is off, so names cannot be looked up";
    match (network, scope) {
        (NetworkKind::Off | NetworkKind::On, Some(Scope::NameServer)) if is_alone => {
            format!("{NAMES}; {whole_network}")
        }
        (NetworkKind::Off | NetworkKind::On, _) if is_alone => {
            format!("network off, and this machine cannot allow a part of it (no namespaces); {whole_network}")
        }
        (NetworkKind::Off | NetworkKind::On, Some(Scope::NameServer)) => format!("{NAMES}; {hosts}"),
        (NetworkKind::Off | NetworkKind::On, Some(Scope::OwnMachine)) => format!("network off; {loopback}"),
        (NetworkKind::Off | NetworkKind::On, Some(Scope::Others)) => format!("network off; {hosts}"),
        (NetworkKind::Off | NetworkKind::On, None) if loopback == hosts => format!("network off; {hosts}"),
        (NetworkKind::Off | NetworkKind::On, None) => format!("network off; {loopback}; {hosts}"),
        (NetworkKind::Loopback, Some(Scope::NameServer)) => {
            format!("network loopback, so names of hosts cannot be looked up; {hosts}")
        }
        (NetworkKind::Loopback, _) => format!("network loopback; {hosts}"),
        (NetworkKind::Hosts, Some(Scope::NameServer)) => {
            "network hosts; the proxy looks up names of listed hosts (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY), programs cannot"
                .to_owned()
        }
        (NetworkKind::Hosts, _) => {
            "network hosts; those that are listed are reached through the proxy only (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY)"
                .to_owned()
        }
    }
}

fn carried_out(socket: OwnedFd, peer: Peer, request: Request) -> CallDecision {
    CallDecision::carry_out(EmulatedSyscall::Socket(SocketCall { socket, peer, request }))
}

fn unusual_socket(operation: Operation, target: String, errno: Errno) -> CallDecision {
    let rule = "a sandbox has unix, TCP, UDP and ping sockets only".to_owned();
    CallDecision::Refuse(errno, Denial { operation, target, rule, times: 1 })
}

fn of_other_policy(operation: Operation, target: String) -> CallDecision {
    let rule = "a socket of a command whose policy allows more than this one's".to_owned();
    CallDecision::Refuse(Errno::ACCESS, Denial { operation, target, rule, times: 1 })
}

fn foreign(operation: Operation, target: String) -> CallDecision {
    let rule = "a socket of a program outside".to_owned();
    CallDecision::Refuse(Errno::ACCESS, Denial { operation, target, rule, times: 1 })
}

/// The socket in the first argument, and its family.
fn caller_socket(notice: &Notice) -> Result<(OwnedFd, AddressFamily), Missing> {
    let process = || Caller::of(notice.pid).map(|caller| caller.process);
    let socket = copy_descriptor(notice.pid, process, notice.arguments[0] as i32)?;
    let family = socket_domain(&socket)?;
    Ok((socket, family))
}

fn has_no_name(socket: &OwnedFd) -> bool {
    const FAMILY: u32 = 2;
    getsockname(socket).is_ok_and(|address| address.addr_len() <= FAMILY)
}

/// The bytes of an address; its length is the argument after it.
fn address_at(notice: &Notice, argument: usize) -> Result<Vec<u8>, Missing> {
    /// The kernel takes no longer one.
    const LONGEST: usize = 128;
    match usize::try_from(notice.arguments[argument + 1] as i32) {
        Ok(length @ ..=LONGEST) => bytes_at(notice, notice.arguments[argument], length),
        _ => Err(Errno::INVAL.into()),
    }
}

/// The address of a unix socket.
#[derive(Debug, PartialEq, Eq)]
enum UnixName<'a> {
    Path(&'a Path),
    Abstract(&'a [u8]),
    /// The kernel refuses such an address.
    Invalid,
}

/// `None`: the address is of another family.
fn unix_name(address: &[u8]) -> Option<UnixName<'_>> {
    const LONGEST_NAME: usize = 108;
    if family_of(address)? != AddressFamily::UNIX.as_raw() {
        return None;
    }
    Some(match &address[2..] {
        [] => UnixName::Invalid,
        name if name.len() > LONGEST_NAME => UnixName::Invalid,
        [0, name @ ..] => UnixName::Abstract(name),
        name => {
            let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
            UnixName::Path(Path::new(OsStr::from_bytes(&name[..end])))
        }
    })
}

fn family_of(address: &[u8]) -> Option<u16> {
    Some(u16::from_ne_bytes(address.get(..2)?.try_into().ok()?))
}

/// `None`: the address leads nowhere.
fn internet_address(bytes: &[u8], operation: Operation) -> Option<SocketAddr> {
    const NO_FAMILY: u16 = 0;
    const INET: u16 = 2;
    const INET6: u16 = 10;
    // The kernel sends to an address of no family as to one of this kind. Connecting to one dissolves a connection.
    let is_inet = |family| family == INET || family == NO_FAMILY && operation == Operation::Send;
    let port = u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?);
    let address = match family_of(bytes)? {
        family if is_inet(family) => {
            let octets: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
            IpAddr::V4(Ipv4Addr::from(octets))
        }
        INET6 => {
            let octets: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
            IpAddr::V6(Ipv6Addr::from(octets))
        }
        _ => return None,
    };
    Some(SocketAddr::new(address, port))
}

/// Whether an address leads to the calling machine: even to its own other addresses, only the loopback device leads.
fn is_own(address: IpAddr) -> bool {
    let address = match address {
        IpAddr::V6(six) => six.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    };
    address.is_loopback() || address.is_unspecified()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_address_of_a_unix_socket_is_a_path_or_an_abstract_name() {
        let check = |family: u16, rest: &[u8], expected| {
            let address = [&family.to_ne_bytes(), rest].concat();
            assert_eq!(unix_name(&address), expected, "{address:?}");
        };
        check(1, b"/tmp/s\0rest", Some(UnixName::Path(Path::new("/tmp/s"))));
        check(1, b"s", Some(UnixName::Path(Path::new("s"))));
        check(1, b"\0name\0x", Some(UnixName::Abstract(b"name\0x")));
        check(1, b"", Some(UnixName::Invalid));
        check(1, &[b'x'; 109], Some(UnixName::Invalid));
        check(2, b"/tmp/s", None);
        assert_eq!(unix_name(b"\x01"), None);
    }

    #[test]
    fn an_address_of_no_family_is_sent_to_and_dissolves_a_connection() {
        let address = [0, 0, 0, 80, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        let expected = Some("127.0.0.1:80".parse().unwrap());
        assert_eq!(internet_address(&address, Operation::Send), expected);
        assert_eq!(internet_address(&address, Operation::Connect), None);
    }

    #[test]
    fn a_denied_address_names_what_the_callers_interface_can_change() {
        let remedies = Remedies::with_one_network_switch("set networkAccess", "send no sandbox");
        let check = |network, address: &str, is_alone, expected: &[&str]| {
            let scope = Scope::of(address.parse().unwrap());
            let rule = network_rule(network, Some(scope), is_alone, &remedies);
            assert!(expected.iter().all(|part| rule.contains(part)), "{rule}");
            assert!(!rule.contains("--"), "no option of a command line: {rule}");
        };
        check(NetworkKind::Off, "127.0.0.1:80", false, &["network off", "set networkAccess"]);
        check(NetworkKind::Off, "192.0.2.1:80", true, &["network off", "no namespaces", "set networkAccess"]);
        check(NetworkKind::Off, "192.0.2.1:53", false, &["network is off", "looked up", "set networkAccess"]);
        check(NetworkKind::Loopback, "192.0.2.1:80", false, &["network loopback", "set networkAccess"]);
        check(NetworkKind::Hosts, "127.0.0.53:53", false, &["the proxy looks up names"]);
    }

    proptest! {
        #[test]
        fn no_address_is_too_strange(bytes in prop::collection::vec(any::<u8>(), 0..130)) {
            let _ = (unix_name(&bytes), internet_address(&bytes, Operation::Send));
        }
    }
}
