//! Resolves a patch's paths: the directory to which they are relative, their targets once symbolic links are followed,
//! and whether those may be written. It reads, but never changes anything.

use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The most symbolic links that one path may go through; the kernel's own limit.
const MAX_LINKS: usize = 40;

/// The directory to which a patch is applied, and the paths that the patch may change.
#[derive(Clone)]
pub struct Directory<'a> {
    base: PathBuf,
    may_write: Option<&'a dyn Fn(&Path) -> bool>,
    may_read: Option<&'a dyn Fn(&Path) -> bool>,
    refusal: WriteDenied,
}

/// The reason why a path may not be written, in wordings that models know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteDenied {
    /// Nothing may be written.
    ReadOnly,
    /// The path is outside of the writable directories.
    OutsideProject,
    /// Another reason, in the caller's words.
    Because(String),
}

impl<'a> Directory<'a> {
    /// A directory in which everything may be written. Paths are relative to `base`, which must be absolute.
    pub fn at(base: impl Into<PathBuf>) -> Self {
        Self { base: base.into(), may_write: None, may_read: None, refusal: WriteDenied::OutsideProject }
    }

    /// The same directory, but only paths that pass may be written; others are denied for the reason given. The
    /// function is called with paths whose symbolic links were followed: a link that leads out of the workspace counts
    /// as outside. The paths that it compares them with must have been resolved too, by [`resolve`].
    #[must_use]
    pub fn allowing(self, may_write: &'a dyn Fn(&Path) -> bool, refusal: WriteDenied) -> Self {
        Self { may_write: Some(may_write), refusal, ..self }
    }

    /// The same directory, but a link that is deleted or moved must lead to a path that passes, because the text behind
    /// it is read.
    #[must_use]
    pub fn reading(self, may_read: &'a dyn Fn(&Path) -> bool) -> Self {
        Self { may_read: Some(may_read), ..self }
    }

    pub(crate) fn base(&self) -> &Path {
        &self.base
    }

    pub(crate) fn may_write(&self, resolved: &Path) -> bool {
        self.may_write.is_none_or(|may_write| may_write(resolved))
    }

    pub(crate) fn may_read(&self, resolved: &Path) -> bool {
        self.may_read.is_none_or(|may_read| may_read(resolved))
    }

    pub(crate) fn refusal(&self) -> &WriteDenied {
        &self.refusal
    }

    /// The absolute path without `.` and `..`, links not followed.
    pub(crate) fn absolute(&self, path: &str) -> PathBuf {
        let mut absolute = PathBuf::new();
        for component in self.base.join(path).components() {
            match component {
                Component::ParentDir => _ = absolute.pop(),
                Component::CurDir => {}
                other => absolute.push(other),
            }
        }
        absolute
    }

    /// The path with all links followed. A path that does not exist is completed by its names.
    pub(crate) fn resolve(&self, path: &str) -> io::Result<PathBuf> {
        resolve(&self.base.join(path))
    }

    /// The same, but a link at the end is not followed: removing a path removes the link itself.
    pub(crate) fn resolve_entry(&self, path: &str) -> io::Result<PathBuf> {
        let path = self.base.join(path);
        match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => Ok(resolve(parent)?.join(name)),
            _ => resolve(&path),
        }
    }
}

impl fmt::Debug for Directory<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Directory").field("base", &self.base).field("refusal", &self.refusal).finish()
    }
}

impl fmt::Display for WriteDenied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReadOnly => {
                f.write_str("writing is blocked by read-only sandbox; rejected by user approval settings")
            }
            Self::OutsideProject => {
                f.write_str("writing outside of the project; rejected by user approval settings")
            }
            Self::Because(reason) => f.write_str(reason),
        }
    }
}

/// Follows an absolute path as the kernel does, and continues by the names alone where nothing exists yet.
pub fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut resolved = PathBuf::from("/");
    let mut rest: Vec<PathBuf> = parts(path);
    let mut links = 0;
    while let Some(part) = rest.pop() {
        if part == Path::new("..") {
            resolved.pop();
            continue;
        }
        let next = resolved.join(&part);
        match next.symlink_metadata() {
            Ok(found) if found.is_symlink() => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(rustix::io::Errno::LOOP.into());
                }
                let target = next.read_link()?;
                if target.is_absolute() {
                    resolved = PathBuf::from("/");
                }
                rest.extend(parts(&target));
            }
            Ok(found) if !found.is_dir() && !rest.is_empty() => return Err(rustix::io::Errno::NOTDIR.into()),
            Ok(_) => resolved = next,
            Err(error) if error.kind() == io::ErrorKind::NotFound => resolved = next,
            Err(error) => return Err(error),
        }
    }
    Ok(resolved)
}

/// The components of a path, the last one first.
fn parts(path: &Path) -> Vec<PathBuf> {
    let parts = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    let mut parts: Vec<PathBuf> = parts.map(|part| PathBuf::from(part.as_os_str())).collect();
    parts.reverse();
    parts
}
