//! What stays protected inside every writable place: directories from which other programs take orders. An agent's own
//! settings cannot be changed at all. Of a repository everything can be changed but what makes git run something, so that
//! commits work and hooks cannot be planted.

use crate::files::{Files, Kind};
use crate::plan::{PlanError, Ruling, Rulings};
use crate::policy::Access;
use crate::way::Way;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A path at which nothing may come into being, nor go away if there is something, such as a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unborn {
    /// The path. Without links, but for its last name.
    pub path: PathBuf,
    /// The directory above it that is there; more may be missing between them.
    pub directory: PathBuf,
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
const HEAD: &str = "HEAD";
/// Directories of a repository in which there are no others.
const OWN: [&str; 9] =
    ["objects", "refs", "logs", "hooks", "info", "branches", "lfs", "rr-cache", "rebase-merge"];
/// Names of inner repositories have directories in them at times; deeper than this nobody goes.
const DEEPEST: usize = 4;

/// How many directories can be repositories within one, and how many names are looked at for them. Whoever works in a repository
/// can make more.
const MOST_INNER: usize = 2048;
const MOST_NAMES: usize = 200_000;

/// Adds rulings for what is there, and returns what must neither come nor go.
pub(crate) fn add_protected(rulings: &mut Rulings, files: &dyn Files) -> Result<Vec<Unborn>, PlanError> {
    let roots: Vec<PathBuf> = rulings
        .iter()
        .filter(|ruling| ruling.access == Access::Write && files.kind(&ruling.path) == Some(Kind::Directory))
        .map(|ruling| ruling.path.clone())
        .collect();
    let mut protection = Protection { files, rulings, unborn: Vec::new(), seen: HashMap::new(), names: 0 };
    for root in &roots {
        for name in SETTINGS {
            protection.seal(root, name);
        }
        protection.repository(root)?;
    }
    Ok(protection.unborn)
}

/// A directory that may be made, and will be writable then: what is protected in it must not come with it.
pub(crate) fn not_yet(directory: &Path, above: &Path) -> Vec<Unborn> {
    let names = SETTINGS.into_iter().chain([REPOSITORY]);
    let unborn = |name: &str| {
        let path = directory.join(name);
        Unborn { origin: origin(&path), path, directory: above.to_owned() }
    };
    names.map(unborn).collect()
}

struct Protection<'a> {
    files: &'a dyn Files,
    rulings: &'a mut Rulings,
    unborn: Vec<Unborn>,
    /// The inner directories that were looked into, from which depth, and how many names.
    seen: HashMap<PathBuf, usize>,
    names: usize,
}

impl Protection<'_> {
    /// What is there stays as it is; what is not there does not come.
    fn seal(&mut self, directory: &Path, name: &str) {
        let path = directory.join(name);
        // Whoever asked for exactly this place to be writable meant it.
        if self.rulings.about(&path).is_some_and(|ruling| ruling.access == Access::Write && !ruling.pinned) {
            return;
        }
        let origin = origin(&path);
        let way = Way::to(name, directory, self.files);
        if let Some(end) = self.keep_to(way, &origin) {
            self.keep_as_it_is(end, origin);
        }
    }

    /// Where a way leads, if it leads anywhere. From now on it goes on leading there, or nowhere.
    fn keep_to(&mut self, way: Way, origin: &str) -> Option<PathBuf> {
        self.unborn.extend(way.kept(origin));
        way.leads_somewhere().then_some(way.end)
    }

    /// Only what could be changed needs that, and nobody may read more for being kept from writing: links may lead to what is
    /// denied.
    fn keep_as_it_is(&mut self, path: PathBuf, origin: String) {
        if self.is_writable(&path) {
            self.rulings.push(Ruling::new(path, Access::Read, origin));
        }
    }

    fn is_writable(&self, path: &Path) -> bool {
        self.rulings.access_at(path) == Some(Access::Write)
    }

    fn repository(&mut self, root: &Path) -> Result<(), PlanError> {
        // Whoever works in a repository's own directory has its orders before them. By what it is known must stay.
        let marks = ["objects", "refs"].map(|name| root.join(name));
        if marks.iter().all(|mark| self.files.kind(mark) == Some(Kind::Directory)) {
            marks.iter().for_each(|mark| self.pin(mark));
            self.orders(root)?;
        }
        let path = root.join(REPOSITORY);
        match self.files.kind(&path) {
            Some(Kind::Directory) => self.orders(&path),
            Some(Kind::File) => {
                self.seal(root, REPOSITORY);
                self.elsewhere(root, &path)
            }
            Some(Kind::Link) => match self.keep_to(Way::of(&path, self.files), &origin(&path)) {
                Some(real) => self.orders(&real),
                None => Ok(()),
            },
            None => {
                self.seal(root, REPOSITORY);
                Ok(())
            }
        }
    }

    /// A file that says where the repository is.
    fn elsewhere(&mut self, root: &Path, file: &Path) -> Result<(), PlanError> {
        let text = self.files.text(file);
        let named = text.as_deref().and_then(|text| text.strip_prefix("gitdir:")).map(str::trim);
        let way = named.map(|named| Way::of(&root.join(named), self.files));
        match way.and_then(|way| self.keep_to(way, &origin(file))) {
            Some(real) => self.orders(&real),
            None => Ok(()),
        }
    }

    /// The repository stays where it is, and what gives orders in it stays as it is.
    fn orders(&mut self, repository: &Path) -> Result<(), PlanError> {
        self.pin(repository);
        for name in ORDERS {
            self.seal(repository, name);
        }
        for name in INNER {
            let way = Way::to(name, repository, self.files);
            let origin = origin(&repository.join(name));
            if let Some(missing) = way.missing() {
                // Git makes it when it needs it. Somebody else's must not take its place.
                let directory = way.end.clone();
                self.unborn.push(Unborn { path: missing.join(HEAD), directory, origin });
            } else if let Some(inner) = self.keep_to(way, &origin) {
                self.pin(&inner);
                self.inner(&inner, 0)?;
            }
        }
        Ok(())
    }

    /// What is in it can be changed as before, but it cannot be moved or replaced. What cannot be changed at all need not be kept.
    fn pin(&mut self, directory: &Path) {
        if self.is_writable(directory) {
            let origin = origin(directory);
            self.rulings.push(Ruling { pinned: true, ..Ruling::new(directory, Access::Write, origin) });
        }
    }

    fn inner(&mut self, directory: &Path, depth: usize) -> Result<(), PlanError> {
        if depth == DEEPEST || self.files.kind(directory) != Some(Kind::Directory) {
            return Ok(());
        }
        let is_within_repository = self.is_repository(directory);
        for name in self.files.names(directory) {
            self.names += 1;
            let Some(path) = self.inner_directory(&directory.join(&name)) else { continue };
            let is_repository = self.is_repository(&path);
            // What a repository has of its own holds no others. But whether it is one, anybody can say who works here.
            let is_own = is_within_repository && OWN.iter().any(|own| name == *own);
            // Links lead back to where we were, if somebody wants them to.
            if is_own && !is_repository || !self.is_new(&path, depth) {
                continue;
            }
            if self.seen.len() > MOST_INNER || self.names > MOST_NAMES {
                let (directory, limit) = (directory.to_owned(), MOST_INNER);
                return Err(PlanError::TooManyRepositories { directory, limit });
            }
            if is_repository {
                self.pin(&path);
                for order in ORDERS.iter().chain(&["gitdir"]) {
                    self.seal(&path, order);
                }
            }
            self.inner(&path, depth + 1)?;
        }
        Ok(())
    }

    /// Its `config` cannot be taken away once it is protected, whatever becomes of the rest.
    fn is_repository(&self, directory: &Path) -> bool {
        [HEAD, "config"]
            .iter()
            .any(|mark| self.files.kind(&directory.join(mark)).is_some_and(|kind| kind != Kind::Directory))
    }

    /// Whether it was not yet looked into, or only from further down, so that less of it was seen.
    fn is_new(&mut self, directory: &Path, depth: usize) -> bool {
        match self.seen.get_mut(directory) {
            Some(earlier) if *earlier <= depth => false,
            Some(earlier) => {
                *earlier = depth;
                true
            }
            None => {
                self.seen.insert(directory.to_owned(), depth);
                true
            }
        }
    }

    /// A directory, or the one that a link leads to, if it is ours to be changed: whoever works here can make links to anything.
    fn inner_directory(&self, path: &Path) -> Option<PathBuf> {
        let real = match self.files.kind(path)? {
            Kind::Directory => path.to_owned(),
            Kind::Link => {
                self.files.real(path).filter(|real| self.files.kind(real) == Some(Kind::Directory))?
            }
            Kind::File => return None,
        };
        self.is_writable(&real).then_some(real)
    }
}

fn origin(path: &Path) -> String {
    format!("protected: {}", path.display())
}
