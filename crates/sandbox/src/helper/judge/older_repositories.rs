//! Files that the configuration of another repository below the workspace names, where the user had that repository
//! before the runtime began: hooks in its work tree, scripts of filters and aliases, included configuration.
//!
//! A plan does not look for such repositories, because a workspace can have thousands of directories. So each directory
//! above a path that changes is looked at for an older `.git`, which takes one system call each, beside the dozen that
//! the supervisor needs to carry a change out. A configuration is read only where there is one. It is not kept: a
//! repository can be moved at any time, also by another command.

use super::folded::{fold, is_at_or_below};
use super::repositories::is_repository_name;
use super::work_trees::first_in_the_way;
use super::{CallDecision, Judge};
use crate::calls::WRITING;
use crate::denial::{Denial, Operation};
use crate::git_config;
use crate::helper::emulated::{EmulatedSyscall, Made, Opening, What};
use crate::helper::place::NamedEntry;
use crate::plan::ruling_at;
use crate::policy::Access;
use crate::protect::CONFIGURATIONS;
use rustix::fs::RenameFlags;
use rustix::io::Errno;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

const LARGEST_CONFIGURATION: u64 = 1 << 20;
const DEEPEST_INCLUDE: usize = 8;

impl Judge<'_> {
    /// Why an emulated call is refused: it changes a file that git obeys in an older repository. Removing the file is
    /// allowed, as is removing the whole repository.
    pub(super) fn named_by_older_repository(&self, emulated: &EmulatedSyscall) -> Option<CallDecision> {
        let inside = |operation, path: &Path| {
            self.named_above(path, |named| is_below(path, named)).map(|by| refusal(operation, path, &by))
        };
        let arrived = |operation, entry: &NamedEntry, brought: Option<&Path>| {
            let path = entry.path();
            let is_brought = |named: &Path| {
                let rest = named.strip_prefix(&path).ok().filter(|_| path != named);
                rest.is_some_and(|rest| brought.is_none_or(|from| first_in_the_way(from, rest).is_some()))
            };
            let by = self.named_above(&path, |named| is_below(&path, named) || is_brought(named))?;
            Some(refusal(operation, &path, &by))
        };
        match emulated {
            EmulatedSyscall::Make { entry, what: Made::Directory(_) | Made::Marked { .. } } => {
                inside(Operation::MakeDirectory, &entry.path())
            }
            EmulatedSyscall::Make { entry, .. } => arrived(Operation::Create, entry, None),
            EmulatedSyscall::Link { from, to } => {
                inside(Operation::Link, &from.path).or_else(|| arrived(Operation::Link, to, None))
            }
            EmulatedSyscall::Move { from, to, flags } => {
                let (here, there) = (from.path(), to.path());
                let is_exchange = flags.contains(RenameFlags::EXCHANGE);
                inside(Operation::Rename, &here)
                    .or_else(|| arrived(Operation::Rename, to, Some(&here)))
                    .or_else(|| is_exchange.then(|| arrived(Operation::Rename, from, Some(&there)))?)
            }
            EmulatedSyscall::Open(Opening { what, flags, .. }) if flags.bits() & WRITING != 0 => match what {
                What::Named(entry) => inside(Operation::Write, &entry.path()),
                What::Held(seen) => inside(Operation::Write, &seen.path),
                What::Terminal(_) => None,
            },
            EmulatedSyscall::Change { seen, .. } => inside(Operation::ChangeAttributes, &seen.path),
            _ => None,
        }
    }

    /// The work tree of an older repository around a path that names a file which fits.
    fn named_above(&self, path: &Path, fits: impl Fn(&Path) -> bool) -> Option<PathBuf> {
        let place = ruling_at(&self.order.rulings, path).filter(|ruling| ruling.access == Access::Write)?;
        let below = path.strip_prefix(&place.path).ok()?;
        if below.iter().any(|name| is_repository_name(Some(name))) {
            return None;
        }
        let work_trees = path.ancestors().skip(1).take_while(|above| above.starts_with(&place.path));
        let is_of_plan = |above: &Path| self.order.repositories.iter().any(|it| it.work_tree == above);
        let found = work_trees.filter(|above| !is_of_plan(above)).find(|above| {
            let git = above.join(".git");
            self.is_older(&git) == Some(true) && named_in(above, &git).iter().any(|named| fits(named))
        });
        found.map(Path::to_owned)
    }
}

/// Whether a path is another one, or below it, also where a file system ignores case.
fn is_below(path: &Path, above: &Path) -> bool {
    is_at_or_below(&fold(path), &fold(above))
}

/// The paths of files that git obeys in a work tree.
fn named_in(work_tree: &Path, git: &Path) -> Vec<PathBuf> {
    let git_dir = match text_of(git).as_deref().and_then(|text| text.strip_prefix("gitdir:")) {
        Some(elsewhere) => work_tree.join(elsewhere.trim()),
        None => git.to_owned(),
    };
    let common = text_of(&git_dir.join("commondir")).map(|common| git_dir.join(common.trim()));
    let mut named = Vec::new();
    for directory in [Some(git_dir), common].into_iter().flatten() {
        for configuration in CONFIGURATIONS {
            add_named(&directory.join(configuration), work_tree, 0, &mut named);
        }
    }
    named
}

fn add_named(configuration: &Path, work_tree: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Some(text) = text_of(configuration).filter(|_| depth < DEEPEST_INCLUDE) else { return };
    let named = git_config::named(&text);
    for included in named.included {
        let path = configuration.parent().unwrap_or(work_tree).join(included);
        add_named(&path, work_tree, depth + 1, found);
        found.push(normal(&path));
    }
    found.extend(named.hooks.iter().map(|hooks| normal(&work_tree.join(hooks))));
    // A word with a slash is a path; another one may be an argument, unless there is such a file.
    let words = named.words.iter().map(|word| (word, normal(&work_tree.join(word))));
    let is_file = |path: &Path| path.symlink_metadata().map(|about| !about.is_dir());
    let obeyed = words
        .filter(|(word, path)| is_file(path).unwrap_or_else(|_| word.contains('/') && !word.ends_with('/')));
    found.extend(obeyed.map(|(_, path)| path));
    found.retain(|path| path != work_tree);
}

/// A path without `.` and `..`, as it is without links.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            part => normal.push(part),
        }
    }
    normal
}

fn text_of(path: &Path) -> Option<String> {
    let about = path.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mut bytes = Vec::with_capacity(usize::try_from(about.len().min(LARGEST_CONFIGURATION)).ok()?);
    File::open(path).ok()?.take(LARGEST_CONFIGURATION).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn refusal(operation: Operation, path: &Path, work_tree: &Path) -> CallDecision {
    let rule = format!("protected: the git configuration of {} names it", work_tree.display());
    let target = path.display().to_string();
    CallDecision::Refuse(Errno::ROFS, Denial { operation, target, rule, times: 1 })
}
