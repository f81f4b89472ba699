//! What a file is found to be after taking back has failed. Looked up on the disk, never concluded from what was done.

use std::fmt;
use std::path::PathBuf;

use crate::inspect;
use crate::plan::FileStep;

/// A file of a patch, as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileState {
    /// Its path, as written in the patch.
    pub path: String,
    /// What it is.
    pub condition: Condition,
}

/// What has become of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It is as it was before the patch; if there was none, there is none.
    AsBefore,
    /// It is as the patch wants it; if it should be gone, it is.
    AsPatched,
    /// It should be there, in one way or the other, and is not.
    Missing,
    /// It is neither the old nor the new one, such as half of it.
    Neither,
    /// It cannot be read.
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

/// All files, and what still lies about, line by line.
pub(super) fn list(files: &[FileState], stuck: &[(PathBuf, String)]) -> String {
    let files = files.iter().map(|file| format!("{}: {}", file.path, file.condition));
    let stuck = stuck.iter().map(|(path, reason)| format!("left at {}: {reason}", path.display()));
    files.chain(stuck).collect::<Vec<_>>().join("\n")
}
