//! Git directories that commands make or change: they may lie anywhere, but nothing in them makes git run a program. In
//! those that the user works in, a configuration also keeps every setting that is not an everyday one
//! ([`RepositoryOwner`]).
//!
//! The user's git enters a repository in more ways than can be listed beforehand: a branch turns a directory into a
//! submodule, a directory takes the place of another one, a `.git` file or a link leads to a third. So this looks at
//! the directory to which all of these ways lead. Git takes a directory for a repository if it has `HEAD`, `objects`
//! and `refs`, or `HEAD` and `commondir`. From the moment that a directory has two of them, its configuration only
//! comes as a copy of a file whose settings were judged, and its hooks only under names with a dot (`*.sample`), which
//! git does not run. Files that exist at that moment are judged as well, and the configuration becomes a copy that no
//! process has open.

use super::configurations::{RepositoryOwner, UNJUDGED, new_order, text_of, touched_copy};
use super::git_links::link_in_new_git_dir;
use super::repositories::{is_index_name, is_repository_name, judge_index};
use super::resolutions::is_list_of_conflicts;
use super::{CallDecision, Judge};
use crate::calls::WRITING;
use crate::denial::{Denial, Operation};
use crate::helper::draft::{ContentRule, DraftOpening, JudgedContent};
use crate::helper::emulated::{Change, EmulatedSyscall, JudgedCopy, Made, Opening, What};
use crate::helper::place::{NamedEntry, Seen};
use crate::plan::{Ruling, ruling_at};
use crate::policy::Access;
use crate::protect::CONFIGURATIONS;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, open, statat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const HEAD: &str = "HEAD";
const OBJECTS: &str = "objects";
const COMMON: &str = "commondir";
const REFS: &str = "refs";
const HOOKS: &str = "hooks";
const UNJUDGED_INDEX: &str = "an index that cannot be judged";

/// The role of a name in a git directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GitDirPart {
    /// A name by which git recognises a git directory.
    Mark,
    Configuration,
    /// The directory of hooks.
    Hooks,
    /// A file that git runs.
    Hook,
    /// The list of files, or a part of it.
    Index,
}

/// The way in which an object gets a name.
#[derive(Clone, Copy)]
pub(super) enum Arrival<'a> {
    /// A new and empty directory.
    Directory,
    /// A file that the caller goes on to write, a link, or a node.
    Unjudged(Operation),
    Moved(&'a NamedEntry),
}

impl GitDirPart {
    fn of(directory: &Path, name: &OsStr) -> Option<Self> {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        if [HEAD, OBJECTS, COMMON, REFS].into_iter().any(is) {
            Some(Self::Mark)
        } else if CONFIGURATIONS.into_iter().any(is) {
            Some(Self::Configuration)
        } else if is(HOOKS) {
            Some(Self::Hooks)
        } else if is_index_name(name) {
            Some(Self::Index)
        } else {
            let is_in_hooks = directory.file_name().is_some_and(|above| above.eq_ignore_ascii_case(HOOKS));
            (is_in_hooks && is_hook_name(name)).then_some(Self::Hook)
        }
    }
}

impl Judge<'_> {
    /// The decision about an emulated call that every other rule allows.
    pub(super) fn without_git_programs(&self, emulated: EmulatedSyscall) -> CallDecision {
        if let Some(refused) = touched_copy(&emulated) {
            return refused;
        }
        let refused = self
            .link_in_git_dir(&emulated)
            .or_else(|| self.brings_obeyed_file(&emulated))
            .or_else(|| self.named_by_older_repository(&emulated));
        if let Some(refused) = refused {
            return refused;
        }
        let emulated =
            match self.begun_sequence(emulated).and_then(|emulated| self.in_linked_work_tree(emulated)) {
                Ok(emulated) => emulated,
                Err(refused) => return refused,
            };
        let refused = match &emulated {
            EmulatedSyscall::Make { entry, what: Made::Directory(_) | Made::Marked { .. } } => {
                return self.arrived(entry.clone(), Arrival::Directory, emulated);
            }
            EmulatedSyscall::Make { entry, .. } => {
                return self.arrived(entry.clone(), Arrival::Unjudged(Operation::Create), emulated);
            }
            EmulatedSyscall::Link { from, to } => match self.changed_part(from, Operation::Link) {
                Some(refused) => Some(refused),
                None => return self.arrived(to.clone(), Arrival::Unjudged(Operation::Link), emulated),
            },
            EmulatedSyscall::Remove { entry, .. } => self.removed(entry),
            EmulatedSyscall::Replace { from, .. } => self.moved_away(from),
            EmulatedSyscall::Move { from, to, flags } if flags.contains(RenameFlags::EXCHANGE) => {
                [from, to].into_iter().find_map(|entry| self.exchanged(entry))
            }
            EmulatedSyscall::Move { from, to, .. } => match self.moved_away(from) {
                Some(refused) => Some(refused),
                None => {
                    let (from, to) = (from.clone(), to.clone());
                    return self.arrived(to, Arrival::Moved(&from), emulated);
                }
            },
            EmulatedSyscall::Open(Opening { what: What::Named(entry), flags, .. })
                if flags.bits() & WRITING != 0 =>
            {
                match entry.look() {
                    Ok(seen) => self
                        .changed_part(&seen, Operation::Write)
                        .map(|refused| self.drafted(entry, &emulated).unwrap_or(refused)),
                    Err(_) => {
                        return self.arrived(entry.clone(), Arrival::Unjudged(Operation::Create), emulated);
                    }
                }
            }
            EmulatedSyscall::Open(Opening { what: What::Held(seen), flags, .. })
                if flags.bits() & WRITING != 0 =>
            {
                self.changed_part(seen, Operation::Write)
            }
            EmulatedSyscall::Change { seen, how: Change::Length(_) } => {
                self.changed_part(seen, Operation::Truncate)
            }
            EmulatedSyscall::Change { seen, how } => {
                self.changed_mark(seen, how).or_else(|| self.changed_status(seen, how))
            }
            _ => None,
        };
        refused.unwrap_or_else(|| CallDecision::carry_out(emulated))
    }

    /// Judges an object that gets a name.
    fn arrived(&self, entry: NamedEntry, arrival: Arrival<'_>, emulated: EmulatedSyscall) -> CallDecision {
        if let Some(owner) = self.owner_of_configuration(&entry.directory, &entry.name) {
            return owner.receive(entry, arrival, emulated);
        }
        if self.is_repository_of_place(&entry) && !matches!(arrival, Arrival::Directory)
            || self.is_common_directory_of_place(&entry)
        {
            return refused_repository(arrival.operation(), &entry);
        }
        if let Some(judged) = Self::new_resolutions(&entry, arrival) {
            return judged.map_or_else(|refused| refused, CallDecision::carry_out);
        }
        if !matches!(arrival, Arrival::Unjudged(Operation::Create | Operation::Write))
            && let Some(refused) = self.new_submodule(arrival.operation(), &entry)
        {
            return refused;
        }
        let answer = match GitDirPart::of(&entry.directory.path, &entry.name) {
            Some(part) if !self.is_left_alone(&entry.directory.path) => match part {
                GitDirPart::Mark => return self.completed(&entry, emulated),
                GitDirPart::Index if is_git_dir(&entry.directory) => {
                    return new_index(entry, arrival, emulated);
                }
                GitDirPart::Hooks if is_git_dir(&entry.directory) => new_hooks(&entry, arrival),
                GitDirPart::Hook if is_hooks_of_git_dir(&entry.directory) => match arrival {
                    Arrival::Directory => None,
                    Arrival::Unjudged(_) | Arrival::Moved(_) => Some("a hook".to_owned()),
                },
                GitDirPart::Configuration | GitDirPart::Hooks | GitDirPart::Hook | GitDirPart::Index => None,
            },
            _ => None,
        };
        match answer {
            Some(reason) => refusal(arrival.operation(), &entry.path(), &reason),
            None => CallDecision::carry_out(emulated),
        }
    }

    /// Why a socket must not get a name: git looks for a configuration or a repository there. For `objects` and `refs`
    /// git only checks that it may enter them, so a socket of that name makes a directory a repository, too.
    pub(super) fn bound_as_part(&self, operation: Operation, entry: &NamedEntry) -> Option<CallDecision> {
        if let Some(owner) = self.owner_of_configuration(&entry.directory, &entry.name) {
            return Some(owner.refusal(operation, &entry.path(), UNJUDGED));
        }
        let is_mark = GitDirPart::of(&entry.directory.path, &entry.name) == Some(GitDirPart::Mark);
        if is_mark && !self.is_left_alone(&entry.directory.path) {
            return Some(refusal(operation, &entry.path(), "a socket in the place of a part of it"));
        }
        self.is_repository_of_place(entry).then(|| refused_repository(operation, entry))
    }

    /// A directory gets a name that makes it a repository for git, unless it is one already or more names are missing.
    fn completed(&self, entry: &NamedEntry, emulated: EmulatedSyscall) -> CallDecision {
        let directory = &entry.directory;
        let is_here = |name: &str| entry.name.eq_ignore_ascii_case(name) || has(directory, name);
        let is_complete = marks_git_dir(is_here);
        if is_git_dir(directory) || !is_complete {
            return CallDecision::carry_out(emulated);
        }
        if let Some(refused) = link_in_new_git_dir(Operation::Create, entry) {
            return refused;
        }
        if Self::has_resolutions(directory) {
            return refusal(Operation::Create, &entry.path(), "a list of files that it would read and write");
        }
        match judged_parts(directory) {
            Ok(copies) => {
                CallDecision::carry_out(EmulatedSyscall::AfterCopies { copies, emulated: Box::new(emulated) })
            }
            Err(reason) => refusal(Operation::Create, &entry.path(), &reason),
        }
    }

    /// An existing file is written, or gets a second name through which it could be.
    fn changed_part(&self, seen: &Seen, operation: Operation) -> Option<CallDecision> {
        let (directory, name) = (seen.path.parent()?, seen.path.file_name()?);
        if self.is_configuration_of_user(&seen.path) {
            return Some(RepositoryOwner::User.refusal(operation, &seen.path, UNJUDGED));
        }
        if is_list_of_conflicts(name) && held(directory).is_none_or(|directory| is_git_dir(&directory)) {
            return Some(refusal(operation, &seen.path, "a list of files that it would read and write"));
        }
        let part = GitDirPart::of(directory, name).filter(|_| seen.is_regular())?;
        if part == GitDirPart::Mark || part == GitDirPart::Hooks {
            return None;
        }
        // A directory that another command moves at the same time cannot be judged.
        let Some(held) = held(directory) else { return Some(refusal(operation, &seen.path, UNJUDGED)) };
        match part {
            GitDirPart::Configuration => {
                let owner = self.owner_of_configuration(&held, name)?;
                Some(owner.refusal(operation, &seen.path, UNJUDGED))
            }
            GitDirPart::Index if self.is_left_alone(directory) || !is_git_dir(&held) => None,
            GitDirPart::Index => Some(refusal(operation, &seen.path, UNJUDGED_INDEX)),
            _ if self.is_left_alone(directory) || !is_hooks_of_git_dir(&held) => None,
            _ => Some(refusal(operation, &seen.path, "a hook")),
        }
    }

    /// Two names are exchanged. Git never does that with names of its own.
    fn exchanged(&self, entry: &NamedEntry) -> Option<CallDecision> {
        const REASON: &str = "names in it are not exchanged";
        let directory = &entry.directory;
        if let Some(owner) = self.owner_of_configuration(directory, &entry.name) {
            return Some(owner.refusal(Operation::Rename, &entry.path(), REASON));
        }
        if self.is_repository_of_place(entry) || self.is_common_directory_of_place(entry) {
            return Some(refusal(Operation::Rename, &entry.path(), REASON));
        }
        let part = GitDirPart::of(&directory.path, &entry.name)?;
        let is_part = match part {
            GitDirPart::Mark => [HEAD, OBJECTS, COMMON, REFS].iter().any(|name| has(directory, name)),
            GitDirPart::Configuration => false,
            GitDirPart::Hooks | GitDirPart::Index => is_git_dir(directory),
            GitDirPart::Hook => is_hooks_of_git_dir(directory),
        };
        (is_part && !self.is_left_alone(&directory.path))
            .then(|| refusal(Operation::Rename, &entry.path(), REASON))
    }

    /// Whether it is `.git` at the top of a writable place. The user's next git command there obeys it, so it must not
    /// be created as a link or a file: those could lead to a repository of the user's that has settings with names of
    /// files in this place.
    fn is_repository_of_place(&self, entry: &NamedEntry) -> bool {
        is_repository_name(Some(&entry.name)) && self.is_place(&entry.directory.path)
    }

    /// A `commondir` in it leads to another repository as well. Git makes one for linked worktrees only.
    fn is_common_directory_of_place(&self, entry: &NamedEntry) -> bool {
        let git_dir = &entry.directory.path;
        entry.name.eq_ignore_ascii_case(COMMON)
            && is_repository_name(git_dir.file_name())
            && git_dir.parent().is_some_and(|place| self.is_place(place))
    }

    /// Whether it is the top of a writable place whose repositories are not left to the command.
    fn is_place(&self, directory: &Path) -> bool {
        let is_place = |ruling: &Ruling| ruling.path == directory && ruling.access == Access::Write;
        ruling_at(&self.order.rulings, directory).is_some_and(is_place) && !self.is_left_alone(directory)
    }

    /// Whether the plan's own rules protect a git directory, or the policy leaves it to the command: by a write rule
    /// for a directory that is writable anyway, since such a rule can mean nothing else.
    pub(super) fn is_left_alone(&self, directory: &Path) -> bool {
        let git_dir = match directory.parent() {
            Some(above) if directory.ends_with(HOOKS) => above,
            _ => directory,
        };
        self.is_left_to_command(git_dir)
            || self.order.repositories.iter().any(|repository| repository.git_dir == git_dir)
    }

    /// Whether the policy leaves a git directory to the command.
    pub(super) fn is_left_to_command(&self, git_dir: &Path) -> bool {
        let rulings = &self.order.rulings;
        let is_writable = |path: &Path| ruling_at(rulings, path).is_some_and(|it| it.access == Access::Write);
        ruling_at(rulings, git_dir).is_some_and(|ruling| {
            ruling.origin.starts_with("write ")
                && ruling.access == Access::Write
                && ruling.path.parent().is_some_and(is_writable)
        })
    }
}

impl Arrival<'_> {
    pub(super) fn operation(self) -> Operation {
        match self {
            Self::Directory => Operation::MakeDirectory,
            Self::Unjudged(operation) => operation,
            Self::Moved(_) => Operation::Rename,
        }
    }
}

fn refused_repository(operation: Operation, entry: &NamedEntry) -> CallDecision {
    let rule = "protected: `.git` of a writable place is made as a new directory that leads nowhere else, as by `git init`".to_owned();
    let target = entry.path().display().to_string();
    CallDecision::Refuse(Errno::PERM, Denial { operation, target, rule, times: 1 })
}

fn refusal(operation: Operation, path: &Path, reason: &str) -> CallDecision {
    CallDecision::Refuse(Errno::PERM, denial(operation, path, reason))
}

pub(super) fn denial(operation: Operation, path: &Path, reason: &str) -> Denial {
    let rule = format!("protected: git would run programs of this repository: {reason}");
    Denial { operation, target: path.display().to_string(), rule, times: 1 }
}

/// Git writes an index to another file and renames it. Other programs, and `cp`, write it in place.
fn new_index(entry: NamedEntry, arrival: Arrival<'_>, emulated: EmulatedSyscall) -> CallDecision {
    let from = match (arrival, &emulated) {
        (Arrival::Directory, _) => return CallDecision::carry_out(emulated),
        (Arrival::Moved(from), _) => from,
        (Arrival::Unjudged(_), EmulatedSyscall::Open(_)) => {
            let refused = || refusal(arrival.operation(), &entry.path(), UNJUDGED_INDEX);
            return drafted_index(&entry, &emulated).unwrap_or_else(refused);
        }
        (Arrival::Unjudged(operation), _) => return refusal(operation, &entry.path(), UNJUDGED_INDEX),
    };
    let judged = match from.look() {
        Ok(seen) if seen.is_directory() => return CallDecision::carry_out(emulated),
        Ok(seen) => judge_index(&seen, &entry),
        Err(_) => return refusal(Operation::Rename, &entry.path(), UNJUDGED_INDEX),
    };
    match judged {
        Ok(JudgedContent { bytes, like, .. }) => CallDecision::carry_out(EmulatedSyscall::Replace {
            from: from.clone(),
            to: entry,
            seen: like,
            bytes,
        }),
        Err(denial) => CallDecision::Refuse(Errno::PERM, Denial { operation: Operation::Rename, ..denial }),
    }
}

/// Why a directory must not become the directory of hooks.
fn new_hooks(entry: &NamedEntry, arrival: Arrival<'_>) -> Option<String> {
    match arrival {
        Arrival::Directory => None,
        Arrival::Unjudged(_) => Some(format!("{} is not a directory", entry.name.display())),
        Arrival::Moved(from) => match from.look() {
            Ok(seen) => hook_in(&seen),
            Err(_) => Some("hooks that cannot be read".to_owned()),
        },
    }
}

/// Judges the files in a directory that git would obey: returns copies of its configuration, or the reason why git must
/// not obey it.
fn judged_parts(directory: &Seen) -> Result<Vec<JudgedCopy>, String> {
    let mut copies = Vec::new();
    for name in CONFIGURATIONS.into_iter().filter(|name| has(directory, name)) {
        let entry = entry_in(directory, name);
        let seen = entry.look().map_err(|_| format!("{name} cannot be read"))?;
        if seen.is_directory() {
            continue;
        }
        let (bytes, orders) =
            text_of(&seen, &directory.path).ok_or_else(|| format!("{name} cannot be read"))?;
        if let Some(reason) = new_order(&orders, &[]) {
            return Err(reason);
        }
        copies.push(JudgedCopy { entry, seen, bytes });
    }
    for name in index_names(directory)? {
        let entry = NamedEntry { directory: directory.clone(), name: name.clone(), given: name };
        let seen = entry.look().map_err(|_| UNJUDGED_INDEX.to_owned())?;
        if seen.is_directory() {
            continue;
        }
        let judged = judge_index(&seen, &entry).map_err(|denial| denial.rule)?;
        copies.push(JudgedCopy { entry, seen, bytes: judged.bytes });
    }
    let hooks = entry_in(directory, HOOKS);
    if !hooks.exists() {
        return Ok(copies);
    }
    match hooks.look() {
        Ok(seen) => hook_in(&seen).map_or(Ok(copies), Err),
        Err(_) => Err("hooks that cannot be read".to_owned()),
    }
}

/// The names of an index and its parts in a directory.
fn index_names(directory: &Seen) -> Result<Vec<OsString>, String> {
    let names = std::fs::read_dir(directory.link()).map_err(|_| UNJUDGED_INDEX.to_owned())?;
    Ok(names.flatten().map(|entry| entry.file_name()).filter(|name| is_index_name(name)).collect())
}

/// An open of an index in place is answered with a draft of it.
pub(super) fn drafted_index(entry: &NamedEntry, emulated: &EmulatedSyscall) -> Option<CallDecision> {
    let EmulatedSyscall::Open(Opening { flags, mode, .. }) = emulated else { return None };
    let opening = DraftOpening { entry: entry.clone(), rule: ContentRule::Index, flags: *flags, mode: *mode };
    is_index_name(&entry.name).then(|| CallDecision::carry_out(EmulatedSyscall::Draft(opening)))
}

/// A hook in a directory, or why there may be some.
fn hook_in(hooks: &Seen) -> Option<String> {
    if hooks.is_regular() {
        return None;
    }
    if !hooks.is_directory() {
        return Some("hooks that are elsewhere".to_owned());
    }
    let Ok(names) = std::fs::read_dir(hooks.link()) else {
        return Some("hooks that cannot be read".to_owned());
    };
    let is_hook = |entry: &std::fs::DirEntry| {
        is_hook_name(&entry.file_name()) && !entry.file_type().is_ok_and(|kind| kind.is_dir())
    };
    let hook = names.flatten().find(is_hook)?;
    Some(format!("the hook {}", hook.file_name().display()))
}

/// Every name of a hook is made of letters, digits and hyphens.
fn is_hook_name(name: &OsStr) -> bool {
    !name.as_bytes().contains(&b'.')
}

pub(super) fn is_git_dir(directory: &Seen) -> bool {
    marks_git_dir(|name| has(directory, name))
}

fn is_hooks_of_git_dir(hooks: &Seen) -> bool {
    marks_git_dir(|name| has(hooks, &format!("../{name}")))
}

/// Whether git takes a directory with these names for a repository, or for the common directory of several worktrees: a
/// `commondir` leads to a directory that needs no `HEAD`. A repository has all of the first three names, but two are
/// enough here: a race can put a socket under the third one.
pub(super) fn marks_git_dir(has: impl Fn(&str) -> bool) -> bool {
    let marks = [HEAD, OBJECTS, REFS].into_iter().filter(|name| has(name)).count();
    marks >= 2 || has(HEAD) && has(COMMON)
}

/// Whether there is such a name. If it cannot be looked up, it may exist.
pub(super) fn has(directory: &Seen, name: &str) -> bool {
    !matches!(statat(directory.hold(), name, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT | Errno::NOTDIR))
}

fn entry_in(directory: &Seen, name: &str) -> NamedEntry {
    NamedEntry { directory: directory.clone(), name: name.into(), given: name.into() }
}

pub(super) fn held(directory: &Path) -> Option<Seen> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Seen::of(open(directory, flags, Mode::empty()).ok()?).ok()
}
