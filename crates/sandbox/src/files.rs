//! What a plan has to know about the tree of files, so that plans can be made of a tree that exists only in a test.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// Anything else.
    File,
}

/// A tree of files that can be looked at.
pub trait Files {
    /// What is at this path itself, links not followed; `None`: nothing.
    fn kind(&self, path: &Path) -> Option<Kind>;

    /// The path without any link in it, if there is something at it.
    fn real(&self, path: &Path) -> Option<PathBuf>;

    /// Where the link at this path leads, as it is written in it.
    fn target(&self, link: &Path) -> Option<PathBuf>;

    /// The names in a directory. One that cannot be read has none.
    fn names(&self, directory: &Path) -> Vec<OsString>;

    /// The beginning of a file, as text.
    fn text(&self, file: &Path) -> Option<String>;

    /// When the file or directory at this path was made, in nanoseconds since 1970; `None`: the file system does not know.
    fn made_at(&self, path: &Path) -> Option<u64>;

    /// Sockets that somebody waits at, by path.
    fn sockets(&self) -> Vec<PathBuf>;
}
