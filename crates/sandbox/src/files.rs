//! The questions that a plan asks about the tree of files, as a trait, so that tests can plan over a tree that does not
//! exist.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The kind of object at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// Anything else.
    File,
}

/// A tree of files.
pub trait Files {
    /// The kind of object at this path itself, links not followed; `None`: there is none.
    fn kind(&self, path: &Path) -> Option<Kind>;

    /// The path without any link in it, if there is something at it.
    fn real(&self, path: &Path) -> Option<PathBuf>;

    /// Where the link at this path leads, as it is written in it.
    fn target(&self, link: &Path) -> Option<PathBuf>;

    /// The names in a directory. One that cannot be read has none.
    fn names(&self, directory: &Path) -> Vec<OsString>;

    /// The beginning of a file, as text.
    fn text(&self, file: &Path) -> Option<String>;

    /// The time at which the file or directory at this path was created, in nanoseconds since 1970; `None`: the file
    /// system does not record it.
    fn made_at(&self, path: &Path) -> Option<u64>;

    /// The paths of sockets on which a server listens.
    fn sockets(&self) -> Vec<PathBuf>;
}
