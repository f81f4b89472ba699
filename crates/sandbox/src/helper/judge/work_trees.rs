//! Files that git's configuration names by relative paths, such as `core.hooksPath = .githooks`. Such a path means
//! another file in every work tree of the repository. In those that the plan knows, rules protect the file. This is
//! about the others: linked worktrees that a command adds, and every other directory whose `.git` leads to another
//! repository.
//!
//! Where a `.git` file leads can be changed later, by exchanging what is there. So this does not ask whether it leads
//! to a repository of the user's: in a directory with such a `.git`, each named file is empty or a copy of the one in
//! the work tree that the plan knows, which no command can change. A checkout of the same content therefore works. And
//! such a `.git` does not come into a directory that has files of these names already.

use super::configurations::bytes_of;
use super::git_dirs::has;
use super::repositories::is_repository_name;
use super::{CallDecision, Judge};
use crate::calls::WRITING;
use crate::denial::{Denial, Operation};
use crate::helper::draft::{ContentRule, DraftOpening, JudgedContent};
use crate::helper::emulated::{Change, EmulatedSyscall, Made, Opening, What};
use crate::helper::place::{NamedEntry, Seen};
use crate::protect::NamedFile;
use rustix::fs::{Mode, OFlags, RenameFlags, open};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

const COMMON: &str = "commondir";

/// The relation of a path to a file that git obeys in the work tree around it.
#[derive(Debug, PartialEq, Eq)]
enum Relation {
    /// It is the file, or below it if that is a directory. Holds the path of the file's original.
    Inside(PathBuf),
    /// It is a directory above the file. Holds the remaining path to the file.
    Above(PathBuf),
}

impl Judge<'_> {
    /// Judges an emulated call in a directory whose `.git` leads to another repository.
    pub(super) fn in_linked_work_tree(
        &self,
        emulated: EmulatedSyscall,
    ) -> Result<EmulatedSyscall, CallDecision> {
        if self.order.named_files.is_empty() {
            return Ok(emulated);
        }
        match &emulated {
            EmulatedSyscall::Make { what: Made::Directory(_) | Made::Marked { .. }, .. } => Ok(emulated),
            EmulatedSyscall::Make { entry, .. } => {
                self.unjudged_file(Operation::Create, entry).map_or(Ok(emulated), Err)
            }
            EmulatedSyscall::Link { from, to } => {
                let refused = self.refused_inside(Operation::Link, &from.path);
                refused.or_else(|| self.unjudged_file(Operation::Link, to)).map_or(Ok(emulated), Err)
            }
            EmulatedSyscall::Move { from, to, flags } if flags.contains(RenameFlags::EXCHANGE) => {
                let refused =
                    [from, to].into_iter().find_map(|entry| self.unjudged_file(Operation::Rename, entry));
                refused.map_or(Ok(emulated), Err)
            }
            EmulatedSyscall::Move { from, to, .. } => {
                self.moved_into_work_tree(from, to).unwrap_or(Ok(emulated))
            }
            EmulatedSyscall::Open(Opening { what: What::Named(entry), flags, mode })
                if flags.bits() & WRITING != 0 =>
            {
                if let Some(refused) =
                    self.new_leading_name(Operation::Create, entry).filter(|_| !entry.exists())
                {
                    return Err(refused);
                }
                match self.relation(&entry.path()) {
                    Some(Relation::Inside(original)) => {
                        let rule = ContentRule::CopyOf(original);
                        let opening = DraftOpening { entry: entry.clone(), rule, flags: *flags, mode: *mode };
                        Ok(EmulatedSyscall::Draft(opening))
                    }
                    _ => Ok(emulated),
                }
            }
            EmulatedSyscall::Open(Opening { what: What::Held(seen), flags, .. })
                if flags.bits() & WRITING != 0 =>
            {
                self.refused_inside(Operation::Write, &seen.path).map_or(Ok(emulated), Err)
            }
            EmulatedSyscall::Change { seen, how: Change::Length(_) } => {
                self.refused_inside(Operation::Truncate, &seen.path).map_or(Ok(emulated), Err)
            }
            _ => Ok(emulated),
        }
    }

    /// An object arrives by renaming: a file with known content, or a directory with everything in it.
    fn moved_into_work_tree(
        &self,
        from: &NamedEntry,
        to: &NamedEntry,
    ) -> Option<Result<EmulatedSyscall, CallDecision>> {
        let seen = from.look().ok()?;
        let leads = !seen.is_directory() || has(&seen, COMMON);
        if let Some(refused) = self.new_leading_name(Operation::Rename, to).filter(|_| leads) {
            return Some(Err(refused));
        }
        let path = to.path();
        match self.relation(&path)? {
            Relation::Inside(original) if seen.is_regular() => {
                Some(match ContentRule::CopyOf(original).judge(&seen, to) {
                    Ok(JudgedContent { bytes, like, .. }) => {
                        Ok(EmulatedSyscall::Replace { from: from.clone(), to: to.clone(), seen: like, bytes })
                    }
                    Err(denial) => Err(CallDecision::Refuse(
                        Errno::PERM,
                        Denial { operation: Operation::Rename, ..denial },
                    )),
                })
            }
            Relation::Inside(original) => Some(Err(refusal(Operation::Rename, &path, &original))),
            Relation::Above(rest) if seen.is_directory() => {
                first_in_the_way(&from.path(), &rest).map(|_| Err(refusal(Operation::Rename, &path, &rest)))
            }
            Relation::Above(rest) => Some(Err(refusal(Operation::Rename, &path, &rest))),
        }
    }

    /// A link, a node or a second name of a file is created, whose later content is unknown.
    fn unjudged_file(&self, operation: Operation, entry: &NamedEntry) -> Option<CallDecision> {
        let path = entry.path();
        self.new_leading_name(operation, entry).or_else(|| match self.relation(&path)? {
            Relation::Inside(original) => Some(refusal(operation, &path, &original)),
            Relation::Above(rest) => Some(refusal(operation, &path, &rest)),
        })
    }

    fn refused_inside(&self, operation: Operation, path: &Path) -> Option<CallDecision> {
        match self.relation(path)? {
            Relation::Inside(original) => Some(refusal(operation, path, &original)),
            Relation::Above(_) => None,
        }
    }

    /// A name is created by which a directory can lead to another repository: it must not contain files that this
    /// repository obeys.
    fn new_leading_name(&self, operation: Operation, entry: &NamedEntry) -> Option<CallDecision> {
        let directory = &entry.directory.path;
        let is_common = entry.name.eq_ignore_ascii_case(COMMON) && is_repository_name(directory.file_name());
        let work_tree = match is_repository_name(Some(&entry.name)) {
            true => directory,
            false => directory.parent().filter(|_| is_common)?,
        };
        let obeyed =
            self.order.named_files.iter().find_map(|file| first_in_the_way(work_tree, &file.name))?;
        let rule = format!(
            "protected: git would obey {} here, if this led to a repository of yours; remove it first",
            obeyed.display()
        );
        let target = entry.path().display().to_string();
        Some(CallDecision::Refuse(Errno::PERM, Denial { operation, target, rule, times: 1 }))
    }

    /// The relation of a path to obeyed files in the directory around it, if that directory's `.git` leads elsewhere.
    fn relation(&self, path: &Path) -> Option<Relation> {
        let relations = self.order.named_files.iter().flat_map(|file| relations_to(file, path));
        let is_linked = |work_tree: &Path| {
            let is_of_plan = self.order.repositories.iter().any(|it| it.work_tree == work_tree);
            !is_of_plan && leads_elsewhere(work_tree)
        };
        relations.filter(|(work_tree, _)| is_linked(work_tree)).map(|(_, relation)| relation).next()
    }
}

/// The ways in which a path can be, or be above, a file of this name, with the directory that would be the work tree.
fn relations_to<'a>(
    file: &'a NamedFile,
    path: &'a Path,
) -> impl Iterator<Item = (PathBuf, Relation)> + use<'a> {
    let names: Vec<&OsStr> = file.name.iter().collect();
    let work_trees = path.ancestors().skip(1);
    work_trees.filter_map(move |work_tree| {
        let below = path.strip_prefix(work_tree).ok()?;
        let is_same = below.iter().zip(&names).all(|(one, other)| one.eq_ignore_ascii_case(other));
        let relation = match below.iter().count() < names.len() {
            true => Relation::Above(names[below.iter().count()..].iter().collect()),
            false => Relation::Inside(file.work_tree.join(below)),
        };
        is_same.then(|| (work_tree.to_owned(), relation))
    })
}

/// Whether the files of a directory may belong to a repository elsewhere; true if `.git` cannot be inspected.
fn leads_elsewhere(work_tree: &Path) -> bool {
    let git = work_tree.join(".git");
    match git.symlink_metadata() {
        Ok(about) if about.is_dir() => git.join(COMMON).symlink_metadata().is_ok(),
        Ok(_) => true,
        Err(error) => {
            !matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
        }
    }
}

/// The file at a name below a directory, or the first link on the path to it, which may lead to such a file later.
pub(super) fn first_in_the_way(directory: &Path, name: &Path) -> Option<PathBuf> {
    let mut at = directory.to_owned();
    for part in name {
        at.push(part);
        let is_link = at.symlink_metadata().ok()?.is_symlink();
        if is_link {
            return Some(at);
        }
    }
    Some(at)
}

fn refusal(operation: Operation, path: &Path, original: &Path) -> CallDecision {
    CallDecision::Refuse(Errno::PERM, denial(operation, path, original))
}

fn denial(operation: Operation, path: &Path, original: &Path) -> Denial {
    let rule = format!(
        "protected: your git configuration names it, in every worktree; it can only be a copy of {}",
        original.display()
    );
    Denial { operation, target: path.display().to_string(), rule, times: 1 }
}

/// A file that is a copy of another one, or its beginning. The beginning is not put in place yet: the rest may follow.
pub(in crate::helper) fn judge_copy(
    seen: &Seen,
    entry: &NamedEntry,
    original: &Path,
) -> Result<JudgedContent, Denial> {
    let refused = || denial(Operation::Write, &entry.path(), original);
    let bytes = bytes_of(seen).ok_or_else(refused)?;
    let there = entry.look().ok().and_then(|there| bytes_of(&there)).unwrap_or_default();
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let expected = open(original, flags, Mode::empty()).ok().and_then(|file| Seen::of(file).ok());
    let expected = expected.and_then(|seen| bytes_of(&seen)).unwrap_or_default();
    if !expected.starts_with(&bytes) {
        return Err(refused());
    }
    let is_beginning = !bytes.is_empty() && bytes.len() < expected.len();
    Ok(JudgedContent { is_same: is_beginning || there == bytes, bytes, like: seen.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_in_every_directory_that_could_be_a_work_tree() {
        let file = NamedFile { name: "tools/hooks".into(), work_tree: "/w".into() };
        let check = |path: &str, expected: &[(&str, Relation)]| {
            let found: Vec<_> = relations_to(&file, Path::new(path)).collect();
            let expected: Vec<_> =
                expected.iter().map(|(at, relation)| (PathBuf::from(at), relation)).collect();
            assert!(
                found.iter().map(|(at, relation)| (at.clone(), relation)).eq(expected),
                "{path}: {found:?}"
            );
        };
        let inside = |original: &str| Relation::Inside(original.into());
        check("/w/wt/tools/hooks", &[("/w/wt", inside("/w/tools/hooks"))]);
        check("/w/wt/Tools/hooks/pre-commit", &[("/w/wt", inside("/w/Tools/hooks/pre-commit"))]);
        check("/w/wt/tools", &[("/w/wt", Relation::Above("hooks".into()))]);
        check("/w/wt/tools/hook", &[]);
        check("/w/wt/src/x", &[]);
    }
}
