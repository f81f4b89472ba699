//! Git repositories in writable places: a command may commit, but must not make the user's next `git status` run
//! programs.
//!
//! `git status` goes into every gitlink of the index, a path that stands for another repository, and obeys the
//! configuration there. So a command must never be able to combine two things: an index that names a gitlink, and a
//! repository at its path that a command wrote. An index is only ever replaced, never written in place, so each one is
//! judged before git can read it; and the new index is a copy that no process has open.

use super::git_dirs::{held, is_git_dir};
use super::{CallDecision, Judge, Judged};
use crate::denial::{Denial, Operation};
use crate::disk::{made_at, was_there_before};
use crate::git_index::Index;
use crate::helper::draft::JudgedContent;
use crate::helper::emulated::EmulatedSyscall;
use crate::helper::place::{NamedEntry, Seen};
use crate::protect::{self, CONFIGURATIONS, INNER, ORDERS, Repository};
use rustix::fs::{Mode, OFlags, RenameFlags, fstat, open};
use rustix::io::Errno;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

const REPOSITORY: &str = ".git";
const ODD_PATHS: &str = "protected: an index with a path that git never writes, such as `..` or `.git`";
const MODULES: &str = "modules";
const INDEX: &str = "index";
const SHARED_INDEX: &str = "sharedindex.";
/// Larger than any index: a million files take about a hundred bytes each.
const LARGEST_INDEX: u64 = 256 << 20;

/// Indexes that were read, by their paths, each with the stamp that shows whether it has changed since.
#[derive(Default)]
pub(in crate::helper) struct ReadIndexes(RefCell<HashMap<PathBuf, ReadIndex>>);

/// One of them. `index` is `None` if it cannot be parsed.
struct ReadIndex {
    stamp: Stamp,
    index: Rc<Option<Index>>,
}

/// Inode, size, and times of the last change of content and of status.
type Stamp = (u64, i64, i64, i64, i64, i64);

impl ReadIndexes {
    /// The content of an index; `None`: it exists and cannot be parsed.
    fn at(&self, path: &Path) -> Rc<Option<Index>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match open(path, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Rc::new(Some(Index::default())),
            Err(_) => return Rc::new(None),
        };
        let Ok(about) = fstat(&file) else { return Rc::new(None) };
        let stamp = (
            about.st_ino,
            about.st_size,
            about.st_mtime,
            about.st_mtime_nsec as i64,
            about.st_ctime,
            about.st_ctime_nsec as i64,
        );
        let mut read = self.0.borrow_mut();
        if let Some(known) = read.get(path).filter(|known| known.stamp == stamp) {
            return Rc::clone(&known.index);
        }
        let index = Rc::new(bytes_of(file).and_then(|bytes| Index::read(&bytes)));
        read.insert(path.to_owned(), ReadIndex { stamp, index: Rc::clone(&index) });
        index
    }
}

fn bytes_of(file: File) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let about = file.metadata().ok().filter(|about| about.is_file() && about.len() <= LARGEST_INDEX)?;
    bytes.reserve(usize::try_from(about.len()).ok()?);
    file.take(LARGEST_INDEX).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

impl Judge<'_> {
    /// Git replaces an index by renaming, so no program may write it in place.
    pub(super) fn written_index(&self, path: &Path) -> Option<String> {
        self.repository_of_index(path)
            .map(|_| "protected: git's index is replaced, not written in place".to_owned())
    }

    /// The repository of which this path is the index, or a shared part of it.
    fn repository_of_index(&self, path: &Path) -> Option<Repository> {
        let name = path.file_name()?;
        let is_index = name == INDEX || name.as_bytes().starts_with(SHARED_INDEX.as_bytes());
        if !is_index { None } else { self.repository_at(path.parent()?) }
    }

    /// A repository that git enters by itself: one of the plan's, or one at the path of a gitlink.
    fn repository_at(&self, git_dir: &Path) -> Option<Repository> {
        let known = self.order.repositories.iter().find(|repository| repository.git_dir == git_dir);
        known.cloned().or_else(|| {
            let work_tree = git_dir.parent().filter(|_| is_repository_name(git_dir.file_name()))?;
            self.is_gitlink(work_tree)
                .then(|| Repository { git_dir: git_dir.to_owned(), work_tree: work_tree.to_owned() })
        })
    }

    /// Why a path is protected that belongs to a repository at the path of a gitlink: git obeys it there, or it names
    /// that repository.
    pub(super) fn order_in_gitlink(&self, path: &Path) -> Option<String> {
        let work_tree = self.nested_order(path)?.parent()?;
        self.is_gitlink(work_tree)
            .then(|| format!("protected: git runs programs of the repository at {}", work_tree.display()))
    }

    /// Why a path must stay as it is because of an object around it that existed before the runtime: a repository below
    /// the workspace, or a directory in which other programs obey such a name. Commands may do as they like in those
    /// that they made themselves: clones and packages contain settings of editors. The same holds for those that
    /// commands removed and made again.
    pub(super) fn obeyed_in_older(&self, path: &Path) -> Option<String> {
        self.step_of_users_sequence(path)
            .or_else(|| self.order_in_older_repository(path))
            .or_else(|| self.name_in_older_directory(path))
    }

    fn name_in_older_directory(&self, path: &Path) -> Option<String> {
        let found = protect::obeyed_by_name(&self.order.rulings, path)?;
        self.is_older(&found.directory)?.then(|| protect::obeyed(found.name))
    }

    /// Why a path that git obeys in a repository below the workspace is protected. In a repository that commands have
    /// made since the runtime began, and in the repositories within it, commands may change files that run no program;
    /// a configuration is judged by its content in both (`git_dirs`).
    fn order_in_older_repository(&self, path: &Path) -> Option<String> {
        let git_dir = self.nested_order(path)?;
        if configuration_name(path).is_some() && path.parent() == Some(git_dir) {
            return None;
        }
        let first = path.strip_prefix(git_dir).ok().and_then(|rest| rest.iter().next());
        if first.is_some_and(|first| INNER.iter().any(|inner| first.eq_ignore_ascii_case(inner))) {
            return None;
        }
        self.is_older(git_dir)?.then(|| format!("protected: git obeys it in {}", git_dir.display()))
    }

    /// Whether a path is that of the configuration of a repository below the workspace that existed before the runtime.
    pub(super) fn is_configuration_of_older(&self, path: &Path) -> bool {
        let git_dir = path.parent().filter(|git_dir| is_repository_name(git_dir.file_name()));
        configuration_name(path).is_some()
            && git_dir.is_some_and(|git_dir| self.is_older(git_dir) == Some(true))
    }

    /// Whether an object existed before the runtime; `None`: the file system does not record when a file was made.
    pub(super) fn is_older(&self, path: &Path) -> Option<bool> {
        Some(was_there_before(made_at(path)?, self.order.runtime_began))
    }

    /// The repository that contains a path, if it is not one of the plan's and git obeys the object at the path.
    fn nested_order<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        let git_dir = path.ancestors().find(|above| is_repository_name(above.file_name()))?;
        let rest = path.strip_prefix(git_dir).ok()?;
        let is_order = rest
            .iter()
            .next()
            .is_none_or(|first| ORDERS.iter().chain(&INNER).any(|order| first.eq_ignore_ascii_case(order)));
        let is_of_plan = self.order.repositories.iter().any(|repository| repository.git_dir == git_dir);
        (is_order && !is_of_plan).then_some(git_dir)
    }

    /// Why a directory must not be created: it would be the repository of a new submodule of the user's. It is refused
    /// here although nothing in it would run: git makes the repository first, and then the index and the settings are
    /// refused. The repository would be left behind, and later plans would protect it like that of every submodule.
    pub(super) fn new_submodule(&self, operation: Operation, entry: &NamedEntry) -> Option<CallDecision> {
        let path = entry.path();
        let mut folders = self.order.repositories.iter().map(|repository| repository.git_dir.join(MODULES));
        let folder = folders.find(|folder| path.starts_with(folder))?;
        let mut above = entry
            .directory
            .path
            .ancestors()
            .take_while(|above| above.starts_with(&folder) && *above != folder);
        if above.any(|above| held(above).is_none_or(|above| is_git_dir(&above))) {
            return None;
        }
        let rule = "protected: submodules are added outside of the sandbox (`git submodule add`, `git submodule update --init`)";
        let denial =
            Denial { operation, target: path.display().to_string(), rule: rule.to_owned(), times: 1 };
        Some(CallDecision::Refuse(Errno::PERM, denial))
    }

    /// Whether a directory is the place of another repository by the index of the one around it. If that index cannot
    /// be read, it may be.
    fn is_gitlink(&self, directory: &Path) -> bool {
        let around = directory.ancestors().skip(1).find_map(|above| {
            let of_plan = self.order.repositories.iter().find(|repository| repository.work_tree == above);
            of_plan.cloned().or_else(|| {
                let git_dir = above.join(REPOSITORY);
                let is_inside = self.order.repositories.iter().any(|it| above.starts_with(&it.work_tree));
                (is_inside && git_dir.is_dir() && self.is_gitlink(above))
                    .then(|| Repository { git_dir, work_tree: above.to_owned() })
            })
        });
        let Some(Repository { git_dir, work_tree }) = around else { return false };
        let Ok(relative) = directory.strip_prefix(&work_tree) else { return false };
        match &*self.indexes.at(&git_dir.join(INDEX)) {
            Some(index) => index.is_split || index.gitlinks.contains(relative),
            None => true,
        }
    }

    /// Why a directory must not be moved to a path: a gitlink would stand for a repository in it.
    pub(super) fn moved_onto_gitlink(&self, from: &Path, to: &Path) -> Option<CallDecision> {
        for Repository { git_dir, work_tree } in &self.order.repositories {
            let index = self.indexes.at(&git_dir.join(INDEX));
            let Some(index) = index.as_ref() else { continue };
            let brings = |link: &&PathBuf| {
                let inside = work_tree.join(link);
                let brought = inside.strip_prefix(to).map(|below| from.join(below).join(REPOSITORY));
                brought.is_ok_and(|brought| brought.symlink_metadata().is_ok())
            };
            if let Some(link) = index.gitlinks.iter().find(brings) {
                let rule =
                    format!("protected: git would run programs of the repository at {}", link.display());
                let target = to.display().to_string();
                let denial = Denial { operation: Operation::Rename, target, rule, times: 1 };
                return Some(CallDecision::Refuse(Errno::PERM, denial));
            }
        }
        None
    }

    /// Judges the replacement of an index by renaming another file. `None`: no index is concerned.
    pub(super) fn replaced_index(
        &self,
        from: &NamedEntry,
        to: &NamedEntry,
        flags: RenameFlags,
    ) -> Option<Judged> {
        let (source, target) = (from.path(), to.path());
        if flags.contains(RenameFlags::EXCHANGE) && self.repository_of_index(&source).is_some() {
            return Some(Ok(self.refused(Operation::Rename, &source)));
        }
        let repository = self.repository_of_index(&target)?;
        if !flags.is_empty() {
            return Some(Ok(self.refused(Operation::Rename, &target)));
        }
        Some(from.look().map(|seen| match self.checked_index(&seen, &repository, &target) {
            Ok(bytes) => CallDecision::carry_out(EmulatedSyscall::Replace {
                from: from.clone(),
                to: to.clone(),
                seen,
                bytes,
            }),
            Err(rule) => {
                let target = target.display().to_string();
                let denial = Denial { operation: Operation::Rename, target, rule, times: 1 };
                CallDecision::Refuse(Errno::PERM, denial)
            }
        }))
    }

    /// The bytes of a new index, or a refusal with its rule.
    fn checked_index(&self, seen: &Seen, repository: &Repository, target: &Path) -> Result<Vec<u8>, String> {
        let unclear = || UNCLEAR.to_owned();
        let bytes = index_bytes(seen).ok_or_else(unclear)?;
        let new = Index::read(&bytes).ok_or_else(unclear)?;
        let old = self.indexes.at(&repository.git_dir.join(INDEX));
        let old = old.as_ref().as_ref();
        if new.is_split && !old.is_some_and(|old| old.is_split) {
            return Err("protected: a split index hides what is in it; `git update-index --no-split-index`"
                .to_owned());
        }
        if new.has_odd_paths {
            return Err(ODD_PATHS.to_owned());
        }
        if new.trees.iter().any(|tree| old.is_none_or(|old| !old.trees.contains(tree))) {
            return Err(
                "protected: a sparse index hides submodules; `git sparse-checkout disable`".to_owned()
            );
        }
        let is_new =
            |path: &&PathBuf| !target.ends_with(INDEX) || old.is_none_or(|old| !old.gitlinks.contains(*path));
        let brings = |path: &&PathBuf| {
            let inside = repository.work_tree.join(path).join(REPOSITORY);
            inside.symlink_metadata().is_ok()
        };
        match new.gitlinks.iter().filter(is_new).find(brings) {
            Some(path) => Err(format!(
                "protected: git would run programs of the repository at {}, which becomes a submodule",
                path.display()
            )),
            None => Ok(bytes),
        }
    }
}

const UNCLEAR: &str = "protected: this is no index that can be read";

fn index_bytes(seen: &Seen) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    open(seen.link(), flags, Mode::empty()).ok().and_then(|file| bytes_of(file.into()))
}

/// The index of a repository that is not one of the plan's. Git obeys the paths in it there, too.
pub(super) fn judge_index(seen: &Seen, entry: &NamedEntry) -> Result<JudgedContent, Denial> {
    let refused = |rule: &str| {
        let target = entry.path().display().to_string();
        Denial { operation: Operation::Write, target, rule: rule.to_owned(), times: 1 }
    };
    let bytes = index_bytes(seen).ok_or_else(|| refused(UNCLEAR))?;
    match Index::read(&bytes) {
        Some(index) if index.has_odd_paths => Err(refused(ODD_PATHS)),
        Some(_) => Ok(JudgedContent { bytes, like: seen.clone(), is_same: false }),
        None => Err(refused(UNCLEAR)),
    }
}

/// The same while a program may still be writing it. Content that is not a whole index yet does not replace the file.
pub(in crate::helper) fn judge_unfinished_index(
    seen: &Seen,
    entry: &NamedEntry,
) -> Result<JudgedContent, Denial> {
    let is_index = index_bytes(seen).is_some_and(|bytes| Index::read(&bytes).is_some());
    match is_index {
        true => judge_index(seen, entry),
        false => Ok(JudgedContent { bytes: Vec::new(), like: seen.clone(), is_same: true }),
    }
}

pub(super) fn is_index_name(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(INDEX)
        || name.as_bytes().to_ascii_lowercase().starts_with(SHARED_INDEX.as_bytes())
}

/// The name of a configuration, if the path ends with one.
pub(super) fn configuration_name(path: &Path) -> Option<&OsStr> {
    let is_configuration =
        |name: &&OsStr| CONFIGURATIONS.iter().any(|configuration| name.eq_ignore_ascii_case(configuration));
    path.file_name().filter(is_configuration)
}

pub(super) fn is_repository_name(name: Option<&OsStr>) -> bool {
    name.is_some_and(|name| name.eq_ignore_ascii_case(REPOSITORY))
}
