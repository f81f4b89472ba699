//! Links, pipes and devices in git directories.
//!
//! Git writes and reads many files of a repository by their names, and follows links there: with a link in the place of
//! `COMMIT_EDITMSG` the user's next commit overwrites a file of the user's, with one in the place of `MERGE_MSG` it
//! copies a denied file into its message. For a pipe it waits. Git itself makes none of these, so no command puts any
//! into a git directory, at any depth: neither by making one there, nor by moving or linking one there, nor in a
//! directory that is moved there, nor in a directory that becomes a git directory afterwards. Links that were there
//! before stay, and a command can remove them.
//!
//! Second names of regular files (hard links) need no rule here: a command cannot link a file that it may not write or
//! read.

use super::git_dirs::{has, marks_git_dir};
use super::repositories::is_repository_name;
use super::{CallDecision, Judge};
use crate::denial::{Denial, Operation};
use crate::helper::emulated::{EmulatedSyscall, Made};
use crate::helper::place::{NamedEntry, Seen};
use crate::plan::ruling_at;
use crate::policy::Access;
use rustix::fs::{AtFlags, FileType, RenameFlags, statat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::DirEntry;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Directories that git, or a program that extends it, has in a git directory.
const OWN_PARTS: [&str; 21] = [
    "annex",
    "branches",
    "filter-repo",
    "fsmonitor--daemon",
    "hooks",
    "info",
    "lfs",
    "logs",
    "lost-found",
    "modules",
    "notes_merge_worktree",
    "objects",
    "rebase-apply",
    "rebase-merge",
    "refs",
    "reftable",
    "remotes",
    "rr-cache",
    "sequencer",
    "svn",
    "worktrees",
];
/// The most names that are looked at in a directory that is moved into a git directory or becomes one.
pub(super) const MOST_NAMES: usize = 200_000;

impl Judge<'_> {
    /// Why an emulated call is refused: it would put a link, a pipe or a device into a git directory.
    pub(super) fn link_in_git_dir(&self, emulated: &EmulatedSyscall) -> Option<CallDecision> {
        match emulated {
            EmulatedSyscall::Make { entry, what: Made::Link { target } } => {
                self.special_arrives(Operation::Create, entry).filter(|_| !is_probe(entry, target))
            }
            EmulatedSyscall::Make { entry, what: Made::Node { kind, .. } } if is_special(*kind) => {
                self.special_arrives(Operation::Create, entry)
            }
            EmulatedSyscall::Link { from, to } if is_special(from.kind()) => {
                self.special_arrives(Operation::Link, to)
            }
            EmulatedSyscall::Move { from, to, flags } => {
                let is_exchange = flags.contains(RenameFlags::EXCHANGE);
                self.moved_with_links(from, to)
                    .or_else(|| self.moved_with_links(to, from).filter(|_| is_exchange))
            }
            _ => None,
        }
    }

    fn special_arrives(&self, operation: Operation, entry: &NamedEntry) -> Option<CallDecision> {
        self.git_dir_around(entry).map(|git_dir| refusal(operation, entry, &git_dir, &entry.path()))
    }

    fn moved_with_links(&self, from: &NamedEntry, to: &NamedEntry) -> Option<CallDecision> {
        let seen = from.look().ok().filter(|seen| is_special(seen.kind()) || seen.is_directory())?;
        if !seen.is_directory() {
            return self.special_arrives(Operation::Rename, to);
        }
        let git_dir = self.git_dir_with(to)?;
        let inside = first_special_in(&seen, WorkTrees::None, MOST_NAMES)?;
        Some(refusal(Operation::Rename, to, &git_dir, &seen.path.join(inside)))
    }

    /// The git directory that a directory of this name is, or is a part of. The user may turn one called `.git` into a
    /// repository.
    pub(super) fn git_dir_with(&self, entry: &NamedEntry) -> Option<PathBuf> {
        let is_repository = is_repository_name(Some(&entry.name)) && !self.is_left_to_command(&entry.path());
        is_repository.then(|| entry.path()).or_else(|| self.git_dir_around(entry))
    }

    /// The git directory that a new name belongs to, or completes.
    pub(super) fn git_dir_around(&self, entry: &NamedEntry) -> Option<PathBuf> {
        let directory = &entry.directory;
        let is_here = |name: &str| entry.name.eq_ignore_ascii_case(name) || has(directory, name);
        if marks_git_dir(is_here) && !self.is_left_to_command(&directory.path) {
            return Some(directory.path.clone());
        }
        let mut up = String::from(".");
        let mut below: &OsStr = &entry.name;
        let mut is_in_work_tree = false;
        for above in directory.path.ancestors() {
            let is_git_dir = self.is_git_dir_at(directory, &up, above);
            let is_elsewhere = is_in_work_tree && may_have_work_trees(above) && !is_own_part(below);
            if is_git_dir && !is_elsewhere && !self.is_left_to_command(above) {
                return Some(above.to_owned());
            }
            is_in_work_tree |= exists(directory, &format!("{up}/.git"));
            below = above.file_name().unwrap_or_default();
            up.push_str("/..");
        }
        None
    }

    /// Whether a directory above another one, so many steps up, is a git directory, or will be. In a directory that the
    /// command cannot write, it cannot have removed a permission either: there, a name that cannot be looked up does
    /// not exist.
    fn is_git_dir_at(&self, directory: &Seen, up: &str, above: &Path) -> bool {
        let is_of_plan = self.order.repositories.iter().any(|repository| repository.git_dir == above);
        let is_writable =
            ruling_at(&self.order.rulings, above).is_some_and(|ruling| ruling.access == Access::Write);
        let is_there = |name: &str| {
            let name = format!("{up}/{name}");
            if is_writable { has(directory, &name) } else { exists(directory, &name) }
        };
        is_of_plan || is_repository_name(above.file_name()) || marks_git_dir(is_there)
    }
}

/// Why a name must not make a directory a git directory: the link, pipe or device in it.
pub(super) fn link_in_new_git_dir(operation: Operation, entry: &NamedEntry) -> Option<CallDecision> {
    let git_dir = &entry.directory;
    let inside = first_special_in(git_dir, WorkTrees::of(git_dir), MOST_NAMES)?;
    Some(refusal(operation, entry, &git_dir.path, &git_dir.path.join(inside)))
}

/// Whether a directory has work trees in it beside the parts of a repository.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkTrees {
    Beside,
    None,
}

impl WorkTrees {
    pub(super) fn of(git_dir: &Seen) -> Self {
        if may_have_work_trees(&git_dir.path) { Self::Beside } else { Self::None }
    }
}

/// The path, from `top` on, of the first link, pipe or device below it, of a directory that cannot be read, or of the
/// name after the `most` allowed ones.
pub(super) fn first_special_in(top: &Seen, work_trees: WorkTrees, most: usize) -> Option<PathBuf> {
    let held = PathBuf::from(top.link());
    let inside = |path: &Path| path.strip_prefix(&held).unwrap_or(path).to_owned();
    let mut names = 0;
    let mut open = vec![(held.clone(), work_trees)];
    while let Some((directory, work_trees)) = open.pop() {
        let is_top = directory == held;
        let Ok(entries) = std::fs::read_dir(&directory) else { return Some(inside(&directory)) };
        for entry in entries {
            names += 1;
            let Ok(entry) = entry else { return Some(inside(&directory)) };
            if names > most || is_special_entry(&entry) {
                return Some(inside(&entry.path()));
            }
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let is_beside = work_trees == WorkTrees::Beside && !(is_top && is_own_part(&entry.file_name()));
            let is_work_tree = || is_beside && entry.path().join(".git").symlink_metadata().is_ok();
            if is_directory && !is_work_tree() {
                open.push((entry.path(), if is_beside { WorkTrees::Beside } else { WorkTrees::None }));
            }
        }
    }
    None
}

/// An entry that cannot be examined may be a link.
fn is_special_entry(entry: &DirEntry) -> bool {
    entry.file_type().map_or(true, |kind| {
        kind.is_symlink() || kind.is_fifo() || kind.is_char_device() || kind.is_block_device()
    })
}

pub(super) fn is_special(kind: FileType) -> bool {
    matches!(kind, FileType::Symlink | FileType::Fifo | FileType::CharacterDevice | FileType::BlockDevice)
}

/// Before it makes `HEAD`, `git init` tests whether the file system has links, with one that leads to a name beside it.
/// That name itself is not a link; the link's own name is random, and git writes nothing under it.
pub(super) fn is_probe(entry: &NamedEntry, target: &OsStr) -> bool {
    let is_random = |name: &[u8]| name.len() == 6 && name.iter().all(u8::is_ascii_alphanumeric);
    target == "testing" && entry.name.as_bytes().strip_prefix(b"t").is_some_and(is_random)
}

fn may_have_work_trees(git_dir: &Path) -> bool {
    !is_repository_name(git_dir.file_name())
}

fn is_own_part(name: &OsStr) -> bool {
    OWN_PARTS.iter().any(|part| name.eq_ignore_ascii_case(part))
}

fn exists(directory: &Seen, name: &str) -> bool {
    statat(directory.hold(), name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

fn refusal(operation: Operation, entry: &NamedEntry, git_dir: &Path, inside: &Path) -> CallDecision {
    CallDecision::Refuse(Errno::PERM, denial(operation, &entry.path(), git_dir, inside))
}

pub(super) fn denial(operation: Operation, path: &Path, git_dir: &Path, inside: &Path) -> Denial {
    let rule = format!(
        "protected: git would follow or wait for {}, a link, pipe or device in {}",
        inside.display(),
        git_dir.display()
    );
    Denial { operation, target: path.display().to_string(), rule, times: 1 }
}
