//! The few things that applying a patch does to a disk, as a trait, so that tests can let each of them fail. `LocalDisk`
//! is the real one. Each operation happens as a whole or not at all, except overwriting in place.

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

/// What a patch does to a disk.
pub trait Disk {
    /// Creates one directory, whose parent exists.
    fn create_directory(&self, path: &Path) -> io::Result<()>;
    /// Creates a file where there is none.
    fn create_file(&self, path: &Path, contents: &[u8], like: Like<'_>) -> io::Result<()>;
    /// Lets two files change places.
    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()>;
    /// Moves a file to where there is none.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Writes a file anew without replacing it. May fail in the middle.
    fn overwrite(&self, path: &Path, contents: &[u8]) -> io::Result<()>;
    /// Removes a file, or a symbolic link itself.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_directory(&self, path: &Path) -> io::Result<()>;
}

/// What a file that is created has in common with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Like<'a> {
    /// Nothing: it gets what new files get.
    Fresh,
    /// It takes the place of this one, and must have its permissions, owner and attributes.
    Replacing(&'a Path),
    /// This one is moved there: it has its permissions, and the rest as far as that can be.
    MovedFrom(&'a Path),
}

/// This machine's file systems. Each directory is opened once, by a path without links, and held: an entry is created, moved and
/// taken back in the same directory, wherever that directory's path leads by then.
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
        // Until it has the permissions of the other, nobody else may read what it holds.
        let mode = if like == Like::Fresh { 0o666 } else { 0o600 };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(&parent, name, flags, Mode::from_raw_mode(mode))?);
        let written = file.write_all(contents).and_then(|()| take_after(&file, like));
        if written.is_err() {
            // Best effort: the caller is told of the failure in any case.
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

/// A name in a directory that is held.
type Entry<'a> = (Rc<OwnedFd>, &'a OsStr);

/// For file systems that cannot exchange: over a third name, with `other` missing for a moment.
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

/// Gives a file what another has. The owner comes first: changing it takes permissions away.
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

/// What everybody may do. The bits that lend a program its owner's rights are lost, as with any change of its content.
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

/// The longest list of attributes and the longest attribute; the kernel's own limits.
const ATTRIBUTE: usize = 64 << 10;

const ACCESS_LIST: &str = "system.posix_acl_access";

/// Copies the extended attributes that are people's, and the access list. Labels of security modules are not: the kernel
/// gives those to every file by its place.
fn take_attributes(file: &File, model: &File) -> io::Result<()> {
    // What the directory gave to the new file is not the old one's. Mostly there is none.
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
