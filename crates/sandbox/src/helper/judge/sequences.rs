//! Rebases, cherry-picks, reverts and applied patches that are under way in a repository. Git keeps the steps that are
//! left in a directory of the repository, and `git rebase --continue` runs them: an `exec` line is a command.
//!
//! Git makes that directory when it begins a sequence. When a command begins one, the supervisor makes the directory,
//! with an extended attribute that no command can set or remove. A directory without the attribute is the user's, also
//! while a server runs, and a command may neither change nor remove it: otherwise it could put another one in its
//! place, which the user would take for their own. The attribute stays with the directory, so a command of any later
//! runtime continues the sequence.

use super::git_dirs::{held, is_git_dir};
use super::{CallDecision, Judge};
use crate::denial::{Denial, Operation};
use crate::helper::emulated::{Change, EmulatedSyscall, Made};
use crate::helper::place::{NamedEntry, Seen};
use rustix::fs::{RenameFlags, lgetxattr};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Directories in which git keeps steps.
const SEQUENCES: [&str; 3] = ["rebase-merge", "rebase-apply", "sequencer"];
/// The attribute of those that a supervisor has made for a command.
const MARK: &str = "user.windlass.sequence";
/// Prefix of the attributes that only supervisors set.
const MARKS: &[u8] = b"user.windlass.";

/// The owner of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beginner {
    User,
    Command,
}

impl Judge<'_> {
    /// Why a path must stay as it is: it is the directory of a sequence that the user has begun, or lies in one.
    pub(super) fn step_of_users_sequence(&self, path: &Path) -> Option<String> {
        let sequence = path.ancestors().find(|above| is_sequence_name(above.file_name()))?;
        let git_dir = sequence.parent()?;
        if self.is_left_to_command(git_dir) || !is_git_dir(&held(git_dir)?) {
            return None;
        }
        (self.beginner(sequence)? == Beginner::User).then(|| {
            format!(
                "protected: git obeys {}; you began it; continue or abort it outside of the sandbox",
                sequence.display()
            )
        })
    }

    /// The owner of a sequence; `None` if it does not exist. On a file system without such attributes, a sequence is a
    /// command's if its directory was made after the runtime began.
    fn beginner(&self, sequence: &Path) -> Option<Beginner> {
        match lgetxattr(sequence, MARK, &mut [0_u8; 16]) {
            Ok(_) => Some(Beginner::Command),
            Err(Errno::NOENT | Errno::NOTDIR) => None,
            Err(Errno::OPNOTSUPP) if self.is_older(sequence) == Some(false) => Some(Beginner::Command),
            Err(_) => Some(Beginner::User),
        }
    }

    /// The directory of a sequence is created, and gets its mark, or is moved here and has the mark already.
    pub(super) fn begun_sequence(&self, emulated: EmulatedSyscall) -> Result<EmulatedSyscall, CallDecision> {
        let (entry, operation) = match &emulated {
            EmulatedSyscall::Make { entry, what: Made::Directory(mode) } if is_sequence(entry) => {
                let what = Made::Marked { mode: *mode, mark: MARK };
                return Ok(EmulatedSyscall::Make { entry: entry.clone(), what });
            }
            EmulatedSyscall::Make { entry, .. } => (entry, Operation::Create),
            EmulatedSyscall::Link { to, .. } => (to, Operation::Link),
            EmulatedSyscall::Move { from, to, flags } => {
                let is_exchange = flags.contains(RenameFlags::EXCHANGE);
                let away = [Some(from), Some(to).filter(|_| is_exchange)];
                if let Some(refused) =
                    away.into_iter().flatten().find_map(|entry| self.moved_with_sequence(entry))
                {
                    return Err(refused);
                }
                let is_commands = self.beginner(&from.path()) == Some(Beginner::Command)
                    && from.look().is_ok_and(|seen| seen.is_directory());
                if is_commands {
                    return Ok(emulated);
                }
                (to, Operation::Rename)
            }
            _ => return Ok(emulated),
        };
        if !is_sequence(entry) || self.is_left_to_command(&entry.directory.path) {
            return Ok(emulated);
        }
        let rule = "protected: git obeys it; it comes as a new directory only".to_owned();
        let target = entry.path().display().to_string();
        Err(CallDecision::Refuse(Errno::PERM, Denial { operation, target, rule, times: 1 }))
    }

    /// A git directory with a sequence of the user's must not be moved: another one in its place would have other
    /// steps.
    fn moved_with_sequence(&self, entry: &NamedEntry) -> Option<CallDecision> {
        let seen = entry.look().ok().filter(|seen| seen.is_directory() && is_git_dir(seen))?;
        let rule = SEQUENCES.iter().find_map(|name| self.step_of_users_sequence(&seen.path.join(name)))?;
        let (operation, target) = (Operation::Rename, seen.path.display().to_string());
        Some(CallDecision::Refuse(Errno::BUSY, Denial { operation, target, rule, times: 1 }))
    }

    /// Why an attribute must stay as it is: it marks directories that a supervisor has made.
    pub(super) fn changed_mark(&self, seen: &Seen, how: &Change) -> Option<CallDecision> {
        let (Change::Attribute { name, .. } | Change::NoAttribute { name }) = how else { return None };
        name.as_bytes().starts_with(MARKS).then(|| {
            let rule = format!("protected: only the supervisor sets {}", name.display());
            let (operation, target) = (Operation::ChangeAttributes, seen.path.display().to_string());
            CallDecision::Refuse(Errno::PERM, Denial { operation, target, rule, times: 1 })
        })
    }
}

/// Whether git keeps steps under this name, or will: programs that copy a repository make its files in any order.
fn is_sequence(entry: &NamedEntry) -> bool {
    let is_in_repository = || {
        let names = entry.directory.path.iter();
        is_git_dir(&entry.directory) || names.into_iter().any(|name| name.as_bytes().ends_with(b".git"))
    };
    is_sequence_name(Some(&entry.name)) && is_in_repository()
}

fn is_sequence_name(name: Option<&OsStr>) -> bool {
    name.is_some_and(|name| SEQUENCES.iter().any(|sequence| name.eq_ignore_ascii_case(sequence)))
}
