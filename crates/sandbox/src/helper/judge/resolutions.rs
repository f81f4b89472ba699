//! Resolutions of conflicts that git remembers (`git rerere`). `MERGE_RR` lists files with conflicts, and the next `git commit` copies
//! each of them into `rr-cache`, wherever it lies: an absolute path, or a link in the work tree. Git reads the list whenever there is a
//! directory `rr-cache`. A command that must not read a file could so have the user's git copy the file for it. Where something is
//! denied, the list of a command is therefore empty.

use super::git_dirs::{Arrival, is_git_dir};
use super::{Answer, Judge};
use crate::denial::Denial;
use crate::helper::deed::Deed;
use crate::helper::place::{Entry, Seen};
use crate::plan::Ruling;
use rustix::io::Errno;
use std::ffi::OsStr;

const LIST: &str = "MERGE_RR";

impl Judge<'_> {
    /// Why the list must not come or change; git replaces it by renaming, also if it is empty.
    pub(super) fn new_resolutions(
        &self,
        entry: &Entry,
        arrival: Arrival<'_>,
    ) -> Option<Result<Deed, Answer>> {
        if !self.is_kept_list(&entry.name) || !is_git_dir(&entry.directory) {
            return None;
        }
        if let Arrival::Moved(from) = arrival
            && let Ok(seen) = from.look()
            && seen.is_regular()
            && seen.about.st_size == 0
        {
            // A copy, because the caller may go on writing to the file that it moves.
            let (from, to) = (from.clone(), entry.clone());
            return Some(Ok(Deed::Replace { from, to, seen, bytes: Vec::new() }));
        }
        let rule = "protected: git would copy the files that it lists, and some must not be read; `git rerere` works outside".to_owned();
        let (operation, target) = (arrival.operation(), entry.path().display().to_string());
        Some(Err(Answer::Refuse(Errno::PERM, Denial { operation, target, rule, times: 1 })))
    }

    /// Whether a directory that becomes a repository has such a list.
    pub(super) fn has_resolutions(&self, directory: &Seen) -> bool {
        let entry = Entry { directory: directory.clone(), name: LIST.into(), given: LIST.into() };
        self.is_kept_list(&entry.name) && entry.exists()
    }

    pub(super) fn is_kept_list(&self, name: &OsStr) -> bool {
        name.eq_ignore_ascii_case(LIST) && self.order.rulings.iter().any(Ruling::hides_content)
    }
}
