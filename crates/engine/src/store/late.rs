//! Blocks of records that the disk refused: without its receipt, a session would be taken for a running one as long as
//! its runtime lives, and without the note that its journal is degraded, its files would be taken for all of its
//! output. A thread tries again until the disk takes them. It starts with the first failure, and ends when all are
//! written, or with the process.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Adding, Store};
use crate::SessionId;

/// The first pause between two tries. Each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// The most blocks; beyond it the oldest are given up: a server whose disk stays full must not fill its memory.
const MOST: usize = 4096;

/// A block that is still to be written.
#[derive(Debug)]
pub(super) struct LateBlock {
    pub(super) id: SessionId,
    pub(super) add: Adding,
    pub(super) block: Vec<u8>,
}

/// Blocks that are still to be written, in the order in which they were refused. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct LateBlocks {
    waiting: Arc<Mutex<Waiting>>,
    /// Waited on only with a timeout: it paces the tries.
    pause: Arc<Condvar>,
}

#[derive(Debug, Default)]
struct Waiting {
    blocks: Vec<LateBlock>,
    has_thread: bool,
}

impl LateBlocks {
    /// Takes over a block that could not be written.
    pub(super) fn add(&self, store: &Store, late: LateBlock) {
        let mut waiting = self.lock();
        if waiting.blocks.len() == MOST {
            waiting.blocks.remove(0);
        }
        waiting.blocks.push(late);
        if !waiting.has_thread {
            let (late, store) = (self.clone(), store.clone());
            let thread = std::thread::Builder::new().name("late records".to_owned());
            // If no thread can be started, the next block that fails tries again.
            waiting.has_thread = thread.spawn(move || late.write_all(&store)).is_ok();
        }
    }

    fn write_all(&self, store: &Store) {
        let mut pause = FIRST_PAUSE;
        let mut waiting = self.lock();
        while !waiting.blocks.is_empty() {
            // timer: no event says when a disk has room again.
            waiting = self.pause.wait_timeout(waiting, pause).unwrap_or_else(PoisonError::into_inner).0;
            pause = (pause * 2).min(LONGEST_PAUSE);
            let blocks = std::mem::take(&mut waiting.blocks);
            // Without the lock: a slow disk must not hold up the sessions that end meanwhile.
            drop(waiting);
            let failed =
                blocks.into_iter().filter(|late| store.append(late.id, late.add, &late.block).is_err());
            let failed: Vec<_> = failed.collect();
            waiting = self.lock();
            waiting.blocks.splice(0..0, failed);
        }
        waiting.has_thread = false;
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
