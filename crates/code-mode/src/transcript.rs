//! The output and the end of one cell, shared between the cell's thread, which writes, and callers, which wait and
//! take.
//!
//! Bounded: output that no caller has taken yet is limited in bytes. Callers watch a level, how far the cell has got,
//! so a caller that comes late misses nothing.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::outcome::{OutputItem, Status};

/// The output of a cell.
pub(crate) struct Transcript {
    state: Mutex<State>,
    progress: watch::Sender<Progress>,
    most_bytes: usize,
}

/// How far a cell has got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Whether the engine has started, which may take a moment in another process.
    pub(crate) begun: bool,
    /// How often the script asked for a reply while it continues.
    pub(crate) yields: u64,
    /// Whether the cell is over: no more output follows.
    pub(crate) over: bool,
}

/// The end of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum End {
    Completed,
    Failed,
    Terminated,
}

/// The output does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overflow;

#[derive(Default)]
struct State {
    items: Vec<OutputItem>,
    bytes: usize,
    end: Option<End>,
    yields_told: u64,
}

impl Transcript {
    /// An empty transcript that holds at most so many bytes until they are taken.
    pub(crate) fn new(most_bytes: usize) -> Self {
        Self { state: Mutex::default(), progress: watch::Sender::default(), most_bytes }
    }

    /// Adds output, if it fits.
    pub(crate) fn say(&self, item: OutputItem) -> Result<(), Overflow> {
        let mut state = self.state();
        let bytes = state.bytes.saturating_add(item.len()).saturating_add(Self::COST_OF_ITEM);
        if bytes > self.most_bytes {
            return Err(Overflow);
        }
        state.bytes = bytes;
        state.items.push(item);
        Ok(())
    }

    /// Records that the script is about to run: from now on the caller's waiting time counts.
    pub(crate) fn begin(&self) {
        self.progress.send_modify(|progress| progress.begun = true);
    }

    /// Waits until the script is about to run, or is over.
    pub(crate) async fn begun(&self) {
        let mut progress = self.progress.subscribe();
        // The sender is this value's own: it cannot be gone.
        let _ = progress.wait_for(|progress| progress.begun || progress.over).await;
    }

    /// Gives the waiting caller a reply now.
    pub(crate) fn hand_over(&self) {
        self.progress.send_modify(|progress| progress.yields += 1);
    }

    /// Records the end, with the reason. Only the first end counts. The reason ignores the limit, because it matters
    /// most.
    pub(crate) fn end(&self, end: End, reason: Option<String>) {
        let mut state = self.state();
        if state.end.is_none() {
            state.end = Some(end);
            state.items.extend(reason.map(OutputItem::Text));
        }
        drop(state);
        self.progress.send_modify(|progress| progress.over = true);
    }

    /// Whether the cell is over.
    pub(crate) fn is_over(&self) -> bool {
        self.progress.borrow().over
    }

    /// Waits until the cell is over, or has asked for a reply that no caller has got yet.
    pub(crate) async fn worth_telling(&self) {
        let told = self.state().yields_told;
        let mut progress = self.progress.subscribe();
        // The sender is this value's own: it cannot be gone.
        let _ = progress.wait_for(|progress| progress.over || progress.yields > told).await;
    }

    /// Waits until the cell is over.
    pub(crate) async fn over(&self) {
        let mut progress = self.progress.subscribe();
        // As above.
        let _ = progress.wait_for(|progress| progress.over).await;
    }

    /// Takes the output since the last time, with the end if there is one.
    pub(crate) fn take(&self) -> (Vec<OutputItem>, Option<End>) {
        let mut state = self.state();
        state.bytes = 0;
        state.yields_told = self.progress.borrow().yields;
        (std::mem::take(&mut state.items), state.end)
    }

    /// The cost of an empty text, so that a flood of empty texts reaches the limit too.
    const COST_OF_ITEM: usize = 32;

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl End {
    /// The status that callers see.
    pub(crate) fn status(self) -> Status {
        match self {
            Self::Completed => Status::Completed,
            Self::Failed => Status::Failed,
            Self::Terminated => Status::Terminated,
        }
    }
}
