//! Decides whether a supervised call is refused, and by which rule; and whether the kernel or the supervisor enforces
//! that.
//!
//! The judge recognises and reports calls that the kernel refuses by itself (a read-only place, a missing network).
//! Only the judge itself refuses names that must not be created and, without namespaces, changes outside writable
//! places and of protected ones: calls that could do such a thing are not left to the kernel, which would read the path
//! a second time, but carried out with the objects that were judged. A call whose path cannot be read is refused: no
//! program has a reason to hide one.

mod configurations;
mod folded;
mod git_dirs;
mod git_links;
mod inotify;
mod late_links;
mod network;
mod obeyed_directories;
mod older_repositories;
mod opened;
mod repositories;
mod resolutions;
mod sequences;
mod shared_memory;
mod terminals;
mod work_trees;

pub(super) use self::configurations::RepositoryOwner;
pub(super) use self::folded::FoldedRules;
pub(super) use self::repositories::{ReadIndexes, judge_unfinished_index};
pub(super) use self::terminals::OwnTerminals;
pub(super) use self::work_trees::judge_copy;

use self::folded::is_at_or_below;
use super::emulated::{Change, EmulatedSyscall, Made, SocketPair, wish};
use super::memory::Missing;
use super::place::{End, Located, NamedEntry, Seen};
use super::rules;
use super::socket_owners::SocketOwners;
use crate::calls::{CallSubject, Links, PathArgument, Refused, SupervisedCall, WRITING, meaning, refused};
use crate::confinement::Confinement;
use crate::denial::{Denial, Operation};
use crate::plan::{Ruling, ruling_at};
use crate::policy::Access;
use crate::protect::{self, MustNotExist};
use rustix::fs::AtFlags;
use rustix::fs::RenameFlags;
use rustix::io::Errno;
use std::path::Path;
use windlass_sys::lockdown::notice::Notice;
use windlass_sys::mark::Halves;
use windlass_sys::process::Pid;

/// The supervisor's decision about a system call.
#[derive(Debug)]
pub(super) enum CallDecision {
    /// The kernel decides.
    GoOn,
    /// A rule refuses the call.
    Refuse(Errno, Denial),
    /// The call fails as it would without rules.
    Fail(Errno),
    /// The call is allowed, and the supervisor carries this out.
    CarryOut(Box<EmulatedSyscall>),
}

impl CallDecision {
    fn carry_out(emulated: EmulatedSyscall) -> Self {
        Self::CarryOut(Box::new(emulated))
    }
}

type Judged = Result<CallDecision, Missing>;

/// Judges calls by one command's rules.
pub(super) struct Judge<'a> {
    pub(super) order: &'a Confinement,
    /// The mark of the command's session.
    pub(super) mark: Option<Halves>,
    /// The number of the command, where it has namespaces of its own.
    pub(super) first: Pid,
    pub(super) indexes: ReadIndexes,
    /// The owners of sockets.
    pub(super) sockets: SocketOwners<'a>,
    /// The terminals that it has made.
    pub(super) terminals: OwnTerminals,
    /// The rules without regard to case.
    pub(super) folded: FoldedRules,
}

const AT_NO_FOLLOW: u64 = 0x100;
const AT_EMPTY_PATH: u64 = 0x1000;

impl Judge<'_> {
    pub(super) fn answer(&self, notice: &Notice) -> CallDecision {
        if let Some(Refused { errno, what, rule }) = refused(notice.number, &notice.arguments) {
            let denial = Denial { operation: Operation::Call, target: what, rule: rule.to_owned(), times: 1 };
            return CallDecision::Refuse(errno, denial);
        }
        let Some(told) = meaning(notice.number) else { return CallDecision::Fail(Errno::NOSYS) };
        match self.judged(notice, told) {
            Ok(CallDecision::CarryOut(emulated)) => self.without_git_programs(*emulated),
            Ok(answer) => answer,
            Err(Missing::Hidden) => self.hidden(told.operation),
            // The kernel can read memory that we cannot, for example pages that can be written only.
            Err(Missing::Fails(Errno::FAULT)) => CallDecision::Fail(Errno::FAULT),
            Err(Missing::Fails(errno)) if self.carries(notice, told) => CallDecision::Fail(errno),
            Err(Missing::Fails(_)) => CallDecision::GoOn,
        }
    }

    fn judged(&self, notice: &Notice, told: &SupervisedCall) -> Judged {
        let operation = told.operation;
        match told.subject {
            CallSubject::Opened { place, .. } => self.opened(notice, place),
            CallSubject::Object { place, links } => {
                let seen = object(notice, place, links)?.look(follows(notice, links))?;
                self.changed(notice, operation, seen)
            }
            CallSubject::Descriptor { argument } => {
                self.changed(notice, operation, Located::descriptor(notice, argument).look(true)?)
            }
            CallSubject::NewEntry { place } => self.new_entry(notice, operation, place),
            CallSubject::OldEntry { place } => self.old_entry(notice, operation, place),
            CallSubject::Linked { from, to } => self.linked(notice, from, to),
            CallSubject::Moved { from, to } => self.moved(notice, from, to),
            CallSubject::Connected => self.connected(notice, operation),
            CallSubject::Sent => self.sent(notice, operation),
            CallSubject::Bound => self.bound(notice, operation),
            CallSubject::Socket => Ok(self.socket(notice, operation)),
            CallSubject::DatagramPair => {
                Ok(CallDecision::carry_out(EmulatedSyscall::Pair(SocketPair::of(notice))))
            }
            CallSubject::Inotify => self.inotify(notice, operation),
            CallSubject::Executed { place } => Ok(self.executed(notice, operation, place)),
            CallSubject::Process { argument } => {
                Ok(self.about_process(Pid::new(notice.arguments[argument] as u32)))
            }
        }
    }

    /// Whether such a call is never left to the kernel, because the supervisor carries it out.
    fn carries(&self, notice: &Notice, told: &SupervisedCall) -> bool {
        match told.subject {
            CallSubject::Opened { .. } => self.carries_open(wish::opening(notice).0),
            CallSubject::Object { .. }
            | CallSubject::Descriptor { .. }
            | CallSubject::NewEntry { .. }
            | CallSubject::OldEntry { .. }
            | CallSubject::Linked { .. }
            | CallSubject::Moved { .. } => self.carries_names(),
            CallSubject::Executed { .. } => false,
            CallSubject::Connected
            | CallSubject::Sent
            | CallSubject::Bound
            | CallSubject::Socket
            | CallSubject::DatagramPair
            | CallSubject::Inotify
            | CallSubject::Process { .. } => true,
        }
    }

    /// The kernel decides: a denied file cannot be executed. The call is only supervised to report the refusal, so a
    /// path that cannot be read is left to the kernel, too.
    fn executed(&self, notice: &Notice, operation: Operation, place: PathArgument) -> CallDecision {
        let Ok(located) = Located::of(notice, place) else { return CallDecision::GoOn };
        if located.is_base() {
            // An open descriptor, or `/proc/self/exe`: the caller has it already, wherever it lies.
            return CallDecision::GoOn;
        }
        let path = match (located.look(true), located.end(true)) {
            (Ok(seen), _) => seen.path,
            // A directory that is hidden is empty.
            (Err(Missing::Fails(_)), Ok(End::Name(entry))) => entry.path(),
            (Err(_), _) => return CallDecision::GoOn,
        };
        match self.ruling_at(&path).filter(|ruling| ruling.access == Access::Deny) {
            Some(ruling) => CallDecision::Refuse(Errno::ACCESS, denial(operation, &path, ruling)),
            None => CallDecision::GoOn,
        }
    }

    /// A process by its number, which is in a register and cannot change any more. Processes of the session are
    /// recognised by their mark; the supervisor bears it, too.
    fn about_process(&self, process: Pid) -> CallDecision {
        let is_own = self.mark.is_some() && Halves::on(process) == self.mark;
        match is_own && process != Pid::of_this_process() {
            true => CallDecision::GoOn,
            false => CallDecision::Fail(Errno::PERM),
        }
    }

    /// Whether the supervisor creates, moves and removes names itself: only it can keep some names from being created.
    fn carries_names(&self) -> bool {
        self.is_alone() || self.order.keeps_names()
    }

    /// Whether no mount keeps anything.
    fn is_alone(&self) -> bool {
        !self.order.namespaces
    }

    fn carry_names(&self, emulated: impl FnOnce() -> Result<EmulatedSyscall, Missing>) -> Judged {
        if self.carries_names() { emulated().map(CallDecision::carry_out) } else { Ok(CallDecision::GoOn) }
    }

    /// The answer to a call whose path cannot be read.
    fn hidden(&self, operation: Operation) -> CallDecision {
        let (target, rule) = ("a path that cannot be made out".to_owned(), "supervisor".to_owned());
        CallDecision::Refuse(Errno::ACCESS, Denial { operation, target, rule, times: 1 })
    }

    fn denied_to_read(&self, path: &Path) -> Option<CallDecision> {
        let ruling = self.ruling_at(path)?;
        (ruling.access == Access::Deny)
            .then(|| CallDecision::Refuse(Errno::ACCESS, denial(Operation::Read, path, ruling)))
    }

    fn changed(&self, notice: &Notice, operation: Operation, seen: Seen) -> Judged {
        // An object without a path, such as a pipe, belongs to the processes that have it open.
        let kept = if self.is_alone() {
            let ruling = self.ruling_at(&seen.path);
            let is_shared = seen.path.parent().is_some_and(|above| above.starts_with("/dev/shm"));
            let is_ruled = !is_shared && ruling.is_some_and(|ruling| ruling.access != Access::Write);
            let is_kept = is_ruled || self.is_foreign_memory(&seen.path) || self.is_obeyed(&seen);
            seen.path.is_absolute() && is_kept
        } else {
            self.is_kept(&seen)
        };
        match (kept, owner_refuses(operation, &seen)) {
            (true, Some(errno)) => Ok(CallDecision::Fail(errno)),
            (true, None) => Ok(self.refused_there(operation, &seen, &seen.path)),
            (false, _) if !self.carries_names() => Ok(CallDecision::GoOn),
            (false, _) => {
                Ok(CallDecision::carry_out(EmulatedSyscall::Change { how: Change::of(notice)?, seen }))
            }
        }
    }

    fn new_entry(&self, notice: &Notice, operation: Operation, place: PathArgument) -> Judged {
        let entry = Located::of(notice, place)?.entry()?;
        if entry.exists() {
            return Err(Errno::EXIST.into());
        }
        match self.made(operation, &entry) {
            Some(refused) => Ok(refused),
            None => self.carry_names(|| Ok(EmulatedSyscall::Make { what: Made::of(notice)?, entry })),
        }
    }

    /// Why a missing name must not be created.
    fn made(&self, operation: Operation, entry: &NamedEntry) -> Option<CallDecision> {
        let path = entry.path();
        let must_not_exist = self.folded.must_not_exist(self.order, &path, |must_not_exist, path| {
            must_not_exist == path || brings_more(operation) && is_at_or_below(must_not_exist, path)
        });
        must_not_exist
            .map(|must_not_exist| refused_birth(operation, entry, must_not_exist))
            .or_else(|| self.sealed_entry(operation, &path))
            .or_else(|| self.kept_entry(operation, entry))
    }

    /// An index may come by renaming; then its content is judged.
    fn sealed_entry(&self, operation: Operation, path: &Path) -> Option<CallDecision> {
        let is_sealed = match operation {
            Operation::Rename => self.sealed_in_place(path).is_some(),
            _ => self.sealed(path).is_some(),
        };
        (is_sealed || self.obeyed_in_older(path).is_some()).then(|| self.refused(operation, path))
    }

    /// Why a path in a writable place must stay as it is, although no ruling names it.
    fn sealed(&self, path: &Path) -> Option<String> {
        self.sealed_in_place(path).or_else(|| self.written_index(path))
    }

    fn sealed_in_place(&self, path: &Path) -> Option<String> {
        protect::sealed_by_name(&self.order.rulings, path).or_else(|| self.order_in_gitlink(path))
    }

    fn must_not_exist(&self, entry: &NamedEntry) -> Option<&MustNotExist> {
        self.folded.must_not_exist(self.order, &entry.path(), |must_not_exist, path| must_not_exist == path)
    }

    /// The ruling for a path. Where no mount protects anything, a name that differs from a protected one only in case
    /// is protected, too.
    fn ruling_at(&self, path: &Path) -> Option<&Ruling> {
        let exactly = ruling_at(&self.order.rulings, path)?;
        if !self.is_alone() || exactly.access != Access::Write {
            return Some(exactly);
        }
        let is_deeper =
            |ruling: &&Ruling| ruling.path.components().count() > exactly.path.components().count();
        self.folded.protected(self.order, path).filter(is_deeper).or(Some(exactly))
    }

    /// Why entries of a directory must not change.
    fn kept_entry(&self, operation: Operation, entry: &NamedEntry) -> Option<CallDecision> {
        let directory = &entry.directory;
        // Obeyed files in a repository or directory below the workspace may be removed with everything around them.
        let is_kept = match operation {
            Operation::Remove => self.is_kept_for_good(directory),
            _ => self.is_kept(directory),
        };
        if is_kept {
            // If the file's permissions forbid the operation anyway, no rule has refused it.
            return Some(match directory.owner_lets_write() {
                true => self.refused_there(operation, directory, &entry.path()),
                false => CallDecision::Fail(Errno::ACCESS),
            });
        }
        // The rules do not cover devices and `/proc`, but without namespaces no other layer protects them.
        let out_of_reach = self.is_alone() && !self.is_writable_by_rule(&directory.path);
        out_of_reach.then_some(CallDecision::Fail(Errno::ACCESS))
    }

    fn old_entry(&self, notice: &Notice, operation: Operation, place: PathArgument) -> Judged {
        let entry = Located::of(notice, place)?.entry()?;
        if !entry.exists() {
            return Err(Errno::NOENT.into());
        }
        match self.gone(operation, &entry) {
            // It would fail without a sandbox, too. `git stash` tries to remove `.git` in case it is empty.
            Some(_) if self.is_filled_directory(notice, &entry) => Err(Errno::NOTEMPTY.into()),
            Some(refused) => Ok(refused),
            None => self.carry_names(|| Ok(EmulatedSyscall::Remove { flags: wish::removal(notice), entry })),
        }
    }

    /// Whether a non-empty directory is to be removed. Says no for denied directories, so that their content is not
    /// revealed.
    fn is_filled_directory(&self, notice: &Notice, entry: &NamedEntry) -> bool {
        let path = entry.path();
        let is_denied = self.ruling_at(&path).is_some_and(|ruling| ruling.access == Access::Deny);
        wish::removal(notice).contains(AtFlags::REMOVEDIR)
            && !is_denied
            && entry.look().is_ok_and(|seen| {
                std::fs::read_dir(seen.link()).is_ok_and(|mut names| names.next().is_some())
            })
    }

    /// Why an existing name must not be removed: it is protected itself, or is a link with a protected name.
    fn gone(&self, operation: Operation, entry: &NamedEntry) -> Option<CallDecision> {
        if let Some(must_not_exist) = self.must_not_exist(entry) {
            return Some(refused_birth(operation, entry, must_not_exist));
        }
        let path = entry.path();
        if operation == Operation::Remove && self.is_inner_directory(&path) {
            return Some(CallDecision::Fail(Errno::BUSY));
        }
        let fixed = self.order.rulings.iter().any(|ruling| ruling.path == path && self.stays(ruling));
        let is_moved = match operation {
            Operation::Rename => self.obeyed_in_older(&path),
            _ => self.step_of_users_sequence(&path),
        }
        .is_some();
        if fixed || is_moved || self.sealed_in_place(&path).is_some() || self.is_foreign_memory(&path) {
            Some(self.refused(operation, &path))
        } else {
            self.kept_entry(operation, entry)
        }
    }

    /// Whether it is the directory in which a repository keeps worktrees or submodules. `git worktree remove` tries to
    /// remove that directory every time, in case it is empty, and goes on without: that is not reported as a denial.
    fn is_inner_directory(&self, path: &Path) -> bool {
        let is_of_plan = |git_dir: &Path| self.order.repositories.iter().any(|it| it.git_dir == git_dir);
        protect::INNER.iter().any(|inner| path.ends_with(inner))
            && path.parent().is_some_and(is_of_plan)
            && self.order.rulings.iter().any(|ruling| ruling.path == path && ruling.pinned)
    }

    /// Whether a place with a ruling must not be moved. A rule that makes a file in a writable place writable does not
    /// protect its name: programs replace files to write them.
    fn stays(&self, ruling: &Ruling) -> bool {
        let above = ruling.path.parent().and_then(|above| ruling_at(&self.order.rulings, above));
        let is_free = ruling.access == Access::Write && !ruling.pinned;
        !(is_free && above.is_some_and(|above| above.access == Access::Write) && !ruling.path.is_dir())
    }

    /// A second name would allow changes or reads of a protected file.
    fn linked(&self, notice: &Notice, from: PathArgument, to: PathArgument) -> Judged {
        let to = Located::of(notice, to)?.entry()?;
        if to.exists() {
            return Err(Errno::EXIST.into());
        }
        let around = || Located::of(notice, from).and_then(|from| from.entry()).map(|entry| entry.directory);
        if let Some(refused) = self.made(Operation::Link, &to) {
            return Ok(unless_across_devices(refused, around().ok().as_ref(), &to));
        }
        let seen = object(notice, from, Links::FollowedUnless(4))?.look(wish::linking_follows(notice)?)?;
        match self.is_kept(&seen) {
            // The kernel would refuse this without a sandbox, too.
            true if !seen.owner_lets_link() => Ok(CallDecision::Fail(Errno::PERM)),
            true => {
                let refused = self.refused_there(Operation::Link, &seen, &seen.path);
                Ok(unless_across_devices(refused, around().ok().as_ref(), &to))
            }
            false => self.carry_names(|| Ok(EmulatedSyscall::Link { from: seen, to })),
        }
    }

    fn moved(&self, notice: &Notice, from: PathArgument, to: PathArgument) -> Judged {
        let (from, to) = (Located::of(notice, from)?.entry()?, Located::of(notice, to)?.entry()?);
        if !from.exists() {
            return Err(Errno::NOENT.into());
        }
        let check = |entry: &NamedEntry| match entry.exists() {
            true => self.gone(Operation::Rename, entry).or_else(|| self.held_in_place(entry)),
            false => self.made(Operation::Rename, entry),
        };
        if let Some(refused) = check(&from).or_else(|| check(&to)) {
            return Ok(unless_across_devices(refused, Some(&from.directory), &to));
        }
        let flags = wish::renaming(notice);
        // Most renamed objects are regular files, which contain no repository: so no index is read for them.
        let may_bring = |entry: &NamedEntry| entry.look().is_ok_and(|seen| !seen.is_regular());
        let brought = |from: &NamedEntry, to: &NamedEntry| {
            may_bring(from).then(|| self.moved_onto_gitlink(&from.path(), &to.path())).flatten()
        };
        let is_exchange = flags.contains(RenameFlags::EXCHANGE);
        let onto_gitlink = brought(&from, &to).or_else(|| brought(&to, &from).filter(|_| is_exchange));
        if let Some(refused) = onto_gitlink {
            return Ok(refused);
        }
        match self.replaced_index(&from, &to, flags) {
            Some(judged) => judged,
            None => {
                self.carry_names(|| Ok(EmulatedSyscall::Move { flags: wish::renaming(notice), from, to }))
            }
        }
    }

    /// A directory with a protected object in it must not be moved: at its new path the rules would not find the
    /// object. Mounts would move with the directory, but those of the next command are at the paths in the rules. The
    /// same holds for hidden sockets of programs outside.
    fn held_in_place(&self, entry: &NamedEntry) -> Option<CallDecision> {
        let path = entry.path();
        let Confinement { rulings, must_not_exist, sockets, .. } = self.order;
        let is_held = |ruling: &&Ruling| self.is_alone() || self.order.is_held(ruling);
        let rulings = rulings.iter().filter(|ruling| is_held(ruling) && self.stays(ruling));
        let inside = (rulings.map(|ruling| &ruling.path))
            .chain(must_not_exist.iter().map(|must_not_exist| &must_not_exist.path))
            .chain(sockets)
            .find(|inside| inside.starts_with(&path))?;
        let rule = format!("{} is in it", inside.display());
        let target = path.display().to_string();
        Some(CallDecision::Refuse(
            Errno::BUSY,
            Denial { operation: Operation::Rename, target, rule, times: 1 },
        ))
    }

    /// Whether a place may not be changed: because of its mount, or by the rules. A mount over a single file disappears
    /// when a process outside replaces the file.
    fn is_kept_for_good(&self, seen: &Seen) -> bool {
        let own = ["/dev", "/proc", "/run"];
        let shared = ["/dev", "/proc"];
        let exempt: &[&str] = if self.order.namespaces { &own } else { &shared };
        let exempt = exempt.iter().any(|place| seen.path.starts_with(place));
        let ruled = self.ruling_at(&seen.path).is_some_and(|ruling| ruling.access != Access::Write)
            || !is_git_dir(seen) && self.sealed(&seen.path).is_some();
        !exempt && seen.path.is_absolute() && ruled
            || self.order.namespaces && seen.is_on_read_only_mount()
            || self.is_foreign_memory(&seen.path)
    }

    /// The same, and objects that other programs obey in repositories and directories that existed before the runtime.
    fn is_kept(&self, seen: &Seen) -> bool {
        self.is_kept_for_good(seen) || self.is_obeyed(seen)
    }

    /// Whether something must stay as it is because windlass, git or another program of the user obeys it.
    fn is_obeyed(&self, seen: &Seen) -> bool {
        let is_sealed = |path| self.sealed(path).or_else(|| self.obeyed_in_older(path)).is_some();
        seen.path.is_absolute() && !is_git_dir(seen) && is_sealed(&seen.path)
    }

    /// Whether the rules make a place writable, or it is one of the common places that every command may write to.
    fn is_writable_by_rule(&self, path: &Path) -> bool {
        let ruled = self.ruling_at(path).is_some_and(|ruling| ruling.access == Access::Write);
        ruled || rules::COMMON_PLACES.iter().any(|(place, _)| path.starts_with(place))
    }

    /// The same for objects in a directory that cannot change, and for such a directory. If the rules make a place
    /// writable and it is still on a read-only mount, the mount was read-only before: the call would fail without a
    /// sandbox, too, and no rule explains it.
    fn refused_there(&self, operation: Operation, kept: &Seen, path: &Path) -> CallDecision {
        let is_by_rule = self.is_foreign_memory(&kept.path)
            || self.is_obeyed(kept)
            || self.ruling_at(&kept.path).is_none_or(|ruling| ruling.access != Access::Write);
        match is_by_rule {
            true => self.refused(operation, path),
            false => CallDecision::Fail(Errno::ROFS),
        }
    }

    fn refused(&self, operation: Operation, path: &Path) -> CallDecision {
        let ruling = self.ruling_at(path);
        let sealed = self.sealed(path).or_else(|| self.obeyed_in_older(path));
        let rule = match self.is_foreign_memory(path) {
            true => Some("a file of a program outside in shared memory".to_owned()),
            false => sealed.or_else(|| ruling.map(|ruling| ruling.origin.clone())),
        };
        let rule = rule.unwrap_or_default();
        let target = path.display().to_string();
        CallDecision::Refuse(Errno::ROFS, Denial { operation, target, rule, times: 1 })
    }
}

/// Between file systems, a file can be neither moved nor linked, with or without a sandbox: that is not reported as a
/// denial. Directories are compared, because a file in a container's overlay has the device of its layer.
fn unless_across_devices(refused: CallDecision, from: Option<&Seen>, to: &NamedEntry) -> CallDecision {
    match from.is_some_and(|from| from.about.st_dev != to.directory.about.st_dev) {
        true => CallDecision::Fail(Errno::XDEV),
        false => refused,
    }
}

/// Whether it is a repository's own directory: names in it are judged one by one, and a commit makes many.
fn is_git_dir(seen: &Seen) -> bool {
    seen.is_directory() && repositories::is_repository_name(seen.path.file_name())
}

/// Whether the new object may contain others: a created directory is empty, but a moved one, or one that a link leads
/// to, is not.
fn brings_more(operation: Operation) -> bool {
    matches!(operation, Operation::Rename | Operation::Link)
}

fn refused_birth(operation: Operation, entry: &NamedEntry, must_not_exist: &MustNotExist) -> CallDecision {
    let target = entry.path().display().to_string();
    CallDecision::Refuse(
        Errno::PERM,
        Denial { operation, target, rule: must_not_exist.origin.clone(), times: 1 },
    )
}

/// The kernel's error if the caller may do this only to its own files, wherever they lie.
fn owner_refuses(operation: Operation, seen: &Seen) -> Option<Errno> {
    match operation {
        Operation::Truncate | Operation::ChangeAttributes => {
            (!seen.owner_lets_write()).then_some(Errno::ACCESS)
        }
        _ => (!seen.is_own()).then_some(Errno::PERM),
    }
}

/// The object of a call: a path, or only a descriptor where its flags allow that.
fn object(notice: &Notice, place: PathArgument, links: Links) -> Result<Located, Missing> {
    match (Located::of(notice, place), links, place.directory) {
        (Err(Missing::Fails(Errno::NOENT)), Links::FollowedUnless(flags), Some(directory))
            if notice.arguments[flags] & AT_EMPTY_PATH != 0 =>
        {
            Ok(Located::descriptor(notice, directory))
        }
        (located, _, _) => located,
    }
}

/// Whether a link at the end of a path is followed.
fn follows(notice: &Notice, links: Links) -> bool {
    match links {
        Links::Followed => true,
        Links::Kept => false,
        Links::FollowedUnless(argument) => notice.arguments[argument] & AT_NO_FOLLOW == 0,
    }
}

fn denial(operation: Operation, path: &Path, ruling: &Ruling) -> Denial {
    Denial { operation, target: path.display().to_string(), rule: ruling.origin.clone(), times: 1 }
}
