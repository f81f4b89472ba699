//! The process at the other end of a local socket, and whether it is confined more than this process is.
//!
//! A server that acts for a confined caller lends it the server's own rights, so servers refuse such callers. A process
//! counts as confined here if it is in another user namespace, or if more system call filters (seccomp) bind it than
//! bind us. Neither can be shed, both are inherited by everything the process starts, and each of our sandboxes has a
//! filter, whichever other layers the machine has.

use crate::mark;
use crate::process::{Pid, Process};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::io::Errno;
use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;

/// How a process is confined, compared with this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerConfinement {
    /// No more than this process.
    NoMore,
    /// More than this process.
    More,
    /// The process is gone, or the kernel does not show it to us.
    Unknown,
}

/// The confinement of the process that connected to this end of a Unix socket.
///
/// The kernel remembers the process that called `connect`. Once that process has died its number may belong to another
/// one, so the answer then is `Unknown`, even if a child of it still holds the socket.
pub fn of_unix_socket(socket: impl AsFd) -> PeerConfinement {
    let Some(pid) = pid_of(socket.as_fd()) else { return PeerConfinement::Unknown };
    // Kernels before 6.5 give no pidfd of a peer; the number is then all there is.
    let process = match peer_pidfd(&socket) {
        Ok(pidfd) => Ok(Process::held(pid, pidfd)),
        Err(Errno::NOPROTOOPT) => Process::open(pid),
        Err(other) => Err(other),
    };
    let Ok(process) = process else { return PeerConfinement::Unknown };
    let confinement = of_process(pid);
    // Looked at last: if this same process still lives, the number was its own while its files were read.
    if process.is_alive() { confinement } else { PeerConfinement::Unknown }
}

/// Whether a client may trust the server at the other end of a Unix socket: the process that listens is of this user or root,
/// and no command in a sandbox of Windlass, which could have put its own socket in the place of the server's.
pub fn is_trustworthy_server(socket: impl AsFd) -> bool {
    let Some(credentials) = credentials(socket.as_fd()) else { return false };
    if credentials.uid != 0 && credentials.uid != rustix::process::geteuid().as_raw() {
        return false;
    }
    // A process of a namespace above or beside ours has no number here; commands of ours live below.
    let Some(pid) = number_in(&credentials) else { return true };
    let process = match peer_pidfd(&socket) {
        Ok(pidfd) => Some(Process::held(pid, pidfd)),
        Err(Errno::NOPROTOOPT) => Process::open(pid).ok(),
        Err(_) => None,
    };
    let is_command = mark::on_own_process(pid) && of_process(pid) != PeerConfinement::NoMore;
    // Looked at last, as above. Of a process that is gone nothing is known: it may have been a command, with a child that
    // goes on.
    match process.is_some_and(|process| process.is_alive()) {
        true => !is_command,
        false => Commands::now().confined.is_empty(),
    }
}

/// The process in the credentials of a Unix socket's peer; `None` where this namespace has no number for it.
pub(crate) fn pid_of(socket: BorrowedFd<'_>) -> Option<Pid> {
    credentials(socket).as_ref().and_then(number_in)
}

fn number_in(credentials: &libc::ucred) -> Option<Pid> {
    u32::try_from(credentials.pid).ok().filter(|pid| *pid != 0).map(Pid::new)
}

fn credentials(socket: BorrowedFd<'_>) -> Option<libc::ucred> {
    // rustix has a pid there that cannot be 0, and the kernel writes 0 for a process of another namespace.
    let mut credentials = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = libc::socklen_t::try_from(size_of::<libc::ucred>()).ok()?;
    // SAFETY: the kernel writes at most `length` bytes, the size of the structure, which any bytes are a value of.
    let answer = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut credentials).cast(),
            &raw mut length,
        )
    };
    (answer == 0).then_some(credentials)
}

fn peer_pidfd(socket: impl AsFd) -> Result<OwnedFd, Errno> {
    /// Not in libc for every target yet; the value is that of all architectures we build for.
    const SO_PEERPIDFD: libc::c_int = 77;
    let mut pidfd: libc::c_int = -1;
    let mut length = libc::socklen_t::try_from(size_of::<libc::c_int>()).map_err(|_| Errno::INVAL)?;
    // SAFETY: the option's value is one int, which `pidfd` has room for, and `length` says so.
    let answer = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PEERPIDFD,
            (&raw mut pidfd).cast(),
            &raw mut length,
        )
    };
    if answer != 0 {
        return Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::SRCH));
    }
    // SAFETY: the call succeeded, so the number is a new descriptor that has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(pidfd) })
}

/// The confinement of a process, by its number.
pub fn of_process(pid: Pid) -> PeerConfinement {
    Own::now().map_or(PeerConfinement::Unknown, |own| own.compared_with(pid))
}

/// This process, for comparison with many others.
struct Own {
    filters: Filters,
    user_namespace: u64,
}

impl Own {
    fn now() -> Option<Self> {
        let me = Pid::of_this_process();
        Some(Self { filters: Filters::of(me)?, user_namespace: user_namespace(me).ok()? })
    }

    fn compared_with(&self, pid: Pid) -> PeerConfinement {
        let Some(filters) = Filters::of(pid) else { return PeerConfinement::Unknown };
        if filters > self.filters {
            return PeerConfinement::More;
        }
        match user_namespace(pid) {
            Ok(theirs) if theirs == self.user_namespace => PeerConfinement::NoMore,
            Ok(_) => PeerConfinement::More,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => compare_user_maps(pid),
            Err(_) => PeerConfinement::Unknown,
        }
    }
}

/// The seccomp filters on a process: the mode first, then how many, which only newer kernels tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Filters {
    mode: u8,
    count: u32,
}

impl Filters {
    fn of(pid: Pid) -> Option<Self> {
        // Uses a single read, because one connection can take a walk over hundreds of processes. The file has about
        // 1,500 bytes; only the list of groups, which comes before the wanted lines, can make it longer, and then it is
        // read again.
        let mut status = [0; 4096];
        let length = fs::File::open(format!("/proc/{pid}/status")).ok()?.read(&mut status).ok()?;
        if length == status.len() {
            return Self::parse(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?);
        }
        Self::parse(std::str::from_utf8(&status[..length]).ok()?)
    }

    /// A kernel without seccomp has neither line, and no process is filtered there.
    fn parse(status: &str) -> Option<Self> {
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let mode = field("Seccomp:").map_or(Some(0), |value| value.parse().ok())?;
        let count = field("Seccomp_filters:").map_or(Some(0), |value| value.parse().ok())?;
        Some(Self { mode, count })
    }
}

fn user_namespace(pid: Pid) -> std::io::Result<u64> {
    fs::metadata(format!("/proc/{pid}/ns/user")).map(|it| it.ino())
}

/// The kernel hides the namespaces of a process that is not dumpable, as Windlass itself is. Its map of users is
/// readable by all, and an unprivileged process cannot give a new namespace the map that this process has.
fn compare_user_maps(pid: Pid) -> PeerConfinement {
    let map = |pid: Pid| fs::read(format!("/proc/{pid}/uid_map")).ok();
    match (map(Pid::of_this_process()), map(pid)) {
        (Some(ours), Some(theirs)) if ours == theirs => PeerConfinement::NoMore,
        (Some(_), Some(_)) => PeerConfinement::More,
        _ => PeerConfinement::Unknown,
    }
}

/// The process that holds the other end of a TCP connection on this machine, as far as the process table shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Confined no more than this process.
    Unconfined,
    /// Confined more than this process.
    Confined,
    /// No holder that we can see, but one of our sandboxes has processes in this network namespace, and one of them may
    /// hold it.
    PerhapsConfined,
    /// No holder that we can see.
    Unknown,
}

/// Finds the holder of a socket among all processes: this takes milliseconds where hundreds run.
pub fn holder_of_socket(inode: u64) -> Holder {
    let Some(own) = Own::now() else { return Holder::Unknown };
    let (confined, others): (Vec<Pid>, Vec<Pid>) =
        processes().partition(|pid| own.compared_with(*pid) == PeerConfinement::More);
    if confined.iter().any(|pid| holds_socket(*pid, inode)) {
        Holder::Confined
    } else if others.iter().any(|pid| holds_socket(*pid, inode)) {
        Holder::Unconfined
    } else if confined.iter().any(|pid| mark::on_own_process(*pid) && may_share_network(*pid)) {
        Holder::PerhapsConfined
    } else {
        Holder::Unknown
    }
}

/// The same for callers that show a token, who may be confined by others: only commands that Windlass confined count as
/// `Confined`. Much cheaper while none of these can reach this network: only processes that bear a mark are looked at then,
/// and asking for one is a single system call. No confined process of ours can shed its mark.
pub fn sandboxed_holder_of_socket(inode: u64) -> Holder {
    let commands = Commands::now();
    if commands.hold(inode) {
        return Holder::Confined;
    }
    if !commands.share_network() {
        return Holder::Unknown;
    }
    // A descriptor that is on its way through a Unix socket is in no process's table.
    match processes().find(|pid| holds_socket(*pid, inode)) {
        // It was on its way a moment ago.
        Some(pid) if Commands::now().confined.contains(&pid) => Holder::Confined,
        Some(_) => Holder::Unconfined,
        // A process of this user that hides its descriptors, such as a client of Windlass, may be the holder. Root sees them all.
        None if processes().any(|pid| !commands.confined.contains(&pid) && hides_descriptors(pid)) => {
            Holder::Unknown
        }
        None => Holder::PerhapsConfined,
    }
}

/// Whether a process of this user does not let this process read its descriptors.
fn hides_descriptors(pid: Pid) -> bool {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd"));
    descriptors.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
        && user_of(pid) == Some(rustix::process::geteuid().as_raw())
}

/// The effective user of a process. The owner of its directory in `/proc` is root while it hides itself.
fn user_of(pid: Pid) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users.split_whitespace().nth(1)?.parse().ok()
}

/// Whether a command that Windlass confined can connect to ports of this network.
pub fn sandboxed_commands_share_network() -> bool {
    Commands::now().share_network()
}

/// The processes that Windlass confined, of any runtime of this user.
struct Commands {
    confined: Vec<Pid>,
}

impl Commands {
    fn now() -> Self {
        let mut confined: Vec<Pid> = processes().filter(|pid| mark::on_own_process(*pid)).collect();
        if !confined.is_empty() {
            let own = Own::now();
            let is_more =
                |pid: Pid| own.as_ref().is_some_and(|own| own.compared_with(pid) == PeerConfinement::More);
            confined.retain(|pid| is_more(*pid));
        }
        Self { confined }
    }

    fn hold(&self, inode: u64) -> bool {
        self.confined.iter().any(|pid| holds_socket(*pid, inode))
    }

    fn share_network(&self) -> bool {
        self.confined.iter().any(|pid| may_share_network(*pid))
    }
}

fn processes() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok().map(Pid::new))
}

/// Each thread is looked at: a thread can have a descriptor table of its own, and the first one may be gone.
fn holds_socket(pid: Pid, inode: u64) -> bool {
    let wanted = format!("socket:[{inode}]");
    let entries = |path: std::path::PathBuf| fs::read_dir(path).into_iter().flatten().flatten();
    let mut threads = entries(format!("/proc/{pid}/task").into());
    threads.any(|thread| {
        let mut descriptors = entries(thread.path().join("fd"));
        descriptors.any(|entry| {
            fs::read_link(entry.path()).is_ok_and(|target| target.as_os_str() == wanted.as_str())
        })
    })
}

fn may_share_network(pid: Pid) -> bool {
    let network = |process: &str| fs::metadata(format!("/proc/{process}/ns/net")).map(|it| it.ino()).ok();
    network(&pid.to_string()).is_none_or(|theirs| Some(theirs) == network("self"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    #[test]
    fn this_process_is_confined_no_more_than_itself() {
        let (one, _other) = UnixStream::pair().unwrap();
        assert_eq!(of_unix_socket(&one), PeerConfinement::NoMore);
        assert_eq!(of_process(Pid::of_this_process()), PeerConfinement::NoMore);
    }

    #[test]
    fn a_peer_that_is_gone_is_unknown() {
        assert_eq!(of_process(Pid::new(0x3fff_ffff)), PeerConfinement::Unknown);
    }

    #[test]
    fn the_holder_of_a_socket_is_found() {
        let (one, _other) = UnixStream::pair().unwrap();
        let inode = rustix::fs::fstat(&one).unwrap().st_ino;
        assert_eq!(holder_of_socket(inode), Holder::Unconfined);
        assert!(matches!(sandboxed_holder_of_socket(inode), Holder::Unconfined | Holder::Unknown));
        drop(one);
        assert!(matches!(holder_of_socket(inode), Holder::Unknown | Holder::PerhapsConfined));
    }

    #[test]
    fn more_filters_are_more_confinement() {
        let check = |text: &str, mode, count| {
            assert_eq!(Filters::parse(text), Some(Filters { mode, count }), "{text}");
        };
        check("Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t3\n", 2, 3);
        check("Name:\tx\nSeccomp:\t0\n", 0, 0);
        check("", 0, 0);
        assert_eq!(Filters::parse("Seccomp:\tmany\n"), None);
        let filters = |mode, count| Filters { mode, count };
        assert!(filters(2, 2) > filters(2, 1) && filters(2, 0) > filters(0, 0));
        assert!(filters(2, 1) <= filters(2, 1));
    }
}
