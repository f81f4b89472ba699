//! The few file operations that applying a patch needs, as a trait, so that tests can let each of them fail.
//! `LocalDisk` is the real one. Each operation is atomic, except overwriting in place.

use std::ffi::OsStr;
use std::fs::{File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;
use std::rc::Rc;

use rustix::fd::OwnedFd;
use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr, mkdirat,
    openat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use crate::nofollow::{self, HeldDirectories};

/// The file operations of a patch.
pub trait Disk {
    /// Creates one directory, whose parent exists.
    fn create_directory(&self, path: &Path) -> io::Result<()>;
    /// Creates a file; fails if one exists.
    fn create_file(&self, path: &Path, contents: &[u8], like: Like<'_>) -> io::Result<()>;
    /// Exchanges two files atomically.
    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()>;
    /// Moves a file; fails if the target exists.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Overwrites a file without replacing it. May fail in the middle.
    fn overwrite(&self, path: &Path, contents: &[u8]) -> io::Result<()>;
    /// Removes a file, or a symbolic link itself.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_directory(&self, path: &Path) -> io::Result<()>;
}

/// The file whose metadata a new file takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Like<'a> {
    /// None: it gets the defaults of new files.
    Fresh,
    /// The file replaces this one, and must have its permissions, owner and attributes.
    Replacing(&'a Path),
    /// This file is moved there: the new one has its permissions, and its other metadata as far as possible.
    MovedFrom(&'a Path),
}

/// The local file systems. Each directory is opened once, by a path without links, and kept open: an entry is created,
/// moved and undone in the same directory, wherever that directory's path leads by then.
#[derive(Debug, Default)]
pub struct LocalDisk {
    held: HeldDirectories,
}

impl Disk for LocalDisk {
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        let (parent, name) = self.held.parent_of(path)?;
        Ok(mkdirat(parent, name, Mode::from_raw_mode(0o777))?)
    }

    fn create_file(&self, path: &Path, contents: &[u8], like: Like<'_>) -> io::Result<()> {
        let (parent, name) = self.held.parent_of(path)?;
        // Until the file has the permissions of the other one, no other user may read its content.
        let mode = if like == Like::Fresh { 0o666 } else { 0o600 };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(&parent, name, flags, Mode::from_raw_mode(mode))?);
        let written = file.write_all(contents).and_then(|()| take_after(&file, like));
        if written.is_err() {
            // Best effort: the caller gets the failure in any case.
            let _still_there = unlinkat(parent, name, AtFlags::empty());
        }
        written
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        let (one, other) = (self.held.parent_of(one)?, self.held.parent_of(other)?);
        match renameat_with(&one.0, one.1, &other.0, other.1, RenameFlags::EXCHANGE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(exchange_by_three(&one, &other)?),
            outcome => Ok(outcome?),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (from, to) = (self.held.parent_of(from)?, self.held.parent_of(to)?);
        let is_free = || statat(&to.0, to.1, AtFlags::SYMLINK_NOFOLLOW).is_err();
        match renameat_with(&from.0, from.1, &to.0, to.1, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) if is_free() => {
                Ok(renameat(&from.0, from.1, &to.0, to.1)?)
            }
            outcome => Ok(outcome?),
        }
    }

    fn overwrite(&self, path: &Path, contents: &[u8]) -> io::Result<()> {
        let mut file = nofollow::open_to_write(&self.held, path)?;
        file.set_len(0)?;
        file.write_all(contents)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let (parent, name) = self.held.parent_of(path)?;
        Ok(unlinkat(parent, name, AtFlags::empty())?)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        let (parent, name) = self.held.parent_of(path)?;
        Ok(unlinkat(parent, name, AtFlags::REMOVEDIR)?)
    }
}

/// A name in an open directory.
type Entry<'a> = (Rc<OwnedFd>, &'a OsStr);

/// For file systems that cannot exchange atomically: renames over a third name, with `other` missing for a moment.
fn exchange_by_three(one: &Entry<'_>, other: &Entry<'_>) -> Result<(), Errno> {
    let mut aside = one.1.to_owned();
    aside.push(".aside");
    renameat(&other.0, other.1, &one.0, &aside)?;
    if let Err(error) = renameat(&one.0, one.1, &other.0, other.1) {
        renameat(&one.0, &aside, &other.0, other.1)?;
        return Err(error);
    }
    renameat(&one.0, &aside, &one.0, one.1)
}

/// Copies the metadata of another file. The owner comes first, because changing it clears permission bits.
fn take_after(file: &File, like: Like<'_>) -> io::Result<()> {
    match like {
        Like::Fresh => Ok(()),
        Like::Replacing(model) => {
            let model = nofollow::open_file(model)?;
            let found = model.metadata()?;
            take_owner(file, &found)?;
            take_attributes(file, &model)?;
            take_permissions(file, &found)
        }
        Like::MovedFrom(model) => {
            let model = nofollow::open_file(model)?;
            let found = model.metadata()?;
            let _may_not = take_owner(file, &found).and_then(|()| take_attributes(file, &model));
            take_permissions(file, &found)
        }
    }
}

/// Copies the permissions. The setuid and setgid bits are lost, as with any change of a file's content.
fn take_permissions(file: &File, found: &Metadata) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(found.mode() & 0o777))
}

fn take_owner(file: &File, found: &Metadata) -> io::Result<()> {
    let own = file.metadata()?;
    if (own.uid(), own.gid()) == (found.uid(), found.gid()) {
        return Ok(());
    }
    fchown(file, Some(found.uid()), Some(found.gid()))
}

/// The largest list of attributes and the largest attribute; the kernel's own limits.
const ATTRIBUTE: usize = 64 << 10;

const ACCESS_LIST: &str = "system.posix_acl_access";

/// Copies the users' extended attributes and the access list. The labels of security modules are not copied: the kernel
/// assigns those to every file by its place.
fn take_attributes(file: &File, model: &File) -> io::Result<()> {
    // Removes the access list that the new file inherited from its directory. Usually there is none.
    let _none = fremovexattr(file, ACCESS_LIST);
    let mut names = vec![0; ATTRIBUTE];
    let length = match flistxattr(model, &mut names[..]) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(()),
        length => length?,
    };
    let ours = |name: &&[u8]| name.starts_with(b"user.") || *name == ACCESS_LIST.as_bytes();
    for name in names[..length].split(|byte| *byte == 0).filter(ours) {
        let mut value = vec![0; ATTRIBUTE];
        let length = fgetxattr(model, name, &mut value[..])?;
        fsetxattr(file, name, &value[..length], XattrFlags::empty())?;
    }
    Ok(())
}
