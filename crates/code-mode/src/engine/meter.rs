//! How long a cell may still run, and why it must stop. The engine asks every few thousand steps.
//!
//! What counts is the processor time of the cell's thread, and the time in which it waits for nothing but timers. A wait
//! for a tool is the tool's affair.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Why a cell must stop before its script is at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The script called `exit()`.
    Exit,
    /// Somebody ended it.
    Terminated,
    /// Its time has passed.
    OutOfTime,
    /// It said more than fits, and nobody took any of it.
    TooMuchOutput,
}

/// The time of one cell. Belongs to its thread.
pub(crate) struct Meter {
    stop: Cell<Option<Stop>>,
    asked: Arc<AtomicBool>,
    limit: Duration,
    began: Duration,
    waited: Cell<Duration>,
}

impl Meter {
    /// Begins to count on this thread. `asked` is set by whoever wants the cell to end.
    pub(crate) fn start(limit: Duration, asked: Arc<AtomicBool>) -> Self {
        Self { stop: Cell::default(), asked, limit, began: processor_time(), waited: Cell::default() }
    }

    /// Has the cell stop. The first reason counts.
    pub(crate) fn stop(&self, reason: Stop) {
        self.stop.set(self.stop.get().or(Some(reason)));
    }

    /// Why the cell must stop now, if it must.
    pub(crate) fn verdict(&self) -> Option<Stop> {
        if self.asked.load(Ordering::Relaxed) {
            self.stop(Stop::Terminated);
        }
        if self.left().is_zero() {
            self.stop(Stop::OutOfTime);
        }
        self.stop.get()
    }

    /// Why the cell was stopped, if it was; unlike the verdict, it does not change once the cell is over.
    pub(crate) fn stopped(&self) -> Option<Stop> {
        self.stop.get()
    }

    /// Counts a wait for nothing but timers.
    pub(crate) fn charge(&self, wait: Duration) {
        self.waited.set(self.waited.get().saturating_add(wait));
    }

    /// How much time is left.
    pub(crate) fn left(&self) -> Duration {
        let computed = processor_time().saturating_sub(self.began);
        self.limit.saturating_sub(computed).saturating_sub(self.waited.get())
    }
}

/// What this thread has computed so far.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}
