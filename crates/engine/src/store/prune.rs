//! Forgets the oldest sessions. Only files that are ours by name are removed, a session's record last: a prune that is
//! killed half-way leaves a session that the next one finds again.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::files::{OwnFile, own_files};
use super::record::ProcessKey;
use super::{LoadRecord, Store, StoreLimits};
use crate::SessionId;

/// Why pruning stopped.
#[derive(Debug, thiserror::Error)]
pub enum Prune {
    /// The state directory cannot be listed.
    #[error("listing {}", path.display())]
    List {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file cannot be removed.
    #[error("removing {}", path.display())]
    Remove {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What pruning removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Sessions, oldest first.
    pub sessions: Vec<SessionId>,
    /// Files that belonged to no session.
    pub strays: usize,
    /// Bytes freed.
    pub bytes: u64,
}

impl Store {
    /// Removes the oldest sessions beyond the limits, and files without a session that are old enough. A session whose
    /// runtime `is_alive`, or that has no receipt and whose root is, stays: somebody may be writing or reading it.
    pub fn prune(&self, is_alive: impl Fn(ProcessKey) -> bool) -> Result<Pruned, Prune> {
        let mut holdings = self.holdings()?;
        let mut pruned = Pruned::default();
        self.remove_strays(&mut holdings, &mut pruned)?;
        self.remove_oldest(&holdings, is_alive, &mut pruned)?;
        Ok(pruned)
    }

    /// Removes one session with all its files, whatever its state: for a caller that knows it is no longer needed.
    pub fn remove(&self, id: SessionId) -> Result<Pruned, Prune> {
        let mut pruned = Pruned::default();
        if let Some(holding) = self.holdings()?.get(&id) {
            holding.remove(&self.root)?;
            pruned.sessions.push(id);
            pruned.bytes = holding.bytes;
        }
        Ok(pruned)
    }

    /// What each session has in the directory, oldest first.
    fn holdings(&self) -> Result<BTreeMap<SessionId, Holding>, Prune> {
        let files =
            own_files(&self.root).map_err(|source| Prune::List { path: self.root.to_path_buf(), source })?;
        let mut holdings = BTreeMap::<_, Holding>::new();
        for file in files {
            holdings.entry(file.id()).or_default().add(file, &self.root);
        }
        Ok(holdings)
    }

    /// Removes what no readable record claims. A record of a later Windlass is its own business and stays.
    fn remove_strays(
        &self,
        holdings: &mut BTreeMap<SessionId, Holding>,
        pruned: &mut Pruned,
    ) -> Result<(), Prune> {
        for (id, holding) in holdings.iter() {
            let is_stray =
                matches!(self.load(*id), Err(LoadRecord::NotFound { .. } | LoadRecord::Damaged { .. }));
            if is_stray && holding.is_older_than(&self.limits) {
                holding.remove(&self.root)?;
                pruned.strays += holding.files.len();
                pruned.bytes += holding.bytes;
            }
        }
        holdings.retain(|id, _| self.record_path(*id).exists());
        Ok(())
    }

    fn remove_oldest(
        &self,
        holdings: &BTreeMap<SessionId, Holding>,
        is_alive: impl Fn(ProcessKey) -> bool,
        pruned: &mut Pruned,
    ) -> Result<(), Prune> {
        let mut sessions = holdings.len();
        let mut bytes: u64 = holdings.values().map(|holding| holding.bytes).sum();
        for (id, holding) in holdings {
            if sessions <= self.limits.keep_sessions && bytes <= self.limits.keep_bytes {
                break;
            }
            if self.is_over(*id, &is_alive) {
                holding.remove(&self.root)?;
                sessions -= 1;
                bytes -= holding.bytes;
                pruned.sessions.push(*id);
                pruned.bytes += holding.bytes;
            }
        }
        Ok(())
    }

    /// Without a receipt its runtime was killed, and a root that outlived it is still somebody's session.
    fn is_over(&self, id: SessionId, is_alive: impl Fn(ProcessKey) -> bool) -> bool {
        self.load(id).is_ok_and(|session| {
            let root_may_run = session.receipt.is_none() && is_alive(session.start.root);
            !is_alive(session.start.runtime) && !root_may_run
        })
    }
}

/// The files of one session.
#[derive(Debug, Default)]
struct Holding {
    files: Vec<OwnFile>,
    bytes: u64,
    newest: Option<SystemTime>,
}

impl Holding {
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
        let (records, segments): (Vec<OwnFile>, Vec<OwnFile>) =
            self.files.iter().partition(|file| file.recorded().is_some());
        segments.into_iter().chain(records).try_for_each(|file| remove_file(&root.join(file.to_string())))
    }
}

/// Somebody else pruning at the same time is not an error.
fn remove_file(path: &Path) -> Result<(), Prune> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(Prune::Remove { path: path.to_path_buf(), source })
        }
        _ => Ok(()),
    }
}
