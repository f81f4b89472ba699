//! Opens directories and files by resolved paths, of which no component may be a symbolic link.
//!
//! A resolved path was checked as a text. If a process then replaced one of its directories by a link, a plain `open`
//! would follow it elsewhere. So each component is opened separately with `O_NOFOLLOW`. `openat2` with
//! `RESOLVE_NO_SYMLINKS` would do the same in one call, but sandboxes, ours among them, answer it with `ENOSYS`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;

use crate::directory::resolve;

/// Directories that are kept open, so that they stay the same whatever their paths lead to by now.
#[derive(Debug, Default)]
pub(crate) struct HeldDirectories {
    held: RefCell<HashMap<PathBuf, Rc<OwnedFd>>>,
}

impl HeldDirectories {
    /// The open parent directory of a path, and the path's last name.
    pub(crate) fn parent_of<'p>(&self, path: &'p Path) -> io::Result<(Rc<OwnedFd>, &'p OsStr)> {
        match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => Ok((self.directory(parent)?, name)),
            _ => Err(Errno::ISDIR.into()),
        }
    }

    fn directory(&self, path: &Path) -> io::Result<Rc<OwnedFd>> {
        let held = |path: &Path| self.held.borrow().get(path).cloned();
        if let Some(directory) = held(path) {
            return Ok(directory);
        }
        // Starts at the nearest directory that is open: entries below it stay below it, even when it is moved.
        let above = path.ancestors().skip(1).find_map(|above| Some((held(above)?, above)));
        let opened = match above {
            Some((directory, above)) => walk(directory.as_fd(), path.strip_prefix(above).unwrap_or(path))?,
            None => walk(CWD, path)?,
        };
        let opened = Rc::new(opened);
        self.held.borrow_mut().insert(path.to_owned(), Rc::clone(&opened));
        Ok(opened)
    }
}

/// Opens a directory component by component.
fn walk(start: impl AsFd, path: &Path) -> io::Result<OwnedFd> {
    let open = |at: &dyn AsFd, name: &OsStr| {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(at.as_fd(), name, flags, Mode::empty())
    };
    let mut directory = None;
    for component in path.components() {
        let name = match component {
            Component::RootDir | Component::Normal(_) => component.as_os_str(),
            // A resolved path contains none of these.
            Component::CurDir | Component::ParentDir | Component::Prefix(_) => {
                return Err(Errno::INVAL.into());
            }
        };
        directory = Some(match &directory {
            None => open(&start, name)?,
            Some(above) => open(above, name)?,
        });
    }
    directory.ok_or_else(|| Errno::INVAL.into())
}

/// Opens a regular file for reading. A link as the last component is followed to its current target: for a link that a
/// patch deletes or moves, the text is that of its target.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    match open_plain(path) {
        Err(Errno::LOOP) => open_resolved(&resolve(path)?),
        opened => Ok(opened?),
    }
}

/// The same for a path in which nothing is a link, not even the last component.
pub(crate) fn open_resolved(path: &Path) -> io::Result<File> {
    Ok(open_plain(path)?)
}

fn open_plain(path: &Path) -> Result<File, Errno> {
    let (parent, name) = HeldDirectories::default().parent_of(path).map_err(|error| errno(&error))?;
    // Checked before opening: opening a device can have side effects.
    check_ordinary(&statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)?)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat(&parent, name, flags, Mode::empty())?;
    check_ordinary(&fstat(&file)?)?;
    Ok(file.into())
}

/// Opens a regular file for writing.
pub(crate) fn open_to_write(held: &HeldDirectories, path: &Path) -> io::Result<File> {
    let (parent, name) = held.parent_of(path)?;
    // Without `O_TRUNC`, so that anything but a regular file stays unchanged. With `O_NONBLOCK`: opening a pipe for
    // writing would wait for a reader that may never come.
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat(&parent, name, flags, Mode::empty())?;
    check_ordinary(&fstat(&file)?)?;
    Ok(file.into())
}

/// Returns `LOOP` for links, `ISDIR` for directories, `INVAL` for everything else but regular files.
fn check_ordinary(found: &Stat) -> Result<(), Errno> {
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(Errno::ISDIR),
        FileType::Symlink => Err(Errno::LOOP),
        _ => Err(Errno::INVAL),
    }
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
