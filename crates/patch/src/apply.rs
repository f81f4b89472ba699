//! Carries out a plan: every file gets its new text, or every file stays as it was.
//!
//! New texts are first written to temporary files beside their targets, so that a full disk shows before anything is
//! touched. Then each is exchanged with the old file, which is kept until all are done. Files with several hard links,
//! and those whose owner cannot be preserved, are written in place, last. Nothing is flushed to the device: this
//! protects against failures, not against power cuts.

mod state;

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub use crate::apply::state::{Condition, FileState};
use crate::directory::resolve;
use crate::disk::{Disk, Like};
use crate::inspect;
use crate::plan::FileStep;
use crate::undo::{Undo, take_back};
use crate::warning::Warning;

/// The reason why a plan was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// A file has changed since the plan was made. Nothing is changed.
    #[error("{path} changed on disk since the patch was verified; nothing was written. Read it again")]
    Changed {
        /// The file, as written in the patch.
        path: String,
    },
    /// A file could not be written. Everything is as it was.
    #[error("Failed to write file {path}: {source}\nNothing was changed: every file is as it was before.")]
    Write {
        /// The file, as written in the patch.
        path: String,
        /// The reason.
        source: io::Error,
    },
    /// Something failed, and undoing the earlier steps failed too.
    #[error("{reason}\nTaking back the rest failed too. The files now:\n{}", state::list(files, stuck))]
    Stuck {
        /// The first failure.
        reason: String,
        /// Every file of the patch, as it was found afterwards.
        files: Vec<FileState>,
        /// Files that could not be moved back or removed, with the reason. Old texts are among them.
        stuck: Vec<(PathBuf, String)>,
    },
}

/// Carries out all steps. Old files that cannot be removed afterwards are reported as warnings.
pub(crate) fn apply(steps: &[FileStep], disk: &dyn Disk) -> Result<Vec<Warning>, ApplyError> {
    for step in steps {
        check_unchanged(step)?;
    }
    let mut work = Work { disk, done: Vec::new(), names: 0 };
    match work.carry_out(steps) {
        Ok(asides) => Ok(tidy_up(asides, disk)),
        Err(failure) => Err(take_all_back(work, failure, steps)),
    }
}

/// Checks that a file still has the text on which the plan is based, and that its path still leads there.
fn check_unchanged(step: &FileStep) -> Result<(), ApplyError> {
    let same_way = resolve(step.parent()).is_ok_and(|parent| parent == step.parent());
    let same_link = step.place.read_link().ok() == step.link;
    let same_text = inspect::load(&step.place).is_ok_and(|text| text == step.before);
    if same_way && same_link && same_text {
        return Ok(());
    }
    Err(ApplyError::Changed { path: step.written.clone() })
}

/// The most names that are tried for one temporary file.
const MAX_NAMES: usize = 1000;

/// The first failure.
enum Failure {
    Changed { path: String },
    Write { path: String, source: io::Error },
}

/// The work that was done so far.
struct Work<'a> {
    disk: &'a dyn Disk,
    done: Vec<Undo<'a>>,
    /// How many temporary names were generated.
    names: usize,
}

/// The way in which a step's new text gets to its place.
enum Staged<'a> {
    /// The text lies in a temporary file with this name, beside its place.
    Aside(&'a FileStep, PathBuf),
    /// The text is written over the old one.
    InPlace(&'a FileStep, &'a str),
    /// There is no new text: the file is removed.
    Removal(&'a FileStep),
}

impl<'a> Work<'a> {
    /// Returns the old files that are left beside their places.
    fn carry_out(&mut self, steps: &'a [FileStep]) -> Result<Vec<PathBuf>, Failure> {
        let mut staged = Vec::new();
        for step in steps.iter().filter(|step| step.changes()) {
            staged.push(self.stage(step).map_err(|source| Failure::of(step, source))?);
        }
        staged.sort_by_key(|staged| matches!(staged, Staged::InPlace(..)));
        let mut asides = Vec::new();
        for staged in staged {
            asides.extend(self.put(staged)?);
        }
        Ok(asides)
    }

    /// Writes a new text beside its place.
    fn stage(&mut self, step: &'a FileStep) -> io::Result<Staged<'a>> {
        let Some(text) = step.after.as_deref() else { return Ok(Staged::Removal(step)) };
        if step.before.is_none() {
            self.create_directories(step.parent())?;
        } else if step.moved_from.is_none() && has_other_names(&step.place) {
            return Ok(Staged::InPlace(step, text));
        }
        let like = match (&step.moved_from, &step.before) {
            (Some(from), _) => Like::MovedFrom(from),
            (None, Some(_)) => Like::Replacing(&step.place),
            (None, None) => Like::Fresh,
        };
        match self.create_beside(step.parent(), text, like) {
            Ok(path) => Ok(Staged::Aside(step, path)),
            // The file may be written, but not its directory, or the file has another owner.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && is_plain_file(step) => {
                Ok(Staged::InPlace(step, text))
            }
            Err(error) => Err(error),
        }
    }

    fn create_directories(&mut self, path: &Path) -> io::Result<()> {
        let missing: Vec<&Path> = path.ancestors().take_while(|path| !path.exists()).collect();
        for path in missing.into_iter().rev() {
            match self.disk.create_directory(path) {
                Ok(()) => self.done.push(Undo::RemoveDirectory(path.to_owned())),
                // Another process created it a moment ago, so we must not remove it when undoing.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn create_beside(&mut self, parent: &Path, text: &str, like: Like<'_>) -> io::Result<PathBuf> {
        let disk = self.disk;
        let path = self.under_unused_name(parent, |path| disk.create_file(path, text.as_bytes(), like))?;
        self.done.push(Undo::RemoveFile(path.clone()));
        Ok(path)
    }

    /// Creates a file under an unused name. Another patch may be looking for one in the same directory.
    fn under_unused_name(
        &mut self,
        parent: &Path,
        make: impl Fn(&Path) -> io::Result<()>,
    ) -> io::Result<PathBuf> {
        let last = self.names + MAX_NAMES;
        loop {
            self.names += 1;
            let path = parent.join(format!(".windlass-patch-{}-{}", std::process::id(), self.names));
            match make(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && self.names < last => {}
                outcome => return outcome.map(|()| path),
            }
        }
    }

    /// Moves a staged text into its place. Returns the old file that is left beside it, if there is one.
    fn put(&mut self, staged: Staged<'a>) -> Result<Option<PathBuf>, Failure> {
        match staged {
            Staged::Aside(step, aside) if step.before.is_none() => self.put_into_free_place(step, aside),
            Staged::Aside(step, aside) => self.exchange(step, aside),
            Staged::Removal(step) => self.set_aside(step),
            Staged::InPlace(step, text) => self.overwrite(step, text),
        }
    }

    fn put_into_free_place(&mut self, step: &FileStep, aside: PathBuf) -> Result<Option<PathBuf>, Failure> {
        self.disk.rename(&aside, &step.place).map_err(|source| Failure::of(step, source))?;
        self.done.push(Undo::Rename { from: step.place.clone(), to: aside });
        Ok(None)
    }

    fn exchange(&mut self, step: &FileStep, aside: PathBuf) -> Result<Option<PathBuf>, Failure> {
        self.disk.exchange(&aside, &step.place).map_err(|source| Failure::of(step, source))?;
        self.done.push(Undo::Exchange(aside.clone(), step.place.clone()));
        self.check_old(step, aside)
    }

    fn set_aside(&mut self, step: &FileStep) -> Result<Option<PathBuf>, Failure> {
        let disk = self.disk;
        let aside = self.under_unused_name(step.parent(), |path| disk.rename(&step.place, path));
        let aside = aside.map_err(|source| Failure::of(step, source))?;
        self.done.push(Undo::Rename { from: aside.clone(), to: step.place.clone() });
        self.check_old(step, aside)
    }

    /// Checks the old file once more, now that other processes no longer find it under its name: text that another
    /// process wrote a moment ago must not be lost.
    fn check_old(&self, step: &FileStep, aside: PathBuf) -> Result<Option<PathBuf>, Failure> {
        match inspect::load(&aside) {
            Ok(text) if text == step.before => Ok(Some(aside)),
            _ => Err(Failure::Changed { path: step.written.clone() }),
        }
    }

    fn overwrite(&mut self, step: &'a FileStep, text: &str) -> Result<Option<PathBuf>, Failure> {
        let old = step.before.as_deref().unwrap_or_default();
        self.done.push(Undo::Overwrite { place: &step.place, text: old });
        let outcome = self.disk.overwrite(&step.place, text.as_bytes());
        outcome.map(|()| None).map_err(|source| Failure::of(step, source))
    }
}

impl Failure {
    fn of(step: &FileStep, source: io::Error) -> Self {
        Self::Write { path: step.written.clone(), source }
    }
}

/// Whether the place holds a file that can be overwritten, as opposed to nothing or a link that is to be removed.
fn is_plain_file(step: &FileStep) -> bool {
    step.before.is_some() && step.link.is_none()
}

/// Whether a file has other hard links: replacing it would separate it from them.
fn has_other_names(place: &Path) -> bool {
    fs::symlink_metadata(place).is_ok_and(|found| found.is_file() && found.nlink() > 1)
}

fn take_all_back(work: Work<'_>, failure: Failure, steps: &[FileStep]) -> ApplyError {
    let stuck = take_back(work.done, work.disk);
    let error = match failure {
        Failure::Changed { path } => ApplyError::Changed { path },
        Failure::Write { path, source } => ApplyError::Write { path, source },
    };
    if stuck.is_empty() {
        return error;
    }
    let reason = match error {
        ApplyError::Write { path, source } => format!("Failed to write file {path}: {source}"),
        ApplyError::Changed { path } => format!("{path} changed on disk since the patch was verified"),
        stuck @ ApplyError::Stuck { .. } => stuck.to_string(),
    };
    let files = steps.iter().map(FileState::of).collect();
    let stuck = stuck.into_iter().map(|stuck| (stuck.path, stuck.error.to_string())).collect();
    ApplyError::Stuck { reason, files, stuck }
}

/// Removes the old files.
fn tidy_up(asides: Vec<PathBuf>, disk: &dyn Disk) -> Vec<Warning> {
    let removed = asides.into_iter().map(|path| (disk.remove_file(&path), path));
    removed
        .filter_map(|(outcome, path)| {
            outcome.err().map(|error| Warning::LeftBehind { path, reason: error.to_string() })
        })
        .collect()
}
