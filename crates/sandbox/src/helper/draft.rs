//! Drafts: files that a caller writes in place although only judged content may get there, such as a repository's
//! configuration.
//!
//! Most programs replace a configuration by renaming, but `cp`, `tar` and some libraries open it and write. No
//! supervisor sees writes to an open file, so the caller gets another file, a *draft* without a name. At each
//! supervised call, and when the draft is closed, the supervisor judges its content and makes the file itself a copy of
//! it. A program that reads the file again at once, without a supervised call in between, may still find the old
//! content.

use super::caller::Caller;
use super::emulated::{put_copy, supervisors_name};
use super::judge::{RepositoryOwner, judge_copy, judge_unfinished_index};
use super::place::{NamedEntry, Seen};
use crate::denial::Denial;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, Stat, fchmod, fstat, open, openat, statat, unlinkat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Seek, SeekFrom, copy};
use std::path::PathBuf;
use windlass_sys::lockdown::notice::DescriptorScope;

/// More drafts than any command writes at a time.
pub(super) const MOST_DRAFTS: usize = 64;

/// The content that a file may have.
#[derive(Clone, Debug)]
pub(super) enum ContentRule {
    /// A configuration of such a repository.
    Configuration(RepositoryOwner),
    /// The content of the file at this path, or none.
    CopyOf(PathBuf),
    /// An index that git could have written.
    Index,
}

/// Content that was judged.
#[derive(Debug)]
pub(super) struct JudgedContent {
    pub(super) bytes: Vec<u8>,
    /// The mode and times of the new file. A command cannot change the mode of an existing configuration of the user's.
    pub(super) like: Seen,
    /// Whether the existing file stays as it is: it has these bytes already, or the caller is still writing more.
    pub(super) is_same: bool,
}

impl ContentRule {
    /// Judges a file that is to get a name: returns its bytes, or the reason why it must not.
    pub(super) fn judge(&self, seen: &Seen, entry: &NamedEntry) -> Result<JudgedContent, Denial> {
        match self {
            Self::Configuration(owner) => owner.judge(seen, entry),
            Self::CopyOf(original) => judge_copy(seen, entry, original),
            Self::Index => judge_unfinished_index(seen, entry),
        }
    }
}

/// An open that the supervisor answers with a draft.
#[derive(Debug)]
pub(super) struct DraftOpening {
    pub(super) entry: NamedEntry,
    pub(super) rule: ContentRule,
    /// The flags that the caller gave.
    pub(super) flags: OFlags,
    pub(super) mode: Mode,
}

/// A file that is being written.
#[derive(Debug)]
pub(super) struct Draft {
    content: OwnedFd,
    entry: NamedEntry,
    rule: ContentRule,
    caller: Caller,
    /// The file that the content replaces. If another file has its name by then, the draft is discarded.
    replaced: (u64, u64),
    judged: Option<Stamp>,
}

/// Size, mode, and time of the last change.
type Stamp = (i64, u32, i64, i64);

impl DraftOpening {
    /// Makes a draft as the caller would open the file: the file is created if need be, and the rights that its mode
    /// denies stay denied.
    pub(super) fn perform(&self, caller: &Caller) -> Result<(OwnedFd, DescriptorScope, Draft), Errno> {
        let (file, content, about) = caller.act(|| self.open())?;
        let heirs = if self.flags.contains(OFlags::CLOEXEC) {
            DescriptorScope::Nobody
        } else {
            DescriptorScope::Programs
        };
        let draft = Draft {
            content,
            entry: self.entry.clone(),
            rule: self.rule.clone(),
            caller: *caller,
            replaced: (about.st_dev, about.st_ino),
            judged: None,
        };
        Ok((file, heirs, draft))
    }

    fn open(&self) -> Result<(OwnedFd, OwnedFd, Stat), Errno> {
        let (directory, name) = (self.entry.directory.hold(), &self.entry.given);
        let asked = self.flags & (OFlags::CREATE | OFlags::EXCL);
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let original = openat(directory, name, flags | asked, self.mode)?;
        let about = fstat(&original)?;
        let temporary = supervisors_name()?;
        let owned = Mode::RUSR | Mode::WUSR;
        let draft = openat(directory, &temporary, flags | OFlags::CREATE | OFlags::EXCL, owned)?;
        unlinkat(directory, &temporary, AtFlags::empty())?;
        let (mut original, mut draft) = (File::from(original), File::from(draft));
        if !self.flags.contains(OFlags::TRUNC) {
            let copied = copy(&mut original, &mut draft).and_then(|_| draft.seek(SeekFrom::Start(0)));
            copied.map_err(|_| Errno::IO)?;
        }
        let link = Seen::of(draft.into()).map_err(|_| Errno::IO)?;
        let given = self.flags - (OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW);
        let file = open(link.link(), given | OFlags::CLOEXEC, Mode::empty())?;
        let content = open(link.link(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        fchmod(&file, Mode::from_raw_mode(about.st_mode))?;
        Ok((file, content, about))
    }
}

impl Draft {
    /// A path by which the supervisor itself can open the draft.
    pub(super) fn link(&self) -> String {
        format!("/proc/self/fd/{}", self.content.as_raw_fd())
    }

    /// Judges the content if it was written since the last time, and puts it in the file's place or returns the reason
    /// why it must not.
    pub(super) fn settle(&mut self) -> Option<Denial> {
        let about = fstat(&self.content).ok()?;
        let stamp = (about.st_size, about.st_mode, about.st_ctime, about.st_ctime_nsec as i64);
        let is_there = statat(self.entry.directory.hold(), &self.entry.name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|now| (now.st_dev, now.st_ino) == self.replaced);
        if self.judged == Some(stamp) || !is_there {
            return None;
        }
        self.judged = Some(stamp);
        let seen = Seen::of(self.content.try_clone().ok()?).ok()?;
        match self.rule.judge(&seen, &self.entry) {
            Ok(JudgedContent { is_same: true, .. }) => None,
            Ok(JudgedContent { bytes, like, .. }) => {
                // A disk that is full leaves the file as it was.
                let put = self.caller.act(|| put_copy(&self.entry, &like, &bytes));
                let now = statat(self.entry.directory.hold(), &self.entry.name, AtFlags::SYMLINK_NOFOLLOW);
                if let (Ok(()), Ok(now)) = (put, now) {
                    self.replaced = (now.st_dev, now.st_ino);
                }
                None
            }
            Err(denial) => Some(denial),
        }
    }
}
