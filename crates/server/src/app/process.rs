//! One process of a connection: its session, its name, its input, and its receipt.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;
use tokio::task::AbortHandle;
use windlass_engine::{Receipt, Session, TreeEnd};

use super::input::Input;
use super::start::Begun;

/// A process that was started for a client.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) session: Session,
    /// The remarks of its sandbox's plan.
    pub(super) notes: Vec<String>,
    /// The name that the client chose, if any.
    pub(super) name: Option<Name>,
    /// Its input, if the client may write to it.
    pub(super) input: Option<Input>,
    /// The receipt, amended by the end of processes that it left running.
    receipt: OnceCell<Arc<Receipt>>,
    /// The task that sends its events to the client.
    follower: Mutex<Option<AbortHandle>>,
    finished: AtomicBool,
}

/// The name of a process, chosen by the client. The two kinds have separate namespaces.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Name {
    /// A `processId` of `command/exec`.
    Command(String),
    /// A `processHandle` of `process/spawn`.
    Process(String),
}

impl Name {
    /// The name as clients see it in messages: a JSON string.
    pub(super) fn quoted(&self) -> String {
        let (Self::Command(name) | Self::Process(name)) = self;
        serde_json::Value::from(name.as_str()).to_string()
    }
}

impl Process {
    pub(super) fn new(begun: Begun, name: Option<Name>, input: Option<Input>) -> Self {
        let (receipt, follower, finished) = Default::default();
        let Begun { session, notes } = begun;
        Self { session, notes, name, input, receipt, follower, finished }
    }

    /// Sets the task that follows it from now on, if any, and aborts the former one.
    pub(super) fn followed_by(&self, follower: Option<AbortHandle>) {
        let mut current = self.follower.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(former) = std::mem::replace(&mut *current, follower) {
            former.abort();
        }
    }

    /// Marks it as finished. `true` for the first caller only.
    pub(super) fn finish(&self) -> bool {
        !self.finished.swap(true, Ordering::AcqRel)
    }

    /// Ends the processes that it left in its own process group, and settles the receipt.
    pub(super) async fn settle(&self, receipt: Arc<Receipt>) -> Arc<Receipt> {
        let settling = async {
            if receipt.left_running.is_empty() {
                return receipt;
            }
            Arc::new(amended(&receipt, self.session.end_group().await))
        };
        Arc::clone(self.receipt.get_or_init(|| settling).await)
    }

    /// The receipt, once it is settled.
    pub(super) fn receipt(&self) -> Option<&Arc<Receipt>> {
        self.receipt.get()
    }

    /// Whether it has ended and left processes running.
    pub(super) fn has_left_something(&self) -> bool {
        self.receipt().is_some_and(|receipt| !receipt.left_running.is_empty())
    }
}

/// The receipt with the processes that were ended after it was made.
fn amended(receipt: &Receipt, end: TreeEnd) -> Receipt {
    let mut amended = receipt.clone();
    let is_gone = |pid: u32| end.ended.iter().any(|ended| ended.pid == pid);
    amended.left_running.retain(|left| !is_gone(left.pid));
    amended.ended.extend(end.ended.iter().cloned());
    amended.remaining.extend(end.remaining);
    amended
}
