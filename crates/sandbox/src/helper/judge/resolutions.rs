//! Resolutions of conflicts that git remembers (`git rerere`). `MERGE_RR` lists files with conflicts. The next `git
//! commit` copies each of them into `rr-cache`, and `git rerere` writes remembered resolutions into them, wherever they
//! lie: at an absolute path, or behind a link that is made in the work tree later. Git reads the list whenever there is
//! a directory `rr-cache`. A command could so have the user's git copy a hidden file for it, or overwrite a file
//! outside. The list of a command is therefore always empty: git writes it by renaming a file, and the file that
//! arrives is empty. Nothing fails, and git remembers no resolution.

use super::git_dirs::{Arrival, is_git_dir};
use super::{CallDecision, Judge};
use crate::denial::Denial;
use crate::helper::emulated::EmulatedSyscall;
use crate::helper::place::{NamedEntry, Seen};
use rustix::io::Errno;
use std::ffi::OsStr;

const LIST: &str = "MERGE_RR";

impl Judge<'_> {
    /// The empty list that replaces another one, or the reason why the list must not be created or changed.
    pub(super) fn new_resolutions(
        entry: &NamedEntry,
        arrival: Arrival<'_>,
    ) -> Option<Result<EmulatedSyscall, CallDecision>> {
        if !is_list_of_conflicts(&entry.name) || !is_git_dir(&entry.directory) {
            return None;
        }
        if let Arrival::Moved(from) = arrival
            && let Ok(seen) = from.look()
            && seen.is_regular()
        {
            // A copy, because the caller may go on writing to the file that it moves.
            let (from, to) = (from.clone(), entry.clone());
            return Some(Ok(EmulatedSyscall::Replace { from, to, seen, bytes: Vec::new() }));
        }
        let rule = "protected: git would read and write the files that it lists; `git rerere` works outside"
            .to_owned();
        let (operation, target) = (arrival.operation(), entry.path().display().to_string());
        Some(Err(CallDecision::Refuse(Errno::PERM, Denial { operation, target, rule, times: 1 })))
    }

    /// Whether a directory that becomes a repository has such a list, which is not empty.
    pub(super) fn has_resolutions(directory: &Seen) -> bool {
        let entry = NamedEntry { directory: directory.clone(), name: LIST.into(), given: LIST.into() };
        entry.look().is_ok_and(|seen| !seen.is_regular() || seen.about.st_size != 0)
    }
}

pub(super) fn is_list_of_conflicts(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(LIST)
}
