//! Takes back what was done to a disk, the last thing first. Originals are kept on the disk beside their places until
//! everything is done, so that taking back needs no room and brings back the very same files.

use std::io;
use std::path::{Path, PathBuf};

use crate::disk::Disk;

/// How one thing is taken back.
#[derive(Debug)]
pub(crate) enum Undo<'a> {
    /// Remove a directory that was created.
    RemoveDirectory(PathBuf),
    /// Remove a file that only served to apply the patch.
    RemoveFile(PathBuf),
    /// Let two files change places again.
    Exchange(PathBuf, PathBuf),
    /// Move a file back.
    Rename { from: PathBuf, to: PathBuf },
    /// Write a file's old text again.
    Overwrite { place: &'a Path, text: &'a str },
}

/// Something that could not be taken back.
#[derive(Debug)]
pub(crate) struct Stuck {
    /// Where what should have gone or come back still lies.
    pub(crate) path: PathBuf,
    pub(crate) error: io::Error,
}

/// Takes everything back that can be, also when something cannot.
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

/// A directory that somebody else uses by now stays, and no file is in another state for it.
fn unless_used(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
        outcome => outcome,
    }
}
