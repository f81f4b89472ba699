//! Reports the state of each file after undoing has failed. The state is read from the disk, never derived from the
//! steps that were done.

use std::fmt;
use std::path::PathBuf;

use crate::inspect;
use crate::plan::FileStep;

/// A file of a patch, and its state now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileState {
    /// Its path, as written in the patch.
    pub path: String,
    /// Its state.
    pub condition: Condition,
}

/// The state of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// As before the patch; if it did not exist, it does not exist.
    AsBefore,
    /// As the patch wants it; if it should be removed, it is.
    AsPatched,
    /// The file should exist both before and after the patch, but does not.
    Missing,
    /// Neither the old nor the new text, such as half of it.
    Neither,
    /// The file cannot be read.
    Unreadable,
}

impl FileState {
    pub(crate) fn of(step: &FileStep) -> Self {
        let condition = match inspect::load(&step.place) {
            Ok(text) if text == step.before => Condition::AsBefore,
            Ok(text) if text == step.after => Condition::AsPatched,
            Ok(None) => Condition::Missing,
            Ok(Some(_)) => Condition::Neither,
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => Condition::Neither,
            Err(_) => Condition::Unreadable,
        };
        Self { path: step.written.clone(), condition }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AsBefore => "as before the patch",
            Self::AsPatched => "as the patch wants it",
            Self::Missing => "missing",
            Self::Neither => "neither as before nor as the patch wants it",
            Self::Unreadable => "cannot be read",
        })
    }
}

/// Formats all files, and the temporary files that are left, line by line.
pub(super) fn list(files: &[FileState], stuck: &[(PathBuf, String)]) -> String {
    let files = files.iter().map(|file| format!("{}: {}", file.path, file.condition));
    let stuck = stuck.iter().map(|(path, reason)| format!("left at {}: {reason}", path.display()));
    files.chain(stuck).collect::<Vec<_>>().join("\n")
}
