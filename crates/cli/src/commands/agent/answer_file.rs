//! The file for the last message (`-o`). Commands of the agent can write where it lies, and the agent writes it outside of the
//! sandbox, so it is found before any command runs and held from then on: a link that a command puts in its place, or in the
//! place of a directory above it, leads nowhere. What was in the file stays until the message is there.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, fstat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use windlass_tools::PathAccess;

use crate::args::AgentOptions;
use crate::failure::Usage;

/// The kernel follows no more links than this either.
const MOST_LINKS: usize = 40;

/// Where the last message goes.
#[derive(Debug)]
pub(super) struct AnswerFile {
    /// As the user gave it, for messages.
    path: PathBuf,
    target: Target,
}

#[derive(Debug)]
enum Target {
    /// A terminal, a pipe, a device, or a file without a name.
    Stream(OwnedFd),
    /// A name in a directory, and the regular file of this name if there was one.
    Entry { directory: OwnedFd, name: OsString, existing: Option<OwnedFd> },
}

impl AnswerFile {
    /// Finds the file that was asked for, and refuses one that only a link of a command leads to.
    pub(super) fn open(options: &AgentOptions, access: Option<&PathAccess>) -> Result<Option<Self>> {
        let Some(path) = &options.output_last_message else { return Ok(None) };
        let cannot = || format!("cannot use -o {}", path.display());
        let followed = Followed::of(path).with_context(cannot)?;
        if let Some(access) = access {
            refuse_planted_link(path, &followed, access)?;
        }
        let target = Target::of(path, &followed.end).with_context(cannot)?;
        Ok(Some(Self { path: path.clone(), target }))
    }

    /// Replaces what is in the file.
    pub(super) fn write(&self, text: &str) -> Result<()> {
        self.target.write(text.as_bytes()).with_context(|| format!("cannot write {}", self.path.display()))
    }
}

/// An earlier command can have left a link. The user's own links are as good as before where commands cannot change them, and
/// where they lead to something that commands may write themselves.
fn refuse_planted_link(path: &Path, followed: &Followed, access: &PathAccess) -> Result<(), Usage> {
    let planted = followed.links.iter().find(|link| access.may_write(link));
    match planted.filter(|_| !access.may_write(&followed.end)) {
        None => Ok(()),
        Some(link) => Err(Usage(format!(
            "-o {}: {} is a link to a place that commands may not write, and a command can make this link; remove it, or \
             give the path that it leads to",
            path.display(),
            link.display()
        ))),
    }
}

impl Target {
    fn of(path: &Path, end: &Path) -> io::Result<Self> {
        let held = |path: &Path, more| {
            openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC | more, Mode::empty()).map_err(io::Error::from)
        };
        let is_regular = match path.metadata() {
            Ok(metadata) => Some(metadata.is_file()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        // What a link of /proc/self/fd leads to may have no name: a pipe, or a file that was removed.
        if is_regular == Some(false) || is_regular.is_some() && !end.exists() {
            return Ok(Self::Stream(held(path, OFlags::empty())?));
        }
        let (Some(above), Some(name)) = (end.parent(), end.file_name()) else {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "this names no file"));
        };
        let directory = held(above, OFlags::DIRECTORY)?;
        let existing = match is_regular {
            Some(_) => Some(held(end, OFlags::NOFOLLOW)?),
            None => None,
        };
        Ok(Self::Entry { directory, name: name.to_owned(), existing })
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Stream(held) => write_again(held, bytes),
            Self::Entry { directory, name, existing: Some(held) }
                if is_still_there(directory, name, held) =>
            {
                write_again(held, bytes)
            }
            Self::Entry { directory, name, .. } => put(directory, name, bytes),
        }
    }
}

/// Through the held descriptor: the path may lead elsewhere by now.
fn write_again(held: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
    let itself = format!("/proc/self/fd/{}", held.as_raw_fd());
    File::options().write(true).truncate(true).open(itself)?.write_all(bytes)
}

fn is_still_there(directory: &OwnedFd, name: &OsStr, held: &OwnedFd) -> bool {
    let (Ok(there), Ok(held)) = (statat(directory, name, AtFlags::SYMLINK_NOFOLLOW), fstat(held)) else {
        return false;
    };
    (there.st_dev, there.st_ino) == (held.st_dev, held.st_ino)
}

/// A new file takes the name, whatever has it: a rename follows no link.
fn put(directory: &OwnedFd, name: &OsStr, bytes: &[u8]) -> io::Result<()> {
    let mut random = [0; 8];
    getrandom(&mut random, GetRandomFlags::empty())?;
    let beside = format!(".windlass-answer-{:016x}", u64::from_ne_bytes(random));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let new = openat(directory, &beside, flags, Mode::from_raw_mode(0o666))?;
    let written = File::from(new)
        .write_all(bytes)
        .and_then(|()| renameat(directory, &beside, directory, name).map_err(io::Error::from));
    if written.is_err() {
        // The first error is the one to report.
        let _ = unlinkat(directory, &beside, AtFlags::empty());
    }
    written
}

/// Where a path leads, and the links that it goes through. What is above each of them is without links.
struct Followed {
    end: PathBuf,
    links: Vec<PathBuf>,
}

impl Followed {
    fn of(path: &Path) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        let mut followed = Self { end: PathBuf::from("/"), links: Vec::new() };
        let mut rest: Vec<PathBuf> = steps(&path).rev().collect();
        while let Some(step) = rest.pop() {
            if step == Path::new("..") {
                followed.end.pop();
                continue;
            }
            let next = followed.end.join(&step);
            match std::fs::read_link(&next) {
                Ok(target) => {
                    rest.extend(steps(&target).rev());
                    if target.is_absolute() {
                        followed.end = PathBuf::from("/");
                    }
                    followed.links.push(next);
                }
                Err(_) => followed.end = next,
            }
            if followed.links.len() > MOST_LINKS {
                return Err(Errno::LOOP.into());
            }
        }
        Ok(followed)
    }
}

fn steps(path: &Path) -> impl DoubleEndedIterator<Item = PathBuf> + '_ {
    path.components().filter_map(|part| match part {
        Component::ParentDir | Component::Normal(_) => Some(PathBuf::from(part.as_os_str())),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}
