//! Opens a file in the caller's place. The supervisor itself never blocks: where an open would block, as that of a pipe
//! does until another process opens its other end, the result is [`Opened::Later`], and a copy of the supervisor waits.

use crate::helper::caller::Caller;
use crate::helper::draft::Draft;
use crate::helper::emulated::MadePair;
use crate::helper::place::{NamedEntry, Seen};
use rustix::fd::OwnedFd;
use rustix::fs::{FileType, Mode, OFlags, fcntl_setfl, fstat, open, openat};
use rustix::io::Errno;
use std::path::PathBuf;
use windlass_sys::lockdown::notice::DescriptorScope;

/// A file to be opened.
#[derive(Debug)]
pub(in crate::helper) struct Opening {
    pub(in crate::helper) what: What,
    /// The flags that the caller gave.
    pub(in crate::helper) flags: OFlags,
    pub(in crate::helper) mode: Mode,
}

/// The file to open.
#[derive(Debug)]
pub(in crate::helper) enum What {
    /// The file of this name, or a new one.
    Named(NamedEntry),
    /// This file, which is held.
    Held(Seen),
    /// The terminal of the caller.
    Terminal(PathBuf),
}

/// Whether an open may block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::helper) enum Patience {
    None,
    Endless,
}

/// The result of an emulated call.
#[derive(Debug)]
pub(in crate::helper) enum Opened {
    /// The call returned no descriptor.
    Nothing,
    /// The number of bytes that were sent.
    Count(usize),
    /// The file, and the scope of the caller's descriptor.
    File(OwnedFd, DescriptorScope),
    /// The draft of a file, which is judged after it was written.
    Draft(OwnedFd, DescriptorScope, Box<Draft>),
    /// Two sockets.
    Pair(MadePair),
    /// The call would block.
    Later,
}

impl Opening {
    pub(in crate::helper) fn perform(&self, caller: &Caller, patience: Patience) -> Result<Opened, Errno> {
        let waits = patience == Patience::None && !self.flags.contains(OFlags::NONBLOCK);
        let reads = self.flags & OFlags::RWMODE == OFlags::RDONLY;
        // A pipe is opened for reading only once: a writer would take a first attempt for the reader, and then lose it.
        if waits && reads && self.is_pipe() {
            return Ok(Opened::Later);
        }
        let file = match caller.act(|| self.open(patience)) {
            // No process has opened the other end of a pipe, or another process has a lease on the file.
            Err(Errno::NXIO) if waits && self.is_pipe() => return Ok(Opened::Later),
            Err(Errno::AGAIN) if waits => return Ok(Opened::Later),
            answer => answer?,
        };
        if waits {
            if reads && is_pipe(&file) {
                return Ok(Opened::Later);
            }
            fcntl_setfl(&file, self.flags & CHANGEABLE)?;
        }
        let heirs = if self.flags.contains(OFlags::CLOEXEC) {
            DescriptorScope::Nobody
        } else {
            DescriptorScope::Programs
        };
        Ok(Opened::File(file, heirs))
    }

    fn open(&self, patience: Patience) -> Result<OwnedFd, Errno> {
        let waiting = if patience == Patience::None { OFlags::NONBLOCK } else { OFlags::empty() };
        // The terminal must not become the supervisor's controlling terminal.
        let flags = self.flags | waiting | OFlags::NOCTTY | OFlags::CLOEXEC;
        let there = flags - (OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW);
        match &self.what {
            // The judged object is not a link. If there is a link by now, the call is judged again.
            What::Named(entry) => {
                openat(entry.directory.hold(), &entry.given, flags | OFlags::NOFOLLOW, self.mode)
            }
            What::Held(_) if flags.contains(OFlags::CREATE | OFlags::EXCL) => Err(Errno::EXIST),
            What::Held(seen) if seen.is_directory() && flags.contains(OFlags::CREATE) => Err(Errno::ISDIR),
            What::Held(seen) => open(seen.link(), there, Mode::empty()),
            What::Terminal(path) => open(path.as_path(), there, Mode::empty()),
        }
    }

    fn is_pipe(&self) -> bool {
        match &self.what {
            What::Named(entry) => entry.look().is_ok_and(|seen| seen.is_fifo()),
            What::Held(seen) => seen.is_fifo(),
            What::Terminal(_) => false,
        }
    }
}

fn is_pipe(file: &OwnedFd) -> bool {
    fstat(file).is_ok_and(|about| FileType::from_raw_mode(about.st_mode) == FileType::Fifo)
}

/// The flags of an open file that can be changed afterwards.
const CHANGEABLE: OFlags =
    OFlags::APPEND.union(OFlags::NONBLOCK).union(OFlags::DIRECT).union(OFlags::NOATIME);
