//! Small truths about file descriptors that several modules need.

use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};
use rustix::io::{Errno, fcntl_dupfd_cloexec};

/// Moves a descriptor above 2. A runtime started with its own stdin closed would otherwise be handed 0, 1 or 2 for a
/// pipe, and the child's `dup2` onto those numbers would overwrite it.
pub(crate) fn above_stdio(fd: OwnedFd) -> Result<OwnedFd, Errno> {
    if fd.as_raw_fd() > 2 { Ok(fd) } else { fcntl_dupfd_cloexec(&fd, 3) }
}

/// Takes over a descriptor that this process was started with, by its number; `None`: there is none. To be asked once for
/// each number, before anything else is opened. It closes when another program is executed.
pub fn inherited(number: i32) -> Option<OwnedFd> {
    // SAFETY: the call looks at a number and closes nothing.
    let set = unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
    // SAFETY: it is open, and nobody in this process has opened it: it was there at the start.
    (set == 0).then(|| unsafe { OwnedFd::from_raw_fd(number) })
}

/// Closes every descriptor of this process but these. Whatever else it holds must not be used any more, nor dropped: this
/// is for a process that has just been doubled and never returns.
pub fn keep_only(kept: &[&OwnedFd]) {
    let mut numbers: Vec<u32> = kept.iter().filter_map(|fd| u32::try_from(fd.as_raw_fd()).ok()).collect();
    numbers.sort_unstable();
    let mut first = 0;
    for number in numbers {
        if first < number {
            close_between(first, number - 1);
        }
        first = number + 1;
    }
    close_between(first, u32::MAX);
}

fn close_between(first: u32, last: u32) {
    // SAFETY: closing numbers changes no memory; the caller vouches that their owners are never used again.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
}
