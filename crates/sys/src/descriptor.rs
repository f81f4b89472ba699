//! Small truths about file descriptors that several modules need.

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::{Errno, fcntl_dupfd_cloexec};

/// Moves a descriptor above 2. A runtime started with its own stdin closed would otherwise be handed 0, 1 or 2 for a
/// pipe, and the child's `dup2` onto those numbers would overwrite it.
pub(crate) fn above_stdio(fd: OwnedFd) -> Result<OwnedFd, Errno> {
    if fd.as_raw_fd() > 2 { Ok(fd) } else { fcntl_dupfd_cloexec(&fd, 3) }
}
