//! Links that come into a git directory although each call was judged: two commands at the same time have two
//! supervisors, and one command can move a directory between the judgement of the other's link and the link itself.
//!
//! So a supervisor looks again after it has carried out a call that could have part in this. One of the two calls is
//! the later one, and its supervisor then sees both: the one that made the link finds it in a git directory, or the one
//! that made the directory part of a repository finds the link in it. The link is removed and reported.

use super::Judge;
use super::git_links::{MOST_NAMES, WorkTrees, denial, first_special_in, is_probe, is_special};
use crate::denial::{Denial, Operation};
use crate::helper::emulated::{EmulatedSyscall, Made, Opening, What};
use crate::helper::place::{NamedEntry, Seen};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, ResolveFlags, chmodat, openat2, statat, unlinkat,
};
use std::path::{Path, PathBuf};

/// More links than can be made while one call is carried out.
const MOST_LATE_LINKS: usize = 10_000;

impl Judge<'_> {
    /// Removes the links, pipes and devices that an emulated call, or another command meanwhile, has brought into a git
    /// directory.
    pub(in crate::helper) fn remove_late_links(&self, emulated: &EmulatedSyscall) -> Vec<Denial> {
        match emulated {
            EmulatedSyscall::Make { entry, what: Made::Link { target } } if !is_probe(entry, target) => {
                self.late_link(Operation::Create, entry)
            }
            EmulatedSyscall::Make { entry, what: Made::Node { kind, .. } } if is_special(*kind) => {
                self.late_link(Operation::Create, entry)
            }
            EmulatedSyscall::Link { from, to } if is_special(from.kind()) => {
                self.late_link(Operation::Link, to)
            }
            EmulatedSyscall::Move { from, to, flags } => {
                let other = Some(from).filter(|_| flags.contains(RenameFlags::EXCHANGE));
                [Some(to), other].into_iter().flatten().flat_map(|entry| self.late_move(entry)).collect()
            }
            EmulatedSyscall::AfterCopies { emulated, .. } => {
                let git_dir = arrived(emulated).and_then(|entry| entry.directory.again());
                git_dir.map(|git_dir| removed_from(&git_dir, WorkTrees::of(&git_dir))).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }

    fn late_link(&self, operation: Operation, entry: &NamedEntry) -> Vec<Denial> {
        let Some(entry) = entry.again() else { return Vec::new() };
        let Some(git_dir) = self.git_dir_around(&entry) else { return Vec::new() };
        let is_removed = remove(&entry.directory, Path::new(&entry.name));
        let path = entry.path();
        is_removed.then(|| denial(operation, &path, &git_dir, &path)).into_iter().collect()
    }

    fn late_move(&self, entry: &NamedEntry) -> Vec<Denial> {
        let Some(entry) = entry.again() else { return Vec::new() };
        let brought = entry.look().ok().filter(|seen| is_special(seen.kind()) || seen.is_directory());
        match brought {
            Some(seen) if seen.is_directory() && self.git_dir_with(&entry).is_some() => {
                removed_from(&seen, WorkTrees::None)
            }
            Some(seen) if !seen.is_directory() => self.late_link(Operation::Rename, &entry),
            _ => Vec::new(),
        }
    }
}

/// The name that an emulated call makes.
fn arrived(emulated: &EmulatedSyscall) -> Option<&NamedEntry> {
    match emulated {
        EmulatedSyscall::Make { entry, .. }
        | EmulatedSyscall::Open(Opening { what: What::Named(entry), .. }) => Some(entry),
        EmulatedSyscall::Move { to, .. } | EmulatedSyscall::Link { to, .. } => Some(to),
        _ => None,
    }
}

fn removed_from(top: &Seen, work_trees: WorkTrees) -> Vec<Denial> {
    let mut removed: Vec<PathBuf> = Vec::new();
    // The limit is higher than usual: names that are created meanwhile must not hide a link behind them.
    while let Some(inside) = first_special_in(top, work_trees, 2 * MOST_NAMES) {
        if removed.len() == MOST_LATE_LINKS || removed.contains(&inside) || !remove(top, &inside) {
            break;
        }
        removed.push(inside);
    }
    let told = |inside: PathBuf| {
        let path = top.path.join(inside);
        denial(Operation::Create, &path, &top.path, &path)
    };
    removed.into_iter().map(told).collect()
}

/// Removes a link, a pipe or a device. A directory without the needed permissions gets them for its owner first.
fn remove(top: &Seen, inside: &Path) -> bool {
    let above = inside.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let held = openat2(top.hold(), above, flags, Mode::empty(), how).ok().and_then(|it| Seen::of(it).ok());
    let Some((held, name)) = held.zip(inside.file_name()) else { return false };
    match statat(held.hold(), name, AtFlags::SYMLINK_NOFOLLOW).map(|it| FileType::from_raw_mode(it.st_mode)) {
        Ok(FileType::Directory) => {
            let directory = openat2(held.hold(), name, flags, Mode::empty(), how).ok();
            let directory = directory.and_then(|it| Seen::of(it).ok());
            directory.is_some_and(|it| chmodat(CWD, it.link(), Mode::RWXU, AtFlags::empty()).is_ok())
        }
        Ok(kind) if is_special(kind) => unlinkat(held.hold(), name, AtFlags::empty()).is_ok(),
        _ => false,
    }
}
