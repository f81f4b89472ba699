//! Pipes between the runtime and a child: our end never blocks, the child's end does, and neither leaks into an exec.

use crate::descriptor::above_stdio;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

/// The two ends of one pipe.
#[derive(Debug)]
pub struct Pipe {
    /// The runtime's end, non-blocking.
    pub ours: OwnedFd,
    /// The child's end, blocking, as programs expect.
    pub theirs: OwnedFd,
}

/// A pipe that the child writes and we read.
pub fn from_child() -> Result<Pipe, Errno> {
    let (read, write) = pair()?;
    never_block(&read)?;
    Ok(Pipe { ours: read, theirs: write })
}

/// A pipe that we write and the child reads.
pub fn to_child() -> Result<Pipe, Errno> {
    let (read, write) = pair()?;
    never_block(&write)?;
    Ok(Pipe { ours: write, theirs: read })
}

/// An input that is empty: reading it gives end-of-file at once.
pub fn nothing() -> Result<OwnedFd, Errno> {
    use rustix::fs::{Mode, OFlags, open};
    above_stdio(open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
}

fn pair() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok((above_stdio(read)?, above_stdio(write)?))
}

fn never_block(fd: &OwnedFd) -> Result<(), Errno> {
    rustix::io::ioctl_fionbio(fd, true)
}
