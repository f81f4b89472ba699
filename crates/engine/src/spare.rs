//! Descriptors kept back, so that ending what runs never fails for want of one.

use rustix::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};
use windlass_sys::pipes;

/// One for the process table, one for a process in it, and some for the command lines that are told.
const KEPT_BACK: usize = 6;

/// A few open descriptors that stand for others.
#[derive(Debug)]
pub(crate) struct SpareDescriptors(Mutex<Vec<OwnedFd>>);

impl SpareDescriptors {
    pub(crate) fn keep() -> Self {
        Self(Mutex::new(fresh()))
    }

    /// Does something with those descriptors free. Others may take them meanwhile, so it can still fail.
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
