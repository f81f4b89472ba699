//! Ledgers: the records of sessions whose numbers were claimed together, in one file named after the first of them.
//!
//! Creating a file costs more than starting a process on some disks, so a busy runtime creates one for up to 64
//! sessions and appends a block for each start and end. Only the process that claimed the numbers writes sessions into
//! their ledger; a process that prunes appends a block for each session that it forgets. The writer keeps a copy: a
//! ledger that another process removed or truncated is written anew as soon as that is noticed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::FILE_MODE;
use super::files::{OwnFile, own_files};
use super::ids::IdRange;
use super::text::{self, Records};
use crate::journal::DirectoryId;
use crate::{SessionId, regular_file};

/// A ledger this process is writing.
#[derive(Debug)]
pub(super) struct Ledger {
    range: IdRange,
    path: PathBuf,
    directory: DirectoryId,
    file: File,
    /// All that was written: some hundred bytes for each of at most 64 sessions.
    text: Vec<u8>,
    begun: Vec<SessionId>,
    finished: usize,
}

impl Ledger {
    /// Creates a new one. It must not exist: no other process has these numbers.
    pub(super) fn create(root: &Path, range: IdRange) -> io::Result<Self> {
        let path = path(root, range.first);
        let (file, directory) = (create(&path)?, DirectoryId::of(root)?);
        Ok(Self { range, path, directory, file, text: Vec::new(), begun: Vec::new(), finished: 0 })
    }

    pub(super) fn is_of(&self, range: IdRange) -> bool {
        self.range == range
    }

    /// Adds the block of a session that starts: one write.
    pub(super) fn begin(&mut self, id: SessionId, block: &[u8]) -> io::Result<()> {
        self.restore()?;
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

    /// Adds a later block: one write, after a look at the file.
    pub(super) fn append(&mut self, block: &[u8]) -> io::Result<()> {
        self.restore()?;
        self.file.write_all(block)?;
        self.text.extend_from_slice(block);
        Ok(())
    }

    /// Writes everything anew that another process removed from the file: a write into a removed one would succeed,
    /// too, and no later reader would find it. One `fstat` if nothing was removed.
    pub(super) fn restore(&mut self) -> io::Result<()> {
        let found = self.file.metadata()?;
        if found.nlink() == 0 {
            self.create_again()?;
        } else if found.len() >= self.text.len() as u64 {
            return Ok(());
        }
        // A block that follows a torn one is read all the same.
        self.file.write_all(&self.text)
    }

    fn create_again(&mut self) -> io::Result<()> {
        if self.path.parent().map(DirectoryId::of).transpose()? != Some(self.directory) {
            // In the present directory the numbers are those of other sessions.
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                "the state directory was removed or replaced",
            ));
        }
        self.file = create(&self.path)?;
        if !self.is_awaited() {
            // Pruning removes a ledger in which every session has ended and is forgotten.
            (self.text, self.begun, self.finished) = (Vec::new(), Vec::new(), 0);
        }
        Ok(())
    }

    /// Whether some of its sessions have not ended.
    pub(super) fn is_awaited(&self) -> bool {
        self.finished < self.begun.len()
    }
}

/// Creates the file of a ledger. It must not exist.
fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create_new(true).mode(FILE_MODE).open(path)
}

/// The path of the ledger that begins with this number.
pub(super) fn path(root: &Path, first: SessionId) -> PathBuf {
    root.join(OwnFile::Record(first).to_string())
}

/// Appends a block to a ledger that this process has not open.
pub(super) fn append(root: &Path, first: SessionId, block: &[u8]) -> io::Result<()> {
    regular_file::open(OpenOptions::new().append(true), &path(root, first))?.write_all(block)
}

/// The contents of a ledger.
pub(super) fn read(root: &Path, first: SessionId) -> io::Result<Records> {
    let mut bytes = Vec::new();
    regular_file::read(&path(root, first))?.read_to_end(&mut bytes)?;
    Ok(text::parse(&bytes))
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
    Ok(firsts(&own_files(root)?))
}

/// The ledgers among the files of a state directory, oldest first.
pub(super) fn firsts(files: &[OwnFile]) -> Vec<SessionId> {
    let mut firsts: Vec<_> = files.iter().copied().filter_map(OwnFile::recorded).collect();
    firsts.sort();
    firsts
}
