//! How much waits for processes that do not read their input, and how much of it may.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most that waits for one process, beyond the engine's own queue. One write may be larger.
const FOR_ONE: usize = 64 * 1024 * 1024;

/// The most that waits for all processes of an exec session. More than for one, so that a single process that does not
/// read cannot keep input from all others.
const FOR_ALL: usize = 256 * 1024 * 1024;

/// What waits for all processes of an exec session. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    all: Arc<AtomicUsize>,
}

/// What waits for one of them.
#[derive(Debug)]
pub(super) struct Allowance {
    all: Waiting,
    own: Arc<AtomicUsize>,
}

/// The place that something takes while it waits.
#[derive(Debug)]
pub(super) struct Held {
    weight: usize,
    all: Waiting,
    own: Arc<AtomicUsize>,
}

/// There is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Full {
    /// For this process.
    #[error(
        "the process does not read: {0} bytes of input wait for it already, and nothing of this request was taken"
    )]
    One(usize),
    /// For any.
    #[error(
        "processes of this session do not read: {0} bytes of input wait for them already, and nothing of this request was taken"
    )]
    All(usize),
}

impl Waiting {
    /// What waits for a new process.
    pub(super) fn for_process(&self) -> Allowance {
        Allowance { all: self.clone(), own: Arc::default() }
    }
}

impl Allowance {
    /// Makes room for something of this many bytes.
    pub(super) fn hold(&self, weight: usize) -> Result<Held, Full> {
        let own = self.own.fetch_add(weight, Ordering::Relaxed);
        let all = self.all.all.fetch_add(weight, Ordering::Relaxed);
        // Gives it back when it is refused.
        let held = Held { weight, all: self.all.clone(), own: Arc::clone(&self.own) };
        if own > 0 && own + weight > FOR_ONE {
            return Err(Full::One(own));
        }
        if all > 0 && all + weight > FOR_ALL {
            return Err(Full::All(all));
        }
        Ok(held)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.own.fetch_sub(self.weight, Ordering::Relaxed);
        self.all.all.fetch_sub(self.weight, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_has_a_limit_and_all_have_one_together() {
        let waiting = Waiting::default();
        let allowances: Vec<_> = (0..5).map(|_| waiting.for_process()).collect();
        let held: Vec<_> = allowances[..4].iter().map(|one| one.hold(FOR_ONE).expect("room")).collect();
        assert_eq!(allowances[0].hold(1).expect_err("no room"), Full::One(FOR_ONE));
        assert_eq!(allowances[4].hold(1).expect_err("no room"), Full::All(FOR_ALL));
        drop(held);
        assert_eq!(waiting.all.load(Ordering::Relaxed), 0);
        let one = allowances[4].hold(2 * FOR_ONE).expect("one may be larger");
        assert_eq!(allowances[4].hold(1).expect_err("no room"), Full::One(2 * FOR_ONE));
        drop(one);
    }
}
