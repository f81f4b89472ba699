//! The result of a patch on this disk: every file with its text before and after, decided before anything is written.

use std::path::{Path, PathBuf};

use crate::apply::{self, ApplyError};
use crate::disk::{Disk, LocalDisk};
use crate::report::Report;
use crate::warning::Warning;

/// The changes that will be written. Made by [`crate::Patch::verify`], which writes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub(crate) steps: Vec<FileStep>,
    pub(crate) changes: Vec<Change>,
    pub(crate) warnings: Vec<Warning>,
}

/// The change to one file, for a user to review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The file's absolute path, symbolic links not followed.
    pub path: PathBuf,
    /// The path as written in the patch.
    pub written: String,
    /// The kind of change.
    pub kind: Kind,
    /// The target of a move, as an absolute path.
    pub moved_to: Option<PathBuf>,
    /// The target of a move, as written in the patch.
    pub moved_to_written: Option<String>,
    /// The text before, if the file existed.
    pub old: Option<String>,
    /// The text after, unless the file is removed.
    pub new: Option<String>,
    /// The text of the file that a move overwrites.
    pub overwritten: Option<String>,
}

/// The kind of change to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The file is created, or replaced completely.
    Add,
    /// The file is removed.
    Delete,
    /// Some of its lines change, or its path.
    Update,
}

impl Plan {
    /// The changes, in the order of the patch.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Ambiguities in the patch, and how they were decided.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Carries the plan out, or leaves every file as it was.
    pub fn apply(&self) -> Result<Report, ApplyError> {
        self.apply_on(&LocalDisk::default())
    }

    /// The same on a disk of the caller's, which may fail.
    pub fn apply_on(&self, disk: &dyn Disk) -> Result<Report, ApplyError> {
        let left_behind = apply::apply(&self.steps, disk)?;
        let warnings = self.warnings.iter().cloned().chain(left_behind).collect();
        Ok(Report::of(&self.changes, warnings))
    }
}

/// The change of one file on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileStep {
    /// Its path, with symbolic links followed.
    pub(crate) place: PathBuf,
    /// Its path as written in the patch.
    pub(crate) written: String,
    /// The symbolic link at this path itself, if there is one.
    pub(crate) link: Option<PathBuf>,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
    /// The resolved path of the file that is moved here.
    pub(crate) moved_from: Option<PathBuf>,
}

impl FileStep {
    pub(crate) fn changes(&self) -> bool {
        self.before != self.after || self.moved_from.is_some()
    }

    pub(crate) fn parent(&self) -> &Path {
        self.place.parent().unwrap_or(Path::new("/"))
    }
}
