//! The state directory: what sessions there were, how they ended, and the journals of what they printed.
//!
//! Any number of processes share one directory without a server between them. All its files lie flat, belong to their
//! owner alone, and are written so that a process killed at any point leaves something that still reads:
//!
//! ```text
//! next                        the first id nobody has claimed, under a lock
//! 1001.rec                    how session 1001 started and ended, as text
//! 1001-0000000000000000.out   what it printed (see the journal's format)
//! 1001-0000000000000000.idx
//! ```

mod files;
mod ids;
mod prune;
mod record;
mod text;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use self::files::{OwnFile, own_files};
use self::ids::Block;
use self::text::Parsed;
use crate::journal::{Journal, OpenJournal, Retention};
use crate::{Receipt, SessionId};

pub use self::prune::{Prune, Pruned};
pub use self::record::{ProcessKey, SessionRecord, StartRecord};

const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// How much a state directory keeps of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreLimits {
    /// The most sessions that stay listed.
    pub keep_sessions: usize,
    /// The most bytes their files may take together.
    pub keep_bytes: u64,
    /// How long a file that belongs to no session is left alone: its session may be starting right now.
    pub stray_age: std::time::Duration,
}

impl Default for StoreLimits {
    fn default() -> Self {
        Self { keep_sessions: 1000, keep_bytes: 4 << 30, stray_age: std::time::Duration::from_secs(3600) }
    }
}

/// Why the state directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenStore {
    /// It does not exist and could not be made.
    #[error("creating the state directory {}", path.display())]
    Create {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It exists, but nothing can be written there.
    #[error("writing {}", path.display())]
    Write {
        /// The file that was tried.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Why no id could be claimed.
#[derive(Debug, thiserror::Error)]
#[error("claiming a session id in {}", path.display())]
pub struct ClaimId {
    /// The file that counts.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// Why a session's start or end could not be recorded.
#[derive(Debug, thiserror::Error)]
#[error("writing the record {}", path.display())]
pub struct WriteRecord {
    /// The record.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// Why a session could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadRecord {
    /// There is none of that number.
    #[error("session {id} is not known")]
    NotFound {
        /// The number asked for.
        id: SessionId,
    },
    /// Its record was torn before it was whole, or is not a record.
    #[error("the record {} is damaged", path.display())]
    Damaged {
        /// The record.
        path: PathBuf,
    },
    /// A later Windlass wrote it.
    #[error("the record {} has version {found}; this Windlass reads up to {known}", path.display())]
    UnknownVersion {
        /// The record.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version understood.
        known: u32,
    },
    /// It is there, but cannot be read.
    #[error("reading the record {}", path.display())]
    Read {
        /// The record.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Why the sessions could not be listed.
#[derive(Debug, thiserror::Error)]
#[error("listing {}", path.display())]
pub struct ListSessions {
    /// The state directory.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// A handle on the state directory: clones share it.
#[derive(Clone, Debug)]
pub struct Store {
    root: Arc<Path>,
    limits: StoreLimits,
    /// Ids claimed by this process and not yet used.
    block: Arc<Mutex<Block>>,
}

impl Store {
    /// Opens the state directory, making it if need be, and makes sure that it can be written.
    pub fn open(root: &Path, limits: StoreLimits) -> Result<Self, OpenStore> {
        let create = DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(root);
        create.map_err(|source| OpenStore::Create { path: root.to_path_buf(), source })?;
        let store = Self::reading(root, limits);
        let counter = store.counter_path();
        ids::open_counter(&counter).map_err(|source| OpenStore::Write { path: counter, source })?;
        Ok(store)
    }

    /// Uses a state directory only to look things up: nothing is made, not even the directory.
    pub fn reading(root: &Path, limits: StoreLimits) -> Self {
        Self { root: root.into(), limits, block: Arc::default() }
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// An id that no session in this directory has had or will have, in whatever process.
    pub fn claim_id(&self) -> Result<SessionId, ClaimId> {
        let mut block = self.block.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.counter_path();
        block.take(&path, &self.root).map_err(|source| ClaimId { path, source })
    }

    /// The journal of a session that is starting; its files appear with the first byte.
    pub fn journal(&self, id: SessionId, retention: Retention) -> Journal {
        Journal::on_disk_shared(Arc::clone(&self.root), id, retention)
    }

    /// The journal of a session of any process, to read.
    pub fn open_journal(&self, id: SessionId) -> Result<Journal, OpenJournal> {
        Journal::open(&self.root, id)
    }

    /// Records that a session started: one file, one write.
    pub fn begin(&self, start: &StartRecord) -> Result<(), WriteRecord> {
        let path = self.record_path(start.id);
        let created = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&path);
        let written = created.and_then(|file| write_or_remove(file, &path, &text::start_block(start)));
        written.map_err(|source| WriteRecord { path, source })
    }

    /// Records how a session ended: one write, after which the session counts as finished.
    pub fn finish(&self, id: SessionId, receipt: &Receipt) -> Result<(), WriteRecord> {
        let path = self.record_path(id);
        let opened = OpenOptions::new().append(true).open(&path);
        let written = opened.and_then(|mut file| file.write_all(&text::receipt_block(receipt)));
        written.map_err(|source| WriteRecord { path, source })
    }

    /// Every session with a readable record, oldest first. Records that were torn at birth, or that a later Windlass
    /// wrote, are left out; [`Store::load`] says which.
    pub fn list(&self) -> Result<Vec<SessionRecord>, ListSessions> {
        let ids = self.ids()?;
        Ok(ids.into_iter().filter_map(|id| self.load(id).ok()).collect())
    }

    /// One session.
    pub fn load(&self, id: SessionId) -> Result<SessionRecord, LoadRecord> {
        let path = self.record_path(id);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(LoadRecord::NotFound { id }),
            Err(source) => return Err(LoadRecord::Read { path, source }),
        };
        match text::parse(&text) {
            Parsed::Session(session) if session.start.id == id => Ok(*session),
            Parsed::Session(_) | Parsed::Torn => Err(LoadRecord::Damaged { path }),
            Parsed::Unknown { version } => {
                Err(LoadRecord::UnknownVersion { path, found: version, known: text::VERSION })
            }
        }
    }

    /// The newest session of that name.
    pub fn find_name(&self, name: &str) -> Result<Option<SessionRecord>, ListSessions> {
        let newest_first = self.ids()?.into_iter().rev();
        let mut sessions = newest_first.filter_map(|id| self.load(id).ok());
        Ok(sessions.find(|session| session.start.name.as_deref() == Some(name)))
    }

    /// The ids that have a record, oldest first.
    fn ids(&self) -> Result<Vec<SessionId>, ListSessions> {
        let files =
            own_files(&self.root).map_err(|source| ListSessions { path: self.root.to_path_buf(), source })?;
        let mut ids: Vec<_> = files.into_iter().filter_map(OwnFile::recorded).collect();
        ids.sort();
        Ok(ids)
    }

    fn counter_path(&self) -> PathBuf {
        self.root.join(ids::COUNTER)
    }

    fn record_path(&self, id: SessionId) -> PathBuf {
        self.root.join(OwnFile::Record(id).to_string())
    }
}

/// A record that cannot be whole is better not there.
fn write_or_remove(mut file: File, path: &Path, text: &[u8]) -> io::Result<()> {
    let written = file.write_all(text);
    if written.is_err() {
        let _ = fs::remove_file(path);
    }
    written
}
