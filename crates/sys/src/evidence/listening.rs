//! The sockets on which a set of processes listens, from the kernel's tables of sockets.

use super::file::{decimal, hexadecimal, words};
use crate::process::Pid;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// An address to which a client can connect.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Endpoint {
    /// A TCP port at an address; the address of all is `0.0.0.0` or `[::]`.
    Tcp(SocketAddr),
    /// A Unix socket by its path as it was bound; an abstract name begins with `@`.
    Unix(PathBuf),
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Everything these processes listen on, sorted, each once. Processes that cannot be inspected add nothing.
pub fn listening(members: &[Pid]) -> Vec<Endpoint> {
    let mut tables: HashMap<u64, HashMap<u64, Endpoint>> = HashMap::new();
    let mut found = Vec::new();
    for pid in members {
        let sockets: Vec<u64> = sockets_of(*pid).collect();
        // Most processes hold no socket at all, and the kernel takes milliseconds to write out a table of them.
        if sockets.is_empty() {
            continue;
        }
        // Each network namespace has tables of its own; nearly always there is one.
        let Ok(namespace) = fs::metadata(format!("/proc/{pid}/ns/net")) else { continue };
        let table = tables.entry(namespace.ino()).or_insert_with(|| listeners_seen_by(*pid));
        found.extend(sockets.iter().filter_map(|inode| table.get(inode).cloned()));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// All listening sockets in the network namespace of a process, by inode.
fn listeners_seen_by(pid: Pid) -> HashMap<u64, Endpoint> {
    let lines = |table: &str| table_of(pid, table).unwrap_or_default();
    let mut listeners = HashMap::new();
    for table in ["tcp", "tcp6"] {
        listeners.extend(lines(table).split(|byte| *byte == b'\n').filter_map(tcp_listener));
    }
    listeners.extend(lines("unix").split(|byte| *byte == b'\n').filter_map(unix_listener));
    listeners
}

/// Reads a table as text, with room from the start: every read makes the kernel walk through all of it again.
fn table_of(pid: Pid, table: &str) -> std::io::Result<Vec<u8>> {
    const ROOM: usize = 64 * 1024;
    let mut text = Vec::with_capacity(ROOM);
    fs::File::open(format!("/proc/{pid}/net/{table}"))?.read_to_end(&mut text)?;
    Ok(text)
}

/// The inodes of the sockets a process holds.
fn sockets_of(pid: Pid) -> impl Iterator<Item = u64> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    entries.filter_map(|entry| socket_inode(&fs::read_link(entry.path()).ok()?))
}

fn socket_inode(link: &Path) -> Option<u64> {
    decimal(link.as_os_str().as_bytes().strip_prefix(b"socket:[")?.strip_suffix(b"]")?)
}

/// `sl: local_address remote_address st queues timer retransmits uid timeout inode …`
fn tcp_listener(line: &[u8]) -> Option<(u64, Endpoint)> {
    const LISTEN: &[u8] = b"0A";
    let mut fields = words(line).skip(1);
    let local = fields.next()?;
    if fields.nth(1)? != LISTEN {
        return None;
    }
    let inode = decimal(fields.nth(5)?)?;
    Some((inode, Endpoint::Tcp(socket_address(local)?)))
}

/// Addresses are written as 32-bit numbers in the machine's own byte order, ports as plain numbers.
fn socket_address(text: &[u8]) -> Option<SocketAddr> {
    let colon = text.iter().position(|byte| *byte == b':')?;
    let (address, port) = (&text[..colon], &text[colon + 1..]);
    let mut octets = [0; 16];
    let words = address.chunks(8);
    let length = words.len() * 4;
    for (target, word) in octets.chunks_mut(4).zip(words) {
        target.copy_from_slice(&u32::try_from(hexadecimal(word)?).ok()?.to_ne_bytes());
    }
    let address: IpAddr = match length {
        4 => Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]).into(),
        16 => Ipv6Addr::from(octets).into(),
        _ => return None,
    };
    Some(SocketAddr::new(address, u16::try_from(hexadecimal(port)?).ok()?))
}

/// `Num: RefCount Protocol Flags Type St Inode Path`, where the path is the rest of the line, spaces and all.
fn unix_listener(line: &[u8]) -> Option<(u64, Endpoint)> {
    /// The kernel's `SO_ACCEPTCON`: the socket's owner called `listen`.
    const LISTENS: u64 = 1 << 16;
    let mut fields = words(line).skip(3);
    let flags = hexadecimal(fields.next()?)?;
    let (inode, path) = (fields.nth(2)?, fields.next()?);
    if flags & LISTENS == 0 {
        return None;
    }
    // A path may hold spaces: it goes from its first word to the end of the line.
    let start = path.as_ptr().addr() - line.as_ptr().addr();
    Some((decimal(inode)?, Endpoint::Unix(OsStr::from_bytes(&line[start..]).into())))
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, socket_inode, tcp_listener, unix_listener};
    use std::path::Path;

    fn shown(found: Option<(u64, Endpoint)>) -> Option<(u64, String)> {
        found.map(|(inode, endpoint)| (inode, endpoint.to_string()))
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn a_line_of_the_tcp_table_is_an_address() {
        let check = |local: &str, state: &str, expected: Option<&str>| {
            let rest = "00000000:00000000 00:00000000 00000000     0        0 4711 1 0000 100 0 0 10 0";
            let line = format!("   0: {local} 00000000:0000 {state} {rest}");
            assert_eq!(shown(tcp_listener(line.as_bytes())), expected.map(|text| (4711, text.to_owned())));
        };
        check("0100007F:1435", "0A", Some("127.0.0.1:5173"));
        check("00000000:0050", "0A", Some("0.0.0.0:80"));
        check("00000000000000000000000001000000:1F90", "0A", Some("[::1]:8080"));
        check("00000000000000000000000000000000:0016", "0A", Some("[::]:22"));
        check("B80D0120000000000000000001000000:0001", "0A", Some("[2001:db8::1]:1"));
        check("0100007F:1435", "01", None);
        check("0100007F", "0A", None);
    }

    #[test]
    fn a_line_of_the_unix_table_is_a_path() {
        let check = |line: &str, expected: Option<(u64, &str)>| {
            let expected = expected.map(|(inode, text)| (inode, text.to_owned()));
            assert_eq!(shown(unix_listener(line.as_bytes())), expected, "{line}");
        };
        check(
            "0000000000000000: 00000002 00000000 00010000 0001 01 20731 /run/a b.sock",
            Some((20731, "unix:/run/a b.sock")),
        );
        check(
            "0000000000000000: 00000002 00000000 00010000 0005 01 1 @abstract",
            Some((1, "unix:@abstract")),
        );
        check("0000000000000000: 00000003 00000000 00000000 0001 03 20731 /run/a.sock", None);
        check("0000000000000000: 00000003 00000000 00000000 0001 03 20731", None);
        check("Num       RefCount Protocol Flags    Type St Inode Path", None);
        check("", None);
    }

    #[test]
    fn only_links_to_sockets_have_an_inode() {
        assert_eq!(socket_inode(Path::new("socket:[12]")), Some(12));
        assert_eq!(socket_inode(Path::new("pipe:[12]")), None);
        assert_eq!(socket_inode(Path::new("/tmp/socket:[12]")), None);
    }
}
