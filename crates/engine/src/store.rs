//! The state directory: the records of sessions, with their receipts, and the journals of their output.
//!
//! Any number of processes share one directory without a server between them. All its files lie flat, belong to their
//! owner alone, and are written so that a process killed at any point leaves something that still reads:
//!
//! ```text
//! next/1003                   the first unclaimed id, as the name of this directory's one entry
//! 1001.rec                    how session 1001, and those claimed with it, started and ended, as text
//! 1001-0000000000000000.out   its output (see the journal's format)
//! 1001-0000000000000000.idx
//! 1001.stop                   another process is ending session 1001
//! names/web=/…               the name `web`, held by a running session
//! ```

mod files;
mod ids;
mod late;
mod ledger;
mod limits;
mod names;
mod prune;
mod record;
mod recovered;
mod released;
mod remedy;
mod runtimes;
mod stops;
mod text;

use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::files::OwnFile;
use self::ids::{Block, IdRange};
use self::late::{LateBlock, LateBlocks};
use self::ledger::Ledger;
use self::released::Released;
use crate::journal::{DirectoryId, Journal, OpenJournal, Retention};
use crate::{Degraded, Receipt, SessionId};
use windlass_output::Offset;
use windlass_sys::pty::Size;

pub(crate) use self::names::{ClaimName, NameClaim, WantedName};
pub use self::prune::{Backlog, Prune, Pruned};
pub use self::record::{PidScope, Presence, ProcessKey, SessionRecord, StartRecord};
pub use self::runtimes::DeadRuntime;
pub(crate) use self::runtimes::Registration;
pub use self::stops::StopRequest;

const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// The limits of the history in a state directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreLimits {
    /// The most sessions that stay listed.
    pub keep_sessions: usize,
    /// The most bytes their files may take together.
    pub keep_bytes: u64,
    /// The least age at which a file without a session is removed: its session may be starting right now.
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
        /// The error of the system.
        source: io::Error,
    },
    /// It exists, but nothing can be written there.
    #[error("writing {}", path.display())]
    Write {
        /// The file that was tried.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// Why no id could be claimed.
#[derive(Debug, thiserror::Error)]
#[error("claiming a session id in {}", path.display())]
pub struct ClaimId {
    /// The counter.
    pub path: PathBuf,
    /// The error of the system.
    pub source: io::Error,
}

/// Why a session's start or end could not be recorded.
#[derive(Debug, thiserror::Error)]
#[error("writing the record {}", path.display())]
pub struct WriteRecord {
    /// The record.
    pub path: PathBuf,
    /// The error of the system.
    pub source: io::Error,
}

/// Why a session could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadRecord {
    /// No session has that number.
    #[error("session {id} is not known")]
    NotFound {
        /// The number asked for.
        id: SessionId,
    },
    /// Its record is torn, or is not a record.
    #[error("the record {} was cut short; its session may be running, and its output is in the files `.out` beside it", path.display())]
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
    /// A session has output and no record.
    #[error(
        "session {id} has output and no record: {} was removed or emptied, or could not be written",
        path.display()
    )]
    NotRecorded {
        /// The session.
        id: SessionId,
        /// The file that should contain the record, or the file with the numbers before.
        path: PathBuf,
    },
    /// It is there, but cannot be read.
    #[error("reading the record {}", path.display())]
    Read {
        /// The record.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// Why the sessions could not be listed.
#[derive(Debug, thiserror::Error)]
#[error("listing {}", path.display())]
pub struct ListSessions {
    /// The state directory.
    pub path: PathBuf,
    /// The error of the system.
    pub source: io::Error,
}

/// The sessions of a state directory.
#[derive(Debug, Default)]
pub struct Listing {
    /// Those with a record that can be read, oldest first.
    pub sessions: Vec<SessionRecord>,
    /// Why records could not be read. Their sessions may be running.
    pub unreadable: Vec<LoadRecord>,
}

/// A handle on the state directory: clones share it.
#[derive(Clone, Debug)]
pub struct Store {
    root: Arc<Path>,
    limits: StoreLimits,
    writing: Arc<Mutex<Writing>>,
    released: Arc<Mutex<Released>>,
    late: LateBlocks,
}

/// The mutable state of this process's writing.
#[derive(Debug, Default)]
struct Writing {
    /// The directory in which ids were claimed, identified independently of its name. `None` before the first claim.
    home: Option<DirectoryId>,
    /// Ids claimed and not yet used.
    block: Block,
    /// The newest ledger, last, and before it those with sessions that have not ended.
    ledgers: Vec<Ledger>,
}

impl Store {
    /// Opens the state directory, making it if need be, and makes sure that it can be written.
    pub fn open(root: &Path, limits: StoreLimits) -> Result<Self, OpenStore> {
        let created = windlass_sys::directory::create_apart(root, DIRECTORY_MODE);
        created.map_err(|source| OpenStore::Create { path: root.to_path_buf(), source })?;
        let store = Self::reading(root, limits);
        let counter = store.counter_path();
        ids::prepare(&counter).map_err(|source| OpenStore::Write { path: counter, source })?;
        Ok(store)
    }

    /// Uses a state directory only to look things up: nothing is created, not even the directory.
    pub fn reading(root: &Path, limits: StoreLimits) -> Self {
        Self {
            root: root.into(),
            limits,
            writing: Arc::default(),
            released: Arc::default(),
            late: LateBlocks::default(),
        }
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether the directory belongs to the user of this process: sessions of another user must not be ended.
    pub fn is_own(&self) -> bool {
        let owner = std::fs::metadata(&self.root).map(|metadata| metadata.uid());
        owner.is_ok_and(|owner| owner == rustix::process::geteuid().as_raw())
    }

    /// An id that no session in this directory has had or will have, in whatever process.
    pub fn claim_id(&self) -> Result<SessionId, ClaimId> {
        let path = self.counter_path();
        let mut writing = self.writing();
        let claimed = writing.settle_in(&self.root).and_then(|()| writing.block.take(&path, &self.root));
        claimed.map_err(|source| ClaimId { path, source })
    }

    /// The journal of a session that is starting; its files appear with the first byte.
    pub fn journal(&self, id: SessionId, retention: Retention) -> Journal {
        Journal::on_disk_shared((Arc::clone(&self.root), self.writing().home), id, retention)
    }

    /// The journal of a session of any process, to read. Bytes that its receipt counts and no file has are missing from
    /// it; its text is that of a terminal of the recorded sizes, if it had one.
    pub fn open_journal(&self, record: &SessionRecord) -> Result<Journal, OpenJournal> {
        let journal = Journal::open_from(&self.root, record.start.id, Some(record.start.runtime))?;
        if record.start.terminal {
            journal.set_terminal(record.sizes.clone());
        }
        if let Some(receipt) = &record.receipt {
            journal.expect(receipt);
            journal.set_over();
        } else if let Some(degraded) = &record.degraded {
            journal.expect_degraded(degraded);
        }
        Ok(journal)
    }

    /// How much a session has printed, by its files. Unlike [`Store::open_journal`], it does not look at the files that
    /// the runtime has open: for each of many sessions of one runtime that would be all of them.
    pub fn output_len(&self, record: &SessionRecord) -> Result<u64, OpenJournal> {
        Ok(Journal::open(&self.root, record.start.id)?.end().get())
    }

    /// Records that a session started: one write, and now and then a new file. Records of running sessions that another
    /// process removed meanwhile are written anew.
    pub fn begin(&self, start: &StartRecord) -> Result<(), WriteRecord> {
        let mut writing = self.writing();
        // A write that the disk refuses now is tried again with the next record.
        writing.ledgers.iter_mut().for_each(|ledger| drop(ledger.restore()));
        let range = writing.block.range_of(start.id).unwrap_or_else(|| IdRange::of_one(start.id));
        let written = writing
            .refuse_former(start.id)
            .and_then(|()| writing.ledger_of(range, &self.root))
            .and_then(|ledger| ledger.begin(start.id, &text::start_block(start)));
        if written.is_ok() {
            writing.block.show_recorded(&self.root, start.id, start.runtime);
        }
        written.map_err(|source| WriteRecord { path: ledger::path(&self.root, range.first), source })
    }

    /// Records how a session ended: one write, after which the session counts as finished. A receipt that cannot be
    /// written now is written later.
    pub fn finish(&self, id: SessionId, receipt: &Receipt) -> Result<(), WriteRecord> {
        let block = text::receipt_block(id, receipt);
        let written = self.append(id, Ledger::finish, &block);
        if written.is_err() {
            self.late.add(self, LateBlock { id, add: Ledger::finish, block });
        }
        written
    }

    /// Records that the terminal of a session has another size from this byte on.
    pub fn resized(&self, id: SessionId, at: Offset, size: Size) -> Result<(), WriteRecord> {
        self.append(id, Ledger::append, &text::size_block(id, at, size))
    }

    /// Records that the disk refused output of a running session, so that readers in other processes do not take the
    /// files for all of it. A full disk refuses this too: it is written later.
    pub fn degraded(&self, id: SessionId, degraded: &Degraded) {
        let block = text::degraded_block(id, degraded);
        if self.append(id, Ledger::append, &block).is_err() {
            self.late.add(self, LateBlock { id, add: Ledger::append, block });
        }
    }

    /// Adds a block to the ledger of a session that has begun, in the way for a ledger that this process has open.
    fn append(&self, id: SessionId, add: Adding, block: &[u8]) -> Result<(), WriteRecord> {
        let range = self.writing().block.range_of(id);
        let failed = |source| WriteRecord { path: ledger::path(&self.root, id), source };
        self.writing().refuse_former(id).map_err(failed)?;
        let first = match range {
            Some(range) => range.first,
            None => ledger::holding(&self.root, id).map_err(failed)?.unwrap_or(id),
        };
        self.append_to(first, range, (add, block))
    }

    /// The same for a known ledger of this process or of another one.
    fn append_to(
        &self,
        first: SessionId,
        range: Option<IdRange>,
        (add, block): (Adding, &[u8]),
    ) -> Result<(), WriteRecord> {
        let mut writing = self.writing();
        let open = range.and_then(|range| writing.ledgers.iter_mut().find(|ledger| ledger.is_of(range)));
        let written = match open {
            Some(ledger) => add(ledger, block),
            None => ledger::append(&self.root, first, block),
        };
        written.map_err(|source| WriteRecord { path: ledger::path(&self.root, first), source })
    }

    /// Every session with a readable record, oldest first, and the files of records that cannot be read, or only in
    /// part. Records that a later Windlass wrote are left out; [`Store::load`] says which.
    pub fn list(&self) -> Result<Listing, ListSessions> {
        let files = files::own_files(&self.root)
            .map_err(|source| ListSessions { path: self.root.to_path_buf(), source })?;
        let mut listing = Listing::default();
        let mut forgotten = BTreeSet::new();
        let mut torn = Vec::new();
        for first in ledger::firsts(&files) {
            match ledger::read(&self.root, first) {
                Ok(records) => {
                    listing.sessions.extend(records.sessions.into_values());
                    forgotten.extend(records.forgotten);
                    // Its sessions are in it and cannot be read.
                    if records.is_torn || records.unknown.is_some() {
                        forgotten.insert(first);
                    }
                    if records.is_torn {
                        torn.push(LoadRecord::Damaged { path: ledger::path(&self.root, first) });
                    }
                }
                // Another process has just removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => {
                    listing
                        .unreadable
                        .push(LoadRecord::Read { path: ledger::path(&self.root, first), source });
                }
            }
        }
        let recovered = self.recovered(&listing.sessions);
        torn.retain(|failure| !is_of_one_of(&recovered, failure));
        listing.sessions.extend(recovered);
        listing.sessions.sort_by_key(|session| session.start.id);
        if listing.unreadable.is_empty() {
            listing.unreadable = self.not_recorded(&files, &listing.sessions, &forgotten);
        }
        listing.unreadable.extend(torn);
        Ok(listing)
    }

    /// Sessions that have output, and no record although all records were read.
    fn not_recorded(
        &self,
        files: &[OwnFile],
        sessions: &[SessionRecord],
        forgotten: &BTreeSet<SessionId>,
    ) -> Vec<LoadRecord> {
        let is_known = |id: &SessionId| {
            forgotten.contains(id) || sessions.binary_search_by_key(id, |session| session.start.id).is_ok()
        };
        let printed = files.iter().filter(|file| matches!(file, OwnFile::Segment(_))).map(|file| file.id());
        let unknown: BTreeSet<_> = printed.filter(|id| !is_known(id)).collect();
        // Sessions that were forgotten or begun a moment ago are skipped: their records show it.
        let still = unknown.into_iter().filter(|id| {
            let has_output = Journal::open(&self.root, *id).is_ok_and(|journal| journal.end() > Offset::ZERO);
            has_output
                && matches!(
                    self.load_record(*id),
                    Err(LoadRecord::NotFound { .. } | LoadRecord::Damaged { .. })
                )
        });
        still.map(|id| LoadRecord::NotRecorded { id, path: ledger::path(&self.root, id) }).collect()
    }

    /// One session. If its record was removed or cut while it runs, the facts that its processes show.
    pub fn load(&self, id: SessionId) -> Result<SessionRecord, LoadRecord> {
        match self.load_record(id) {
            Err(failure) if failure.may_be_replaced() => {
                if self.living_runtimes().iter().all(|runtime| runtime.key.is_this_process()) {
                    return Err(failure);
                }
                // The list shows which processes of its runtime belong to other sessions.
                let sessions = self.list().map(|listing| listing.sessions).unwrap_or_default();
                let is_meant =
                    |session: &SessionRecord| session.start.id == id && session.unreadable.is_some();
                sessions.into_iter().find(is_meant).ok_or(failure)
            }
            loaded => loaded,
        }
    }

    /// One session, as its record has it.
    fn load_record(&self, id: SessionId) -> Result<SessionRecord, LoadRecord> {
        let not_listed = |source| LoadRecord::Read { path: self.root.to_path_buf(), source };
        let Some(first) = ledger::holding(&self.root, id).map_err(not_listed)? else {
            return Err(LoadRecord::NotFound { id });
        };
        let path = ledger::path(&self.root, first);
        let mut records = match ledger::read(&self.root, first) {
            Ok(records) => records,
            Err(source) => return Err(LoadRecord::Read { path, source }),
        };
        match records.sessions.remove(&id) {
            Some(session) => Ok(session),
            None if records.forgotten.contains(&id) => Err(LoadRecord::NotFound { id }),
            None => Err(match records.unknown {
                Some(found) => LoadRecord::UnknownVersion { path, found, known: text::VERSION },
                // Its own ledger, but without it; or one in which some block cannot be read.
                None if first == id || records.is_torn => LoadRecord::Damaged { path },
                None => LoadRecord::NotFound { id },
            }),
        }
    }

    fn writing(&self) -> MutexGuard<'_, Writing> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn counter_path(&self) -> PathBuf {
        self.root.join(ids::COUNTER)
    }
}

impl Writing {
    /// Checks that the directory is still the one in which ids were claimed, at the cost of a `stat` for each session.
    /// If it is not, no claimed id is used any more: other processes claim the same numbers in the new one.
    fn settle_in(&mut self, root: &Path) -> io::Result<()> {
        let found = DirectoryId::of(root);
        if self.home.is_some() && found.as_ref().ok() != self.home.as_ref() {
            self.block.abandon();
            self.home = None;
        }
        match found {
            Ok(found) => {
                self.home = Some(found);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let removed = "the state directory was removed; make it again, or start this program again";
                Err(io::Error::new(io::ErrorKind::NotFound, removed))
            }
            Err(error) => Err(error),
        }
    }

    /// In a directory that was made anew, the number may be another session's.
    fn refuse_former(&self, id: SessionId) -> io::Result<()> {
        if self.block.is_former(id) {
            let replaced = "the state directory was removed or replaced after the session had started";
            return Err(io::Error::new(io::ErrorKind::NotFound, replaced));
        }
        Ok(())
    }

    /// The ledger of these numbers: one that is open, or a new one.
    fn ledger_of(&mut self, range: IdRange, root: &Path) -> io::Result<&mut Ledger> {
        let place = match self.ledgers.iter().rposition(|ledger| ledger.is_of(range)) {
            Some(place) => place,
            None => {
                let new = Ledger::create(root, range)?;
                // An older one in which every session has ended is closed, and opened again if a later block comes
                // after all.
                self.ledgers.retain(Ledger::is_awaited);
                self.ledgers.push(new);
                self.ledgers.len() - 1
            }
        };
        Ok(&mut self.ledgers[place])
    }
}

/// Whether a cut record is that of a session which was recovered.
fn is_of_one_of(recovered: &[SessionRecord], failure: &LoadRecord) -> bool {
    let LoadRecord::Damaged { path } = failure else { return false };
    let root = path.parent().unwrap_or(path);
    recovered.iter().any(|session| ledger::path(root, session.start.id) == *path)
}

/// How a block is added to an open ledger.
type Adding = fn(&mut Ledger, &[u8]) -> io::Result<()>;
