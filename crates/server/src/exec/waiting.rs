//! Counts the input that waits for processes which do not read, and limits it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::spill::{Spill, Stock};

/// The limit for one process, beyond the engine's own queue. One write may be larger. Less than fits on disk, so that a
/// single process that does not read cannot keep input from all others.
const FOR_ONE: usize = 1024 * 1024 * 1024;

/// The limit in memory for all processes of an exec session. More waits on disk.
const IN_MEMORY: usize = 64 * 1024 * 1024;

/// The most memory that the writes themselves may take, without their bytes.
const MOST_OVERHEAD: usize = 2 * IN_MEMORY;

/// The waiting input of all processes of an exec session. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    in_memory: Arc<AtomicUsize>,
    spill: Spill,
}

/// The waiting input of one process.
#[derive(Debug)]
pub(super) struct Allowance {
    all: Waiting,
    own: Arc<AtomicUsize>,
}

/// The room that a request takes while it waits.
#[derive(Debug)]
pub(super) struct WriteReservation {
    _own: Taken,
    _in_memory: Taken,
}

/// Part of a counter, given back on drop.
#[derive(Debug)]
struct Taken {
    weight: usize,
    of: Arc<AtomicUsize>,
}

/// The error for input that finds no room.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Full {
    /// The limit of this process is reached.
    #[error(
        "the process does not read: {0} bytes of input wait for it already, and nothing of this request was taken"
    )]
    One(usize),
    /// The limit of the exec session is reached.
    #[error(
        "processes of this session do not read: {0} bytes of input wait for them in memory and no more can be put on disk, so nothing of this request was taken"
    )]
    All(usize),
    /// A write before it found no room.
    #[error("write {0:?} was refused before, and nothing behind it is taken until it is written again")]
    Behind(String),
}

/// Keeps the order of a process's writes. After a write found no room, later ones are rejected until it comes again: a
/// client that does not wait for replies leaves no hole.
#[derive(Debug, Default)]
pub(super) struct WriteOrder {
    missing: Mutex<Option<String>>,
}

/// The position of a request among the writes.
#[derive(Clone, Copy, Debug)]
pub(super) enum WritePosition<'a> {
    /// A write with this id.
    Write(&'a str),
    /// Behind all writes.
    Behind,
    /// Independent of the writes.
    Beside,
}

impl WriteOrder {
    /// Admits a request if it is next and there is room.
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
    /// Input that does not fit in memory goes to a file below this directory.
    pub(super) fn below(directory: PathBuf) -> Self {
        Self { in_memory: Arc::default(), spill: Spill::below(directory) }
    }

    /// The waiting input of a new process.
    pub(super) fn for_process(&self) -> Allowance {
        Allowance { all: self.clone(), own: Arc::default() }
    }
}

impl Allowance {
    /// Reserves room for bytes and the given overhead.
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

/// The reservation, and the counter before it.
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

    /// Zeroed bytes, which take no memory until they are touched.
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
