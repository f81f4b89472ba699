//! How much waits for processes that do not read their input, and how much of it may.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The most that waits for one process, beyond the engine's own queue. One write may be larger.
const FOR_ONE: usize = 256 * 1024 * 1024;

/// The most that waits for all processes of an exec session. More than for one, so that a single process that does not
/// read cannot keep input from all others.
const FOR_ALL: usize = 1024 * 1024 * 1024;

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
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
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
    /// Behind a write for which there was none.
    #[error("write {0:?} was refused before, and nothing behind it is taken until it is written again")]
    Behind(String),
}

/// Which write of a process is next. Once there was no room for one, nothing behind it is taken until it comes again: a
/// client that does not wait for answers leaves no hole.
#[derive(Debug, Default)]
pub(super) struct Order {
    missing: Mutex<Option<String>>,
}

/// Where something stands among the writes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place<'a> {
    /// It is a write of this name.
    Write(&'a str),
    /// It comes behind all writes.
    Behind,
    /// It adds nothing to them.
    Beside,
}

impl Order {
    /// Takes something in if it is its turn and there is room.
    pub(super) fn admit<T>(
        &self,
        place: Place<'_>,
        room: impl FnOnce() -> Result<T, Full>,
    ) -> Result<T, Full> {
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        match (missing.as_deref(), place) {
            (Some(name), Place::Behind) => return Err(Full::Behind(name.to_owned())),
            (Some(name), Place::Write(other)) if name != other => {
                return Err(Full::Behind(name.to_owned()));
            }
            _ => {}
        }
        let room = room();
        if let Place::Write(name) = place {
            *missing = room.is_err().then(|| name.to_owned());
        }
        room
    }
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

    #[test]
    fn nothing_is_taken_behind_a_write_that_was_refused() {
        let order = Order::default();
        let behind = || Full::Behind("b".to_owned());
        assert_eq!(order.admit(Place::Write("a"), || Ok(1)), Ok(1));
        assert_eq!(order.admit(Place::Write("b"), || Err::<u8, _>(Full::One(9))), Err(Full::One(9)));
        assert_eq!(order.admit(Place::Write("c"), || Ok(3)), Err(behind()));
        assert_eq!(order.admit(Place::Behind, || Ok(4)), Err(behind()));
        assert_eq!(order.admit(Place::Beside, || Ok(5)), Ok(5));
        assert_eq!(order.admit(Place::Write("b"), || Ok(2)), Ok(2));
        assert_eq!(order.admit(Place::Write("c"), || Ok(3)), Ok(3));
        assert_eq!(order.admit(Place::Behind, || Ok(4)), Ok(4));
    }
}
