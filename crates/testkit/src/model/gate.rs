//! A gate that a test opens: a level, so that it does not matter whether the test or the waiting thread comes first.

use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};

/// Closed at first, and open for ever once it was opened. A cheap handle.
#[derive(Clone, Debug)]
pub struct Gate(Arc<OwnedFd>);

/// The reason why the wait before a gate ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    Opened,
    /// The agent that was waiting for the rest of its answer has left.
    Left,
}

impl Default for Gate {
    fn default() -> Self {
        Self::closed()
    }
}

impl Gate {
    /// A closed one.
    ///
    /// # Panics
    /// When the machine has no descriptor left.
    pub fn closed() -> Self {
        Self(Arc::new(eventfd(0, EventfdFlags::CLOEXEC).expect("a descriptor is left")))
    }

    /// Opens it.
    ///
    /// # Panics
    /// Never: it is opened less often than the counter behind it can count.
    pub fn open(&self) {
        rustix::io::write(&*self.0, &1_u64.to_ne_bytes()).expect("the counter does not overflow");
    }

    /// Waits until it is open, or until the other side of this connection leaves or the connection is shut down.
    pub(super) fn wait(&self, stream: &TcpStream) -> Wait {
        let mut watched =
            [PollFd::new(&*self.0, PollFlags::IN), PollFd::new(stream, PollFlags::RDHUP | PollFlags::HUP)];
        while poll(&mut watched, None).is_err() {}
        if watched[0].revents().contains(PollFlags::IN) { Wait::Opened } else { Wait::Left }
    }
}
