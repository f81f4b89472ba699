//! Forks this process. Only a process with a single thread may be forked so: in the copy, locks that another thread had
//! taken would never be released.

use super::call::last_errno;
use crate::process::{Pid, Process};
use rustix::io::Errno;
use std::os::unix::fs::MetadataExt;

/// The side of a fork.
#[derive(Debug)]
pub enum Twin {
    /// The original process, with the new one.
    Parent(Process),
    /// The new process.
    Child,
}

/// Forks this process. Fails with `BUSY` if it has more than one thread.
pub fn fork() -> Result<Twin, Errno> {
    if !has_one_thread() {
        return Err(Errno::BUSY);
    }
    // SAFETY: there is one thread, so the copy finds no lock held and no state half changed.
    match unsafe { libc::fork() } {
        0 => Ok(Twin::Child),
        pid if pid > 0 => Process::open(Pid::new(pid.unsigned_abs())).map(Twin::Parent),
        _ => Err(last_errno()),
    }
}

/// A directory has two links and one for each directory in it.
pub(crate) fn has_one_thread() -> bool {
    std::fs::metadata("/proc/self/task").is_ok_and(|threads| threads.nlink() == 3)
}
