//! The tree of files as one process sees it: pieces of it copied, made read-only, replaced and hidden.
//!
//! A piece is copied first and put in its place later. In between it belongs to no tree, so changes of the tree
//! meanwhile do not touch it: that is how a directory stays writable in a tree that was made read-only as a whole.

use super::call::call;
use rustix::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use rustix::io::Errno;
use std::ffi::{CStr, c_int};

/// A copy of a part of the tree that is not mounted anywhere yet.
#[derive(Debug)]
pub struct DetachedMount(OwnedFd);

/// Whether files in a mount can be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writing {
    /// Files in it can be changed, as far as their permissions allow.
    Allowed,
    /// No file in it can be changed, not even by root.
    Refused,
}

/// Makes the whole tree read-only, without devices or setuid programs, and private to this process: later mounts
/// elsewhere do not show here, and the other way round. Fails where a part of it cannot be made so: then nothing is
/// protected.
pub fn freeze_everything() -> Result<(), Errno> {
    let set = RDONLY | NODEV | NOSUID;
    let attributes = Attributes { set, clear: 0, propagation: PRIVATE, user_space: 0 };
    set_attributes(None, c"/", RECURSIVE, &attributes)
}

/// A copy of the tree at this path, with all mounts below.
pub fn copy(path: &CStr) -> Result<DetachedMount, Errno> {
    let flags = OPEN_TREE_CLONE | libc::O_CLOEXEC.cast_unsigned() | RECURSIVE.cast_unsigned();
    // SAFETY: the path ends with a zero, and the call returns a descriptor that has no other owner.
    unsafe {
        let fd = call!(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), flags)?;
        Ok(DetachedMount(OwnedFd::from_raw_fd(fd as c_int)))
    }
}

/// A copy of the tree at this descriptor, with all mounts below.
pub fn copy_of(place: impl AsFd) -> Result<DetachedMount, Errno> {
    let flags = OPEN_TREE_CLONE
        | libc::O_CLOEXEC.cast_unsigned()
        | RECURSIVE.cast_unsigned()
        | libc::AT_EMPTY_PATH.cast_unsigned();
    // SAFETY: the path ends with a zero, the descriptor is open, and the call returns one that has no other owner.
    unsafe {
        let fd = call!(libc::SYS_open_tree, place.as_fd().as_raw_fd(), c"".as_ptr(), flags)?;
        Ok(DetachedMount(OwnedFd::from_raw_fd(fd as c_int)))
    }
}

/// A copy of one entry of an open directory, even if a mount lies over its path by now.
pub fn copy_entry(directory: impl AsFd, name: &CStr) -> Result<DetachedMount, Errno> {
    let flags = OPEN_TREE_CLONE | libc::O_CLOEXEC.cast_unsigned();
    // SAFETY: the name ends with a zero, the descriptor is open, and the call returns one that has no other owner.
    unsafe {
        let fd = call!(libc::SYS_open_tree, directory.as_fd().as_raw_fd(), name.as_ptr(), flags)?;
        Ok(DetachedMount(OwnedFd::from_raw_fd(fd as c_int)))
    }
}

/// A new, empty `tmpfs`, no larger than this many bytes and files.
pub fn empty_directory(bytes: &CStr, files: &CStr, mode: &CStr) -> Result<DetachedMount, Errno> {
    let tmpfs = FileSystem::open(c"tmpfs")?;
    tmpfs.set(c"size", bytes)?;
    tmpfs.set(c"nr_inodes", files)?;
    tmpfs.set(c"mode", mode)?;
    tmpfs.make(NOSUID | NODEV)
}

/// A new `proc` of this process's pid namespace.
pub fn process_table() -> Result<DetachedMount, Errno> {
    FileSystem::open(c"proc")?.make(NOSUID | NODEV | NOEXEC)
}

/// A new `devpts`, whose terminals do not show outside. It has a maximum, so that one command cannot take every
/// terminal: the kernel counts all of them, here and outside, together, and allows 4096 by default.
pub fn terminals() -> Result<DetachedMount, Errno> {
    let devpts = FileSystem::open(c"devpts")?;
    devpts.set(c"max", c"1024")?;
    devpts.set(c"ptmxmode", c"0666")?;
    devpts.set(c"mode", c"0620")?;
    devpts.make(NOSUID | NOEXEC)
}

impl DetachedMount {
    /// Sets whether files in it can be changed, as far as they could be where it was copied. Device files in it do not
    /// work, and setuid bits have no effect.
    pub fn set_writing(&self, writing: Writing) -> Result<(), Errno> {
        // Parts that are mounted read-only in it stay so: the kernel refuses to change that for a mount of another user
        // namespace.
        let set = match writing {
            Writing::Allowed => NODEV | NOSUID,
            Writing::Refused => RDONLY | NODEV | NOSUID,
        };
        let attributes = Attributes { set, clear: 0, propagation: 0, user_space: 0 };
        set_attributes(Some(&self.0), c"", RECURSIVE, &attributes)
    }

    /// Makes it writable again, and lets device files in it work. Only where this process itself made the mount
    /// read-only from which it was copied.
    pub fn thaw(&self) -> Result<(), Errno> {
        let attributes = Attributes { set: 0, clear: RDONLY | NODEV, propagation: 0, user_space: 0 };
        set_attributes(Some(&self.0), c"", 0, &attributes)
    }

    /// Mounts it over the object at this path.
    pub fn put_at(&self, path: &CStr) -> Result<(), Errno> {
        // SAFETY: both paths end with a zero, and the descriptor is open.
        unsafe {
            call!(
                libc::SYS_move_mount,
                self.0.as_raw_fd(),
                c"".as_ptr(),
                libc::AT_FDCWD,
                path.as_ptr(),
                MOVE_FROM_EMPTY_PATH,
            )
        }
        .map(drop)
    }

    /// Mounts it over the object of this descriptor.
    pub fn put_over(&self, place: impl AsFd) -> Result<(), Errno> {
        // SAFETY: both paths end with a zero, and both descriptors are open.
        unsafe {
            call!(
                libc::SYS_move_mount,
                self.0.as_raw_fd(),
                c"".as_ptr(),
                place.as_fd().as_raw_fd(),
                c"".as_ptr(),
                MOVE_FROM_EMPTY_PATH | MOVE_TO_EMPTY_PATH,
            )
        }
        .map(drop)
    }
}

/// Makes the mount at exactly this path read-only, and no mount below it.
pub fn freeze(path: &CStr) -> Result<(), Errno> {
    let attributes = Attributes { set: RDONLY, clear: 0, propagation: 0, user_space: 0 };
    set_attributes(None, path, 0, &attributes)
}

/// Makes the mount at exactly this path writable again, and lets device files in it work. Only for mounts that this
/// process has made itself.
pub fn thaw(path: &CStr) -> Result<(), Errno> {
    let attributes = Attributes { set: 0, clear: RDONLY | NODEV, propagation: 0, user_space: 0 };
    set_attributes(None, path, 0, &attributes)
}

/// A file system that is being set up.
struct FileSystem(OwnedFd);

impl FileSystem {
    fn open(kind: &CStr) -> Result<Self, Errno> {
        // SAFETY: the name ends with a zero, and the call returns a descriptor that has no other owner.
        unsafe {
            let fd = call!(libc::SYS_fsopen, kind.as_ptr(), FSOPEN_CLOEXEC)?;
            Ok(Self(OwnedFd::from_raw_fd(fd as c_int)))
        }
    }

    fn set(&self, key: &CStr, value: &CStr) -> Result<(), Errno> {
        let fd = self.0.as_raw_fd();
        // SAFETY: both texts end with a zero.
        unsafe { call!(libc::SYS_fsconfig, fd, FSCONFIG_SET_STRING, key.as_ptr(), value.as_ptr(), 0) }
            .map(drop)
    }

    fn make(self, attributes: u64) -> Result<DetachedMount, Errno> {
        let fd = self.0.as_raw_fd();
        let nothing = std::ptr::null::<u8>();
        // SAFETY: creating takes neither key nor value; the second call returns a new descriptor that has no other
        // owner.
        unsafe {
            call!(libc::SYS_fsconfig, fd, FSCONFIG_CMD_CREATE, nothing, nothing, 0)?;
            let mount = call!(libc::SYS_fsmount, fd, FSMOUNT_CLOEXEC, attributes)?;
            Ok(DetachedMount(OwnedFd::from_raw_fd(mount as c_int)))
        }
    }
}

/// The kernel's `struct mount_attr`.
#[repr(C)]
struct Attributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_space: u64,
}

fn set_attributes(
    from: Option<&OwnedFd>,
    path: &CStr,
    extent: c_int,
    attributes: &Attributes,
) -> Result<(), Errno> {
    let (fd, empty) = match from {
        Some(fd) => (fd.as_raw_fd(), libc::AT_EMPTY_PATH),
        None => (libc::AT_FDCWD, 0),
    };
    let size = size_of::<Attributes>();
    // SAFETY: the path ends with a zero, and the structure has the size that is given.
    unsafe {
        call!(
            libc::SYS_mount_setattr,
            fd,
            path.as_ptr(),
            extent | empty,
            std::ptr::from_ref(attributes),
            size
        )
    }
    .map(drop)
}

const RDONLY: u64 = 1;
const NOSUID: u64 = 2;
const NODEV: u64 = 4;
const NOEXEC: u64 = 8;
const PRIVATE: u64 = 1 << 18;
const RECURSIVE: c_int = 0x8000;
const OPEN_TREE_CLONE: u32 = 1;
const MOVE_FROM_EMPTY_PATH: u32 = 4;
const MOVE_TO_EMPTY_PATH: u32 = 0x40;
const FSOPEN_CLOEXEC: u32 = 1;
const FSMOUNT_CLOEXEC: u32 = 1;
const FSCONFIG_SET_STRING: u32 = 1;
const FSCONFIG_CMD_CREATE: u32 = 6;
