//! Configurations of repositories: each is only put in its place as a copy of judged content.
//!
//! The user works in some repositories, and commands have made others ([`RepositoryOwner`]). In the first ones only
//! everyday settings may change, so that the user's next pull neither runs a program nor talks to another server. In
//! the others no setting may run a program, and the rest is left to the command.

use super::folded::fold;
use super::git_dirs::{Arrival, denial, drafted_index, is_git_dir};
use super::repositories::configuration_name;
use super::{CallDecision, Judge};
use crate::calls::WRITING;
use crate::denial::{Denial, Operation};
use crate::git_config::{self, Setting};
use crate::git_settings;
use crate::helper::draft::{ContentRule, DraftOpening, JudgedContent};
use crate::helper::emulated::{Change, EmulatedSyscall, Opening, TEMPORARY, What};
use crate::helper::place::{NamedEntry, Seen};
use crate::plan::ruling_at;
use crate::policy::Access;
use crate::protect::Repository;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

pub(super) const UNJUDGED: &str = "a configuration that cannot be judged";
const STAYS: &str = "its settings are the user's; remove them outside of the sandbox";
/// More than any configuration has.
const LARGEST_CONFIGURATION: u64 = 1 << 20;

/// The owner of a repository, which decides how its configuration is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::helper) enum RepositoryOwner {
    /// The user works in it: only everyday settings change.
    User,
    /// A command made it: no setting runs a program.
    Command,
}

impl Judge<'_> {
    /// How the configuration of this name is judged; `None`: the name is no configuration's, or the policy leaves it to
    /// the command.
    pub(super) fn owner_of_configuration(&self, directory: &Seen, name: &OsStr) -> Option<RepositoryOwner> {
        let path = directory.path.join(name);
        if self.is_configuration_of_user(&path) {
            return Some(RepositoryOwner::User);
        }
        configuration_name(&path)?;
        let is_judged = !self.is_named_by_rule(&path) && !self.is_left_alone(&directory.path);
        (is_judged && is_git_dir(directory)).then_some(RepositoryOwner::Command)
    }

    /// Whether it is the configuration of a repository that the user works in: one of the plan, or one that existed
    /// before the runtime. A write rule that names the file leaves it to the command.
    pub(super) fn is_configuration_of_user(&self, path: &Path) -> bool {
        let is_users = self.folded.is_configuration(self.order, path)
            || self.is_configuration_of_older(path)
            || self.is_configuration_of_worktree(path);
        is_users && !self.is_named_by_rule(path)
    }

    /// Whether it is the configuration of a worktree of a repository that the user works in. Its remotes are those of
    /// the user's repository, even if a command added the worktree.
    fn is_configuration_of_worktree(&self, path: &Path) -> bool {
        let worktrees = path.ancestors().nth(2);
        let is_of = |repository: &Repository| worktrees == Some(&repository.git_dir.join("worktrees"));
        configuration_name(path).is_some() && self.order.repositories.iter().any(is_of)
    }

    fn is_named_by_rule(&self, path: &Path) -> bool {
        ruling_at(&self.order.rulings, path)
            .is_some_and(|ruling| ruling.path == path && ruling.access == Access::Write)
    }

    /// An open of a configuration or an index in place is answered with a draft of it.
    pub(super) fn drafted(&self, entry: &NamedEntry, emulated: &EmulatedSyscall) -> Option<CallDecision> {
        match self.owner_of_configuration(&entry.directory, &entry.name) {
            Some(owner) => owner.draft(entry, emulated),
            None => drafted_index(entry, emulated),
        }
    }

    /// Mode, owner, times or attributes change. `git init` tests whether the file system keeps the mode of the
    /// configuration.
    pub(super) fn changed_status(&self, seen: &Seen, how: &Change) -> Option<CallDecision> {
        const OTHER_BITS: u32 = 0o7677;
        let is_trial = |mode: &Mode| (mode.as_raw_mode() ^ seen.about.st_mode) & OTHER_BITS == 0;
        if matches!(how, Change::Mode(mode) if is_trial(mode)) || !self.is_configuration_of_user(&seen.path) {
            return None;
        }
        let reason = "its mode, owner, times and attributes stay as they are";
        Some(RepositoryOwner::User.refusal(Operation::ChangeAttributes, &seen.path, reason))
    }

    /// Removing the configuration would remove every setting in it. A repository below the workspace may be removed as
    /// a whole.
    pub(super) fn removed(&self, entry: &NamedEntry) -> Option<CallDecision> {
        let path = entry.path();
        let is_kept = self.folded.is_configuration(self.order, &path) && !self.is_named_by_rule(&path);
        is_kept.then(|| RepositoryOwner::User.refusal(Operation::Remove, &path, STAYS))
    }

    pub(super) fn moved_away(&self, entry: &NamedEntry) -> Option<CallDecision> {
        let path = entry.path();
        self.is_configuration_of_user(&path)
            .then(|| RepositoryOwner::User.refusal(Operation::Rename, &path, STAYS))
    }
}

impl RepositoryOwner {
    /// The bytes of a file that is to become a configuration, or the reason why it must not.
    pub(in crate::helper) fn judge(self, seen: &Seen, entry: &NamedEntry) -> Result<JudgedContent, Denial> {
        match self {
            Self::User => judge_users(seen, entry),
            Self::Command => judge_commands(seen, entry),
        }
    }

    /// Git writes a configuration to another file and renames it.
    pub(super) fn receive(
        self,
        entry: NamedEntry,
        arrival: Arrival<'_>,
        emulated: EmulatedSyscall,
    ) -> CallDecision {
        let refused = |reason: &str| self.refusal(arrival.operation(), &entry.path(), reason);
        let from = match arrival {
            Arrival::Directory if self == Self::User => return refused("a directory is no configuration"),
            Arrival::Directory => return CallDecision::carry_out(emulated),
            // Without a draft, a file that a program makes in place would exist, empty, before its content can be
            // judged.
            Arrival::Unjudged(_) if self == Self::User => return refused(UNJUDGED),
            Arrival::Unjudged(_) => {
                return self.draft(&entry, &emulated).unwrap_or_else(|| refused(UNJUDGED));
            }
            Arrival::Moved(from) => from,
        };
        let Ok(seen) = from.look() else { return refused("a configuration that cannot be read") };
        match self.judge(&seen, &entry) {
            Ok(JudgedContent { bytes, like, .. }) => CallDecision::carry_out(EmulatedSyscall::Replace {
                from: from.clone(),
                to: entry,
                seen: like,
                bytes,
            }),
            Err(denial) => {
                CallDecision::Refuse(Errno::PERM, Denial { operation: Operation::Rename, ..denial })
            }
        }
    }

    /// An open of a configuration in place is answered with a draft of it.
    fn draft(self, entry: &NamedEntry, emulated: &EmulatedSyscall) -> Option<CallDecision> {
        let EmulatedSyscall::Open(Opening { flags, mode, .. }) = emulated else { return None };
        let rule = ContentRule::Configuration(self);
        let opening = DraftOpening { entry: entry.clone(), rule, flags: *flags, mode: *mode };
        Some(CallDecision::carry_out(EmulatedSyscall::Draft(opening)))
    }

    pub(super) fn refusal(self, operation: Operation, path: &Path, reason: &str) -> CallDecision {
        CallDecision::Refuse(Errno::PERM, self.denial(operation, path, reason))
    }

    fn denial(self, operation: Operation, path: &Path, reason: &str) -> Denial {
        match self {
            Self::User => {
                let rule = format!("protected: {reason}");
                Denial { operation, target: path.display().to_string(), rule, times: 1 }
            }
            Self::Command => denial(operation, path, reason),
        }
    }
}

/// In a repository that the user works in, settings that are not listed stay as they are.
fn judge_users(seen: &Seen, entry: &NamedEntry) -> Result<JudgedContent, Denial> {
    const WRITABLE_FOR_OTHERS: u32 = 0o022;
    let refused = |reason: &str| RepositoryOwner::User.denial(Operation::Write, &entry.path(), reason);
    let unreadable = || refused("a configuration that cannot be read");
    let bytes = bytes_of(seen).ok_or_else(unreadable)?;
    let (before, like) = match entry.exists() {
        true => {
            let there = entry.look().map_err(|_| unreadable())?;
            (bytes_of(&there).ok_or_else(unreadable)?, seen.clone().with_mode(there.about.st_mode))
        }
        false => (Vec::new(), seen.clone().with_mode(seen.about.st_mode & !WRITABLE_FOR_OTHERS)),
    };
    git_settings::check_change(&before, &bytes).map_err(|change| refused(&change.to_string()))?;
    Ok(JudgedContent { is_same: before == bytes, bytes, like })
}

/// In a repository that a command made, no setting runs a program.
fn judge_commands(seen: &Seen, entry: &NamedEntry) -> Result<JudgedContent, Denial> {
    let refused = |reason: &str| denial(Operation::Write, &entry.path(), reason);
    let git_dir = &entry.directory.path;
    let known = entry.look().ok().and_then(|seen| text_of(&seen, git_dir)).map(|(_, orders)| orders);
    let (bytes, orders) =
        text_of(seen, git_dir).ok_or_else(|| refused("a configuration that cannot be read"))?;
    match new_order(&orders, &known.unwrap_or_default()) {
        Some(reason) => Err(refused(&reason)),
        None => Ok(JudgedContent { bytes, like: seen.clone(), is_same: false }),
    }
}

/// Refuses access to a file under a name that only the supervisor uses, for a moment: the file is about to become a
/// configuration or an index, and another command must neither have it open then nor replace it. It may be removed.
pub(super) fn touched_copy(emulated: &EmulatedSyscall) -> Option<CallDecision> {
    let is_copy = |name: &OsStr| fold(Path::new(name)).starts_with(TEMPORARY.as_bytes());
    let of_entry = |entry: &NamedEntry| is_copy(&entry.name).then(|| entry.path());
    // A draft has no name any more, and belongs to its caller.
    let of_seen = |seen: &Seen| {
        let name = seen.path.file_name().filter(|_| seen.about.st_nlink > 0)?;
        is_copy(name).then(|| seen.path.clone())
    };
    let (operation, path) = match emulated {
        EmulatedSyscall::Make { entry, .. } => (Operation::Create, of_entry(entry)),
        EmulatedSyscall::Move { from, to, .. } | EmulatedSyscall::Replace { from, to, .. } => {
            (Operation::Rename, of_entry(from).or_else(|| of_entry(to)))
        }
        EmulatedSyscall::Link { from, to } => (Operation::Link, of_seen(from).or_else(|| of_entry(to))),
        EmulatedSyscall::Change { seen, .. } => (Operation::ChangeMode, of_seen(seen)),
        EmulatedSyscall::Open(Opening { what, flags, .. }) if flags.bits() & WRITING != 0 => {
            let path = match what {
                What::Named(entry) => of_entry(entry),
                What::Held(seen) => of_seen(seen),
                What::Terminal(_) => None,
            };
            (Operation::Write, path)
        }
        _ => return None,
    };
    let rule = "protected: the supervisor writes this file".to_owned();
    path.map(|path| {
        let target = path.display().to_string();
        CallDecision::Refuse(Errno::PERM, Denial { operation, target, rule, times: 1 })
    })
}

/// A setting that runs a program and was not there before.
pub(super) fn new_order(orders: &[Setting], known: &[Setting]) -> Option<String> {
    orders.iter().find(|order| !known.contains(order)).map(|order| format!("the setting {order}"))
}

/// A configuration's bytes, and the settings in it that run programs or write outside.
pub(super) fn text_of(seen: &Seen, git_dir: &Path) -> Option<(Vec<u8>, Vec<Setting>)> {
    let bytes = bytes_of(seen)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut orders = git_config::orders(&text);
    orders.extend(
        git_config::work_trees(&text).into_iter().filter(|it| checks_out_elsewhere(git_dir, &it.value)),
    );
    Some((bytes, orders))
}

/// The content of a regular file that is no larger than configurations are.
pub(super) fn bytes_of(seen: &Seen) -> Option<Vec<u8>> {
    if !seen.is_regular() {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(open(seen.link(), flags, Mode::empty()).ok()?);
    let mut bytes = Vec::new();
    file.take(LARGEST_CONFIGURATION + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= LARGEST_CONFIGURATION).then_some(bytes)
}

/// Whether files are checked out outside the place that a repository belongs to. Those of a submodule lie in the
/// repository around it.
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
