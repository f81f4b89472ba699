//! Sockets of another process: a copy of its descriptor, and calls on that copy with an address that was read once.
//!
//! The kernel reads the address of a call from its caller's memory, and looks the descriptor up, after a supervisor has
//! allowed the call. A second thread can change both in between, so a supervisor makes such calls itself.

use super::call::call;
use crate::process::Pid;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

/// Copies a descriptor of another thread. `process` returns the process of the thread, where the kernel needs that.
pub fn copy_descriptor(
    thread: Pid,
    process: impl FnOnce() -> Result<Pid, Errno>,
    number: i32,
) -> Result<OwnedFd, Errno> {
    // A thread can have a table of descriptors of its own, and its process can have lost its first thread.
    const THREAD: u32 = libc::PIDFD_THREAD;
    let pid = |pid: Pid| rustix::process::Pid::from_raw(pid.raw()).ok_or(Errno::SRCH);
    let holder = match pidfd_open(pid(thread)?, PidfdFlags::from_bits_retain(THREAD)) {
        // Kernels before 6.9 open pidfds for processes only.
        Err(Errno::INVAL) => pidfd_open(pid(process()?)?, PidfdFlags::empty()),
        answer => answer,
    }?;
    pidfd_getfd(&holder, number, PidfdGetfdFlags::empty())
}

/// Connects a socket to an address in the kernel's own format.
pub fn connect(socket: impl AsFd, address: &[u8]) -> Result<(), Errno> {
    let length = address.len() as libc::socklen_t;
    // SAFETY: the address is readable for its length, and the kernel keeps nothing of it.
    unsafe { call!(libc::SYS_connect, socket.as_fd().as_raw_fd(), address.as_ptr(), length) }.map(drop)
}

/// Sends to an address in the kernel's own format; returns how many bytes were sent. Empty: no address.
pub fn send_to(socket: impl AsFd, data: &[u8], flags: u32, address: &[u8]) -> Result<usize, Errno> {
    let length = address.len() as libc::socklen_t;
    let to = if address.is_empty() { std::ptr::null() } else { address.as_ptr() };
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: data and address are readable for their lengths, and the kernel writes to neither.
    let sent = unsafe { call!(libc::SYS_sendto, socket, data.as_ptr(), data.len(), flags, to, length) }?;
    Ok(usize::try_from(sent).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    #[test]
    fn a_copied_socket_is_the_same_socket() {
        let (one, other) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        let own = Pid::of_this_process();
        let copy = copy_descriptor(own, || Ok(own), one.as_raw_fd()).unwrap();
        assert_eq!(send_to(&copy, b"word", 0, b""), Ok(4));
        let mut bytes = [0; 8];
        assert_eq!(rustix::io::read(&other, &mut bytes), Ok(4));
        assert_eq!(copy_descriptor(own, || Ok(own), 1 << 20).unwrap_err(), Errno::BADF);
    }

    #[test]
    fn an_address_reaches_the_kernel_as_it_is() {
        let family = (libc::AF_UNIX as u16).to_ne_bytes();
        let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
        let to = |path: &[u8]| [&family, path, b"\0"].concat();
        assert_eq!(connect(&socket, &to(b"/no/such/socket")), Err(Errno::NOENT));
        assert_eq!(connect(&socket, &to(b"/dev/null")), Err(Errno::CONNREFUSED));
        assert_eq!(connect(&socket, b""), Err(Errno::INVAL));
    }
}
