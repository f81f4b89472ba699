//! Walks everything below a directory: breadth first, the entries of a directory by name, and no directory twice.

use std::collections::{HashSet, VecDeque};
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

use windlass_protocol::envelope::{INVALID_REQUEST, Refusal};
use windlass_protocol::exec::{
    FsWalkParams, FsWalkResponse, PathUri, WalkEntry, WalkError, WalkKind, WalkOptions,
};

use super::refusal;

/// The most entries that one walk visits, whatever the client asked for.
const MOST_ENTRIES: usize = 200_000;

pub(super) fn walk(params: &FsWalkParams) -> Result<FsWalkResponse, Refusal> {
    if params.options.max_directories == 0 || params.options.max_entries == 0 {
        return Err(Refusal::new(INVALID_REQUEST, "filesystem walk limits must be greater than zero"));
    }
    let first = params.path.path();
    let found = std::fs::metadata(first).map_err(|error| refusal(&error))?;
    let mut walk = Walk::new(params.options);
    if found.is_dir() && (params.options.follow_directory_symlinks || !first.is_symlink()) {
        walk.enter(first.to_path_buf(), 0);
    }
    while let Some((folder, depth)) = walk.waiting.pop_front() {
        if walk.looked_into >= params.options.max_directories {
            walk.found.truncated = true;
            break;
        }
        walk.looked_into += 1;
        if let Err(error) = walk.look_into(&folder, depth) {
            walk.found.errors.push(WalkError { path: PathUri::of(folder), message: error.to_string() });
        }
        if walk.found.truncated {
            break;
        }
    }
    Ok(walk.found)
}

struct Walk {
    options: WalkOptions,
    found: FsWalkResponse,
    /// Directories to visit, with their depth.
    waiting: VecDeque<(PathBuf, usize)>,
    /// The real paths of directories visited or queued: links may form a cycle.
    known: HashSet<PathBuf>,
    looked_into: usize,
    looked_at: usize,
}

impl Walk {
    fn new(options: WalkOptions) -> Self {
        let (waiting, known) = (VecDeque::new(), HashSet::new());
        Self { options, found: FsWalkResponse::default(), waiting, known, looked_into: 0, looked_at: 0 }
    }

    fn enter(&mut self, folder: PathBuf, depth: usize) {
        // If it cannot be resolved it cannot be read either, and the attempt reports that.
        let known = std::fs::canonicalize(&folder).unwrap_or_else(|_| folder.clone());
        if self.known.insert(known) {
            self.waiting.push_back((folder, depth));
        }
    }

    fn look_into(&mut self, folder: &Path, depth: usize) -> io::Result<()> {
        let listing: io::Result<Vec<_>> =
            std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect();
        let mut paths = listing?;
        paths.sort();
        for path in paths {
            if self.looked_at >= self.options.max_entries.min(MOST_ENTRIES) {
                self.found.truncated = true;
                break;
            }
            self.looked_at += 1;
            // Links count only if they lead to directories and are followed.
            let counts = |found: &Metadata| {
                !path.is_symlink() || self.options.follow_directory_symlinks && found.is_dir()
            };
            if let Some(found) = std::fs::metadata(&path).ok().filter(counts) {
                self.note(path, &found, depth);
            }
        }
        Ok(())
    }

    fn note(&mut self, path: PathBuf, found: &Metadata, depth: usize) {
        let kind = match (found.is_dir(), found.is_file()) {
            (true, _) => WalkKind::Directory,
            (_, true) => WalkKind::File,
            (false, false) => return,
        };
        self.found.entries.push(WalkEntry { path: PathUri::of(path.clone()), kind });
        if kind == WalkKind::Directory && depth < self.options.max_depth && self.may_enter(&path) {
            self.enter(path, depth + 1);
        }
    }

    fn may_enter(&self, folder: &Path) -> bool {
        let is_hidden = || folder.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        !(self.options.prune_hidden_directories && is_hidden())
    }
}
