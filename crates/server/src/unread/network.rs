//! The same over TCP. Nothing goes over the wire when the other end stops reading for good: its kernel goes on
//! accepting data, so a write reveals nothing. If both ends are on this machine, as behind loopback addresses, the
//! kernel reports over netlink which halves of a socket are shut.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

use super::EVERY;

/// Waits until the socket at `theirs`, connected to `ours`, is shut for reading. For ever, if it is not on this
/// machine.
pub(crate) async fn nobody_reads(ours: SocketAddr, theirs: SocketAddr) {
    loop {
        match look_at(theirs, ours) {
            Ok(Seen::Socket(socket)) if socket.shut & READING != 0 => return,
            Ok(Seen::Nobody | Seen::Nothing) => return std::future::pending().await,
            // Descriptors or memory may be short for a moment.
            Ok(Seen::Socket(_)) | Err(_) => {}
        }
        // timer: the shutdown causes no event.
        tokio::time::sleep(EVERY).await;
    }
}

/// The user and the inode of a socket of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The user whose process created it.
    pub(crate) user: u32,
    /// Its inode number in sockfs.
    pub(crate) inode: u64,
}

/// The result of a look-up of a socket's owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owned {
    /// A process of this machine has it open.
    By(Owner),
    /// The network namespace has no such socket, or its owner has closed it.
    Gone,
    /// The kernel does not support the look-up.
    Untold,
}

/// The owner of the TCP socket at `at`, connected to `to`.
pub(crate) fn owner(at: SocketAddr, to: SocketAddr) -> Owned {
    match look_at(at, to) {
        // A socket that was closed before all of it was read lives on without an inode.
        Ok(Seen::Socket(socket)) if socket.owner.inode != 0 => Owned::By(socket.owner),
        Ok(Seen::Socket(_) | Seen::Nobody) => Owned::Gone,
        Ok(Seen::Nothing) | Err(_) => Owned::Untold,
    }
}

/// Whether an address is one of this machine's, in the network of this process: a packet to it would come from itself.
pub(crate) fn is_on_this_machine(address: SocketAddr) -> bool {
    let ip = address.ip().to_canonical();
    if ip.is_loopback() {
        return true;
    }
    // Nothing is sent: connecting such a socket only looks for the route.
    let mut there = address;
    there.set_ip(ip);
    let any: IpAddr = if ip.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let from = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect(there)?;
        socket.local_addr()
    });
    from.is_ok_and(|from| from.ip() == ip)
}

/// The half of a socket that is read, as the kernel counts them.
const READING: u8 = 1;

/// The kernel's answer about a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// It exists.
    Socket(Socket),
    /// There is no such socket.
    Nobody,
    /// The kernel does not support or allow the question.
    Nothing,
}

/// The properties of a socket that are used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Socket {
    /// The mask of its shut halves.
    shut: u8,
    owner: Owner,
}

/// Looks the TCP socket at `at`, connected to `to`, up over netlink.
fn look_at(at: SocketAddr, to: SocketAddr) -> Result<Seen, Errno> {
    let Some(question) = question(at, to) else { return Ok(Seen::Nobody) };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let protocol = Some(netlink::SOCK_DIAG);
    let kernel = match socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, protocol) {
        // The kernel lacks `sock_diag`, or a filter forbids it.
        Err(Errno::AFNOSUPPORT | Errno::PROTONOSUPPORT | Errno::PERM | Errno::ACCESS) => {
            return Ok(Seen::Nothing);
        }
        kernel => kernel?,
    };
    send(&kernel, &question, SendFlags::empty())?;
    let mut answer = [0; ANSWER_LIMIT];
    // The kernel answers while it handles the send.
    let (count, _) = recv(&kernel, &mut answer, RecvFlags::empty())?;
    Ok(told(&answer[..count]).map_or(Seen::Nobody, Seen::Socket))
}

/// Several times the length of an answer about one socket.
const ANSWER_LIMIT: usize = 4096;

/// `SOCK_DIAG_BY_FAMILY`: the type of the question about one socket and of its answer.
const ONE_SOCKET: u16 = 20;

/// `NLM_F_REQUEST`.
const REQUEST: u16 = 1;

const TCP: u8 = 6;

/// The length of a `nlmsghdr`.
const HEADER: usize = 16;

/// The length of an `inet_diag_msg`.
const STORY: usize = 72;

/// `INET_DIAG_SHUTDOWN`: the attribute with the mask of shut halves, which every answer has.
const SHUT: u16 = 8;

/// A `nlmsghdr` and an `inet_diag_req_v2` about one socket.
fn question(at: SocketAddr, to: SocketAddr) -> Option<Vec<u8>> {
    let (family, at_ip, to_ip) = match (at.ip(), to.ip()) {
        (IpAddr::V4(at), IpAddr::V4(to)) => (AddressFamily::INET, padded(&at.octets()), padded(&to.octets())),
        (IpAddr::V6(at), IpAddr::V6(to)) => (AddressFamily::INET6, at.octets(), to.octets()),
        _ => return None,
    };
    let mut body = vec![u8::try_from(family.as_raw()).ok()?, TCP, 0, 0];
    // In any state.
    body.extend(u32::MAX.to_ne_bytes());
    body.extend(at.port().to_be_bytes());
    body.extend(to.port().to_be_bytes());
    body.extend(at_ip);
    body.extend(to_ip);
    // On any interface, with any cookie.
    body.extend(0_u32.to_ne_bytes());
    body.extend([0xff; 8]);
    let mut question = u32::try_from(HEADER + body.len()).ok()?.to_ne_bytes().to_vec();
    question.extend(ONE_SOCKET.to_ne_bytes());
    question.extend(REQUEST.to_ne_bytes());
    question.extend([0; 8]);
    question.extend(body);
    Some(question)
}

fn padded(address: &[u8; 4]) -> [u8; 16] {
    let mut whole = [0; 16];
    whole[..address.len()].copy_from_slice(address);
    whole
}

/// Parses the socket in an answer; `None` for an error.
fn told(answer: &[u8]) -> Option<Socket> {
    let length = usize::try_from(u32::from_ne_bytes(answer.get(..4)?.try_into().ok()?)).ok()?;
    if number(answer, 4)? != ONE_SOCKET {
        return None;
    }
    // The last two members of the fixed part.
    let user = long_number(answer, HEADER + STORY - 8)?;
    let inode = long_number(answer, HEADER + STORY - 4)?.into();
    let owner = Owner { user, inode };
    let mut attributes = answer.get(HEADER + STORY..length)?;
    loop {
        let length = usize::from(number(attributes, 0)?);
        let value = attributes.get(4..length)?;
        if number(attributes, 2)? == SHUT {
            return value.first().map(|&shut| Socket { shut, owner });
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn long_number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::{Shutdown, TcpListener, TcpStream};

    use proptest::prelude::*;

    use super::*;

    fn connected(to: IpAddr) -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((to, 0)).expect("an address");
        let theirs = TcpStream::connect(listener.local_addr().expect("it has one")).expect("it listens");
        (listener.accept().expect("somebody is there").0, theirs)
    }

    /// The shut halves of a socket, if there is one.
    fn shut(at: SocketAddr, to: SocketAddr) -> Option<u8> {
        match look_at(at, to).expect("it can be asked for") {
            Seen::Socket(socket) => Some(socket.shut),
            Seen::Nobody | Seen::Nothing => None,
        }
    }

    #[test]
    fn a_socket_tells_its_user_and_its_number() {
        use std::os::unix::fs::MetadataExt;
        let (ours, theirs) = connected(Ipv4Addr::LOCALHOST.into());
        let (local, remote) = ends(&ours);
        let number = std::os::fd::AsRawFd::as_raw_fd(&theirs);
        let inode = std::fs::metadata(format!("/proc/self/fd/{number}")).expect("it is open").ino();
        let user = rustix::process::geteuid().as_raw();
        assert_eq!(owner(remote, local), Owned::By(Owner { user, inode }));
        drop(theirs);
        assert_eq!(owner(remote, local), Owned::Gone);
    }

    fn ends(stream: &TcpStream) -> (SocketAddr, SocketAddr) {
        (stream.local_addr().expect("it has one"), stream.peer_addr().expect("it has one"))
    }

    #[tokio::test]
    async fn whoever_stops_reading_for_good_is_noticed_though_nothing_is_sent() {
        for ip in [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()] {
            let (ours, theirs) = connected(ip);
            let (local, remote) = ends(&ours);
            assert_eq!(shut(remote, local), Some(0), "{ip}");
            ours.shutdown(Shutdown::Read).expect("it can be shut");
            assert_eq!(shut(remote, local), Some(0), "our own half is not theirs");
            let watching = tokio::spawn(nobody_reads(local, remote));
            theirs.shutdown(Shutdown::Read).expect("it can be shut");
            watching.await.expect("no panic");
        }
    }

    #[test]
    fn a_client_of_the_older_protocol_on_a_socket_of_the_newer_is_found() {
        let listener = TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0)).expect("an address");
        let port = listener.local_addr().expect("it has one").port();
        let theirs = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("it listens");
        let (ours, _) = listener.accept().expect("somebody is there");
        let (local, remote) = ends(&ours);
        assert!(remote.is_ipv6());
        assert_eq!(shut(remote, local), Some(0));
        theirs.shutdown(Shutdown::Read).expect("it can be shut");
        assert_eq!(shut(remote, local), Some(READING));
    }

    #[test]
    fn of_a_socket_that_is_not_on_this_machine_nothing_is_known() {
        let (ours, _theirs) = connected(Ipv4Addr::LOCALHOST.into());
        let (local, remote) = ends(&ours);
        let nowhere = SocketAddr::from(([192, 0, 2, 1], remote.port()));
        assert_eq!(look_at(nowhere, local), Ok(Seen::Nobody));
        assert_eq!(look_at(SocketAddr::from((Ipv6Addr::LOCALHOST, remote.port())), local), Ok(Seen::Nobody));
    }

    #[test]
    fn addresses_of_this_machine_are_told_from_others() {
        for ip in ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"] {
            assert!(is_on_this_machine((ip.parse::<IpAddr>().expect("an address"), 1).into()), "{ip}");
        }
        for ip in ["192.0.2.1", "::ffff:192.0.2.1", "2001:db8::1"] {
            assert!(!is_on_this_machine((ip.parse::<IpAddr>().expect("an address"), 1).into()), "{ip}");
        }
    }

    proptest! {
        #[test]
        fn any_answer_is_read_without_harm(
            kind in prop_oneof![Just(ONE_SOCKET), any::<u16>()],
            length in prop_oneof![Just(None), any::<u32>().prop_map(Some)],
            rest in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let length = length.unwrap_or(8 + u32::try_from(rest.len()).expect("short"));
            let mut answer = length.to_ne_bytes().to_vec();
            answer.extend(kind.to_ne_bytes());
            answer.extend([0; 2]);
            answer.extend(rest);
            let _ = told(&answer);
            for end in 0..answer.len().min(8) {
                prop_assert_eq!(told(&answer[..end]), None);
            }
        }
    }
}
