//! What stays protected inside every writable place: directories from which other programs take orders. An agent's own
//! settings cannot be changed at all. Of a repository everything can be changed but what makes git run something, so that
//! commits work and hooks cannot be planted.

use crate::files::{Files, Kind};
use crate::plan::{Ruling, most_specific};
use crate::policy::Access;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// A name that must not come into being in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unborn {
    /// The directory. Without links.
    pub directory: PathBuf,
    /// The name.
    pub name: OsString,
    /// Who said so.
    pub origin: String,
}

/// Settings of agents.
const SETTINGS: [&str; 3] = [".codex", ".agents", ".windlass"];
const REPOSITORY: &str = ".git";
/// What in a repository makes git run programs, or look for such orders elsewhere.
const ORDERS: [&str; 4] = ["hooks", "config", "config.worktree", "commondir"];
/// Where repositories within a repository are kept.
const INNER: [&str; 2] = ["modules", "worktrees"];
/// Names of inner repositories have directories in them at times; deeper than this nobody goes.
const DEEPEST: usize = 4;

/// Adds rulings for what is there, and returns what must stay away.
pub(crate) fn add_protected(rulings: &mut Vec<Ruling>, files: &dyn Files) -> Vec<Unborn> {
    let roots: Vec<PathBuf> = rulings
        .iter()
        .filter(|ruling| ruling.access == Access::Write && files.kind(&ruling.path) == Some(Kind::Directory))
        .map(|ruling| ruling.path.clone())
        .collect();
    let mut protection = Protection { files, rulings, unborn: Vec::new() };
    for root in &roots {
        for name in SETTINGS {
            protection.seal(root, name);
        }
        protection.repository(root);
    }
    protection.unborn
}

struct Protection<'a> {
    files: &'a dyn Files,
    rulings: &'a mut Vec<Ruling>,
    unborn: Vec<Unborn>,
}

impl Protection<'_> {
    /// What is there stays as it is; what is not there does not come.
    fn seal(&mut self, directory: &Path, name: &str) {
        let path = directory.join(name);
        let origin = format!("protected: {}", path.display());
        // Whoever asked for exactly this place to be writable meant it.
        if self.rulings.iter().any(|ruling| ruling.path == path && ruling.access == Access::Write) {
            return;
        }
        match (self.files.kind(&path), self.files.real(&path)) {
            (Some(Kind::Link), Some(real)) => {
                // The link itself could be replaced, so its name is watched as well.
                self.keep_as_it_is(real, origin.clone());
                self.stay_away(directory, name, origin);
            }
            (Some(Kind::Link) | None, _) => self.stay_away(directory, name, origin),
            (Some(Kind::Directory | Kind::File), _) => self.keep_as_it_is(path, origin),
        }
    }

    /// Only what could be changed needs that, and nobody may read more for being kept from writing: links may lead to what is
    /// denied.
    fn keep_as_it_is(&mut self, path: PathBuf, origin: String) {
        if self.is_writable(&path) {
            self.rulings.push(Ruling::new(path, Access::Read, origin));
        }
    }

    fn is_writable(&self, path: &Path) -> bool {
        most_specific(self.rulings, path).is_some_and(|ruling| ruling.access == Access::Write)
    }

    fn stay_away(&mut self, directory: &Path, name: &str, origin: String) {
        self.unborn.push(Unborn { directory: directory.to_owned(), name: name.into(), origin });
    }

    fn repository(&mut self, root: &Path) {
        // Whoever works in a repository's own directory has its orders before them.
        if ["HEAD", "objects", "refs"].iter().all(|name| self.files.kind(&root.join(name)).is_some()) {
            self.orders(root);
        }
        let path = root.join(REPOSITORY);
        match self.files.kind(&path) {
            Some(Kind::Directory) => self.orders(&path),
            Some(Kind::File) => {
                self.seal(root, REPOSITORY);
                self.elsewhere(root, &path);
            }
            Some(Kind::Link) => {
                self.stay_away(root, REPOSITORY, format!("protected: {}", path.display()));
                if let Some(real) = self.files.real(&path) {
                    self.orders(&real);
                }
            }
            None => self.seal(root, REPOSITORY),
        }
    }

    /// A file that says where the repository is.
    fn elsewhere(&mut self, root: &Path, file: &Path) {
        let text = self.files.text(file);
        let named = text.as_deref().and_then(|text| text.strip_prefix("gitdir:")).map(str::trim);
        if let Some(real) = named.and_then(|named| self.files.real(&root.join(named))) {
            self.orders(&real);
        }
    }

    /// The repository stays where it is, and what gives orders in it stays as it is.
    fn orders(&mut self, repository: &Path) {
        self.pin(repository);
        for name in ORDERS {
            self.seal(repository, name);
        }
        for inner in INNER.map(|inner| repository.join(inner)) {
            if self.files.kind(&inner) == Some(Kind::Directory) {
                self.pin(&inner);
                self.inner(&inner, 0);
            }
        }
    }

    /// What is in it can be changed as before, but it cannot be moved or replaced.
    fn pin(&mut self, directory: &Path) {
        let origin = format!("protected: {}", directory.display());
        let above = most_specific(self.rulings, directory).map(|ruling| ruling.access);
        let access = above.unwrap_or(Access::Write);
        self.rulings.push(Ruling { pinned: true, ..Ruling::new(directory, access, origin) });
    }

    fn inner(&mut self, directory: &Path, depth: usize) {
        if depth == DEEPEST || self.files.kind(directory) != Some(Kind::Directory) {
            return;
        }
        for name in self.files.names(directory) {
            let Some(path) = self.inner_directory(&directory.join(name)) else { continue };
            if self.files.kind(&path.join("HEAD")).is_some() {
                self.pin(&path);
                for order in ORDERS.iter().chain(&["gitdir"]) {
                    self.seal(&path, order);
                }
                self.inner(&path.join("modules"), depth + 1);
            } else {
                self.inner(&path, depth + 1);
            }
        }
    }

    /// A directory, or the one that a link leads to, if it is ours to be changed: whoever works here can make links to anything.
    fn inner_directory(&self, path: &Path) -> Option<PathBuf> {
        match self.files.kind(path)? {
            Kind::Directory => Some(path.to_owned()),
            Kind::Link => self
                .files
                .real(path)
                .filter(|real| self.is_writable(real) && self.files.kind(real) == Some(Kind::Directory)),
            Kind::File => None,
        }
    }
}

/// What must stay away so that nothing comes to be at a path: the first part of it that is not there.
pub(crate) fn unborn_at(path: &Path, origin: &str, files: &dyn Files) -> Option<Unborn> {
    let (mut above, mut name): (&Path, &OsStr) = (path.parent()?, path.file_name()?);
    loop {
        if let Some(directory) = files.real(above) {
            return Some(Unborn { directory, name: name.to_owned(), origin: origin.to_owned() });
        }
        (above, name) = (above.parent()?, above.file_name()?);
    }
}
