//! Forgets the oldest sessions. Only Windlass's own files are removed, recognised by name, and a session's record last:
//! a prune that is killed half-way leaves a session that the next one finds again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::files::{OwnFile, own_files};
use super::ids::IdRange;
use super::ledger::Ledger;
use super::record::{ProcessKey, SessionRecord};
use super::text::{self, Records};
use super::{Store, StoreLimits, ledger};
use crate::SessionId;
use windlass_sys::mark::Mark;

/// Why pruning stopped.
#[derive(Debug, thiserror::Error)]
pub enum Prune {
    /// The state directory cannot be listed.
    #[error("listing {}", path.display())]
    List {
        /// The directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file cannot be removed.
    #[error("removing {}", path.display())]
    Remove {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// The removed sessions and files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Sessions, oldest first.
    pub sessions: Vec<SessionId>,
    /// Files that belonged to no session.
    pub strays: usize,
    /// Bytes freed.
    pub bytes: u64,
    /// Marks of sessions that should have ended with their runtime, which is dead and left no receipt of their end.
    pub abandoned: Vec<Mark>,
}

impl Store {
    /// Removes the oldest sessions beyond the limits, and files without a session that are old enough. A session whose
    /// runtime `is_alive`, or that has no receipt and whose root is alive, stays: it may be written or read. Of its own
    /// sessions this process knows exactly which are in use.
    ///
    /// A file that cannot be removed does not keep others from being removed: the first failure is returned at the end.
    pub fn prune(&self, is_alive: impl Fn(ProcessKey) -> bool) -> Result<Pruned, Prune> {
        let (pruned, failed) = self.prune_telling(is_alive, |_| {})?;
        failed.map_or(Ok(pruned), Err)
    }

    /// The same, and reports as soon as the names are known whether the surplus is large: then it is worth waiting for.
    /// The surplus goes first, oldest first, before any other record is read, so that even a process that ends soon
    /// makes progress however many there are. Returns the first failure beside the list of everything that was removed.
    pub fn prune_telling(
        &self,
        is_alive: impl Fn(ProcessKey) -> bool,
        tell: impl FnOnce(Backlog),
    ) -> Result<(Pruned, Option<Prune>), Prune> {
        let files = self.files()?;
        let ledgers = files.iter().filter(|file| file.recorded().is_some()).count();
        let tolerated = self.limits.keep_sessions + self.limits.keep_sessions / TOLERATED_PART;
        let surplus = ledgers.saturating_sub(tolerated);
        tell(if surplus > 0 { Backlog::Large } else { Backlog::Small });
        let mut pruning = Pruning::default();
        if surplus > 0 {
            let mut oldest = self.directory_contents(oldest_ledgers(&files, surplus));
            pruning.pruned.abandoned = oldest.abandoned(&is_alive);
            let all = StoreLimits { keep_sessions: 0, ..self.limits };
            self.remove_oldest(&mut oldest, (&all, &is_alive), &mut pruning);
        }
        let mut shelf = self.directory_contents(if surplus > 0 { self.files()? } else { files });
        pruning.pruned.abandoned.extend(shelf.abandoned(&is_alive));
        self.remove_strays(&mut shelf, &mut pruning);
        self.remove_oldest(&mut shelf, (&self.limits, &is_alive), &mut pruning);
        self.forget_released(&pruning.pruned.sessions);
        self.remove_stale_names();
        Ok((pruning.pruned, pruning.failed))
    }

    /// Removes one session with all its files, whatever its state: for a caller that knows that it is not needed any
    /// more.
    pub fn remove(&self, id: SessionId) -> Result<Pruned, Prune> {
        let mut pruned = Pruned::default();
        let mut shelf = self.directory_contents(self.files()?);
        if shelf.ledger_with(id).is_some() {
            self.forget(id, &mut shelf, &mut pruned)?;
        }
        Ok(pruned)
    }

    /// Removes sessions that this process started and that are over, with all their files: the directory is listed once
    /// for all of them, and no record is read. Numbers that were claimed by other processes are left alone.
    pub fn remove_own(&self, ids: &[SessionId]) -> Result<Pruned, Prune> {
        let mut pruned = Pruned { sessions: self.claimed_here(ids), ..Pruned::default() };
        let segments = self.files()?.into_iter().filter(|file| file.recorded().is_none());
        for segment in segments.filter(|file| pruned.sessions.contains(&file.id())) {
            let output = Holding::of(segment, &self.root);
            output.remove(&self.root)?;
            pruned.bytes += output.bytes;
        }
        self.forget_released(&pruned.sessions);
        for id in &pruned.sessions {
            let range = self.writing().block.range_of(*id);
            self.note_forgotten(*id, (range.map_or(*id, |range| range.first), range))?;
        }
        Ok(pruned)
    }

    fn claimed_here(&self, ids: &[SessionId]) -> Vec<SessionId> {
        let writing = self.writing();
        ids.iter().copied().filter(|id| writing.block.range_of(*id).is_some()).collect()
    }

    fn files(&self) -> Result<Vec<OwnFile>, Prune> {
        own_files(&self.root).map_err(|source| Prune::List { path: self.root.to_path_buf(), source })
    }

    /// Reads the records among these files, and groups the other files by session.
    fn directory_contents(&self, files: Vec<OwnFile>) -> DirectoryContents {
        let mut shelf = DirectoryContents::default();
        for file in files {
            match file {
                OwnFile::Record(first) => {
                    let contents = match ledger::read(&self.root, first) {
                        Ok(records) => Contents::Read(records),
                        // Another process has just removed it.
                        Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                        Err(_) => Contents::Unreadable,
                    };
                    let holding = Holding::of(file, &self.root);
                    shelf.ledgers.insert(first, StoredSession { contents, holding });
                }
                OwnFile::Segment(_) | OwnFile::StopRequest(_) => {
                    shelf.segments.entry(file.id()).or_default().add(file, &self.root);
                }
            }
        }
        shelf
    }

    /// Removes output without a record, and ledgers without sessions or in which everything is forgotten. Files of a
    /// later Windlass stay, and so do files that cannot be read now or were cut short: their sessions may be running.
    fn remove_strays(&self, shelf: &mut DirectoryContents, pruning: &mut Pruning) {
        let is_old = |holding: &Holding| holding.is_older_than(&self.limits);
        let ledgers =
            shelf.ledgers.iter().filter(|(_, it)| it.records().is_some_and(is_empty) && is_old(&it.holding));
        let ledgers: Vec<_> = ledgers.map(|(first, _)| *first).collect();
        let segments = shelf.segments.iter().filter(|(id, output)| !shelf.is_claimed(**id) && is_old(output));
        let mut segments: Vec<_> = segments.map(|(id, _)| *id).collect();
        if !segments.is_empty() {
            // A record that another process removed does not show whether its session is alive.
            let held = self.held_by_living();
            segments.retain(|id| !held.contains(id));
        }
        let strays =
            ledgers.iter().filter_map(|first| shelf.ledgers.remove(first)).map(|shelved| shelved.holding);
        let strays: Vec<_> =
            strays.chain(segments.iter().filter_map(|id| shelf.segments.remove(id))).collect();
        for stray in strays {
            match stray.remove(&self.root) {
                Ok(()) => {
                    pruning.pruned.strays += stray.files.len();
                    pruning.pruned.bytes += stray.bytes;
                }
                Err(failure) => pruning.fail(failure),
            }
        }
    }

    fn remove_oldest(
        &self,
        shelf: &mut DirectoryContents,
        (limits, is_alive): (&StoreLimits, impl Fn(ProcessKey) -> bool),
        pruning: &mut Pruning,
    ) {
        let over: Vec<_> =
            shelf.sessions().map(|session| (session.start.id, self.is_over(session, &is_alive))).collect();
        let mut count = over.len();
        let total = shelf.bytes();
        let freed_before = pruning.pruned.bytes;
        for (id, _) in over.into_iter().filter(|(_, over)| *over) {
            let bytes = total - (pruning.pruned.bytes - freed_before);
            if count <= limits.keep_sessions && bytes <= limits.keep_bytes {
                break;
            }
            match self.forget(id, shelf, &mut pruning.pruned) {
                Ok(()) => count -= 1,
                Err(failure) => pruning.fail(failure),
            }
        }
    }

    /// Removes a session's output, then notes in its ledger that it is forgotten. A ledger without sessions goes too,
    /// unless this process may still write into it.
    fn forget(&self, id: SessionId, shelf: &mut DirectoryContents, pruned: &mut Pruned) -> Result<(), Prune> {
        self.forget_files(id, shelf, &mut pruned.bytes)?;
        pruned.sessions.push(id);
        Ok(())
    }

    fn forget_files(
        &self,
        id: SessionId,
        shelf: &mut DirectoryContents,
        freed: &mut u64,
    ) -> Result<(), Prune> {
        if let Some(output) = shelf.segments.remove(&id) {
            output.remove(&self.root)?;
            *freed += output.bytes;
        }
        let Some((first, records, holding)) = shelf.ledger_with(id) else { return Ok(()) };
        records.sessions.remove(&id);
        records.forgotten.insert(id);
        let range = self.writing().block.range_of(id);
        // Every number that this process has of it was used.
        let is_done_with = range.is_none_or(|range| range.is_all_in(&records.forgotten));
        if is_empty(records) && is_done_with {
            holding.remove(&self.root)?;
            *freed += holding.bytes;
            return Ok(());
        }
        self.note_forgotten(id, (first, range))
    }

    /// Through the store's own way of writing: this process may be adding another session right now.
    fn note_forgotten(
        &self,
        id: SessionId,
        (first, range): (SessionId, Option<IdRange>),
    ) -> Result<(), Prune> {
        let written = self.append_to(first, range, (Ledger::append, &text::forgotten_block(id)));
        written.map_err(|failure| Prune::Remove { path: failure.path, source: failure.source })
    }

    /// Without a receipt its runtime was killed, and a root that outlived it is a living session.
    fn is_over(&self, session: &SessionRecord, is_alive: impl Fn(ProcessKey) -> bool) -> bool {
        if self.writing().block.range_of(session.start.id).is_some() {
            return session.receipt.is_some() && self.is_released(session.start.id);
        }
        // A runtime in another pid namespace may still read its finished sessions, but the limits hold for those, too.
        if session.receipt.is_some() && session.start.runtime.is_out_of_sight() {
            return true;
        }
        let root_may_run = session.receipt.is_none() && is_alive(session.start.root);
        !is_alive(session.start.runtime) && !root_may_run
    }
}

/// The part of the limit that may be exceeded until the next time: a tenth.
const TOLERATED_PART: usize = 10;

/// Whether the surplus of sessions is large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backlog {
    /// It can wait for the next time.
    Small,
    /// Earlier prunings did not finish.
    Large,
}

/// The progress of a pruning.
#[derive(Debug, Default)]
struct Pruning {
    pruned: Pruned,
    /// The first failure.
    failed: Option<Prune>,
}

impl Pruning {
    fn fail(&mut self, failure: Prune) {
        self.failed.get_or_insert(failure);
    }
}

/// The files of so many of the oldest ledgers, and of the sessions that can be in them.
fn oldest_ledgers(files: &[OwnFile], count: usize) -> Vec<OwnFile> {
    let mut firsts: Vec<SessionId> = files.iter().filter_map(|file| file.recorded()).collect();
    firsts.sort();
    let next = firsts.get(count).copied();
    let (first, is_before) = (firsts.first().copied(), |id: SessionId| next.is_none_or(|next| id < next));
    files.iter().copied().filter(|file| Some(file.id()) >= first && is_before(file.id())).collect()
}

/// The contents of the directory.
#[derive(Debug, Default)]
struct DirectoryContents {
    ledgers: BTreeMap<SessionId, StoredSession>,
    segments: BTreeMap<SessionId, Holding>,
}

/// A ledger and its file.
#[derive(Debug)]
struct StoredSession {
    contents: Contents,
    holding: Holding,
}

/// The contents of a ledger.
#[derive(Debug)]
enum Contents {
    Read(Records),
    /// Too many files are open, or it is another user's: its contents are unknown.
    Unreadable,
}

impl StoredSession {
    /// The records, if they could be read.
    fn records(&self) -> Option<&Records> {
        match &self.contents {
            Contents::Read(records) => Some(records),
            Contents::Unreadable => None,
        }
    }
}

/// Whether nothing in a ledger is worth keeping.
fn is_empty(records: &Records) -> bool {
    records.sessions.is_empty() && records.unknown.is_none() && !records.is_torn
}

impl DirectoryContents {
    fn sessions(&self) -> impl Iterator<Item = &SessionRecord> {
        self.ledgers.values().filter_map(StoredSession::records).flat_map(|records| records.sessions.values())
    }

    /// The marks of sessions whose runtime died and whose processes may have survived it.
    fn abandoned(&self, is_alive: impl Fn(ProcessKey) -> bool) -> Vec<Mark> {
        let survivors = self.sessions().filter(|session| session.may_have_survivors());
        let marked = survivors.filter_map(|session| Some((session.start.mark?, session.start.runtime)));
        let (alive, dead): (Vec<_>, Vec<_>) = marked.partition(|(_, runtime)| is_alive(*runtime));
        // Families are drawn at random: a living runtime's family is never touched, whatever a record says.
        let living: BTreeSet<u32> = alive.into_iter().map(|(mark, _)| mark.runtime_tag().family()).collect();
        let is_dead = |mark: &Mark| !living.contains(&mark.runtime_tag().family());
        dead.into_iter().map(|(mark, _)| mark).filter(is_dead).collect()
    }

    fn bytes(&self) -> u64 {
        let ledgers = self.ledgers.values().map(|shelved| shelved.holding.bytes);
        ledgers.chain(self.segments.values().map(|output| output.bytes)).sum()
    }

    fn ledger_with(&mut self, id: SessionId) -> Option<(SessionId, &mut Records, &Holding)> {
        let read =
            self.ledgers.range_mut(..=id).rev().filter_map(|(first, shelved)| match &mut shelved.contents {
                Contents::Read(records) => Some((*first, records, &shelved.holding)),
                Contents::Unreadable => None,
            });
        read.into_iter().find(|(_, records, _)| records.sessions.contains_key(&id))
    }

    /// Whether there is a record of this session, or one that cannot be read and may be of it.
    fn is_claimed(&self, id: SessionId) -> bool {
        let ledger = self.ledgers.range(..=id).next_back();
        let may_speak = |records: &Records| {
            records.sessions.contains_key(&id) || records.unknown.is_some() || records.is_torn
        };
        ledger.is_some_and(|(_, it)| it.records().is_none_or(may_speak))
    }
}

/// Files that go together.
#[derive(Debug, Default)]
struct Holding {
    files: Vec<OwnFile>,
    bytes: u64,
    newest: Option<SystemTime>,
}

impl Holding {
    fn of(file: OwnFile, root: &Path) -> Self {
        let mut holding = Self::default();
        holding.add(file, root);
        holding
    }

    /// A file that vanished meanwhile counts for nothing, and removing it again does no harm.
    fn add(&mut self, file: OwnFile, root: &Path) {
        if let Ok(metadata) = fs::symlink_metadata(root.join(file.to_string())) {
            self.bytes += metadata.len();
            self.newest = self.newest.max(metadata.modified().ok());
        }
        self.files.push(file);
    }

    fn is_older_than(&self, limits: &StoreLimits) -> bool {
        let age = self.newest.and_then(|newest| newest.elapsed().ok());
        age.is_some_and(|age| age >= limits.stray_age)
    }

    fn remove(&self, root: &Path) -> Result<(), Prune> {
        self.files.iter().try_for_each(|file| remove_file(&root.join(file.to_string())))
    }
}

/// A file that another process removed at the same time is not an error.
fn remove_file(path: &Path) -> Result<(), Prune> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(Prune::Remove { path: path.to_path_buf(), source })
        }
        _ => Ok(()),
    }
}
