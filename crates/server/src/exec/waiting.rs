//! How much waits for processes that do not read their input, and how much of it may.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::spill::{Spill, Stock};

/// The most that waits for one process, beyond the engine's own queue. One write may be larger. Less than fits on disk, so that
/// a single process that does not read cannot keep input from all others.
const FOR_ONE: usize = 1024 * 1024 * 1024;

/// The most that waits in memory for all processes of an exec session. More waits on disk.
const IN_MEMORY: usize = 64 * 1024 * 1024;

/// The most that the writes themselves may take in memory, without their bytes.
const MOST_OVERHEAD: usize = 2 * IN_MEMORY;

/// What waits for all processes of an exec session. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    in_memory: Arc<AtomicUsize>,
    spill: Spill,
}

/// What waits for one of them.
#[derive(Debug)]
pub(super) struct Allowance {
    all: Waiting,
    own: Arc<AtomicUsize>,
}

/// The place that something takes while it waits.
#[derive(Debug)]
pub(super) struct WriteReservation {
    _own: Taken,
    _in_memory: Taken,
}

/// So much of a number, given back with this value.
#[derive(Debug)]
struct Taken {
    weight: usize,
    of: Arc<AtomicUsize>,
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
        "processes of this session do not read: {0} bytes of input wait for them in memory and no more can be put on disk, so nothing of this request was taken"
    )]
    All(usize),
    /// Behind a write for which there was none.
    #[error("write {0:?} was refused before, and nothing behind it is taken until it is written again")]
    Behind(String),
}

/// Which write of a process is next. Once there was no room for one, nothing behind it is taken until it comes again: a
/// client that does not wait for answers leaves no hole.
#[derive(Debug, Default)]
pub(super) struct WriteOrder {
    missing: Mutex<Option<String>>,
}

/// Where something stands among the writes.
#[derive(Clone, Copy, Debug)]
pub(super) enum WritePosition<'a> {
    /// It is a write of this name.
    Write(&'a str),
    /// It comes behind all writes.
    Behind,
    /// It adds nothing to them.
    Beside,
}

impl WriteOrder {
    /// Takes something in if it is its turn and there is room.
    pub(super) fn admit<T>(
        &self,
        place: WritePosition<'_>,
        room: impl FnOnce() -> Result<T, Full>,
    ) -> Result<T, Full> {
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        match (missing.as_deref(), place) {
            (Some(name), WritePosition::Behind) => return Err(Full::Behind(name.to_owned())),
            (Some(name), WritePosition::Write(other)) if name != other => {
                return Err(Full::Behind(name.to_owned()));
            }
            _ => {}
        }
        let room = room();
        if let WritePosition::Write(name) = place {
            *missing = room.is_err().then(|| name.to_owned());
        }
        room
    }
}

impl Waiting {
    /// What does not fit into memory is put into a file below this directory.
    pub(super) fn below(directory: PathBuf) -> Self {
        Self { in_memory: Arc::default(), spill: Spill::below(directory) }
    }

    /// What waits for a new process.
    pub(super) fn for_process(&self) -> Allowance {
        Allowance { all: self.clone(), own: Arc::default() }
    }
}

impl Allowance {
    /// Makes room for bytes, with what they take beside their own number.
    pub(super) fn hold(&self, bytes: Vec<u8>, beside: usize) -> Result<(Stock, WriteReservation), Full> {
        let weight = bytes.len() + beside;
        let own = Taken::of(&self.own, weight);
        if own.before > 0 && own.before + weight > FOR_ONE {
            return Err(Full::One(own.before));
        }
        let in_memory = Taken::of(&self.all.in_memory, weight);
        if in_memory.before == 0 || in_memory.before + weight <= IN_MEMORY {
            return Ok((
                Stock::Here(bytes),
                WriteReservation { _own: own.taken, _in_memory: in_memory.taken },
            ));
        }
        drop(in_memory);
        let in_memory = Taken::of(&self.all.in_memory, beside);
        let spilled = match in_memory.before + beside {
            overhead if overhead > MOST_OVERHEAD => None,
            _ => self.all.spill.put_at_once(&bytes).ok(),
        };
        let spilled = spilled.ok_or(Full::All(in_memory.before))?;
        Ok((Stock::OnDisk(spilled), WriteReservation { _own: own.taken, _in_memory: in_memory.taken }))
    }
}

/// What was taken, and how much of the number was taken before.
struct Taking {
    before: usize,
    taken: Taken,
}

impl Taken {
    fn of(number: &Arc<AtomicUsize>, weight: usize) -> Taking {
        let before = number.fetch_add(weight, Ordering::Relaxed);
        Taking { before, taken: Self { weight, of: Arc::clone(number) } }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.of.fetch_sub(self.weight, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use windlass_testkit::Scratch;

    use super::*;

    /// Bytes that are never looked at, so that they take no memory.
    fn bytes(count: usize) -> Vec<u8> {
        vec![0; count]
    }

    #[test]
    fn what_does_not_fit_into_memory_waits_on_disk() {
        let scratch = Scratch::new("waiting");
        let waiting = Waiting::below(scratch.path().into());
        let (first, second) = (waiting.for_process(), waiting.for_process());
        let here = first.hold(bytes(IN_MEMORY - 1), 1).expect("room");
        let there = second.hold(bytes(3), 1).expect("room on disk");
        assert_eq!((here.0.here().len(), there.0.here().len(), there.0.len()), (IN_MEMORY - 1, 0, 3));
        assert_eq!(waiting.in_memory.load(Ordering::Relaxed), IN_MEMORY + 1);
        drop((here, there));
        assert_eq!(waiting.in_memory.load(Ordering::Relaxed), 0);
        assert_eq!(first.own.load(Ordering::Relaxed) + second.own.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn each_process_has_a_limit_and_one_write_may_be_larger() {
        let scratch = Scratch::new("waiting-one");
        let waiting = Waiting::below(scratch.path().into());
        let one = waiting.for_process();
        let large = one.hold(bytes(FOR_ONE), 1).expect("room for the first");
        assert_eq!(one.hold(bytes(1), 1).expect_err("no room"), Full::One(FOR_ONE + 1));
        drop(large);
        one.hold(bytes(1), 1).expect("room again");
    }

    #[test]
    fn where_nothing_can_be_put_on_disk_memory_is_the_limit() {
        let waiting = Waiting::below("/nowhere/at/all".into());
        let one = waiting.for_process();
        let _held = one.hold(bytes(IN_MEMORY), 0).expect("room");
        assert_eq!(one.hold(bytes(1), 1).expect_err("no room"), Full::All(IN_MEMORY));
    }

    #[test]
    fn nothing_is_taken_behind_a_write_that_was_refused() {
        let order = WriteOrder::default();
        let behind = || Full::Behind("b".to_owned());
        assert_eq!(order.admit(WritePosition::Write("a"), || Ok(1)), Ok(1));
        assert_eq!(order.admit(WritePosition::Write("b"), || Err::<u8, _>(Full::One(9))), Err(Full::One(9)));
        assert_eq!(order.admit(WritePosition::Write("c"), || Ok(3)), Err(behind()));
        assert_eq!(order.admit(WritePosition::Behind, || Ok(4)), Err(behind()));
        assert_eq!(order.admit(WritePosition::Beside, || Ok(5)), Ok(5));
        assert_eq!(order.admit(WritePosition::Write("b"), || Ok(2)), Ok(2));
        assert_eq!(order.admit(WritePosition::Write("c"), || Ok(3)), Ok(3));
        assert_eq!(order.admit(WritePosition::Behind, || Ok(4)), Ok(4));
    }
}
