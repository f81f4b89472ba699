//! Ledgers: the records of sessions whose numbers were claimed together, in one file named after the first of them.
//!
//! Creating a file costs more than starting a process on some disks, so a busy runtime makes one for up to 64 sessions and
//! appends a block for each start and end. Only the process that claimed the numbers writes sessions into their ledger;
//! whoever prunes appends to it that a session is forgotten.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::FILE_MODE;
use super::files::{OwnFile, own_files};
use super::ids::IdRange;
use super::text::{self, Records};
use crate::SessionId;

/// A ledger this process is writing.
#[derive(Debug)]
pub(super) struct Ledger {
    range: IdRange,
    file: File,
    begun: Vec<SessionId>,
    finished: usize,
}

impl Ledger {
    /// Makes a new one. It must not exist: nobody else has these numbers.
    pub(super) fn create(root: &Path, range: IdRange) -> io::Result<Self> {
        let path = path(root, range.first);
        let file = OpenOptions::new().append(true).create_new(true).mode(FILE_MODE).open(path)?;
        Ok(Self { range, file, begun: Vec::new(), finished: 0 })
    }

    pub(super) fn is_of(&self, range: IdRange) -> bool {
        self.range == range
    }

    /// Adds the block of a session that starts: one write.
    pub(super) fn begin(&mut self, id: SessionId, block: &[u8]) -> io::Result<()> {
        if self.begun.contains(&id) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.append(block)?;
        self.begun.push(id);
        Ok(())
    }

    /// Adds the block of a session that has ended: one write.
    pub(super) fn finish(&mut self, block: &[u8]) -> io::Result<()> {
        self.append(block)?;
        self.finished += 1;
        Ok(())
    }

    /// Adds a later block: one write, after a look at the file, because a write into a removed one succeeds, too.
    pub(super) fn append(&mut self, block: &[u8]) -> io::Result<()> {
        if self.is_removed()? {
            let removed =
                "the file was removed while this process wrote it; its sessions are no longer listed";
            return Err(io::Error::new(io::ErrorKind::NotFound, removed));
        }
        self.file.write_all(block)
    }

    /// Whether no name leads to it any more.
    pub(super) fn is_removed(&self) -> io::Result<bool> {
        Ok(self.file.metadata()?.nlink() == 0)
    }

    /// Whether some of its sessions have not ended.
    pub(super) fn is_awaited(&self) -> bool {
        self.finished < self.begun.len()
    }
}

/// Where the ledger lies that begins with this number.
pub(super) fn path(root: &Path, first: SessionId) -> PathBuf {
    root.join(OwnFile::Record(first).to_string())
}

/// Appends a block to a ledger that nobody holds open.
pub(super) fn append(root: &Path, first: SessionId, block: &[u8]) -> io::Result<()> {
    open(OpenOptions::new().append(true), &path(root, first))?.write_all(block)
}

/// What a ledger holds.
pub(super) fn read(root: &Path, first: SessionId) -> io::Result<Records> {
    let mut bytes = Vec::new();
    open(OpenOptions::new().read(true), &path(root, first))?.read_to_end(&mut bytes)?;
    Ok(text::parse(&bytes))
}

/// Opens a ledger. Anything can have its name: a pipe would keep us waiting for its other end.
fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a regular file")),
    }
}

/// The ledger in which a session would be, by the names of the files.
pub(super) fn holding(root: &Path, id: SessionId) -> io::Result<Option<SessionId>> {
    match fs::symlink_metadata(path(root, id)) {
        Ok(_) => return Ok(Some(id)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    Ok(all(root)?.into_iter().rev().find(|first| *first <= id))
}

/// Every ledger, oldest first.
pub(super) fn all(root: &Path) -> io::Result<Vec<SessionId>> {
    let mut firsts: Vec<_> = own_files(root)?.into_iter().filter_map(OwnFile::recorded).collect();
    firsts.sort();
    Ok(firsts)
}
