//! Notices that a running script sends to its agent. Sending never waits, and the agent reads them at the next
//! boundary. The queue is bounded because a script can send in a loop: notices that do not fit are counted, and the
//! count is reported.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::compact::middle_cut;
use crate::history::HistoryEntry;

/// The most notices between two boundaries.
const MOST: usize = 32;
/// The most bytes of a notice that are passed on.
const LONGEST: usize = 8 * 1024;

/// The notices that one agent has not read yet. A cheap handle.
#[derive(Clone, Debug)]
pub(crate) struct Notices {
    waiting: Arc<Mutex<Waiting>>,
    /// Incremented on every change that an agent may wait for.
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Waiting {
    texts: Vec<String>,
    left_out: usize,
}

impl Notices {
    /// An empty queue. `changes` wakes an agent that waits.
    pub(crate) fn new(changes: watch::Sender<u64>) -> Self {
        Self { waiting: Arc::default(), changes }
    }

    pub(crate) fn add(&self, text: &str) {
        let mut waiting = self.lock();
        if waiting.texts.len() < MOST {
            waiting.texts.push(middle_cut(text, LONGEST));
        } else {
            waiting.left_out += 1;
        }
        drop(waiting);
        self.changes.send_modify(|count| *count += 1);
    }

    /// Takes the unread notices, as one message.
    pub(crate) fn take(&self) -> Option<HistoryEntry> {
        let Waiting { mut texts, left_out } = std::mem::take(&mut *self.lock());
        if left_out > 0 {
            texts.push(format!("[{left_out} more notices were left out]"));
        }
        let text = || format!("<script_notification>\n{}\n</script_notification>", texts.join("\n"));
        (!texts.is_empty()).then(|| HistoryEntry::notice(text()))
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use windlass_llm::Role;

    use super::*;

    #[test]
    fn notices_are_heard_once_and_within_bounds() {
        let (changes, mut watched) = watch::channel(0);
        let notices = Notices::new(changes);
        assert_eq!(notices.take(), None);
        notices.add("half way");
        assert!(watched.has_changed().unwrap());
        watched.mark_unchanged();
        let heard = notices.take().and_then(|entry| entry.item.words_of(Role::User));
        assert_eq!(heard.as_deref(), Some("<script_notification>\nhalf way\n</script_notification>"));
        assert_eq!(notices.take(), None);
        (0..MOST + 7).for_each(|_| notices.add(&"x".repeat(LONGEST * 2)));
        let heard = notices.take().and_then(|entry| entry.item.words_of(Role::User)).unwrap_or_default();
        assert!(heard.contains("[7 more notices were left out]"));
        assert!(heard.len() < MOST * (LONGEST + 100), "{}", heard.len());
    }
}
