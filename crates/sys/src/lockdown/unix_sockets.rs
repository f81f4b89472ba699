//! The unix sockets of one network namespace as the kernel lists them (`sock_diag`), each with the file or abstract
//! name to which it is bound. Unlike `/proc/net/unix` the list identifies the file itself, not the path that was once
//! given for it.

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

/// Lists the sockets of the network namespace in which this was created, wherever it is used later.
#[derive(Debug)]
pub struct UnixSockets(OwnedFd);

/// One socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnixSocket {
    /// The inode of the socket itself, as `fstat` of its descriptor returns it.
    pub inode: u32,
    /// The file that it is bound to.
    pub file: Option<BoundFile>,
    /// The abstract name that it is bound to, without the zero before it.
    pub abstract_name: Option<Vec<u8>>,
}

/// A file to which a socket is bound, as far as the kernel shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundFile {
    /// The number of the file system's device, as `/proc/self/mountinfo` has it, in one number.
    pub device: u32,
    /// The lower half of the inode's number.
    pub inode: u32,
}

impl BoundFile {
    /// From the parts of a device's number.
    pub fn new(major: u32, minor: u32, inode: u64) -> Self {
        Self { device: major << 20 | minor, inode: inode as u32 }
    }
}

impl UnixSockets {
    /// Opens a list for the network namespace of this process.
    pub fn of_this_namespace() -> Result<Self, Errno> {
        let protocol = Some(netlink::SOCK_DIAG);
        socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol).map(Self)
    }

    /// The descriptor, to be kept open.
    pub fn descriptor(&self) -> &OwnedFd {
        &self.0
    }

    /// All sockets that have a name and can be connected or sent to. The sockets of accepted connections bear their
    /// server's name, too, and are not included.
    pub fn list(&self) -> Result<Vec<UnixSocket>, Errno> {
        send(&self.0, &request(), SendFlags::empty())?;
        let mut found = Vec::new();
        let mut bytes = vec![0; BUFFER];
        loop {
            let (received, _) = match recv(&self.0, &mut bytes[..], RecvFlags::empty()) {
                Err(Errno::INTR) => continue,
                answer => answer?,
            };
            let mut messages = Messages(&bytes[..received]);
            for message in messages.by_ref() {
                match message.kind {
                    DONE => return Ok(found),
                    ERROR => return Err(error_in(message.body)),
                    LISTED => found.extend(socket_in(message.body)),
                    _ => {}
                }
            }
        }
    }
}

/// The kernel fills at most half of this at once.
const BUFFER: usize = 64 * 1024;
const HEADER: usize = 16;
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// `SOCK_DIAG_BY_FAMILY`.
const LISTED: u16 = 20;

fn request() -> Vec<u8> {
    const REQUEST_AND_DUMP: u16 = 0x301;
    const EVERY_STATE: u32 = u32::MAX;
    const NAME_AND_FILE: u32 = 1 | 2;
    const NO_COOKIE: u32 = u32::MAX;
    let mut body = vec![libc::AF_UNIX as u8, 0, 0, 0];
    for word in [EVERY_STATE, 0, NAME_AND_FILE, NO_COOKIE, NO_COOKIE] {
        body.extend(word.to_ne_bytes());
    }
    let mut message = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
    message.extend(LISTED.to_ne_bytes());
    message.extend(REQUEST_AND_DUMP.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    message
}

struct Message<'a> {
    kind: u16,
    body: &'a [u8],
}

struct Messages<'a>(&'a [u8]);

impl<'a> Iterator for Messages<'a> {
    type Item = Message<'a>;

    fn next(&mut self) -> Option<Message<'a>> {
        let length = word(self.0, 0)? as usize;
        let (kind, body) = (half_word(self.0, 4)?, self.0.get(HEADER..length)?);
        self.0 = self.0.get(aligned(length)..).unwrap_or_default();
        Some(Message { kind, body })
    }
}

fn error_in(body: &[u8]) -> Errno {
    let code = word(body, 0).map_or(0, u32::cast_signed);
    Errno::from_raw_os_error(code.checked_neg().filter(|code| *code > 0).unwrap_or(libc::EIO))
}

/// `struct unix_diag_msg` and what comes after it.
fn socket_in(body: &[u8]) -> Option<UnixSocket> {
    const FIXED: usize = 16;
    const NAME: u16 = 0;
    const FILE: u16 = 1;
    const DATAGRAM: u8 = 2;
    const LISTENING: u8 = 10;
    let (kind, state) = (*body.get(1)?, *body.get(2)?);
    if kind != DATAGRAM && state != LISTENING {
        return None;
    }
    let mut socket = UnixSocket { inode: word(body, 4)?, file: None, abstract_name: None };
    let mut rest = body.get(FIXED..)?;
    while let (Some(length), Some(kind)) = (half_word(rest, 0), half_word(rest, 2)) {
        let Some(value) = rest.get(4..usize::from(length)) else { break };
        match (kind, value) {
            (NAME, [0, name @ ..]) => socket.abstract_name = Some(name.to_vec()),
            (FILE, _) => {
                socket.file =
                    word(value, 4).zip(word(value, 0)).map(|(device, inode)| BoundFile { device, inode });
            }
            _ => {}
        }
        rest = rest.get(aligned(usize::from(length))..).unwrap_or_default();
    }
    Some(socket).filter(|socket| socket.file.is_some() || socket.abstract_name.is_some())
}

/// Every part begins at a multiple of four.
fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn half_word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rustix::net::{SocketAddrUnix, accept, bind, connect, listen, socket};
    use std::os::unix::fs::MetadataExt;

    fn listed(inode: u64) -> Option<UnixSocket> {
        let all = UnixSockets::of_this_namespace().unwrap().list().unwrap();
        all.into_iter().find(|socket| u64::from(socket.inode) == inode)
    }

    #[test]
    fn a_socket_is_listed_with_the_file_it_is_bound_to() {
        let path = std::env::temp_dir().join(format!("windlass-diag-{}", std::process::id()));
        let one = socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
        let inode = rustix::fs::fstat(&one).unwrap().st_ino;
        assert_eq!(listed(inode), None, "it has no name yet");
        let address = SocketAddrUnix::new(&path).unwrap();
        bind(&one, &address).unwrap();
        assert_eq!(listed(inode), None, "it does not listen yet");
        listen(&one, 1).unwrap();
        let client = socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
        connect(&client, &address).unwrap();
        let accepted = accept(&one).unwrap();
        assert_eq!(listed(rustix::fs::fstat(&accepted).unwrap().st_ino), None, "it is a connection");
        let file = std::fs::metadata(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let bound = listed(inode).and_then(|socket| socket.file).expect("it is bound to a file");
        assert_eq!(bound.inode, file.ino() as u32);
    }

    #[test]
    fn a_socket_is_listed_with_its_abstract_name() {
        let name = format!("windlass-diag-{}", std::process::id());
        let one = socket(AddressFamily::UNIX, SocketType::DGRAM, None).unwrap();
        bind(&one, &SocketAddrUnix::new_abstract_name(name.as_bytes()).unwrap()).unwrap();
        let bound = listed(rustix::fs::fstat(&one).unwrap().st_ino).unwrap();
        assert_eq!(bound.abstract_name.as_deref(), Some(name.as_bytes()));
        assert_eq!(bound.file, None);
    }

    proptest! {
        #[test]
        fn no_answer_of_the_kernel_is_too_strange(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for message in Messages(&bytes) {
                let _ = (socket_in(message.body), error_in(message.body));
            }
            let _ = socket_in(&bytes);
        }
    }
}
