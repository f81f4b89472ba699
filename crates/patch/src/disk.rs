//! The few things that applying a patch does to a disk, as a trait, so that tests can let each of them fail. `LocalDisk`
//! is the real one. Each operation happens as a whole or not at all, except overwriting in place.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;

use rustix::fs::{CWD, RenameFlags, XattrFlags};
use rustix::io::Errno;

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

/// This machine's file systems.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalDisk;

impl Disk for LocalDisk {
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    fn create_file(&self, path: &Path, contents: &[u8], like: Like<'_>) -> io::Result<()> {
        // Until it has the permissions of the other, nobody else may read what it holds.
        let mode = if like == Like::Fresh { 0o666 } else { 0o600 };
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
        let written = file.write_all(contents).and_then(|()| take_after(&file, like));
        if written.is_err() {
            // Best effort: the caller is told of the failure in any case.
            let _still_there = fs::remove_file(path);
        }
        written
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        match rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => exchange_by_three(one, other),
            outcome => Ok(outcome?),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) if to.symlink_metadata().is_err() => {
                fs::rename(from, to)
            }
            outcome => Ok(outcome?),
        }
    }

    fn overwrite(&self, path: &Path, contents: &[u8]) -> io::Result<()> {
        OpenOptions::new().write(true).truncate(true).open(path)?.write_all(contents)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }
}

/// For file systems that cannot exchange: over a third name, with `other` missing for a moment.
fn exchange_by_three(one: &Path, other: &Path) -> io::Result<()> {
    let aside = one.with_extension("aside");
    fs::rename(other, &aside)?;
    if let Err(error) = fs::rename(one, other) {
        fs::rename(&aside, other)?;
        return Err(error);
    }
    fs::rename(&aside, one)
}

/// Gives a file what another has. The owner comes first: changing it takes permissions away.
fn take_after(file: &fs::File, like: Like<'_>) -> io::Result<()> {
    match like {
        Like::Fresh => Ok(()),
        Like::Replacing(model) => {
            let found = fs::metadata(model)?;
            take_owner(file, &found)?;
            take_attributes(file, model)?;
            take_permissions(file, &found)
        }
        Like::MovedFrom(model) => {
            let found = fs::metadata(model)?;
            let _may_not = take_owner(file, &found).and_then(|()| take_attributes(file, model));
            take_permissions(file, &found)
        }
    }
}

/// What everybody may do. The bits that lend a program its owner's rights are lost, as with any change of its content.
fn take_permissions(file: &fs::File, found: &fs::Metadata) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(found.mode() & 0o777))
}

fn take_owner(file: &fs::File, found: &fs::Metadata) -> io::Result<()> {
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
fn take_attributes(file: &fs::File, model: &Path) -> io::Result<()> {
    // What the directory gave to the new file is not the old one's. Mostly there is none.
    let _none = rustix::fs::fremovexattr(file, ACCESS_LIST);
    let mut names = vec![0; ATTRIBUTE];
    let length = match rustix::fs::listxattr(model, &mut names[..]) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(()),
        length => length?,
    };
    let ours = |name: &&[u8]| name.starts_with(b"user.") || *name == ACCESS_LIST.as_bytes();
    for name in names[..length].split(|byte| *byte == 0).filter(ours) {
        let mut value = vec![0; ATTRIBUTE];
        let length = rustix::fs::getxattr(model, name, &mut value[..])?;
        rustix::fs::fsetxattr(file, name, &value[..length], XattrFlags::empty())?;
    }
    Ok(())
}
