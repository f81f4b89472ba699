//! Opens the file at a path, without blocking and without races.
//!
//! The file is first opened with `O_PATH`, which neither reads it nor activates a device. Only then its kind, its real
//! path and the policy are checked. Later reads use the same open file, so a link that changes in between changes
//! nothing.

use std::fs::{File, FileType, Metadata};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::answer::FileToolError;
use crate::file_context::FileContext;
use crate::words::Named;

/// A file that may be read: open as a handle, but not yet for reading.
#[derive(Debug)]
pub(crate) struct OpenedFile {
    handle: File,
    /// The absolute path that was asked for.
    pub(crate) path: PathBuf,
    /// Its real path.
    pub(crate) real: PathBuf,
    pub(crate) metadata: Metadata,
}

/// Opens a handle of the file at this absolute path, and checks it.
pub(crate) fn find(path: &Path, surroundings: &FileContext<'_>) -> Result<OpenedFile, FileToolError> {
    surroundings.go_on()?;
    let handle = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    let handle = handle.map_err(|errno| cannot_open(path, errno.into()))?;
    let handle = File::from(handle);
    let metadata = handle.metadata().map_err(|source| system(path, "look at it", source))?;
    let real = real_path(&handle).map_err(|source| system(path, "find out where it lies", source))?;
    if !is_at(&real, &metadata) {
        return Err(FileToolError::Moved { path: path.to_owned() });
    }
    if !surroundings.allows(&real) {
        return Err(FileToolError::Denied { path: path.to_owned() });
    }
    Ok(OpenedFile { handle, path: path.to_owned(), real, metadata })
}

impl OpenedFile {
    /// Opens it for reading, if it is a regular file.
    pub(crate) fn read(&self, advice: &str) -> Result<File, FileToolError> {
        if !self.metadata.is_file() {
            return Err(self.unfit(kind(self.metadata.file_type()), advice));
        }
        self.reopen(OFlags::NONBLOCK | OFlags::NOCTTY)
    }

    /// Opens it for listing, if it is a directory.
    pub(crate) fn list(&self, advice: &str) -> Result<File, FileToolError> {
        if !self.metadata.is_dir() {
            return Err(self.unfit(kind(self.metadata.file_type()), advice));
        }
        self.reopen(OFlags::DIRECTORY)
    }

    pub(crate) fn unfit(&self, kind: &str, advice: &str) -> FileToolError {
        FileToolError::Unfit { path: self.path.clone(), kind: kind.to_owned(), advice: advice.to_owned() }
    }

    pub(crate) fn system(&self, doing: &'static str, source: io::Error) -> FileToolError {
        system(&self.path, doing, source)
    }

    fn reopen(&self, flags: OFlags) -> Result<File, FileToolError> {
        let opened = rustix::fs::open(
            by_number(&self.handle),
            flags | OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        );
        opened.map(File::from).map_err(|errno| self.system("open it", errno.into()))
    }
}

/// The real path of an open file.
pub(crate) fn real_path(file: &File) -> io::Result<PathBuf> {
    std::fs::read_link(by_number(file))
}

fn by_number(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Whether the file at this path is this one. For removed files, pipes and memory the kernel reports names that look
/// like paths; a policy must not be asked about those.
fn is_at(real: &Path, metadata: &Metadata) -> bool {
    let there = std::fs::symlink_metadata(real);
    there.is_ok_and(|there| (there.dev(), there.ino()) == (metadata.dev(), metadata.ino()))
}

/// The kind of a file, with its article.
pub(crate) fn kind(file_type: FileType) -> &'static str {
    match file_type {
        kind if kind.is_file() => "a file",
        kind if kind.is_dir() => "a directory",
        kind if kind.is_fifo() => "a named pipe",
        kind if kind.is_socket() => "a socket",
        kind if kind.is_char_device() => "a character device",
        kind if kind.is_block_device() => "a block device",
        _ => "neither a file nor a directory",
    }
}

fn cannot_open(path: &Path, source: io::Error) -> FileToolError {
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            FileToolError::Missing { path: path.to_owned(), hint: hint(path) }
        }
        _ => system(path, "open it", source),
    }
}

/// A hint how much of the path exists, which is where to look next.
fn hint(path: &Path) -> String {
    if path.components().any(|component| component.as_os_str() == "~") {
        return "; `~` means nothing here, give the whole path".to_owned();
    }
    let nearest = path.ancestors().skip(1).find(|ancestor| ancestor.is_dir());
    let not_the_parent = nearest.filter(|nearest| Some(*nearest) != path.parent());
    not_the_parent.map(|nearest| format!("; the path is right up to {}", Named(nearest))).unwrap_or_default()
}

fn system(path: &Path, doing: &'static str, source: io::Error) -> FileToolError {
    FileToolError::System { path: path.to_owned(), doing, source }
}
