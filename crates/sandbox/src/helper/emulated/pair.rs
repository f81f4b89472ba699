//! Two connected unix sockets in the place of `socketpair(AF_UNIX, SOCK_DGRAM)`.
//!
//! A socket for datagrams can send to any address, and `sendmsg` takes that address from memory, where no filter can
//! look. The sockets that the caller gets are of the type `SOCK_SEQPACKET`: they keep the boundaries of messages as
//! well, and the kernel ignores the address of a message that is sent on them. What differs: the reader sees the end
//! when the writer has closed its socket, neither can be connected elsewhere, and `SO_TYPE` shows the other type.

use super::Opened;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use windlass_sys::lockdown::notice::{DescriptorScope, Listener, Notice, write_memory};

/// A requested pair.
#[derive(Debug)]
pub(in crate::helper) struct SocketPair {
    flags: SocketFlags,
    /// The address at which the caller expects the two numbers.
    address: u64,
}

/// A pair that was created.
#[derive(Debug)]
pub(in crate::helper) struct MadePair {
    sockets: [OwnedFd; 2],
    heirs: DescriptorScope,
    address: u64,
}

impl SocketPair {
    pub(in crate::helper) fn of(notice: &Notice) -> Self {
        let flags = SocketFlags::from_bits_truncate(notice.arguments[1] as u32);
        Self { flags, address: notice.arguments[3] }
    }

    pub(in crate::helper) fn perform(&self) -> Result<Opened, Errno> {
        let flags = self.flags.intersection(SocketFlags::NONBLOCK) | SocketFlags::CLOEXEC;
        let (one, other) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        let heirs = if self.flags.contains(SocketFlags::CLOEXEC) {
            DescriptorScope::Nobody
        } else {
            DescriptorScope::Programs
        };
        Ok(Opened::Pair(MadePair { sockets: [one, other], heirs, address: self.address }))
    }
}

impl MadePair {
    /// Puts both sockets into the caller, writes their numbers into its memory, and answers the call.
    pub(in crate::helper) fn give(self, listener: &Listener, notice: &Notice) {
        match self.put(listener, notice) {
            Ok(()) => listener.done(notice),
            Err(errno) => listener.refuse(notice, errno),
        }
    }

    fn put(self, listener: &Listener, notice: &Notice) -> Result<(), Errno> {
        // Writes to the caller's memory first: if that fails, the caller gets no descriptor.
        write_memory(notice.pid, self.address, &[0xff; 2 * size_of::<i32>()])?;
        let mut numbers = Vec::new();
        for socket in &self.sockets {
            numbers.extend(listener.put(notice, socket, self.heirs)?.to_ne_bytes());
        }
        write_memory(notice.pid, self.address, &numbers)
    }
}
