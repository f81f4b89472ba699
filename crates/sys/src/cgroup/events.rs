//! What the kernel announces about groups, on two descriptors for all of them together: whoever hears one looks at the
//! counts of every group, so it does not matter which group it was, nor how often.

use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Announcements of all groups that asked for them.
#[derive(Debug)]
pub struct Events {
    changes: OwnedFd,
    memory: OwnedFd,
}

impl Events {
    /// A place to be told.
    pub fn open() -> Result<Self, Errno> {
        let changes = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let memory = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { changes, memory })
    }

    /// What a reactor can wait for: each is readable when something was announced.
    pub fn ears(self: &Arc<Self>) -> [EventFd; 2] {
        [LimitEventKind::Changes, LimitEventKind::Memory]
            .map(|what| EventFd { events: Arc::clone(self), what })
    }

    /// Forgets what was announced so far.
    pub fn take(&self) {
        let mut buffer = [0; 4096];
        for descriptor in [&self.changes, &self.memory] {
            // An error means that there is nothing more. A counter is empty after one reading, a list when it ends.
            while rustix::io::read(descriptor, &mut buffer).is_ok() {}
        }
    }

    /// The kernel announces a change of its own in such a file as if somebody had written it.
    pub(super) fn watch(&self, file: &Path) -> io::Result<()> {
        inotify::add_watch(&self.changes, file, WatchFlags::MODIFY)?;
        Ok(())
    }

    /// Version 1 announces a want of memory through a descriptor that is told to it by number.
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
