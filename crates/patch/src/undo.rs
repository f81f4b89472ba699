//! Undoes changes of the disk, the last one first. Originals are kept beside their places until everything is done, so
//! that undoing needs no disk space and restores the very same files.

use std::io;
use std::path::{Path, PathBuf};

use crate::disk::Disk;

/// The undoing of one change.
#[derive(Debug)]
pub(crate) enum Undo<'a> {
    /// Remove a directory that was created.
    RemoveDirectory(PathBuf),
    /// Remove a temporary file.
    RemoveFile(PathBuf),
    /// Exchange two files again.
    Exchange(PathBuf, PathBuf),
    /// Move a file back.
    Rename { from: PathBuf, to: PathBuf },
    /// Write a file's old text again.
    Overwrite { place: &'a Path, text: &'a str },
}

/// A change that could not be undone.
#[derive(Debug)]
pub(crate) struct Stuck {
    /// The path of the file that should have been removed or moved back.
    pub(crate) path: PathBuf,
    pub(crate) error: io::Error,
}

/// Undoes all changes that can be undone, even if one of them fails.
pub(crate) fn take_back(done: Vec<Undo<'_>>, disk: &dyn Disk) -> Vec<Stuck> {
    done.into_iter().rev().filter_map(|undo| undo.run(disk).err()).collect()
}

impl Undo<'_> {
    fn run(self, disk: &dyn Disk) -> Result<(), Stuck> {
        let (outcome, path) = match self {
            Self::RemoveDirectory(path) => (unless_used(disk.remove_directory(&path)), path),
            Self::RemoveFile(path) => (disk.remove_file(&path), path),
            Self::Exchange(aside, place) => (disk.exchange(&aside, &place), aside),
            Self::Rename { from, to } => (disk.rename(&from, &to), from),
            Self::Overwrite { place, text } => (disk.overwrite(place, text.as_bytes()), place.to_owned()),
        };
        outcome.map_err(|error| Stuck { path, error })
    }
}

/// A directory that another process uses by now stays: the files of the patch are restored all the same.
fn unless_used(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
        outcome => outcome,
    }
}
