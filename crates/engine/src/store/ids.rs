//! Ids that are never reused, however many processes claim them at once.
//!
//! The counter is a directory with one entry, whose name is the first unclaimed id. A process claims ids by renaming
//! that entry: of several processes that try, exactly one succeeds. A lock would do the same, but every process that
//! can read a file can lock it, a confined command too, and would then keep every Windlass of its user from starting
//! anything.
//!
//! A process claims blocks that grow as it starts more sessions, so a single command wastes nothing and a busy server
//! rarely touches the counter. Unused ids of a block are lost, the price of "never reused".
//!
//! A state directory that is deleted takes its counter along, but not the processes that claimed ids in it. Each of
//! them publishes its ids to all others for as long as it lives, and a new counter begins above those.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{Access, CWD, FlockOperation, RenameFlags, access, flock};
use rustix::io::Errno;
use windlass_sys::published::{self, Published, Topic};

use super::files::{OwnFile, own_files};
use super::ledger;
use super::{DIRECTORY_MODE, FILE_MODE};
use crate::{ProcessKey, SessionId, regular_file};

/// The counter's name in the state directory.
pub(super) const COUNTER: &str = "next";

/// Four digits from the start, so that an id cannot be taken for an exit code or a job number.
const FIRST: u64 = 1001;
const LARGEST_BLOCK: u64 = 64;

/// Each failed try is a claim of another process that succeeded.
const MOST_TRIES: usize = 10_000;

/// More sessions than any runtime has.
const MOST_SHOWN: usize = 1 << 16;

/// Longer than any number in a file.
const LONGEST: u64 = 64;

/// Claimed ids that are still to be given out: blocks of 1, 1, 2, 4 and so on.
#[derive(Debug, Default)]
pub(super) struct Block {
    next: u64,
    left: u64,
    /// The blocks so far: the records of each lie in one file, which this process alone writes.
    ranges: Vec<IdRange>,
    /// The blocks of a directory that was removed or replaced since: in the present one, these numbers belong to
    /// others.
    former: Vec<IdRange>,
    /// How many this process has claimed so far.
    claimed: u64,
    /// All of them, also those of former directories, for processes that begin a counter. `None` before the first
    /// claim.
    published: Option<Published>,
}

/// Ids claimed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IdRange {
    pub(super) first: SessionId,
    size: u64,
}

impl IdRange {
    pub(super) fn of_one(id: SessionId) -> Self {
        Self { first: id, size: 1 }
    }

    /// Whether these are all its numbers.
    pub(super) fn is_all_in(self, ids: &BTreeSet<SessionId>) -> bool {
        let last = SessionId::new(self.first.get() + self.size - 1);
        ids.range(self.first..=last).count() as u64 == self.size
    }

    fn contains(self, id: SessionId) -> bool {
        (self.first.get()..self.first.get() + self.size).contains(&id.get())
    }
}

impl Block {
    /// The block an id was claimed in, if it was claimed here.
    pub(super) fn range_of(&self, id: SessionId) -> Option<IdRange> {
        let after = self.ranges.partition_point(|range| range.first <= id);
        self.ranges.get(after.checked_sub(1)?).copied().filter(|range| range.contains(id))
    }

    /// Whether an id was claimed in a directory that does not exist any more.
    pub(super) fn is_former(&self, id: SessionId) -> bool {
        self.former.iter().any(|range| range.contains(id))
    }

    /// Gives up all claimed ids: the directory in which they were claimed does not exist any more.
    pub(super) fn abandon(&mut self) {
        self.former.append(&mut self.ranges);
        self.next += self.left;
        self.left = 0;
    }

    pub(super) fn take(&mut self, counter: &Path, root: &Path) -> io::Result<SessionId> {
        if self.left == 0 {
            let size = self.claimed.clamp(1, LARGEST_BLOCK);
            // A directory that was made anew counts from the start again, and this process does not.
            self.next = claim(counter, root, (self.next, size))?;
            self.left = size;
            self.ranges.push(IdRange { first: SessionId::new(self.next), size });
            self.claimed += size;
            self.publish(root, size);
        }
        let id = SessionId::new(self.next);
        self.next += 1;
        self.left -= 1;
        Ok(id)
    }

    /// Shows that a session of this runtime has a record. Where the record is removed or cut, and this process cannot be looked
    /// into, others know from this that it was there.
    pub(super) fn show_recorded(&self, root: &Path, id: SessionId, runtime: ProcessKey) {
        if let Some(published) = &self.published {
            let _ = published.add(recorded_topic(root, runtime), &(id.get()..=id.get()));
        }
    }

    /// Shows the block that was claimed last. Where the system refuses that, ids are unique for as long as the directory exists.
    fn publish(&mut self, root: &Path, size: u64) {
        if self.published.is_none() {
            self.published = Published::new().ok();
        }
        if let Some(published) = &self.published {
            let _ = published.add(topic(root), &(self.next..=self.next + size - 1));
        }
    }
}

/// The sessions of which a living runtime wrote a record into this directory.
pub(super) fn recorded_by(root: &Path, runtime: ProcessKey) -> Vec<SessionId> {
    let shown = published::shown(recorded_topic(root, runtime));
    // Any process can show anything, also ranges without end.
    let mut ids: Vec<_> = shown.into_iter().flatten().take(MOST_SHOWN).map(SessionId::new).collect();
    ids.sort();
    ids
}

/// Those of one runtime, by its process.
fn recorded_topic(root: &Path, runtime: ProcessKey) -> Topic {
    let root = fs::canonicalize(root).or_else(|_| std::path::absolute(root));
    let root = root.map(|root| root.into_os_string().into_encoded_bytes()).unwrap_or_default();
    Topic::of(&[&root[..], b"\0", runtime.to_string().as_bytes()].concat())
}

/// The ids of one state directory, by its name: what is deleted and made again has the same.
fn topic(root: &Path) -> Topic {
    let root = fs::canonicalize(root).or_else(|_| std::path::absolute(root));
    Topic::of(root.as_deref().map_or(b"", |root| root.as_os_str().as_bytes()))
}

/// Makes sure that ids can be claimed: the counter exists, and this process may change it.
pub(super) fn prepare(counter: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(DIRECTORY_MODE).create(counter) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Ok(access(counter, Access::WRITE_OK).map_err(io::Error::from)?)
        }
        made => made,
    }
}

/// Takes `size` ids, none of which is below `least`.
fn claim(counter: &Path, root: &Path, (least, size): (u64, u64)) -> io::Result<u64> {
    for _ in 0..MOST_TRIES {
        let Some(next) = read(counter)? else {
            begin(counter, root)?;
            continue;
        };
        let first = next.max(least);
        match fs::rename(counter.join(next.to_string()), counter.join((first + size).to_string())) {
            Ok(()) => return Ok(first),
            // Another process claimed these ids first.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "other processes claim ids all the time"))
}

/// The number in the counter; `None` if it is new, damaged, or the file of an older Windlass. A reader can miss the
/// entry while another process renames it; that is found out in [`begin`].
fn read(counter: &Path) -> io::Result<Option<u64>> {
    let entries = match fs::read_dir(counter) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let mut newest = None;
    for entry in entries {
        newest = newest.max(entry?.file_name().to_str().and_then(number));
    }
    Ok(newest)
}

fn number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|next| (FIRST..=u64::MAX - LARGEST_BLOCK).contains(next))
}

/// Puts a new counter in place. A directory is renamed over another one only where that is empty, so of two processes
/// that begin at once one fails, and a counter that is in use stays.
fn begin(counter: &Path, root: &Path) -> io::Result<()> {
    let older = OlderCounter::take(counter)?;
    let used = older.as_ref().and_then(OlderCounter::number);
    let shown = published::highest(topic(root)).map(|newest| newest.saturating_add(1));
    let first = used.max(shown).max(Some(first_unused(root)?)).unwrap_or(FIRST);
    if older.is_none() {
        remove_damaged(counter)?;
    }
    // Process ids are not unique: state directories are shared between containers.
    let unique = RandomState::new().build_hasher().finish();
    let new = root.join(format!("{COUNTER}.{unique:016x}"));
    DirBuilder::new().mode(DIRECTORY_MODE).create(&new)?;
    let mut entry = OpenOptions::new();
    entry.write(true).create_new(true).mode(FILE_MODE).open(new.join(first.to_string()))?;
    let put = match &older {
        Some(_) => rustix::fs::renameat_with(CWD, &new, CWD, counter, RenameFlags::EXCHANGE),
        None => rustix::fs::rename(&new, counter),
    };
    // Either the new counter, or the older one that it replaced.
    let _ = fs::remove_dir_all(&new).or_else(|_| fs::remove_file(&new));
    match put {
        Ok(()) => Ok(()),
        // Another process has created the counter.
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Removes entries that are not numbers, which would keep the counter from being replaced for ever.
fn remove_damaged(counter: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(counter) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_name().to_str().and_then(number).is_none() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// The counter of an older Windlass: a file with a number in it, which is changed under `flock`. Only the process that
/// holds its lock replaces it.
struct OlderCounter(File);

impl OlderCounter {
    fn take(path: &Path) -> io::Result<Option<Self>> {
        match fs::symlink_metadata(path) {
            Ok(about) if about.is_file() => {}
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => return Ok(None),
        }
        let file = regular_file::read(path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let holder = windlass_sys::locks::holder(&file);
                let holder =
                    holder.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
                let busy = format!("{holder} keeps it locked; end that process, or remove the file");
                return Err(io::Error::new(io::ErrorKind::WouldBlock, busy));
            }
            Err(errno) => return Err(errno.into()),
        }
        // It may have been replaced before it was locked.
        let is_in_place = fs::symlink_metadata(path)?.ino() == file.metadata()?.ino();
        Ok(is_in_place.then_some(Self(file)))
    }

    /// Without a readable number, ids continue after every session that left a file.
    fn number(&self) -> Option<u64> {
        let mut text = String::new();
        (&self.0).take(LONGEST).read_to_string(&mut text).ok()?;
        number(text.strip_suffix('\n')?)
    }
}

/// The first id without a counter: after every session that left a file.
fn first_unused(root: &Path) -> io::Result<u64> {
    let mut used = None;
    for file in own_files(root)? {
        used = used.max(Some(file.id().get()));
        if let OwnFile::Record(first) = file {
            let newest = match ledger::read(root, first) {
                Ok(records) => records.sessions.keys().chain(&records.forgotten).max().map(|id| id.get()),
                // It can contain all the ids of a block.
                Err(_) => Some(first.get().saturating_add(LARGEST_BLOCK - 1)),
            };
            used = used.max(newest);
        }
    }
    Ok(used.map_or(FIRST, |newest| FIRST.max(newest.saturating_add(1))))
}
