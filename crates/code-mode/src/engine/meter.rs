//! Measures how long a cell may still run, and records why it must stop. The engine checks every few thousand steps.
//!
//! Two times count: the processor time of the cell's thread, and the time in which it waits for timers alone. Waiting
//! for a tool does not count.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The reason why a cell must stop before its script has finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The script called `exit()`.
    Exit,
    /// A caller ended the cell.
    Terminated,
    /// The cell's time is over.
    OutOfTime,
    /// Its output exceeded the limit before any caller read it.
    TooMuchOutput,
}

/// The time account of one cell. Belongs to the cell's thread.
pub(crate) struct Meter {
    stop: Cell<Option<Stop>>,
    asked: Arc<AtomicBool>,
    limit: Duration,
    began: Duration,
    waited: Cell<Duration>,
}

impl Meter {
    /// Starts to count on this thread. Callers set `asked` to end the cell.
    pub(crate) fn start(limit: Duration, asked: Arc<AtomicBool>) -> Self {
        Self { stop: Cell::default(), asked, limit, began: processor_time(), waited: Cell::default() }
    }

    /// Makes the cell stop. The first reason counts.
    pub(crate) fn stop(&self, reason: Stop) {
        self.stop.set(self.stop.get().or(Some(reason)));
    }

    /// The reason why the cell must stop now, if it must.
    pub(crate) fn verdict(&self) -> Option<Stop> {
        if self.asked.load(Ordering::Relaxed) {
            self.stop(Stop::Terminated);
        }
        if self.left().is_zero() {
            self.stop(Stop::OutOfTime);
        }
        self.stop.get()
    }

    /// The reason why the cell was stopped, if it was. Unlike the verdict it does not change once the cell is over.
    pub(crate) fn stopped(&self) -> Option<Stop> {
        self.stop.get()
    }

    /// Counts time in which the script waited for timers alone.
    pub(crate) fn charge(&self, wait: Duration) {
        self.waited.set(self.waited.get().saturating_add(wait));
    }

    /// The time that is left.
    pub(crate) fn left(&self) -> Duration {
        let computed = processor_time().saturating_sub(self.began);
        self.limit.saturating_sub(computed).saturating_sub(self.waited.get())
    }
}

/// The processor time of this thread.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}
