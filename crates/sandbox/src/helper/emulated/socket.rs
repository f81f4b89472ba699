//! Connects and sends on a caller's socket, to an address that was judged. The server sees the supervisor's process id
//! (`SO_PEERCRED`); the user and the group are the caller's.

use super::{Opened, Patience};
use crate::helper::caller::Caller;
use crate::helper::place::Seen;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::AddressFamily;
use rustix::net::sockopt::{Timeout, socket_domain, socket_timeout};
use std::time::Duration;
use windlass_sys::lockdown::socket;

/// A call on a copy of the caller's socket.
#[derive(Debug)]
pub(in crate::helper) struct SocketCall {
    pub(in crate::helper) socket: OwnedFd,
    pub(in crate::helper) peer: Peer,
    pub(in crate::helper) request: Request,
}

/// The peer of a call.
#[derive(Debug)]
pub(in crate::helper) enum Peer {
    /// The socket that is bound to exactly this file.
    File(Seen),
    /// An address in the kernel's own format.
    Address(Vec<u8>),
}

#[derive(Debug)]
pub(in crate::helper) enum Request {
    Connect,
    Send { data: Vec<u8>, flags: u32 },
}

const DO_NOT_WAIT: u32 = 0x40;

impl SocketCall {
    pub(in crate::helper) fn perform(&self, caller: &Caller, patience: Patience) -> Result<Opened, Errno> {
        match &self.request {
            Request::Connect => self.connect(caller, patience),
            Request::Send { data, flags } => self.send(caller, (data, *flags), patience),
        }
    }

    fn connect(&self, caller: &Caller, patience: Patience) -> Result<Opened, Errno> {
        let address = self.peer.address();
        let connect = || caller.act(|| socket::connect(&self.socket, &address));
        let flags = fcntl_getfl(&self.socket)?;
        if patience == Patience::Endless {
            self.wait_for_connection(caller)?;
        }
        if patience == Patience::Endless || flags.contains(OFlags::NONBLOCK) {
            return connect().map(|()| Opened::Nothing);
        }
        // `connect` has no flag against blocking, so the socket is made non-blocking for the call. The caller shares
        // that flag, but it cannot read from or write to a socket that is not connected yet.
        fcntl_setfl(&self.socket, flags | OFlags::NONBLOCK)?;
        let mut answer = connect();
        if answer == Err(Errno::INPROGRESS) && is_settled(&self.socket, Duration::ZERO) {
            answer = connect();
        }
        fcntl_setfl(&self.socket, flags)?;
        match answer {
            // A second call waits for the connection that the first has begun.
            Err(Errno::AGAIN | Errno::INPROGRESS | Errno::ALREADY) => Ok(Opened::Later),
            answer => answer.map(|()| Opened::Nothing),
        }
    }

    /// Waits until a connection over the internet is made or has failed, the caller's own time limit is over, or a
    /// signal asks the caller to stop. The kernel would end a call of the caller's at such a signal, but does not
    /// report the caller's signals to the supervisor.
    fn wait_for_connection(&self, caller: &Caller) -> Result<(), Errno> {
        const LOOK_AGAIN: Duration = Duration::from_millis(100);
        if socket_domain(&self.socket)? == AddressFamily::UNIX {
            return Ok(());
        }
        let mut left = socket_timeout(&self.socket, Timeout::Send)?.unwrap_or(Duration::MAX);
        // timer: no event announces a caller's signals.
        while !is_settled(&self.socket, LOOK_AGAIN.min(left)) {
            left = left.saturating_sub(LOOK_AGAIN);
            if left.is_zero() {
                return Err(Errno::INPROGRESS);
            }
            if caller.is_asked_to_stop() {
                return Err(Errno::INTR);
            }
        }
        Ok(())
    }

    fn send(
        &self,
        caller: &Caller,
        (data, flags): (&[u8], u32),
        patience: Patience,
    ) -> Result<Opened, Errno> {
        let address = self.peer.address();
        let may_wait = flags & DO_NOT_WAIT == 0 && !fcntl_getfl(&self.socket)?.contains(OFlags::NONBLOCK);
        let now = if patience == Patience::None { flags | DO_NOT_WAIT } else { flags };
        match caller.act(|| socket::send_to(&self.socket, data, now, &address)) {
            Err(Errno::AGAIN) if may_wait && patience == Patience::None => Ok(Opened::Later),
            answer => answer.map(Opened::Count),
        }
    }
}

impl Peer {
    fn address(&self) -> Vec<u8> {
        const UNIX: u16 = 1;
        match self {
            Self::Address(address) => address.clone(),
            Self::File(seen) => [&UNIX.to_ne_bytes(), seen.link().as_bytes(), b"\0"].concat(),
        }
    }
}

/// Whether the connection is made within this time, or has failed. On the loopback device that happens at once.
fn is_settled(socket: &OwnedFd, within: Duration) -> bool {
    let mut fds = [PollFd::new(socket, PollFlags::OUT)];
    let within = Timespec { tv_sec: 0, tv_nsec: within.subsec_nanos().into() };
    poll(&mut fds, Some(&within)).is_ok_and(|ready| ready > 0)
}
