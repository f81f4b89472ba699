//! Where a patch's paths lead: from which directory they are read, what they are once symbolic links are followed, and
//! whether that may be written. Looks, but never changes anything.

use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The most symbolic links on the way to one file; the kernel's own limit.
const MAX_LINKS: usize = 40;

/// The directory that a patch is about, and what of the disk it may change.
#[derive(Clone)]
pub struct Directory<'a> {
    base: PathBuf,
    may_write: Option<&'a dyn Fn(&Path) -> bool>,
    may_read: Option<&'a dyn Fn(&Path) -> bool>,
    refusal: WriteDenied,
}

/// Why a path may not be written, in the words that models know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteDenied {
    /// Nothing may be written.
    ReadOnly,
    /// The path is outside of what may be written.
    OutsideProject,
    /// Another reason, in words of the caller.
    Because(String),
}

impl<'a> Directory<'a> {
    /// Paths are relative to `base`, which is absolute; everything may be written.
    pub fn at(base: impl Into<PathBuf>) -> Self {
        Self { base: base.into(), may_write: None, may_read: None, refusal: WriteDenied::OutsideProject }
    }

    /// The same, but only paths that pass may be written. They are asked about as they are once symbolic links were
    /// followed: a link that leads out of the workspace is outside. Others are refused for the reason given. What they are
    /// compared with must have been followed too, by [`resolve`].
    #[must_use]
    pub fn allowing(self, may_write: &'a dyn Fn(&Path) -> bool, refusal: WriteDenied) -> Self {
        Self { may_write: Some(may_write), refusal, ..self }
    }

    /// The same, but a link that is deleted or moved may only lead to what passes: the text behind it is read.
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

    /// The path as a person would write it out: absolute, without dots, links not followed.
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

    /// Where the path leads, all links followed. What does not exist is what it would be.
    pub(crate) fn resolve(&self, path: &str) -> io::Result<PathBuf> {
        resolve(&self.base.join(path))
    }

    /// The same, but a link at the end is not followed: what a removal removes.
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

/// Follows an absolute path as the kernel does, and goes on by the names alone where nothing exists yet.
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

/// The parts of a path, the last one first.
fn parts(path: &Path) -> Vec<PathBuf> {
    let parts = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    let mut parts: Vec<PathBuf> = parts.map(|part| PathBuf::from(part.as_os_str())).collect();
    parts.reverse();
    parts
}
