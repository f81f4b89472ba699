//! Checks a patch against the files: permissions, existing files, and whether every chunk fits. All of this is known
//! before anything is written; nothing here writes. Sections see the results of the sections before them.

mod draft;

use std::io;
use std::path::PathBuf;

use crate::directory::{Directory, WriteDenied};
use crate::envelope::Ignored;
use crate::misfit::Misfit;
use crate::patch::{Patch, Section};
use crate::plan::Plan;
use crate::verify::draft::Draft;
use crate::warning::Warning;

/// The reason why a patch cannot be applied. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The directory was not given as an absolute path, so the files cannot be located.
    #[error("the directory {} is not an absolute path", base.display())]
    RelativeDirectory {
        /// The directory.
        base: PathBuf,
    },
    /// Some of the patch's paths may not be written.
    #[error("patch rejected: {refusal}\nnot writable: {}", list(paths))]
    Refused {
        /// The reason.
        refusal: WriteDenied,
        /// The paths, with symbolic links followed.
        paths: Vec<PathBuf>,
    },
    /// A file that is to be deleted cannot be read.
    #[error("Failed to read {path}: {source}")]
    Read {
        /// The file, as written.
        path: String,
        /// The reason.
        source: io::Error,
    },
    /// The path to delete is not a file.
    #[error("path {path} is not a file")]
    NotAFile {
        /// The path, as written.
        path: String,
    },
    /// A file that is to be changed cannot be read.
    #[error("Failed to read file to update {path}: {source}")]
    ReadToUpdate {
        /// The file, as written.
        path: String,
        /// The reason.
        source: io::Error,
    },
    /// A file cannot be written, as a check in advance shows.
    #[error("Failed to write file {path}: {source}")]
    Write {
        /// The file, as written.
        path: String,
        /// The reason.
        source: io::Error,
    },
    /// Sections contradict each other.
    #[error("multiple operations target {path}")]
    Multiple {
        /// The file, as written.
        path: String,
    },
    /// A chunk does not fit its file.
    #[error("{}", misfit.describe(path))]
    Misfit {
        /// The file, as written.
        path: String,
        /// The misfit.
        misfit: Misfit,
    },
}

impl Patch {
    /// Checks the patch against the files, and computes their new texts.
    pub fn verify(&self, directory: &Directory<'_>) -> Result<Plan, VerifyError> {
        if !directory.base().is_absolute() {
            return Err(VerifyError::RelativeDirectory { base: directory.base().to_owned() });
        }
        self.check_permission(directory)?;
        let mut draft = Draft::of(directory);
        for section in &self.sections {
            draft.take(section)?;
        }
        let mut plan = draft.plan()?;
        if self.ignored != Ignored::default() {
            let Ignored { before, after } = self.ignored;
            plan.warnings.insert(0, Warning::TextIgnored { before, after });
        }
        Ok(plan)
    }

    /// Checks the permissions before any file is read, so that errors reveal nothing about files that the patch may not
    /// touch. All paths are collected, so that the user needs to be asked only once.
    fn check_permission(&self, directory: &Directory<'_>) -> Result<(), VerifyError> {
        let mut refused: Vec<PathBuf> = self
            .sections
            .iter()
            .flat_map(|section| touched(section, directory))
            .filter(|path| !directory.may_write(path))
            .collect();
        refused.sort_unstable();
        refused.dedup();
        if refused.is_empty() {
            return Ok(());
        }
        Err(VerifyError::Refused { refusal: directory.refusal().clone(), paths: refused })
    }
}

/// The paths that a section changes. A path that cannot be resolved is skipped: a later step reports its error.
fn touched(section: &Section, directory: &Directory<'_>) -> Vec<PathBuf> {
    let places = match section {
        Section::Add { path, .. } => vec![directory.resolve(path)],
        Section::Delete { path } => vec![directory.resolve_entry(path)],
        Section::Update(update) => match &update.move_to {
            None => vec![directory.resolve(&update.path)],
            Some(target) => vec![directory.resolve_entry(&update.path), directory.resolve(target)],
        },
    };
    places.into_iter().flatten().collect()
}

/// The most paths that a message lists.
const LISTED: usize = 10;

fn list(paths: &[PathBuf]) -> String {
    let mut listed: Vec<String> = paths.iter().take(LISTED).map(|path| path.display().to_string()).collect();
    if let Some(more @ 1..) = paths.len().checked_sub(LISTED) {
        listed.push(format!("and {more} others"));
    }
    listed.join(", ")
}
