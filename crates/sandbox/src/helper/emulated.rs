//! Emulated system calls: the supervisor carries them out in the caller's place, on exactly the objects that were
//! judged.
//!
//! Between a judgement and the kernel's own lookup of a path, another thread can change the path and another process
//! the tree. Where only the judgement protects something, the kernel therefore must not look the path up again: the
//! supervisor makes the call itself, with the directory that it holds, the name that it read, and the caller's own
//! rights.

mod opening;
mod pair;
mod socket;
pub(super) mod wish;

pub(super) use self::opening::{Opened, Opening, Patience, What};
pub(super) use self::pair::{MadePair, SocketPair};
pub(super) use self::socket::{Peer, Request, SocketCall};

use super::caller::Caller;
use super::draft::DraftOpening;
use super::place::{NamedEntry, Seen};
use rustix::fd::OwnedFd;
use rustix::fs::inotify::{self, CreateFlags};
use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, RenameFlags, Timestamps, Uid, XattrFlags, chmodat, chownat,
    fchmod, ftruncate, futimens, linkat, mkdirat, mknodat, open, openat, removexattr, renameat,
    renameat_with, setxattr, symlinkat, unlinkat, utimensat,
};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use std::ffi::OsString;
use windlass_sys::lockdown::notice::DescriptorScope;

/// A system call to carry out, with its parameters.
#[derive(Debug)]
pub(super) enum EmulatedSyscall {
    Make {
        entry: NamedEntry,
        what: Made,
    },
    Remove {
        entry: NamedEntry,
        flags: AtFlags,
    },
    Move {
        from: NamedEntry,
        to: NamedEntry,
        flags: RenameFlags,
    },
    /// The same with a copy of these bytes, which were judged: the caller may still write to the file that it moves.
    Replace {
        from: NamedEntry,
        to: NamedEntry,
        seen: Seen,
        bytes: Vec<u8>,
    },
    /// Another emulated call, which makes a directory a repository, after the judged files in it were replaced by
    /// copies of the judged content.
    AfterCopies {
        copies: Vec<JudgedCopy>,
        emulated: Box<EmulatedSyscall>,
    },
    Link {
        from: Seen,
        to: NamedEntry,
    },
    Change {
        seen: Seen,
        how: Change,
    },
    Open(Opening),
    Draft(DraftOpening),
    Socket(SocketCall),
    Pair(SocketPair),
    Inotify(CreateFlags),
}

/// A file, and those of its bytes that were judged.
#[derive(Debug)]
pub(super) struct JudgedCopy {
    pub(super) entry: NamedEntry,
    pub(super) seen: Seen,
    pub(super) bytes: Vec<u8>,
}

/// The object that gets a new name.
#[derive(Debug)]
pub(super) enum Made {
    Directory(Mode),
    /// A directory that has an extended attribute from its creation on.
    Marked {
        mode: Mode,
        mark: &'static str,
    },
    Node {
        kind: FileType,
        mode: Mode,
        device: u64,
    },
    Link {
        target: OsString,
    },
}

/// A change of an existing file.
#[derive(Debug)]
pub(super) enum Change {
    Length(u64),
    Mode(Mode),
    Owner(Option<Uid>, Option<Gid>),
    Times(Timestamps),
    Attribute { name: OsString, value: Vec<u8>, flags: XattrFlags },
    NoAttribute { name: OsString },
}

impl EmulatedSyscall {
    /// Makes the call as the caller would.
    pub(super) fn perform(&self, caller: &Caller, patience: Patience) -> Result<Opened, Errno> {
        match self {
            Self::Open(opening) => opening.perform(caller, patience),
            Self::Socket(call) => call.perform(caller, patience),
            Self::Pair(pair) => pair.perform(),
            Self::Inotify(flags) => {
                let heirs = if flags.contains(CreateFlags::CLOEXEC) {
                    DescriptorScope::Nobody
                } else {
                    DescriptorScope::Programs
                };
                inotify::init(*flags | CreateFlags::CLOEXEC).map(|instance| Opened::File(instance, heirs))
            }
            Self::Draft(opening) => {
                let (file, heirs, draft) = opening.perform(caller)?;
                Ok(Opened::Draft(file, heirs, Box::new(draft)))
            }
            Self::AfterCopies { copies, emulated } => {
                caller.act(|| {
                    copies.iter().try_for_each(|copy| put_copy(&copy.entry, &copy.seen, &copy.bytes))
                })?;
                emulated.perform(caller, patience)
            }
            Self::Change { how: Change::Length(length), .. }
                if caller.longest_file()?.is_some_and(|longest| *length > longest) =>
            {
                Err(Errno::FBIG)
            }
            _ => caller.act(|| self.change()).map(|()| Opened::Nothing),
        }
    }

    fn change(&self) -> Result<(), Errno> {
        match self {
            Self::Make { entry, what } => make(entry, what),
            Self::Remove { entry, flags } => unlinkat(entry.directory.hold(), &entry.given, *flags),
            Self::Move { from, to, flags } => {
                renameat_with(from.directory.hold(), &from.given, to.directory.hold(), &to.given, *flags)
            }
            Self::Replace { from, to, seen, bytes } => replace(from, to, seen, bytes),
            Self::Link { from, to } => {
                linkat(CWD, from.link(), to.directory.hold(), &to.given, AtFlags::SYMLINK_FOLLOW)
            }
            Self::Change { seen, how } => change(seen, how),
            Self::Open(_)
            | Self::Draft(_)
            | Self::Socket(_)
            | Self::Pair(_)
            | Self::Inotify(_)
            | Self::AfterCopies { .. } => Ok(()),
        }
    }
}

fn replace(from: &NamedEntry, to: &NamedEntry, seen: &Seen, bytes: &[u8]) -> Result<(), Errno> {
    put_copy(to, seen, bytes)?;
    unlinkat(from.directory.hold(), &from.given, AtFlags::empty())
}

/// Puts a new file with these bytes under a name, which no process has open. It keeps the mode and times of the file
/// that it copies: git compares the time of an index with those of the files in it.
pub(super) fn put_copy(to: &NamedEntry, seen: &Seen, bytes: &[u8]) -> Result<(), Errno> {
    let directory = to.directory.hold();
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let temporary = supervisors_name()?;
    let copy = openat(directory, &temporary, flags, Mode::RUSR | Mode::WUSR)?;
    let written = write_all(&copy, bytes)
        .and_then(|()| fchmod(&copy, Mode::from_raw_mode(seen.about.st_mode)))
        .and_then(|()| futimens(&copy, &seen.times()))
        .and_then(|()| renameat(directory, &temporary, directory, &to.given));
    if written.is_err() {
        let _ = unlinkat(directory, &temporary, AtFlags::empty());
    }
    written
}

/// The supervisor uses files with such a name for a moment. No command may create or write one.
pub(super) const TEMPORARY: &str = ".windlass-copy-";

/// A name that no other supervisor uses at the same time: two that write in one directory must not move each other's
/// file.
pub(super) fn supervisors_name() -> Result<String, Errno> {
    let mut random = [0; 8];
    getrandom(&mut random, GetRandomFlags::empty())?;
    Ok(format!("{TEMPORARY}{:016x}", u64::from_ne_bytes(random)))
}

fn write_all(file: &OwnedFd, bytes: &[u8]) -> Result<(), Errno> {
    let mut rest = bytes;
    while !rest.is_empty() {
        rest = &rest[rustix::io::write(file, rest)?..];
    }
    Ok(())
}

fn make(entry: &NamedEntry, what: &Made) -> Result<(), Errno> {
    let directory = entry.directory.hold();
    match what {
        Made::Directory(mode) => mkdirat(directory, &entry.given, *mode),
        Made::Marked { mode, mark } => make_marked(entry, *mode, mark),
        Made::Node { kind, mode, device } => mknodat(directory, &entry.given, *kind, *mode, *device),
        Made::Link { target } => symlinkat(target, directory, &entry.given),
    }
}

/// The directory gets its attribute while it has a temporary name, which no command may use: under its final name,
/// another command could replace it first. On a file system without such attributes the directory is made without one.
fn make_marked(entry: &NamedEntry, mode: Mode, mark: &str) -> Result<(), Errno> {
    let directory = entry.directory.hold();
    if entry.exists() {
        return Err(Errno::EXIST);
    }
    let temporary = supervisors_name()?;
    mkdirat(directory, &temporary, mode)?;
    let path = format!("{}/{temporary}", entry.directory.link());
    let marked = match setxattr(path, mark, &[], XattrFlags::CREATE) {
        Err(Errno::OPNOTSUPP) => Ok(()),
        marked => marked,
    };
    let made = marked
        .and_then(|()| renameat_with(directory, &temporary, directory, &entry.given, RenameFlags::NOREPLACE));
    if made.is_err() {
        let _ = unlinkat(directory, &temporary, AtFlags::REMOVEDIR);
    }
    made
}

fn change(seen: &Seen, how: &Change) -> Result<(), Errno> {
    let link = seen.link();
    match how {
        Change::Length(length) => truncate(seen, *length),
        Change::Mode(mode) => chmodat(CWD, link, *mode, AtFlags::empty()),
        Change::Owner(user, group) => chownat(CWD, link, *user, *group, AtFlags::empty()),
        Change::Times(times) => utimensat(CWD, link, times, AtFlags::empty()),
        Change::Attribute { name, value, flags } => setxattr(link, name, value, *flags),
        Change::NoAttribute { name } => removexattr(link, name),
    }
}

fn truncate(seen: &Seen, length: u64) -> Result<(), Errno> {
    match (seen.is_directory(), seen.is_regular()) {
        (true, _) => Err(Errno::ISDIR),
        (false, false) => Err(Errno::INVAL),
        (false, true) => {
            let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
            ftruncate(open(seen.link(), flags, Mode::empty())?, length)
        }
    }
}
