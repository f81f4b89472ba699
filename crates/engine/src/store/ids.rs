//! Ids that are never reused, however many processes claim them at once.
//!
//! One file holds the first unclaimed id and is changed under `flock`, which the kernel lets go when its holder dies. A
//! process claims blocks that grow as it starts more sessions, so a single command wastes nothing and a busy server
//! rarely touches the file. Ids of a block that were not used are lost, which is what "never reused" costs.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::FILE_MODE;
use super::files::{OwnFile, own_files};
use super::ledger;
use crate::SessionId;

/// The counter's name in the state directory.
pub(super) const COUNTER: &str = "next";

/// Four digits from the start: nobody takes one for an exit code or a job number.
const FIRST: u64 = 1001;
const LARGEST_BLOCK: u64 = 64;

/// A padded number and a newline: always the same length, so a new number leaves nothing of the old one.
const COUNTER_LEN: usize = 21;

/// Claimed ids that are still to be given out: blocks of 1, 1, 2, 4 and so on.
#[derive(Debug, Default)]
pub(super) struct Block {
    next: u64,
    left: u64,
    /// The blocks so far: the records of each lie in one file, which this process alone writes.
    ranges: Vec<IdRange>,
    /// How many this process has claimed so far.
    claimed: u64,
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

    pub(super) fn take(&mut self, counter: &Path, root: &Path) -> io::Result<SessionId> {
        if self.left == 0 {
            let size = self.claimed.clamp(1, LARGEST_BLOCK);
            self.next = claim(counter, root, size)?;
            self.left = size;
            self.ranges.push(IdRange { first: SessionId::new(self.next), size });
            self.claimed += size;
        }
        let id = SessionId::new(self.next);
        self.next += 1;
        self.left -= 1;
        Ok(id)
    }
}

/// Opens the counter, empty if it is new.
pub(super) fn open_counter(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(FILE_MODE).open(path)
}

/// Takes `size` ids; the lock ends with the file.
fn claim(counter: &Path, root: &Path, size: u64) -> io::Result<u64> {
    let file = open_counter(counter)?;
    lock(&file)?;
    let first = match read(&file)? {
        Some(next) => next,
        None => first_unused(root)?,
    };
    file.write_all_at(format!("{:020}\n", first + size).as_bytes(), 0)?;
    Ok(first)
}

fn lock(file: &File) -> io::Result<()> {
    loop {
        match flock(file, FlockOperation::LockExclusive) {
            Err(Errno::INTR) => {}
            other => return other.map_err(io::Error::from),
        }
    }
}

/// The number in the counter; `None` if it is new or damaged.
fn read(file: &File) -> io::Result<Option<u64>> {
    let mut text = [0; COUNTER_LEN];
    match file.read_exact_at(&mut text, 0) {
        Ok(()) => Ok(number(&text)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

fn number(text: &[u8; COUNTER_LEN]) -> Option<u64> {
    let digits = std::str::from_utf8(text).ok()?.strip_suffix('\n')?;
    digits.parse().ok().filter(|next| *next >= FIRST)
}

/// Where to begin without a counter: after every session that left a file.
fn first_unused(root: &Path) -> io::Result<u64> {
    let mut used = None;
    for file in own_files(root)? {
        used = used.max(Some(file.id().get()));
        if let OwnFile::Record(first) = file {
            // Unreadable records name no ids, but their file does.
            let records = ledger::read(root, first).unwrap_or_default();
            let newest = records.sessions.keys().chain(&records.forgotten).max();
            used = used.max(newest.map(|id| id.get()));
        }
    }
    Ok(used.map_or(FIRST, |newest| FIRST.max(newest.saturating_add(1))))
}
