//! Descriptors held in reserve, so that ending processes never fails for want of one.

use rustix::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};
use windlass_sys::pipes;

/// One for the process table, one for a process in it, and some for reading command lines.
const KEPT_BACK: usize = 6;

/// A few open descriptors that reserve their numbers.
#[derive(Debug)]
pub(crate) struct SpareDescriptors(Mutex<Vec<OwnedFd>>);

impl SpareDescriptors {
    pub(crate) fn keep() -> Self {
        Self(Mutex::new(fresh()))
    }

    /// Runs a closure while those descriptors are closed. Other threads may take them meanwhile, so it can still fail.
    pub(crate) fn lend<T>(&self, work: impl FnOnce() -> T) -> T {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.clear();
        let answer = work();
        *kept = fresh();
        answer
    }
}

fn fresh() -> Vec<OwnedFd> {
    (0..KEPT_BACK).map_while(|_| pipes::nothing().ok()).collect()
}
