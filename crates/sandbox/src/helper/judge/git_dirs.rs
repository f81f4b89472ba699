//! Git directories that commands make or change: they may lie anywhere, but nothing in them makes git run a program.
//!
//! The user's git enters a repository in more ways than can be listed beforehand: a branch turns a directory into a submodule, a
//! directory takes the place of another one, a `.git` file or a link leads to a third. So this looks at the place that all of
//! these ways end at. Git takes a directory for a repository if it has `HEAD` and `objects`, or `HEAD` and `commondir`. From the
//! moment that a directory has both, its configuration only comes as a copy of a file whose settings were judged, and its hooks
//! only under names with a dot (`*.sample`), which git does not run. What is there at that moment is judged as well, and the configuration becomes a
//! copy that no process has open.

use super::{Answer, Judge};
use crate::calls::WRITING;
use crate::denial::{Denial, Operation};
use crate::git_config::{self, Setting};
use crate::helper::deed::{Change, Deed, JudgedCopy, Made, Opening, What};
use crate::helper::draft::DraftOpening;
use crate::helper::place::{Entry, Seen};
use crate::plan::ruling_at;
use crate::policy::Access;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, open, statat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

const HEAD: &str = "HEAD";
const OBJECTS: &str = "objects";
const COMMON: &str = "commondir";
const REFS: &str = "refs";
const HOOKS: &str = "hooks";
const CONFIGURATION: [&str; 2] = ["config", "config.worktree"];
/// More than any configuration has.
const LARGEST_CONFIGURATION: u64 = 1 << 20;

/// What a name would be in a git directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Something that a git directory is known by.
    Mark,
    Configuration,
    /// The directory of hooks.
    Hooks,
    /// A file that git runs.
    Hook,
}

/// How something comes under a name.
#[derive(Clone, Copy)]
enum Arrival<'a> {
    /// A new and empty directory.
    Directory,
    /// A file that the caller goes on to write, a link, or a node.
    Unjudged(Operation),
    Moved(&'a Entry),
}

impl Part {
    fn of(directory: &Path, name: &OsStr) -> Option<Self> {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        if [HEAD, OBJECTS, COMMON, REFS].into_iter().any(is) {
            Some(Self::Mark)
        } else if CONFIGURATION.into_iter().any(is) {
            Some(Self::Configuration)
        } else if is(HOOKS) {
            Some(Self::Hooks)
        } else {
            let is_in_hooks = directory.file_name().is_some_and(|above| above.eq_ignore_ascii_case(HOOKS));
            (is_in_hooks && is_hook_name(name)).then_some(Self::Hook)
        }
    }
}

impl Judge<'_> {
    /// What becomes of a deed that every other rule allows.
    pub(super) fn without_git_programs(&self, deed: Deed) -> Answer {
        let refused = match &deed {
            Deed::Make { entry, what: Made::Directory(_) } => {
                return self.arrived(entry.clone(), Arrival::Directory, deed);
            }
            Deed::Make { entry, .. } => {
                return self.arrived(entry.clone(), Arrival::Unjudged(Operation::Create), deed);
            }
            Deed::Link { from, to } => match self.changed_part(from, Operation::Link) {
                Some(refused) => Some(refused),
                None => return self.arrived(to.clone(), Arrival::Unjudged(Operation::Link), deed),
            },
            Deed::Move { from, to, flags } if flags.contains(RenameFlags::EXCHANGE) => {
                [from, to].into_iter().find_map(|entry| self.exchanged(entry))
            }
            Deed::Move { from, to, .. } => {
                let (from, to) = (from.clone(), to.clone());
                return self.arrived(to, Arrival::Moved(&from), deed);
            }
            Deed::Open(Opening { what: What::Named(entry), flags, .. }) if flags.bits() & WRITING != 0 => {
                match entry.look() {
                    Ok(seen) => self
                        .changed_part(&seen, Operation::Write)
                        .map(|refused| drafted(entry, &deed).unwrap_or(refused)),
                    Err(_) => {
                        return self.arrived(entry.clone(), Arrival::Unjudged(Operation::Create), deed);
                    }
                }
            }
            Deed::Open(Opening { what: What::Held(seen), flags, .. }) if flags.bits() & WRITING != 0 => {
                self.changed_part(seen, Operation::Write)
            }
            Deed::Change { seen, how: Change::Length(_) } => self.changed_part(seen, Operation::Truncate),
            _ => None,
        };
        refused.unwrap_or_else(|| Answer::carry_out(deed))
    }

    /// Something comes under a name.
    fn arrived(&self, entry: Entry, arrival: Arrival<'_>, deed: Deed) -> Answer {
        let answer = match Part::of(&entry.directory.path, &entry.name) {
            Some(part) if !self.is_left_alone(&entry.directory.path) => match part {
                Part::Mark => return self.completed(&entry, deed),
                Part::Configuration if is_git_dir(&entry.directory) => {
                    return self.new_configuration(entry, arrival, deed);
                }
                Part::Hooks if is_git_dir(&entry.directory) => new_hooks(&entry, arrival),
                Part::Hook if is_hooks_of_git_dir(&entry.directory) => match arrival {
                    Arrival::Directory => None,
                    Arrival::Unjudged(_) | Arrival::Moved(_) => Some("a hook".to_owned()),
                },
                Part::Configuration | Part::Hooks | Part::Hook => None,
            },
            _ => None,
        };
        match answer {
            Some(reason) => refusal(arrival.operation(), &entry.path(), &reason),
            None => Answer::carry_out(deed),
        }
    }

    /// A directory becomes one that git takes for a repository, unless it is one already or more is missing.
    fn completed(&self, entry: &Entry, deed: Deed) -> Answer {
        let directory = &entry.directory;
        let is_here = |name: &str| entry.name.eq_ignore_ascii_case(name) || has(directory, name);
        let is_complete = marks_git_dir(is_here);
        if is_git_dir(directory) || !is_complete {
            return Answer::carry_out(deed);
        }
        match judged_parts(directory) {
            Ok(copies) if copies.is_empty() => Answer::carry_out(deed),
            Ok(copies) => Answer::carry_out(Deed::AfterCopies { copies, deed: Box::new(deed) }),
            Err(reason) => refusal(Operation::Create, &entry.path(), &reason),
        }
    }

    /// Git writes a configuration to another file and renames it.
    fn new_configuration(&self, entry: Entry, arrival: Arrival<'_>, deed: Deed) -> Answer {
        let refused = |reason: &str| refusal(arrival.operation(), &entry.path(), reason);
        let from = match arrival {
            Arrival::Directory => return Answer::carry_out(deed),
            Arrival::Unjudged(_) => {
                return drafted(&entry, &deed)
                    .unwrap_or_else(|| refused("a configuration that cannot be judged"));
            }
            Arrival::Moved(from) => from,
        };
        let Ok(seen) = from.look() else { return refused("a configuration that cannot be read") };
        match judged_configuration(&seen, &entry) {
            Ok(bytes) => Answer::carry_out(Deed::Replace { from: from.clone(), to: entry, seen, bytes }),
            Err(denial) => Answer::Refuse(Errno::PERM, Denial { operation: Operation::Rename, ..denial }),
        }
    }

    /// A file that is there is written, or gets a second name by which it could be.
    fn changed_part(&self, seen: &Seen, operation: Operation) -> Option<Answer> {
        let (directory, name) = (seen.path.parent()?, seen.path.file_name()?);
        let part = Part::of(directory, name).filter(|_| seen.is_regular())?;
        if part == Part::Mark || part == Part::Hooks || self.is_left_alone(directory) {
            return None;
        }
        let directory = held(directory)?;
        let reason = match part {
            Part::Configuration if is_git_dir(&directory) => "a configuration that cannot be judged",
            Part::Hook if is_hooks_of_git_dir(&directory) => "a hook",
            _ => return None,
        };
        Some(refusal(operation, &seen.path, reason))
    }

    /// Two names are exchanged. Git never does that with its own.
    fn exchanged(&self, entry: &Entry) -> Option<Answer> {
        let directory = &entry.directory;
        let part = Part::of(&directory.path, &entry.name)?;
        let is_part = match part {
            Part::Mark => [HEAD, OBJECTS, COMMON, REFS].iter().any(|name| has(directory, name)),
            Part::Configuration | Part::Hooks => is_git_dir(directory),
            Part::Hook => is_hooks_of_git_dir(directory),
        };
        (is_part && !self.is_left_alone(&directory.path))
            .then(|| refusal(Operation::Rename, &entry.path(), "names in it are not exchanged"))
    }

    /// Whether the plan's own rules keep a git directory, or the policy leaves it to the command: by a write rule that names a
    /// directory which can be written anyway, and so can mean nothing else.
    fn is_left_alone(&self, directory: &Path) -> bool {
        let git_dir = match directory.parent() {
            Some(above) if directory.ends_with(HOOKS) => above,
            _ => directory,
        };
        let rulings = &self.order.rulings;
        let is_writable = |path: &Path| ruling_at(rulings, path).is_some_and(|it| it.access == Access::Write);
        let is_named = ruling_at(rulings, git_dir).is_some_and(|ruling| {
            ruling.origin.starts_with("write ")
                && ruling.access == Access::Write
                && ruling.path.parent().is_some_and(is_writable)
        });
        is_named || self.order.repositories.iter().any(|repository| repository.git_dir == git_dir)
    }
}

/// An open of a configuration in place is answered with a draft of it.
fn drafted(entry: &Entry, deed: &Deed) -> Option<Answer> {
    let Deed::Open(Opening { flags, mode, .. }) = deed else { return None };
    if Part::of(&entry.directory.path, &entry.name) != Some(Part::Configuration) {
        return None;
    }
    let opening = DraftOpening { entry: entry.clone(), flags: *flags, mode: *mode };
    Some(Answer::carry_out(Deed::Draft(opening)))
}

/// The bytes of a file that is to become a configuration, or why it must not.
pub(in crate::helper) fn judged_configuration(seen: &Seen, entry: &Entry) -> Result<Vec<u8>, Denial> {
    let refused = |reason: &str| denial(Operation::Write, &entry.path(), reason);
    let git_dir = &entry.directory.path;
    let known = entry.look().ok().and_then(|seen| text_of(&seen, git_dir)).map(|(_, orders)| orders);
    let (bytes, orders) =
        text_of(seen, git_dir).ok_or_else(|| refused("a configuration that cannot be read"))?;
    match new_order(&orders, &known.unwrap_or_default()) {
        Some(reason) => Err(refused(&reason)),
        None => Ok(bytes),
    }
}

impl Arrival<'_> {
    fn operation(self) -> Operation {
        match self {
            Self::Directory => Operation::MakeDirectory,
            Self::Unjudged(operation) => operation,
            Self::Moved(_) => Operation::Rename,
        }
    }
}

fn refusal(operation: Operation, path: &Path, reason: &str) -> Answer {
    Answer::Refuse(Errno::PERM, denial(operation, path, reason))
}

fn denial(operation: Operation, path: &Path, reason: &str) -> Denial {
    let rule = format!("protected: git would run programs of this repository: {reason}");
    Denial { operation, target: path.display().to_string(), rule, times: 1 }
}

/// Why a directory must not become that of hooks.
fn new_hooks(entry: &Entry, arrival: Arrival<'_>) -> Option<String> {
    match arrival {
        Arrival::Directory => None,
        Arrival::Unjudged(_) => Some(format!("{} is not a directory", entry.name.display())),
        Arrival::Moved(from) => match from.look() {
            Ok(seen) => hook_in(&seen),
            Err(_) => Some("hooks that cannot be read".to_owned()),
        },
    }
}

/// What a directory has that git would obey, judged: copies of its configuration, or why it must not be obeyed.
fn judged_parts(directory: &Seen) -> Result<Vec<JudgedCopy>, String> {
    let mut copies = Vec::new();
    for name in CONFIGURATION.into_iter().filter(|name| has(directory, name)) {
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
    let hooks = entry_in(directory, HOOKS);
    if !hooks.exists() {
        return Ok(copies);
    }
    match hooks.look() {
        Ok(seen) => hook_in(&seen).map_or(Ok(copies), Err),
        Err(_) => Err("hooks that cannot be read".to_owned()),
    }
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

/// A setting that runs a program and was not there before.
fn new_order(orders: &[Setting], known: &[Setting]) -> Option<String> {
    orders.iter().find(|order| !known.contains(order)).map(|order| format!("the setting {order}"))
}

/// A configuration's bytes, and the settings in it that run programs or write outside.
fn text_of(seen: &Seen, git_dir: &Path) -> Option<(Vec<u8>, Vec<Setting>)> {
    if !seen.is_regular() {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(open(seen.link(), flags, Mode::empty()).ok()?);
    let mut bytes = Vec::new();
    file.take(LARGEST_CONFIGURATION + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > LARGEST_CONFIGURATION {
        return None;
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut orders = git_config::orders(&text);
    orders.extend(
        git_config::work_trees(&text).into_iter().filter(|it| checks_out_elsewhere(git_dir, &it.value)),
    );
    Some((bytes, orders))
}

fn is_git_dir(directory: &Seen) -> bool {
    marks_git_dir(|name| has(directory, name))
}

fn is_hooks_of_git_dir(hooks: &Seen) -> bool {
    marks_git_dir(|name| has(hooks, &format!("../{name}")))
}

/// Whether git takes a directory with these names for a repository, or for what several worktrees have in common: a `commondir`
/// leads to a directory that needs no `HEAD`.
fn marks_git_dir(has: impl Fn(&str) -> bool) -> bool {
    has(OBJECTS) && (has(HEAD) || has(REFS)) || has(HEAD) && has(COMMON)
}

/// Whether files are checked out outside of the place that a repository belongs to. A submodule's lie in the repository around it.
fn checks_out_elsewhere(git_dir: &Path, work_tree: &str) -> bool {
    let around = git_dir.ancestors().find(|above| above.ends_with(".git")).unwrap_or(git_dir).parent();
    let mut at = PathBuf::new();
    for part in git_dir.join(work_tree).components() {
        match part {
            Component::ParentDir => drop(at.pop()),
            part => at.push(part),
        }
    }
    work_tree.starts_with('~') || around.is_none_or(|around| !at.starts_with(around))
}

/// Whether there is such a name. What cannot be looked at may be there.
fn has(directory: &Seen, name: &str) -> bool {
    !matches!(statat(directory.hold(), name, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT | Errno::NOTDIR))
}

fn entry_in(directory: &Seen, name: &str) -> Entry {
    Entry { directory: directory.clone(), name: name.into(), given: name.into() }
}

fn held(directory: &Path) -> Option<Seen> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Seen::of(open(directory, flags, Mode::empty()).ok()?).ok()
}
