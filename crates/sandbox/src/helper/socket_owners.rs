//! The owners of unix sockets: this session and others that may do no more than it, or programs outside. A command may
//! talk to the former alone. A path does not identify the owner, because a command can rename and link files in its
//! writable places. The kernel lists which socket is bound to which file, and the supervisor knows which sockets the
//! session's processes have bound.

use super::place::Seen;
use crate::authority::AuthorityNumbers;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{SeekFrom, fstat, makedev, seek, tell};
use rustix::io::Errno;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use windlass_sys::lockdown::unix_sockets::{BoundFile, UnixSocket, UnixSockets};

/// The owner of a bound socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A process of this session, or of another one of the same runtime that may do as much or less.
    Session,
    /// A process of another session, with a policy that allows something that this session's does not.
    OtherPolicy,
    /// A program outside.
    Others,
    /// No socket is bound there any more.
    Nobody,
}

/// The network namespaces whose sockets the supervisor can list.
pub(super) struct Namespaces<'a> {
    /// The command's network namespace.
    pub(super) own: Option<UnixSockets>,
    /// The runtime's network namespace, where it is another one.
    pub(super) outside: Option<&'a UnixSockets>,
}

/// The supervisor's knowledge of sockets.
pub(super) struct SocketOwners<'a> {
    namespaces: Namespaces<'a>,
    /// Inodes of sockets that processes of this session have bound.
    bound: RefCell<HashSet<u32>>,
    /// The same for every session of the runtime, each with the number of the session's authority, in a file.
    shared: Option<OwnedFd>,
    authority: &'a AuthorityNumbers,
}

/// The inode of a socket and the authority that it was bound with, as they stand in the shared file.
const RECORD: usize = 8;

/// At this number, sockets that no longer exist are forgotten.
const MOST_BOUND: usize = 16 * 1024;
/// The shared file starts again at this length: other sessions then forget the oldest sockets.
const LONGEST_SHARED: u64 = 1 << 20;

impl<'a> SocketOwners<'a> {
    pub(super) fn new(
        namespaces: Namespaces<'a>,
        shared: Option<OwnedFd>,
        authority: &'a AuthorityNumbers,
    ) -> Self {
        Self { namespaces, bound: RefCell::default(), shared, authority }
    }

    /// Records that a process of this session is about to bind a socket, which had no name before.
    pub(super) fn note_bound(&self, socket: &OwnedFd) -> Result<(), Errno> {
        let inode = fstat(socket)?.st_ino as u32;
        let mut bound = self.bound.borrow_mut();
        if bound.len() >= MOST_BOUND {
            let listed = list(self.namespaces.own.as_ref())?;
            let there: HashSet<u32> = listed.iter().map(|socket| socket.inode).collect();
            bound.retain(|inode| there.contains(inode));
        }
        if bound.insert(inode) {
            self.share(inode);
        }
        Ok(())
    }

    /// All supervisors write at one offset, which the kernel moves on before the next of them writes.
    fn share(&self, inode: u32) {
        let Some(shared) = &self.shared else { return };
        if tell(shared).is_ok_and(|offset| offset >= LONGEST_SHARED) {
            let _ = seek(shared, SeekFrom::Start(0));
        }
        // If any of this fails, other sessions do not reach the socket.
        let _ = rustix::io::write(shared, &record(inode, self.authority.own));
    }

    /// The session that has bound these sockets; if several have, the one whose authority this command covers least.
    fn owner_of<'b>(&self, sockets: impl Iterator<Item = &'b UnixSocket>) -> Owner {
        let bound = self.bound.borrow();
        let shared = std::cell::OnceCell::new();
        let owner = |socket: &UnixSocket| {
            if bound.contains(&socket.inode) {
                return Owner::Session;
            }
            match shared.get_or_init(|| self.read_shared()).get(&socket.inode) {
                Some(authority) if self.authority.covered.contains(authority) => Owner::Session,
                Some(_) => Owner::OtherPolicy,
                None => Owner::Others,
            }
        };
        let owners: Vec<Owner> = sockets.map(owner).collect();
        let any = |owner| owners.contains(&owner).then_some(owner);
        any(Owner::Others).or_else(|| any(Owner::OtherPolicy)).unwrap_or(Owner::Session)
    }

    /// The authority of each socket that sessions of the runtime have bound.
    fn read_shared(&self) -> HashMap<u32, u32> {
        let Some(shared) = &self.shared else { return HashMap::new() };
        let length = fstat(shared).map_or(0, |about| about.st_size.unsigned_abs().min(2 * LONGEST_SHARED));
        let mut bytes = vec![0; length as usize];
        let read = rustix::io::pread(shared, &mut bytes[..], 0).unwrap_or(0);
        bytes[..read].as_chunks::<RECORD>().0.iter().map(|bytes| parts(*bytes)).collect()
    }

    /// The owner of the socket that is bound to a file.
    pub(super) fn of_file(&self, file: &Seen) -> Result<Owner, Errno> {
        let (major, minor) = file_system(file.hold()).ok_or(Errno::ACCESS)?;
        let is_only_one =
            file.about.st_dev == makedev(major, minor) && u32::try_from(file.about.st_ino).is_ok();
        let file = BoundFile::new(major, minor, file.about.st_ino);
        self.of(|socket| socket.file == Some(file), is_only_one)
    }

    /// The owner of the socket that is bound to an abstract name.
    pub(super) fn of_abstract_name(&self, name: &[u8]) -> Result<Owner, Errno> {
        self.of(|socket| socket.abstract_name.as_deref() == Some(name), true)
    }

    /// The kernel shows only half of an inode's number, and no subvolumes: two files can look alike, and then every
    /// socket that is bound to one of them must be ours.
    fn of(&self, is_meant: impl Fn(&UnixSocket) -> bool, is_only_one: bool) -> Result<Owner, Errno> {
        let listed = list(self.namespaces.own.as_ref())?;
        let mut meant = listed.iter().filter(|socket| is_meant(socket)).peekable();
        let is_listed = meant.peek().is_some();
        if let Some(outside) = self.namespaces.outside
            && !(is_listed && is_only_one)
            && list(Some(outside))?.iter().any(&is_meant)
        {
            return Ok(Owner::Others);
        }
        Ok(if is_listed { self.owner_of(meant) } else { Owner::Nobody })
    }
}

fn record(inode: u32, authority: u32) -> [u8; RECORD] {
    (u64::from(inode) << 32 | u64::from(authority)).to_ne_bytes()
}

/// An inode and an authority.
fn parts(record: [u8; RECORD]) -> (u32, u32) {
    let record = u64::from_ne_bytes(record);
    ((record >> 32) as u32, record as u32)
}

/// The sockets of a namespace. Where the kernel cannot list them, their owners are unknown, and this fails.
fn list(namespace: Option<&UnixSockets>) -> Result<Vec<UnixSocket>, Errno> {
    namespace.ok_or(Errno::ACCESS)?.list().map_err(|_| Errno::ACCESS)
}

/// The device of the file system that a file is on. On some file systems, such as subvolumes of btrfs, `stat` returns
/// another one.
fn file_system(hold: &OwnedFd) -> Option<(u32, u32)> {
    let about = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", hold.as_raw_fd())).ok()?;
    let mount = about.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let device = mounts.lines().find_map(|line| {
        let mut words = line.split(' ');
        (words.next() == Some(mount)).then(|| words.nth(1)).flatten()
    })?;
    let (major, minor) = device.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{Mode, OFlags, open};
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, listen, socket};

    fn numbers(own: u32, covered: &[u32]) -> AuthorityNumbers {
        AuthorityNumbers { own, covered: covered.to_vec() }
    }

    fn owners(authority: &AuthorityNumbers) -> SocketOwners<'_> {
        let own = UnixSockets::of_this_namespace().ok();
        SocketOwners::new(Namespaces { own, outside: None }, None, authority)
    }

    #[test]
    fn a_socket_belongs_to_the_session_that_bound_it() {
        let path = std::env::temp_dir().join(format!("windlass-owners-{}", std::process::id()));
        let one = socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
        let authority = numbers(1, &[1]);
        let owners = owners(&authority);
        bind(&one, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        listen(&one, 1).unwrap();
        let hold = open(&path, OFlags::PATH, Mode::empty()).unwrap();
        std::fs::remove_file(&path).unwrap();
        let file = Seen::of(hold).unwrap();
        assert_eq!(owners.of_file(&file), Ok(Owner::Others));
        owners.note_bound(&one).unwrap();
        assert_eq!(owners.of_file(&file), Ok(Owner::Session));
        drop(one);
        assert_eq!(owners.of_file(&file), Ok(Owner::Nobody));
    }

    #[test]
    fn a_socket_of_another_session_of_the_runtime_can_be_reached_if_that_may_do_no_more() {
        let list = rustix::fs::memfd_create("bound-sockets", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let (wide, narrow) = (numbers(1, &[1, 2]), numbers(2, &[2]));
        let session = |authority| {
            let own = UnixSockets::of_this_namespace().ok();
            SocketOwners::new(Namespaces { own, outside: None }, list.try_clone().ok(), authority)
        };
        let (first, second, third) = (session(&wide), session(&wide), session(&narrow));
        let name = format!("windlass-shared-{}", std::process::id());
        let one = socket(AddressFamily::UNIX, SocketType::DGRAM, None).unwrap();
        first.note_bound(&socket(AddressFamily::UNIX, SocketType::DGRAM, None).unwrap()).unwrap();
        bind(&one, &SocketAddrUnix::new_abstract_name(name.as_bytes()).unwrap()).unwrap();
        assert_eq!(second.of_abstract_name(name.as_bytes()), Ok(Owner::Others));
        first.note_bound(&one).unwrap();
        assert_eq!(second.of_abstract_name(name.as_bytes()), Ok(Owner::Session));
        assert_eq!(third.of_abstract_name(name.as_bytes()), Ok(Owner::OtherPolicy));
        // The file starts again when it is full.
        seek(&list, SeekFrom::Start(LONGEST_SHARED)).unwrap();
        let other = socket(AddressFamily::UNIX, SocketType::DGRAM, None).unwrap();
        third.note_bound(&other).unwrap();
        assert_eq!(tell(&list), Ok(RECORD as u64));
        let inode = fstat(&other).unwrap().st_ino as u32;
        assert_eq!(first.read_shared().get(&inode), Some(&2));
        assert_eq!(
            second.of_abstract_name(name.as_bytes()),
            Ok(Owner::Session),
            "the second record is still there"
        );
    }

    #[test]
    fn an_abstract_name_belongs_to_the_session_that_bound_it() {
        let name = format!("windlass-owners-{}", std::process::id());
        let one = socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
        let authority = numbers(1, &[1]);
        let owners = owners(&authority);
        assert_eq!(owners.of_abstract_name(name.as_bytes()), Ok(Owner::Nobody));
        bind(&one, &SocketAddrUnix::new_abstract_name(name.as_bytes()).unwrap()).unwrap();
        listen(&one, 1).unwrap();
        assert_eq!(owners.of_abstract_name(name.as_bytes()), Ok(Owner::Others));
        owners.note_bound(&one).unwrap();
        assert_eq!(owners.of_abstract_name(name.as_bytes()), Ok(Owner::Session));
    }
}
