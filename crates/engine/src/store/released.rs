//! Sessions of this process without any handle: they are found only by their numbers.

use std::collections::HashSet;
use std::sync::{MutexGuard, PoisonError};

use super::Store;
use crate::SessionId;

/// After so many the oldest are removed together: that costs hardly more than one.
const DUE_AFTER: usize = 256;

/// The same after this part of the most that may be kept: a quarter.
const DUE_PART: u64 = 4;

#[derive(Debug, Default)]
pub(super) struct Released {
    sessions: HashSet<SessionId>,
    /// How many there were since the oldest were last removed, and how much they had printed.
    count: usize,
    bytes: u64,
}

impl Store {
    /// The last handle of this session is gone. `bytes` is how much of its output is kept.
    pub(crate) fn release(&self, id: SessionId, bytes: u64) {
        let mut released = self.released();
        released.sessions.insert(id);
        released.count += 1;
        released.bytes += bytes;
    }

    /// Whether so much has been released that the oldest should be removed. `true` once each time.
    pub(crate) fn is_pruning_due(&self) -> bool {
        let mut released = self.released();
        let is_due = released.count >= DUE_AFTER || released.bytes >= self.limits.keep_bytes / DUE_PART;
        if is_due {
            (released.count, released.bytes) = (0, 0);
        }
        is_due
    }

    pub(super) fn is_released(&self, id: SessionId) -> bool {
        self.released().sessions.contains(&id)
    }

    pub(super) fn forget_released(&self, forgotten: &[SessionId]) {
        let mut released = self.released();
        for id in forgotten {
            released.sessions.remove(id);
        }
    }

    fn released(&self) -> MutexGuard<'_, Released> {
        self.released.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
