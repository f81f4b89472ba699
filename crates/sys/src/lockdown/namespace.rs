//! Namespaces: users, files, processes and networks of a process's own.

use super::call::{call, last_errno};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

/// A set of kinds of namespaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spaces(libc::c_int);

impl Spaces {
    /// Users and their capabilities.
    pub const USER: Self = Self(libc::CLONE_NEWUSER);
    /// The tree of files.
    pub const MOUNT: Self = Self(libc::CLONE_NEWNS);
    /// Processes: those that it starts from now on, the first of which is the init of the new namespace.
    pub const PROCESS: Self = Self(libc::CLONE_NEWPID);
    /// Devices, addresses and abstract sockets of the network.
    pub const NETWORK: Self = Self(libc::CLONE_NEWNET);
    /// Shared memory and queues by number.
    pub const IPC: Self = Self(libc::CLONE_NEWIPC);

    /// The union of both.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The file in `/proc/PID/ns` for one kind.
    fn file(self) -> &'static str {
        match self {
            Self::USER => "user",
            Self::MOUNT => "mnt",
            Self::PROCESS => "pid",
            Self::NETWORK => "net",
            _ => "ipc",
        }
    }
}

/// Gives this process new namespaces of these kinds.
pub fn separate(spaces: Spaces) -> Result<(), Errno> {
    // SAFETY: changes what this process sees, none of its memory.
    unsafe { call!(libc::SYS_unshare, spaces.0) }.map(drop)
}

/// Enters an existing namespace.
pub fn enter(space: impl AsFd, kind: Spaces) -> Result<(), Errno> {
    // SAFETY: as above; the descriptor is open for the time of the call.
    unsafe { call!(libc::SYS_setns, space.as_fd().as_raw_fd(), kind.0) }.map(drop)
}

/// A descriptor for one of this process's namespaces: the namespace exists as long as a descriptor for it is open.
pub fn hold(kind: Spaces) -> Result<OwnedFd, Errno> {
    open(format!("/proc/self/ns/{}", kind.file()), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

/// The map of users between a new user namespace and the one around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Users {
    /// Only one user and group exist inside, those of the process itself. Every process may write this map.
    Only(Own),
    /// All users have the same numbers as outside. Only a process that is privileged outside may write this map, from
    /// outside.
    Everybody,
}

/// A user and a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own {
    user: u32,
    group: u32,
}

impl Own {
    /// User and group of this process. Must be called before a new user namespace is made, in which no user is mapped
    /// yet.
    pub fn now() -> Self {
        Self { user: rustix::process::geteuid().as_raw(), group: rustix::process::getegid().as_raw() }
    }
}

/// Writes the map of users of the user namespace that a process (`self`, or a number) has just made.
pub fn map_users(process: &str, users: Users) -> Result<(), Errno> {
    let (user, group) = match users {
        Users::Only(Own { user, group }) => {
            // Without this, a process could drop a group that denies it a file.
            tell(process, "setgroups", "deny")?;
            (format!("{user} {user} 1"), format!("{group} {group} 1"))
        }
        Users::Everybody => (everybody("uid_map")?, everybody("gid_map")?),
    };
    tell(process, "gid_map", &group)?;
    tell(process, "uid_map", &user)
}

/// A map of every user that this process knows to the same number. The kernel lists ranges: inside, outside, how many.
fn everybody(file: &str) -> Result<String, Errno> {
    let text = std::fs::read_to_string(format!("/proc/self/{file}"))
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    let range = |line: &str| {
        let mut numbers = line.split_whitespace();
        let (first, count) = (numbers.next()?, numbers.nth(1)?);
        Some(format!("{first} {first} {count}\n"))
    };
    Ok(text.lines().filter_map(range).collect())
}

fn tell(process: &str, file: &str, text: &str) -> Result<(), Errno> {
    let file = open(format!("/proc/{process}/{file}"), OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(file, text.as_bytes()).map(drop)
}

/// Switches on the loopback device of this process's network namespace: in a new namespace it is off.
pub fn raise_loopback() -> Result<(), Errno> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    set_up(socket.as_fd())
}

fn set_up(socket: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: `ifreq` is plain data for which all zeroes is a value. The name fits and ends with a zero; the kernel
    // reads and writes within the structure only.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (place, byte) in request.ifr_name.iter_mut().zip(b"lo") {
            *place = byte.cast_signed();
        }
        if libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS, &raw mut request) < 0 {
            return Err(last_errno());
        }
        request.ifr_ifru.ifru_flags |= UP;
        if libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw mut request) < 0 {
            return Err(last_errno());
        }
    }
    Ok(())
}

/// The device carries traffic (`IFF_UP`).
const UP: libc::c_short = 1;
