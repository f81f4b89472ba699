//! What a patch comes to on this disk: every file with its text before and after, decided before anything is written.

use std::path::{Path, PathBuf};

use crate::apply::{self, ApplyError};
use crate::disk::{Disk, LocalDisk};
use crate::report::Report;
use crate::warning::Warning;

/// What will be written. Made by [`crate::Patch::verify`], which writes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub(crate) steps: Vec<FileStep>,
    pub(crate) changes: Vec<Change>,
    pub(crate) warnings: Vec<Warning>,
}

/// What happens to one file, for people to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The file: absolute, symbolic links not followed.
    pub path: PathBuf,
    /// Its path as the patch has it.
    pub written: String,
    /// What is done.
    pub kind: Kind,
    /// Where the file goes, as an absolute path.
    pub moved_to: Option<PathBuf>,
    /// The same as the patch has it.
    pub moved_to_written: Option<String>,
    /// The text before, unless there is no file.
    pub old: Option<String>,
    /// The text after, unless there is no file any more.
    pub new: Option<String>,
    /// The text of another file that a moved one takes the place of.
    pub overwritten: Option<String>,
}

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is created, or replaced as a whole.
    Add,
    /// It is removed.
    Delete,
    /// Some of its lines change, or its place.
    Update,
}

impl Plan {
    /// What happens to each file, in the order of the patch.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// What the patch left open.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Carries it out, or leaves every file as it was.
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

/// What is done at one place of the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileStep {
    /// Where, with symbolic links followed.
    pub(crate) place: PathBuf,
    /// How the patch calls it.
    pub(crate) written: String,
    /// The link that lies there itself, if one does.
    pub(crate) link: Option<PathBuf>,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
    /// The place of the file that is moved here.
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
