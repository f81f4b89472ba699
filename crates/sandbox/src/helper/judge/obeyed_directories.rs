//! Directories that contain a file which other programs obey: `.hg` with `hgrc`, `.jj` with the configuration of its
//! repository. The name of the file itself is protected, but a command could write it under another name and then move,
//! or link, the directory around it.

use super::{CallDecision, Judge};
use crate::calls::WRITING;
use crate::denial::{Denial, Operation};
use crate::helper::emulated::{EmulatedSyscall, Made, Opening, What};
use crate::helper::place::NamedEntry;
use crate::obeyed_names::{ObeyedInside, ObeyedName};
use crate::plan::{TEMPORARY, ruling_at};
use crate::policy::Access;
use crate::protect;
use rustix::fs::RenameFlags;
use rustix::io::Errno;
use std::io::ErrorKind;
use std::path::Path;

impl Judge<'_> {
    /// Why an emulated call is refused: it would create such a file, or a link or file that leads to one elsewhere.
    pub(super) fn brings_obeyed_file(&self, emulated: &EmulatedSyscall) -> Option<CallDecision> {
        let unseen = |operation, entry: &NamedEntry| self.obeyed_inside(operation, entry, |_| true);
        let moved = |from: &NamedEntry, to: &NamedEntry| {
            // An object other than a directory may lead to such files, and these may be created later.
            let is_directory = from.look().is_ok_and(|seen| seen.is_directory());
            let source = from.path();
            self.obeyed_inside(Operation::Rename, to, |inside| {
                !is_directory || may_exist(&source.join(inside))
            })
        };
        match emulated {
            EmulatedSyscall::Make { what: Made::Directory(_) | Made::Marked { .. }, .. } => None,
            EmulatedSyscall::Make { entry, .. } => unseen(Operation::Create, entry),
            EmulatedSyscall::Link { to, .. } => unseen(Operation::Link, to),
            EmulatedSyscall::Open(Opening { what: What::Named(entry), flags, .. })
                if flags.bits() & WRITING != 0 =>
            {
                unseen(Operation::Create, entry).filter(|_| !entry.exists())
            }
            EmulatedSyscall::Move { from, to, flags } => {
                let is_exchange = flags.contains(RenameFlags::EXCHANGE);
                moved(from, to).or_else(|| is_exchange.then(|| moved(to, from))?)
            }
            _ => None,
        }
    }

    fn obeyed_inside(
        &self,
        operation: Operation,
        entry: &NamedEntry,
        is_brought: impl Fn(&Path) -> bool,
    ) -> Option<CallDecision> {
        let path = entry.path();
        let found = ObeyedInside::of(&path)
            .into_iter()
            .find(|it| self.is_in_force(&it.obeyed, &path.join(&it.inside)) && is_brought(&it.inside))?;
        let rule = protect::obeyed(found.obeyed.name);
        let target = path.display().to_string();
        Some(CallDecision::Refuse(Errno::PERM, Denial { operation, target, rule, times: 1 }))
    }

    /// At the top of a writable place, and in directories that were there before the runtime.
    fn is_in_force(&self, obeyed: &ObeyedName, file: &Path) -> bool {
        let Some(place) = ruling_at(&self.order.rulings, file).filter(|it| it.access == Access::Write) else {
            return false;
        };
        // A place may be a directory of the name itself (`.jj`), but not the file, which a rule names then.
        match place.path.starts_with(&obeyed.directory) && !place.path.starts_with(file) {
            true => place.origin != TEMPORARY,
            false => {
                obeyed.directory.starts_with(&place.path) && self.is_older(&obeyed.directory) == Some(true)
            }
        }
    }
}

/// A file that cannot be looked up may exist.
fn may_exist(path: &Path) -> bool {
    match path.symlink_metadata() {
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}
