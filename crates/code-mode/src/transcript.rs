//! What one cell has said and how it ended, between the cell's thread, which writes, and callers, who wait and take.
//!
//! Bounded: what nobody has taken yet is at most so many bytes. Callers are told a level, how far the cell got, so a
//! caller that comes late misses nothing.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::outcome::{OutputItem, Status};

/// What a cell has said.
pub(crate) struct Transcript {
    state: Mutex<State>,
    progress: watch::Sender<Progress>,
    most_bytes: usize,
}

/// How far a cell got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Whether it has an engine, which may take a moment where that is another process.
    pub(crate) begun: bool,
    /// How often it asked to be answered for while it goes on.
    pub(crate) yields: u64,
    /// Whether it is over: nothing will be said any more.
    pub(crate) over: bool,
}

/// How a cell ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum End {
    Completed,
    Failed,
    Terminated,
}

/// More was said than fits.
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
    /// An empty one that holds so many bytes until they are taken.
    pub(crate) fn new(most_bytes: usize) -> Self {
        Self { state: Mutex::default(), progress: watch::Sender::default(), most_bytes }
    }

    /// Adds something, if it fits.
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

    /// The script is about to run: from now on the time of whoever waits counts.
    pub(crate) fn begin(&self) {
        self.progress.send_modify(|progress| progress.begun = true);
    }

    /// Waits until the script is about to run, or is over.
    pub(crate) async fn begun(&self) {
        let mut progress = self.progress.subscribe();
        // The sender is this value's own: it cannot be gone.
        let _ = progress.wait_for(|progress| progress.begun || progress.over).await;
    }

    /// Has whoever waits answered now.
    pub(crate) fn hand_over(&self) {
        self.progress.send_modify(|progress| progress.yields += 1);
    }

    /// Ends it, with the reason. Only the first end counts. The reason needs no room: it is what matters most.
    pub(crate) fn end(&self, end: End, reason: Option<String>) {
        let mut state = self.state();
        if state.end.is_none() {
            state.end = Some(end);
            state.items.extend(reason.map(OutputItem::Text));
        }
        drop(state);
        self.progress.send_modify(|progress| progress.over = true);
    }

    /// Whether it has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.progress.borrow().over
    }

    /// Waits until it is over, or asks for an answer that nobody has had yet.
    pub(crate) async fn worth_telling(&self) {
        let told = self.state().yields_told;
        let mut progress = self.progress.subscribe();
        // The sender is this value's own: it cannot be gone.
        let _ = progress.wait_for(|progress| progress.over || progress.yields > told).await;
    }

    /// Waits until it is over.
    pub(crate) async fn over(&self) {
        let mut progress = self.progress.subscribe();
        // As above.
        let _ = progress.wait_for(|progress| progress.over).await;
    }

    /// Takes what was said since the last time, with the end if there is one.
    pub(crate) fn take(&self) -> (Vec<OutputItem>, Option<End>) {
        let mut state = self.state();
        state.bytes = 0;
        state.yields_told = self.progress.borrow().yields;
        (std::mem::take(&mut state.items), state.end)
    }

    /// What an empty text still takes, so that a flood of them is one too.
    const COST_OF_ITEM: usize = 32;

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl End {
    /// The same, for callers.
    pub(crate) fn status(self) -> Status {
        match self {
            Self::Completed => Status::Completed,
            Self::Failed => Status::Failed,
            Self::Terminated => Status::Terminated,
        }
    }
}
