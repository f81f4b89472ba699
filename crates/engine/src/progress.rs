//! How far a session got: a level that any task may read or wait on, never a queue that must be emptied.

use crate::Receipt;
use std::sync::Arc;
use std::time::Instant;
use windlass_output::Offset;

/// The state of one session at one moment.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Everything before this offset can be read.
    pub end: Offset,
    /// When the newest byte arrived; the start, before there is one.
    pub last_output: Instant,
    /// How much of the input was delivered.
    pub input: InputProgress,
    /// The phase of the session's life.
    pub phase: Phase,
    /// Set once, after the root's last byte is readable.
    pub receipt: Option<Arc<Receipt>>,
    /// No more output can come: `end` is final. Until then, processes that the root left running may still print.
    pub closed: bool,
}

impl Progress {
    pub(crate) fn at_start(now: Instant) -> Self {
        Self {
            end: Offset::ZERO,
            last_output: now,
            input: InputProgress::default(),
            phase: Phase::Running,
            receipt: None,
            closed: false,
        }
    }
}

/// The phases of a session's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The root runs.
    Running,
    /// It is being ended.
    Stopping,
    /// The root is gone and its last output is being read.
    Draining,
    /// There is a receipt.
    Over,
}

/// Progress of a session's input, in bytes since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InputProgress {
    /// Written to the process's pipe or terminal.
    pub accepted: u64,
    /// Gone into the process's pipe or terminal.
    pub delivered: u64,
    /// Never to be delivered: the process closed its input or ended.
    pub undelivered: u64,
}

impl InputProgress {
    /// Still waiting in the queue.
    pub fn queued(self) -> u64 {
        self.accepted - self.delivered - self.undelivered
    }
}
