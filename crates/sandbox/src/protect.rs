//! Protection inside every writable place for files that other programs obey. An agent's own settings cannot be changed
//! at all. Of a repository everything can be changed except the files that make git run programs, so that commits work
//! and hooks cannot be planted. Its configuration is not frozen where a supervisor can judge each new content.

use crate::disk::was_there_before;
use crate::files::{Files, Kind};
use crate::followed_path::FollowedPath;
use crate::git_config;
use crate::namespaces::OwnFiles;
use crate::obeyed_names::{self, OBEYED_BELOW, OBEYED_IN_HOME, ObeyedName};
use crate::plan::{PolicyContext, Ruling, Rulings, TEMPORARY, ruling_at};
use crate::policy::Access;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// A path that no command may create or, if there is something such as a link, remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MustNotExist {
    /// The path. Its directories are without links.
    pub path: PathBuf,
    /// The nearest directory above it that exists.
    pub directory: PathBuf,
    /// The rule behind it, in the words of the policy.
    pub origin: String,
}

/// Settings of agents.
const SETTINGS: [&str; 3] = [".codex", ".agents", ".windlass"];
const REPOSITORY: &str = ".git";
/// The files of a repository that make git run programs, or look for such files elsewhere.
pub(crate) const ORDERS: [&str; 6] =
    ["hooks", "config", "config.worktree", "commondir", "remotes", "branches"];
/// The configurations among them: the supervisor judges these by their content.
pub(crate) const CONFIGURATIONS: [&str; 2] = ["config", "config.worktree"];
const HOOKS: &str = "hooks";
/// Directories in which a repository keeps other repositories.
pub(crate) const INNER: [&str; 2] = ["modules", "worktrees"];
const HEAD: &str = "HEAD";
/// Directories of a repository in which there are no other repositories.
const OWN: [&str; 9] =
    ["objects", "refs", "logs", "hooks", "info", "branches", "lfs", "rr-cache", "rebase-merge"];
/// The names of inner repositories sometimes contain directories; this is the depth up to which they are searched.
const DEEPEST: usize = 4;

/// The most directories that can be repositories within one, and the most names that are looked at to find them. A
/// command that works in a repository can create more.
const MOST_INNER: usize = 2048;
const MOST_NAMES: usize = 200_000;

/// A repository in a writable place. Commands may replace its index, but put nothing into it that makes git run
/// programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// The repository's own directory.
    pub git_dir: PathBuf,
    /// The top of the files that are checked out.
    pub work_tree: PathBuf,
}

/// A file or directory of a work tree that git's configuration names by a relative path: git obeys one of that name in
/// every work tree of the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// Below the top of a work tree.
    pub name: PathBuf,
    /// The work tree in which the plan protects it.
    pub work_tree: PathBuf,
}

/// The results of protection beside rulings.
#[derive(Debug, Default)]
pub(crate) struct Protected {
    /// Paths that commands must neither create nor remove.
    pub(crate) must_not_exist: Vec<MustNotExist>,
    pub(crate) repositories: Vec<Repository>,
    pub(crate) named_files: Vec<NamedFile>,
    /// Places that are protected by more than they need, in sentences.
    pub(crate) remarks: Vec<String>,
}

/// The party that can judge the content of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConfigurationJudge {
    Supervisor,
    /// None, so every configuration stays as it is.
    Missing,
}

/// Adds rulings for what is there.
pub(crate) fn add_protected(
    surroundings: &PolicyContext,
    judgement: ConfigurationJudge,
    files: &dyn Files,
    rulings: &mut Rulings,
) -> Protected {
    let roots: Vec<PathBuf> = rulings
        .iter()
        .filter(|ruling| ruling.access == Access::Write && files.kind(&ruling.path) == Some(Kind::Directory))
        .map(|ruling| ruling.path.clone())
        .collect();
    let home = surroundings.home.as_deref();
    let mut protection = Protection {
        files,
        home,
        judgement,
        runtime_began: surroundings.runtime_began,
        rulings,
        found: Protected::default(),
        seen: HashMap::new(),
        names: 0,
    };
    for root in &roots {
        for name in SETTINGS {
            protection.seal(root, name);
        }
        protection.repository(root);
    }
    protection.found
}

/// Adds rulings for files that the runtime and its user's shells obey, and returns the paths that must be neither
/// created nor removed.
pub(crate) fn add_own_files(
    surroundings: &PolicyContext,
    files: &dyn Files,
    rulings: &mut Rulings,
) -> Vec<MustNotExist> {
    const CONFIGURATION: &str = "protected: configuration of Windlass, git or a shell";
    const STARTUP: &str = "protected: your shells or git read it when they start";
    const IN_HOME: &str = "protected: programs of yours take settings or commands from it";
    const ON_PATH: &str = "protected: it is on your PATH, so your shells run programs from it";
    const PROGRAM: &str = "protected: the program windlass itself";
    let OwnFiles { program, configuration, startup, search_path, .. } = &surroundings.own_files;
    let mut ways: Vec<(FollowedPath, &str)> =
        configuration.iter().map(|path| (FollowedPath::of(path, files), CONFIGURATION)).collect();
    for directory in startup
        .iter()
        .map(|directory| FollowedPath::of(directory, files))
        .filter(FollowedPath::leads_somewhere)
    {
        let below = |name: &str| FollowedPath::of(&directory.end.join(name), files);
        ways.extend(OwnFiles::STARTUP.map(|name| (FollowedPath::to(name, &directory.end, files), STARTUP)));
        ways.extend(OwnFiles::STARTUP_BELOW.map(|name| (below(name), STARTUP)));
        // Where a link of the home directory leads into the workspace, the file is part of the work there.
        if rulings.access_at(&directory.end) == Some(Access::Write) {
            // After one listing, missing names need no lookup each.
            files.names(&directory.end);
            files.names(&directory.end.join(".config"));
            files.names(&directory.end.join(".local/share"));
            ways.extend(OBEYED_IN_HOME.map(|name| (below(name), IN_HOME)));
        } else {
            let reached = obeyed_in_writable_parts(&directory.end, surroundings, files, rulings);
            ways.extend(reached.map(|name| (below(name), IN_HOME)));
        }
    }
    ways.extend(search_path.iter().map(|path| (FollowedPath::of(path, files), ON_PATH)));
    // A program that lies in the workspace was built there, and may be built again: helpers come from the running file.
    let workspace = FollowedPath::of(&surroundings.workspace, files).end;
    let is_elsewhere =
        |way: &FollowedPath| rulings.over(&way.end).is_none_or(|ruling| ruling.path != workspace);
    let program = program.iter().map(|path| FollowedPath::of(path, files)).filter(is_elsewhere);
    ways.extend(program.map(|way| (way, PROGRAM)));
    let mut must_not_exist = Vec::new();
    for (way, origin) in ways {
        let is_named = rulings.about(&way.end).is_some_and(|ruling| ruling.access == Access::Write);
        if way.leads_somewhere() && is_named {
            continue;
        }
        must_not_exist.extend(way.kept(origin));
        if way.leads_somewhere() && rulings.access_at(&way.end) == Some(Access::Write) {
            rulings.push(Ruling::new(way.end, Access::Read, origin));
        }
    }
    must_not_exist
}

/// Names in a home directory that is not writable as a whole, inside of a part that is: `.cargo/bin` where a rule names
/// `~/.cargo`. The part may be a link of the user's (`~/.cargo` to another disk): then the rule is about the place that
/// it leads to.
fn obeyed_in_writable_parts<'a>(
    home: &'a Path,
    surroundings: &'a PolicyContext,
    files: &'a dyn Files,
    rulings: &Rulings,
) -> impl Iterator<Item = &'static str> + use<'a> {
    let is_writable = |ruling: &&Ruling| ruling.access == Access::Write;
    let roots: Vec<PathBuf> = rulings.iter().filter(is_writable).map(|it| it.path.clone()).collect();
    // With neither of these, no look at the disk is needed: the policy names no places of its own.
    let is_by_rule = |ruling: &&Ruling| is_writable(ruling) && ruling.origin != TEMPORARY;
    let workspace = FollowedPath::of(&surroundings.workspace, files).end;
    let has_rules = rulings.iter().filter(is_by_rule).any(|ruling| ruling.path != workspace);
    let below: Vec<PathBuf> =
        roots.iter().filter_map(|root| Some(root.strip_prefix(home).ok()?.to_owned())).collect();
    let mut ends: HashMap<&'static Path, PathBuf> = HashMap::new();
    let mut leads_to_root = move |part: &'static Path| {
        let end = ends.entry(part).or_insert_with(|| FollowedPath::of(&home.join(part), files).end);
        *end != workspace && roots.contains(end)
    };
    OBEYED_IN_HOME.into_iter().chain(OBEYED_BELOW).filter(move |name: &&'static str| {
        let name: &'static str = name;
        let mut parts = Path::new(name).ancestors().skip(1).filter(|part| !part.as_os_str().is_empty());
        parts.any(|part| below.iter().any(|root| root == part) || has_rules && leads_to_root(part))
    })
}

/// The name of directories with Windlass's own configuration and rules. Windlass reads one in any directory in which it
/// is started, so commands may neither create nor change one at any depth.
const CONFIGURATION: &str = ".windlass";

/// Why a path in a writable place must stay as it is because of its name alone, wherever it lies. A write rule whose
/// own path leads through such a name covers the places below it, too.
pub(crate) fn sealed_by_name(rulings: &[Ruling], path: &Path) -> Option<String> {
    let ruling = ruling_at(rulings, path).filter(|ruling| ruling.access == Access::Write)?;
    let below = path.strip_prefix(&ruling.path).ok()?;
    let is_ours = |name: &OsStr| name.eq_ignore_ascii_case(CONFIGURATION);
    if below.iter().any(is_ours) {
        return Some(format!("protected: configuration of Windlass ({CONFIGURATION} at any depth)"));
    }
    // Commands that find their home unwritable often take the temporary directory for one.
    let is_place =
        |found: &ObeyedName| ruling.path.starts_with(&found.directory) && ruling.origin != TEMPORARY;
    ObeyedName::in_path(path, &ruling.path).filter(is_place).map(|found| obeyed(found.name))
}

/// The directory in which a path in a writable place has a name that other programs obey there.
pub(crate) fn obeyed_by_name(rulings: &[Ruling], path: &Path) -> Option<ObeyedName> {
    let ruling = ruling_at(rulings, path).filter(|ruling| ruling.access == Access::Write)?;
    ObeyedName::in_path(path, &ruling.path).filter(|found| !ruling.path.starts_with(&found.directory))
}

/// Why a path with such a name stays as it is.
pub(crate) fn obeyed(name: &str) -> String {
    format!("protected: {}", obeyed_names::reason(name))
}

/// The names that would be protected in a directory that does not exist yet and will be writable once a command creates
/// it: they must not come with it.
pub(crate) fn not_yet(directory: &Path, above: &Path) -> Vec<MustNotExist> {
    let names = SETTINGS.into_iter().chain([REPOSITORY]);
    let must_not_exist = |name: &str| {
        let path = directory.join(name);
        MustNotExist { origin: origin(&path), path, directory: above.to_owned() }
    };
    names.map(must_not_exist).collect()
}

/// The search for repositories was given up.
struct TooMany;

struct Protection<'a> {
    files: &'a dyn Files,
    home: Option<&'a Path>,
    judgement: ConfigurationJudge,
    runtime_began: Option<u64>,
    rulings: &'a mut Rulings,
    found: Protected,
    /// The visited directories, each with the depth from which it was visited, and the number of names seen.
    seen: HashMap<PathBuf, usize>,
    names: usize,
}

impl Protection<'_> {
    /// Protects a name in a directory: an existing object stays as it is, a missing one must not be created.
    fn seal(&mut self, directory: &Path, name: &str) {
        let path = directory.join(name);
        let origin = origin(&path);
        // The user's own write rule for exactly this place wins.
        if self.rulings.about(&path).is_some_and(|ruling| ruling.access == Access::Write && !ruling.pinned) {
            return;
        }
        let way = FollowedPath::to(name, directory, self.files);
        if let Some(end) = self.keep_to(way, &origin) {
            self.keep_as_it_is(end, origin);
        }
    }

    /// Resolves a path to its end, if it exists, and keeps commands from making it lead elsewhere.
    fn keep_to(&mut self, way: FollowedPath, origin: &str) -> Option<PathBuf> {
        self.found.must_not_exist.extend(way.kept(origin));
        way.leads_somewhere().then_some(way.end)
    }

    /// Makes a path read-only if it is writable. A path that is denied stays so: a link may lead to it, and protection
    /// from writing must not make it readable.
    fn keep_as_it_is(&mut self, path: PathBuf, origin: String) {
        if self.is_writable(&path) {
            self.rulings.push(Ruling::new(path, Access::Read, origin));
        }
    }

    fn is_writable(&self, path: &Path) -> bool {
        self.rulings.access_at(path) == Some(Access::Write)
    }

    fn repository(&mut self, root: &Path) {
        // A command that works inside a repository's own directory (its git directory) finds the obeyed files there.
        // The directories by which git recognises a repository must stay.
        let marks = ["objects", "refs"].map(|name| root.join(name));
        let is_repository = marks.iter().all(|mark| self.files.kind(mark) == Some(Kind::Directory));
        if is_repository {
            marks.iter().for_each(|mark| self.pin(mark));
            let work_tree = root.parent().filter(|_| root.ends_with(REPOSITORY)).unwrap_or(root);
            self.orders(root, work_tree);
        }
        let path = root.join(REPOSITORY);
        match self.files.kind(&path) {
            Some(Kind::Directory) => self.orders(&path, root),
            Some(Kind::File) => {
                self.seal(root, REPOSITORY);
                self.elsewhere(root, &path);
            }
            Some(Kind::Link) => {
                if let Some(real) = self.keep_to(FollowedPath::of(&path, self.files), &origin(&path)) {
                    self.orders(&real, root);
                }
            }
            None => {
                // The supervisor lets it be created only as a new directory, and keeps programs out of it. Without a
                // supervisor it can be created, and the plan says so.
                if self.judgement == ConfigurationJudge::Missing {
                    self.seal(root, REPOSITORY);
                }
                // With it, the directory itself could become a repository.
                if !is_repository {
                    self.seal(root, HEAD);
                }
            }
        }
    }

    /// Handles a `.git` file, which says where the repository is.
    fn elsewhere(&mut self, root: &Path, file: &Path) {
        if let Some(real) = self.named_in(root, file) {
            self.orders(&real, root);
        }
    }

    /// The directory to which a `.git` file leads.
    fn named_in(&mut self, directory: &Path, file: &Path) -> Option<PathBuf> {
        let text = self.files.text(file)?;
        let named = text.strip_prefix("gitdir:").map(str::trim)?;
        self.keep_to(FollowedPath::of(&directory.join(named), self.files), &origin(file))
    }

    /// Keeps the repository in its place, and its obeyed files unchanged.
    fn orders(&mut self, repository: &Path, work_tree: &Path) {
        self.pin(repository);
        self.seal_orders(repository);
        self.configured(repository, work_tree);
        for configuration in self.configuration_of_the_user() {
            self.obeyed(&configuration, work_tree, 0);
        }
        for name in INNER {
            let way = FollowedPath::to(name, repository, self.files);
            let origin = origin(&repository.join(name));
            if let Some(missing) = way.missing() {
                // Git creates this directory when it needs it. A command must not put a repository of its own in its
                // place.
                let directory = way.end.clone();
                self.found.must_not_exist.push(MustNotExist { path: missing.join(HEAD), directory, origin });
            } else if let Some(inner) = self.keep_to(way, &origin) {
                self.pin(&inner);
                let (rulings, must_not_exist) = (self.rulings.len(), self.found.must_not_exist.len());
                if self.inner(&inner, 0).is_err() {
                    self.rulings.truncate(rulings);
                    self.found.must_not_exist.truncate(must_not_exist);
                    self.too_many(&inner);
                }
            }
        }
    }

    /// Seals the obeyed files of a repository, except a configuration that the supervisor judges by its content.
    fn seal_orders(&mut self, repository: &Path) {
        for name in ORDERS {
            if !(CONFIGURATIONS.contains(&name) && self.is_judged(&repository.join(name))) {
                self.seal(repository, name);
            }
        }
        self.seal_linked_hooks(&repository.join(HOOKS));
    }

    /// A hook is often a link to a script of the work tree.
    fn seal_linked_hooks(&mut self, hooks: &Path) {
        if self.files.kind(hooks) != Some(Kind::Directory) {
            return;
        }
        for hook in self.files.names(hooks).into_iter().map(|name| hooks.join(name)) {
            if self.files.kind(&hook) == Some(Kind::Link) {
                let origin = format!("protected: the git hook {} is a link to it", hook.display());
                if let Some(end) = self.keep_to(FollowedPath::of(&hook, self.files), &origin) {
                    self.keep_as_it_is(end, origin);
                }
            }
        }
    }

    /// A link could lead to a file that others read as well, so it and its target stay as they are.
    fn is_judged(&self, configuration: &Path) -> bool {
        let is_link_or_directory =
            matches!(self.files.kind(configuration), Some(Kind::Link | Kind::Directory));
        self.judgement == ConfigurationJudge::Supervisor && !is_link_or_directory
    }

    /// Repositories that cannot be searched to the end are protected as a whole: a command that made thousands of
    /// directories must not keep every other command from starting.
    fn too_many(&mut self, inner: &Path) {
        let origin =
            format!("protected: git may keep repositories in it, in more than {MOST_INNER} directories");
        self.found.remarks.push(format!(
            "{} has more than {MOST_INNER} directories, so nothing in it can be changed; remove those that are neither \
             submodules nor worktrees",
            inner.display()
        ));
        if self.is_writable(inner) {
            self.rulings.push(Ruling::new(inner, Access::Read, origin));
        }
    }

    /// A repository with its work tree, and everything that its configuration makes git obey.
    fn configured(&mut self, git_dir: &Path, work_tree: &Path) {
        self.found
            .repositories
            .push(Repository { git_dir: git_dir.to_owned(), work_tree: work_tree.to_owned() });
        for name in CONFIGURATIONS {
            self.obeyed(&git_dir.join(name), work_tree, 0);
        }
        // A linked worktree obeys the common configuration, and relative paths in it begin in the worktree.
        if let Some(common) = self.files.text(&git_dir.join("commondir")) {
            let common = FollowedPath::of(&git_dir.join(common.trim()), self.files).end;
            self.obeyed(&common.join("config"), work_tree, 0);
        }
    }

    /// Configuration of the user's own; relative paths in it begin in the work tree as well.
    fn configuration_of_the_user(&self) -> Vec<PathBuf> {
        let of_home = self.home.map(|home| [home.join(".gitconfig"), home.join(".config/git/config")]);
        of_home.into_iter().flatten().chain([PathBuf::from("/etc/gitconfig")]).collect()
    }

    /// Files and directories that a configuration makes git read or run must stay as they are, and missing ones must
    /// not be created.
    fn obeyed(&mut self, configuration: &Path, work_tree: &Path, depth: usize) {
        const DEEPEST_INCLUDE: usize = 8;
        let Some(text) = self.files.text(configuration).filter(|_| depth < DEEPEST_INCLUDE) else { return };
        let named = git_config::named(&text);
        let above = configuration.parent().unwrap_or(Path::new("/"));
        for included in named.included {
            if let Some(file) = self.named_by(above, &included, configuration) {
                self.obeyed(&file, work_tree, depth + 1);
            }
        }
        for hooks in named.hooks {
            self.named_by(work_tree, &hooks, configuration);
            self.note_relative(work_tree, &hooks);
        }
        for word in named.words {
            // A word with a slash is a path; another one is an argument, unless there is such a file. A directory is
            // not a program: `cd src/` must not keep commands from writing there.
            let path = self.named_path(work_tree, &word);
            let kind = path.and_then(|path| self.files.kind(&self.files.real(&path).unwrap_or(path)));
            let is_obeyed = match kind {
                Some(Kind::Directory) => false,
                Some(_) => true,
                None => word.contains('/') && !word.ends_with('/'),
            };
            if is_obeyed {
                self.named_by(work_tree, &word, configuration);
                self.note_relative(work_tree, &word);
            }
        }
    }

    fn note_relative(&mut self, work_tree: &Path, path: &str) {
        let parts = Path::new(path).components().filter(|part| *part != Component::CurDir);
        let name: PathBuf = parts.collect();
        let is_below = name.components().all(|part| matches!(part, Component::Normal(_)));
        let file = NamedFile { name, work_tree: work_tree.to_owned() };
        let is_new = !self.found.named_files.contains(&file);
        if is_below && is_new && !file.name.as_os_str().is_empty() && !path.starts_with('~') {
            self.found.named_files.push(file);
        }
    }

    fn named_path(&self, from: &Path, path: &str) -> Option<PathBuf> {
        match path.strip_prefix("~/") {
            Some(below) => Some(self.home?.join(below)),
            None => Some(from.join(path)),
        }
    }

    fn named_by(&mut self, from: &Path, path: &str, configuration: &Path) -> Option<PathBuf> {
        let path = self.named_path(from, path)?;
        let origin = format!("protected: git runs or reads it, because {} names it", configuration.display());
        let end = self.keep_to(FollowedPath::of(&path, self.files), &origin)?;
        self.keep_as_it_is(end.clone(), origin);
        Some(end)
    }

    /// Protects a directory from being moved or replaced; its content can be changed as before. A directory that cannot
    /// be changed at all needs no protection.
    fn pin(&mut self, directory: &Path) {
        if self.is_writable(directory) {
            let origin = origin(directory);
            self.rulings.push(Ruling { pinned: true, ..Ruling::new(directory, Access::Write, origin) });
        }
    }

    fn inner(&mut self, directory: &Path, depth: usize) -> Result<(), TooMany> {
        if depth == DEEPEST || self.files.kind(directory) != Some(Kind::Directory) {
            return Ok(());
        }
        let is_within_repository = self.is_repository(directory);
        for name in self.files.names(directory) {
            self.names += 1;
            let Some(path) = self.inner_directory(&directory.join(&name)) else { continue };
            // After one listing, its names need no lookup each.
            self.files.names(&path);
            let is_repository = self.is_repository(&path);
            // A repository's own directories hold no other repositories. But a command that works here can make any
            // directory look like a repository.
            let is_own = is_within_repository && OWN.iter().any(|own| name == *own);
            // A command can make links that lead back to a directory that was visited already.
            if is_own && !(is_repository && self.has_objects(&path)) || !self.is_new(&path, depth) {
                continue;
            }
            if self.seen.len() > MOST_INNER || self.names > MOST_NAMES {
                return Err(TooMany);
            }
            if self.is_worktree_of_a_command(&path) {
                continue;
            }
            if is_repository {
                self.pin(&path);
                self.seal(&path, "gitdir");
                match self.work_tree_of(&path) {
                    Some(work_tree) => {
                        self.seal_orders(&path);
                        self.configured(&path, &work_tree);
                    }
                    // The supervisor does not know it as a repository of the user's.
                    None => ORDERS.iter().for_each(|order| self.seal(&path, order)),
                }
            }
            self.inner(&path, depth + 1)?;
        }
        Ok(())
    }

    /// Whether it is git's data about a linked worktree that was added since the runtime began. Commands may remove it
    /// again (`git worktree remove`), and until then it is judged like every repository that commands make: no program
    /// can be put into it. Submodules do not count, because only the user adds them, and they have hooks and a
    /// configuration of their own.
    fn is_worktree_of_a_command(&self, directory: &Path) -> bool {
        let is_file = |name: &str| self.files.kind(&directory.join(name)) == Some(Kind::File);
        let is_missing = |name: &str| self.files.kind(&directory.join(name)).is_none();
        let is_worktree = directory.parent().is_some_and(|above| above.ends_with("worktrees"))
            && ["commondir", "gitdir"].into_iter().all(is_file)
            && ["objects", "refs/heads", "config", "hooks"].into_iter().all(is_missing);
        let is_older = || Some(was_there_before(self.files.made_at(directory)?, self.runtime_began?));
        self.judgement == ConfigurationJudge::Supervisor && is_worktree && is_older() == Some(false)
    }

    /// The directory in which the files of a submodule or of a worktree are checked out.
    fn work_tree_of(&self, git_dir: &Path) -> Option<PathBuf> {
        let configured =
            self.files.text(&git_dir.join("config")).and_then(|text| git_config::named(&text).work_tree);
        let linked = || {
            let text = self.files.text(&git_dir.join("gitdir"))?;
            Some(Path::new(text.trim()).parent()?.to_owned())
        };
        let work_tree = configured.map(PathBuf::from).or_else(linked)?;
        self.files.real(&git_dir.join(work_tree))
    }

    /// Whether it has the `HEAD` or `config` of a repository. `config` alone is enough: a command cannot remove it once
    /// it is protected, whatever else it removes.
    fn is_repository(&self, directory: &Path) -> bool {
        [HEAD, "config"]
            .iter()
            .any(|mark| self.files.kind(&directory.join(mark)).is_some_and(|kind| kind != Kind::Directory))
    }

    /// Whether git would take it for a repository. `logs` of every repository has a file `HEAD` as well.
    fn has_objects(&self, directory: &Path) -> bool {
        ["objects", "commondir", "config"].iter().any(|mark| self.files.kind(&directory.join(mark)).is_some())
    }

    /// Whether it was not visited yet, or only from further down, so that less of it was seen.
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

    /// A directory, or the one that a link leads to, if commands may change it: a command that works here can make
    /// links to any place.
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

/// Why a path stays as it is, by its name.
fn origin(path: &Path) -> String {
    let reason = match path.file_name().and_then(OsStr::to_str).unwrap_or_default() {
        CONFIGURATION => "configuration of Windlass",
        ".codex" | ".agents" => "settings of agents, which can start programs",
        HOOKS => "git runs the programs in it (hooks)",
        "config" | "config.worktree" => "configuration of git, which can name programs to run",
        "commondir" | "gitdir" => "it tells git where a repository and its configuration are",
        "remotes" | "branches" => "git takes addresses of remotes from it",
        HEAD => "git would take this directory for a repository",
        "modules" => "git keeps the repositories of submodules in it",
        "worktrees" => "git keeps linked worktrees in it",
        REPOSITORY => "a git repository stays in its place",
        _ => "a part of a git repository stays in its place",
    };
    format!("protected: {reason}")
}
