//! Follows a session that another process runs. Its progress level is not visible in this process, but the kernel
//! reports when a file grows and when a process dies, so this does not poll.

use std::mem::MaybeUninit;

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use rustix::io::Errno;
use windlass_engine::{Journal, LoadRecord, SessionRecord, Store};
use windlass_output::Offset;
use windlass_sys::process::{Pid, Process};

use crate::sessions::{is_alive, may_print};

/// Waits for a session's files to change or its runtime to die.
pub(crate) struct Follower {
    changes: OwnedFd,
    runtime: Option<Process>,
    store: Store,
    record: SessionRecord,
    seen: Offset,
    over: bool,
}

impl Follower {
    pub(crate) fn new(store: &Store, record: SessionRecord) -> Result<Self> {
        let doing = || format!("cannot watch {}", store.root().display());
        let changes = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).with_context(doing)?;
        let events = WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::DELETE;
        inotify::add_watch(&changes, store.root(), events).with_context(doing)?;
        let runtime = match Process::open(Pid::new(record.start.runtime.pid)) {
            Ok(runtime) => Some(runtime),
            // The runtime has ended, and the next read of the record shows that.
            Err(Errno::SRCH) => None,
            // Without a pidfd of the runtime, its death would not wake this process.
            Err(errno) => return Err(errno).context("cannot watch the session's windlass"),
        };
        Ok(Self { changes, runtime, store: store.clone(), record, seen: Offset::ZERO, over: false })
    }

    /// Waits until there is more to read; returns false if there will never be. The end of the session is checked
    /// before its journal is read: after the end, the journal is complete.
    pub(crate) fn wait(&mut self, journal: &Journal) -> Result<bool> {
        loop {
            let was_over = self.over;
            self.over = was_over || self.is_over(journal)?;
            let end = journal.refresh();
            if end > self.seen {
                self.seen = end;
                return Ok(true);
            }
            if self.over {
                return Ok(false);
            }
            self.sleep_until_something_changes()?;
        }
    }

    /// Whether the session is over. A receipt then says how much there should be to read.
    fn is_over(&self, journal: &Journal) -> Result<bool> {
        let record = match self.store.load(self.record.start.id) {
            Ok(record) => record,
            // The record was removed or emptied. The process that runs the session is known from before.
            Err(LoadRecord::NotFound { .. } | LoadRecord::Damaged { .. }) => {
                return Ok(!is_alive(self.record.start.runtime));
            }
            Err(error) => return Err(error).context("cannot tell whether the session goes on"),
        };
        if let Some(receipt) = &record.receipt {
            journal.expect(receipt);
        }
        Ok(!may_print(&record))
    }

    fn sleep_until_something_changes(&self) -> Result<()> {
        let mut events = vec![PollFd::new(&self.changes, PollFlags::IN)];
        events.extend(self.runtime.as_ref().map(|runtime| PollFd::new(runtime, PollFlags::IN)));
        match poll(&mut events, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno).context("cannot wait for output"),
        }
        self.forget_changes()
    }

    /// Discards the change events: the caller checks everything again.
    fn forget_changes(&self) -> Result<()> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.changes, &mut buffer);
        loop {
            match reader.next() {
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(errno) => return Err(errno).context("cannot read what changed"),
            }
        }
    }
}
