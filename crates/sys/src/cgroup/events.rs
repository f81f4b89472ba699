//! Events of control groups, on two descriptors for all groups together. On each event the reader looks at the counts
//! of every group, so it matters neither which group caused the event nor how often.

use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The events of all groups that are watched.
#[derive(Debug)]
pub struct Events {
    changes: OwnedFd,
    memory: OwnedFd,
}

impl Events {
    /// Creates the two descriptors, which watch no group yet.
    pub fn open() -> Result<Self, Errno> {
        let changes = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let memory = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { changes, memory })
    }

    /// The two descriptors, for a reactor to wait on: each is readable after an event.
    pub fn ears(self: &Arc<Self>) -> [EventFd; 2] {
        [LimitEventKind::Changes, LimitEventKind::Memory]
            .map(|what| EventFd { events: Arc::clone(self), what })
    }

    /// Discards the events so far.
    pub fn take(&self) {
        let mut buffer = [0; 4096];
        for descriptor in [&self.changes, &self.memory] {
            // Reads until an error says that nothing is left. A counter is empty after one read, a list when it ends.
            while rustix::io::read(descriptor, &mut buffer).is_ok() {}
        }
    }

    /// Watches an event file of version 2. The kernel reports its own changes of such a file as modifications, as if a
    /// process had written to it.
    pub(super) fn watch(&self, file: &Path) -> io::Result<()> {
        inotify::add_watch(&self.changes, file, WatchFlags::MODIFY)?;
        Ok(())
    }

    /// Watches a group of version 1 for lack of memory. The kernel signals that through an eventfd whose number is
    /// written to a file of the group.
    pub(super) fn watch_memory(&self, group: &Path) -> io::Result<()> {
        let control = File::open(group.join("memory.oom_control"))?;
        let order = format!("{} {}", self.memory.as_raw_fd(), control.as_raw_fd());
        fs::write(group.join("cgroup.event_control"), order)
    }
}

/// One of the descriptors, for a reactor to hold.
#[derive(Debug)]
pub struct EventFd {
    events: Arc<Events>,
    what: LimitEventKind,
}

#[derive(Clone, Copy, Debug)]
enum LimitEventKind {
    Changes,
    Memory,
}

impl AsFd for EventFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self.what {
            LimitEventKind::Changes => self.events.changes.as_fd(),
            LimitEventKind::Memory => self.events.memory.as_fd(),
        }
    }
}

impl AsRawFd for EventFd {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}
