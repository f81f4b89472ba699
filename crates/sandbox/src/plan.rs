//! Computes a plan from a policy: what this machine will enforce, by which layer, and what it cannot enforce. Pure,
//! except for looking at the tree of files through [`Files`].

mod expand;
mod history;
mod readable;
mod rendezvous;
mod rulings;

pub(crate) use history::PlanHistory;
pub(crate) use rendezvous::tmux_directory;
pub(crate) use rulings::Rulings;

use crate::authority::Authority;
use crate::denial::NOT_WRITABLE;
use crate::disk::Disk;
use crate::files::{Files, Kind};
use crate::followed_path::FollowedPath;
use crate::machine::Machine;
use crate::namespaces::{NamespacePool, OwnFiles};
use crate::pattern::BadPattern;
use crate::policy::{Access, Base, Confined, Network};
use crate::protect::{self, ConfigurationJudge, MustNotExist, NamedFile, Repository};
use crate::remedies::Remedies;
use crate::repository;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The circumstances of a command on which its policy depends.
#[derive(Clone, Debug, Default)]
pub struct PolicyContext {
    /// The directory that `workspace-write` is about, and from which relative places count. Absolute.
    pub workspace: PathBuf,
    /// The temporary directory of the environment.
    pub temporary: Option<PathBuf>,
    /// The home directory, for `~`.
    pub home: Option<PathBuf>,
    /// Places that the runtime itself keeps things in, such as journals: no command may write there.
    pub kept: Vec<PathBuf>,
    /// Sockets and other places through which servers act for their clients: no command may even see them.
    pub doors: Vec<PathBuf>,
    /// Directories in writable places that cannot be read. [`plan_for`] finds them.
    pub barred: Vec<PathBuf>,
    /// Files that the runtime and its user's shells obey. [`plan_for`] takes them from the runtime.
    pub own_files: OwnFiles,
    /// When the runtime began, in nanoseconds since 1970: worktrees that were added since are its commands' own.
    /// [`plan_for`] takes it from the runtime.
    pub runtime_began: Option<u64>,
    /// Changes that the runtime's caller can make to a policy. [`plan_for`] takes it from the runtime.
    pub remedies: Remedies,
}

/// The access to one place and everything below it that has no ruling of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// The place. Without links.
    pub path: PathBuf,
    /// The access that commands have.
    pub access: Access,
    /// The rule behind this ruling, in the words of the policy.
    pub origin: String,
    /// Whether the place itself may not be moved or replaced, although what is in it may be changed.
    pub pinned: bool,
}

/// A mechanism of the kernel that enforces part of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// User, mount, process and IPC namespaces, with a tree of files of its own.
    Namespaces,
    /// A network namespace.
    Network,
    /// Landlock, with the version of its interface.
    Landlock(u32),
    /// A filter of system calls.
    Filter,
    /// A process that decides about changes of files, and reports denials.
    Supervisor,
}

/// How one start carries out a policy on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The name of the policy it comes from.
    pub policy: &'static str,
    /// All that the policy allows, to compare it with others.
    pub authority: Authority,
    /// The access to each place, from the root of the tree down.
    pub rulings: Vec<Ruling>,
    /// Paths that commands must neither create nor remove.
    pub must_not_exist: Vec<MustNotExist>,
    /// Sockets of programs outside, which are hidden.
    pub sockets: Vec<PathBuf>,
    /// The only places that may be read, where the tree cannot be changed to hide the others.
    pub readable: Option<Vec<PathBuf>>,
    /// The network that the command may use.
    pub network: Network,
    /// The layers that enforce the plan.
    pub layers: Vec<Layer>,
    /// The parts of the policy that are not enforced as it means them, in sentences.
    pub differences: Vec<String>,
    /// Remarks about the sandbox for the user who runs the command, in sentences.
    pub remarks: Vec<String>,
    /// Repositories in writable places.
    pub repositories: Vec<Repository>,
    /// Files that git obeys in every work tree of those.
    pub named_files: Vec<NamedFile>,
}

/// The reason why there is no plan: the command must not be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A place of which every command has its own, or the whole tree.
    #[error("the sandbox cannot make {} writable: work in a directory of your own", .path.display())]
    Unsuitable {
        /// The place.
        path: PathBuf,
    },
    /// A rule about a home directory that is not known.
    #[error("the sandbox cannot tell where `{pattern}` is: write the path out")]
    NoHome {
        /// The pattern.
        pattern: String,
    },
    /// A rule whose pattern can never match.
    #[error("the sandbox cannot use the pattern `{pattern}`: {reason}")]
    BadPattern {
        /// The pattern, shortened.
        pattern: String,
        /// The fault of the pattern.
        #[source]
        reason: BadPattern,
    },
    /// Finding the matches of a pattern would take too many lookups.
    #[error(
        "the sandbox cannot look for `{pattern}`: there are more than {limit} files to look at; begin it with a directory"
    )]
    TooManyFiles {
        /// The pattern.
        pattern: String,
        /// The limit of lookups.
        limit: usize,
    },
    /// A place that is to be writable lies behind a link that an earlier command can have made.
    #[error(
        "the sandbox cannot make {} writable: it leads through the link {}, which an earlier command can have made; name {} instead",
        .path.display(), .link.display(), .end.display()
    )]
    LinkOfCommand {
        /// The place, as the caller wrote it.
        path: PathBuf,
        /// The link on the way to it.
        link: PathBuf,
        /// The directory or file that it leads to.
        end: PathBuf,
    },
    /// This process is in a sandbox already.
    #[error(
        "the sandbox {policy} cannot be set up inside another one: a sandbox of Windlass is already in force here, and holds for \
         this command too; run it without a sandbox of its own: {remedy}"
    )]
    Nested {
        /// The policy of the command.
        policy: &'static str,
        /// The advice how the caller does that.
        remedy: String,
    },
    /// This machine lacks what the policy needs.
    #[error("the sandbox cannot be enforced on this machine: {need} needs {missing}; {remedy}")]
    Missing {
        /// The part of the policy.
        need: String,
        /// The missing means, and why it is missing.
        missing: String,
        /// The advice for the user.
        remedy: String,
    },
}

/// Computes the plan for a confined command.
pub fn plan(
    confined: &Confined,
    surroundings: &PolicyContext,
    machine: &Machine,
    files: &dyn Files,
) -> Result<Plan, PlanError> {
    machine.check(confined, &surroundings.remedies)?;
    let mut rulings = Rulings::default();
    rulings.push(Ruling::new("/", Access::Read, format!("{}: {NOT_WRITABLE}", confined.base.name())));
    let mut must_not_exist = add_writable_places(confined, surroundings, files, &mut rulings);
    let mut remarks = add_barred(surroundings, &mut rulings);
    let ruled = expand::add_rules(confined, surroundings, files, &mut rulings)?;
    must_not_exist.extend(ruled.must_not_exist);
    remarks.extend(ruled.remarks);
    let judgement =
        if machine.supervisor { ConfigurationJudge::Supervisor } else { ConfigurationJudge::Missing };
    let protected = protect::add_protected(surroundings, judgement, files, &mut rulings);
    must_not_exist.extend(protected.must_not_exist);
    must_not_exist.extend(add_kept(surroundings, files, &mut rulings));
    must_not_exist.extend(protect::add_own_files(surroundings, files, &mut rulings));
    must_not_exist.extend(rendezvous::add(surroundings, files, &mut rulings));
    let layers = machine.layers(&confined.network);
    let namespaces = layers.contains(&Layer::Namespaces);
    must_not_exist.extend(add_secrets(surroundings, &layers, files, &mut rulings));
    let ways = if namespaces { foreign_sockets(&rulings, files) } else { Vec::new() };
    must_not_exist.extend(ways.iter().flat_map(|way| way.kept("a socket of others")));
    let sockets = ways.into_iter().map(|way| way.end).collect();
    // In places that are not writable, nothing can be created or removed anyway.
    let mut said = HashSet::new();
    must_not_exist.retain(|must_not_exist| {
        rulings.access_at(&must_not_exist.directory) == Some(Access::Write)
            && said.insert(must_not_exist.path.clone())
    });
    let rulings = rulings.in_order();
    refuse_unsuitable(&rulings)?;
    let readable = (!namespaces && rulings.iter().any(Ruling::hides_content))
        .then(|| readable::all_but_denied(&rulings, files));
    remarks.extend(protected.remarks);
    remarks.extend(machine.fallback());
    let mut plan = Plan {
        policy: confined.base.name(),
        authority: Authority::of(confined, surroundings),
        repositories: protected.repositories,
        named_files: protected.named_files,
        remarks,
        sockets,
        rulings,
        must_not_exist,
        readable,
        network: confined.network.clone(),
        layers,
        differences: Vec::new(),
    };
    plan.differences = machine.differences(&plan);
    Ok(plan)
}

/// The same for the tree and the machine that this process is on.
pub fn plan_for(
    confined: &Confined,
    surroundings: &PolicyContext,
    pool: &NamespacePool,
) -> Result<Plan, PlanError> {
    let files = Disk::with_memory(pool.take_memory());
    let mut surroundings = PolicyContext {
        own_files: pool.own_files().clone(),
        runtime_began: Some(pool.began()),
        remedies: pool.remedies().clone(),
        ..surroundings.clone()
    };
    let first = plan(confined, &surroundings, pool.machine(), &files)?;
    let can_be_opened =
        |directory: &PathBuf| first.ruling_at(directory).is_some_and(|ruling| ruling.access == Access::Write);
    surroundings.barred = files.barred().into_iter().filter(can_be_opened).collect();
    if surroundings.barred.is_empty() {
        pool.admit(&first, (confined, &surroundings), &files)?;
        pool.keep_memory(files.into_memory());
        return Ok(first);
    }
    pool.keep_memory(files.into_memory());
    let files = Disk::default();
    let second = plan(confined, &surroundings, pool.machine(), &files)?;
    pool.admit(&second, (confined, &surroundings), &files)?;
    Ok(second)
}

impl Ruling {
    pub(crate) fn new(path: impl Into<PathBuf>, access: Access, origin: impl Into<String>) -> Self {
        Self { path: path.into(), access, origin: origin.into(), pinned: false }
    }

    /// Whether the plan hides content, so that every open must be judged. The directory with the runtime's sockets has
    /// no such content: a mount hides it, and connections are judged in any case, so opens stay as fast as without it.
    pub(crate) fn hides_content(&self) -> bool {
        self.access == Access::Deny && self.origin != DOOR
    }
}

impl Plan {
    /// The ruling for a path without links.
    pub fn ruling_at(&self, path: &Path) -> Option<&Ruling> {
        ruling_at(&self.rulings, path)
    }

    /// Configurations of repositories that can be written, and whose content the supervisor judges.
    pub fn judged_configurations(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let all = self.repositories.iter().flat_map(|repository| {
            protect::CONFIGURATIONS.map(|configuration| repository.git_dir.join(configuration))
        });
        // Where a rule names the file itself, that rule decides.
        let is_judged = |ruling: &Ruling, path: &Path| ruling.access == Access::Write && ruling.path != path;
        let all = all.filter(move |path| self.ruling_at(path).is_some_and(|ruling| is_judged(ruling, path)));
        all.filter(|_| self.has(Layer::Supervisor))
    }

    /// Paths that can be written only under the supervisor's judgement: those configurations, and repositories at the
    /// top of writable places that do not exist yet.
    pub fn judged_paths(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let places = self.rulings.iter().filter(|ruling| ruling.access == Access::Write && !ruling.pinned);
        self.judged_configurations().chain(places.map(|ruling| ruling.path.join(".git")))
    }

    /// Whether a layer takes part, whatever its version.
    pub fn has(&self, layer: Layer) -> bool {
        self.layers.iter().any(|it| std::mem::discriminant(it) == std::mem::discriminant(&layer))
    }

    /// The version of Landlock that takes part; 0: none.
    pub(crate) fn landlock(&self) -> u32 {
        let version = |layer: &Layer| match layer {
            Layer::Landlock(version) => Some(*version),
            _ => None,
        };
        self.layers.iter().find_map(version).unwrap_or(0)
    }
}

/// The most specific ruling for a path: they are in order, so it is the last that covers it.
pub(crate) fn ruling_at<'a>(rulings: &'a [Ruling], path: &Path) -> Option<&'a Ruling> {
    rulings.iter().rev().find(|ruling| path.starts_with(&ruling.path))
}

/// The origin of rulings about sockets of the runtime.
pub(crate) const DOOR: &str = "windlass waits for calls there";

/// The origin of rulings about temporary directories.
pub(crate) const TEMPORARY: &str = "workspace-write: the temporary directory";

fn add_writable_places(
    confined: &Confined,
    surroundings: &PolicyContext,
    files: &dyn Files,
    rulings: &mut Rulings,
) -> Vec<MustNotExist> {
    let mut must_not_exist = Vec::new();
    if confined.base == Base::ReadOnly {
        return must_not_exist;
    }
    let mut add = |path: &Path, origin: &str| {
        let way = FollowedPath::of(path, files);
        // A temporary directory that does not exist needs no rule yet, and must not be created as a link to another
        // place; a workspace that does not exist cannot be entered.
        match way.missing() {
            Some(missing) => must_not_exist.extend(protect::not_yet(&missing, &way.end)),
            None => {
                must_not_exist.extend(way.kept(origin));
                rulings.push(Ruling::new(way.end, Access::Write, origin));
            }
        }
    };
    if confined.temporary.common {
        add(Path::new("/tmp"), TEMPORARY);
    }
    if let Some(own) = surroundings.temporary.as_deref().filter(|_| confined.temporary.own) {
        add(own, TEMPORARY);
    }
    add(&surroundings.workspace, "workspace-write: the workspace");
    let workspace = FollowedPath::of(&surroundings.workspace, files).end;
    for directory in repository::outside_of(&workspace, files) {
        add(&directory, "workspace-write: the repository of the workspace");
    }
    must_not_exist
}

/// A directory of the user's without permissions (`chmod 000`) may contain protected or denied files, and a command
/// could restore the permissions. So neither the directory nor its mode can be changed.
fn add_barred(surroundings: &PolicyContext, rulings: &mut Rulings) -> Vec<String> {
    let mut remarks = Vec::new();
    for directory in &surroundings.barred {
        rulings.push(Ruling::new(directory, Access::Read, "its mode lets nothing look into it (chmod u+rx)"));
        remarks.push(format!(
            "{} has a mode that lets nothing look into it, so commands can neither read nor change it; `chmod u+rx` it",
            directory.display()
        ));
    }
    remarks
}

/// Some places cannot be made writable: the machine's devices and processes, and the whole tree.
fn refuse_unsuitable(rulings: &[Ruling]) -> Result<(), PlanError> {
    let unsuitable = |ruling: &&Ruling| {
        let path = &ruling.path;
        ruling.access == Access::Write
            && (path == Path::new("/") || path.starts_with("/dev") || path.starts_with("/proc"))
    };
    match rulings.iter().find(unsuitable) {
        Some(ruling) => Err(PlanError::Unsuitable { path: ruling.path.clone() }),
        None => Ok(()),
    }
}

/// No command may change the runtime's own files, even if they lie in a writable place. Places that may not be read
/// stay so.
fn add_kept(surroundings: &PolicyContext, files: &dyn Files, rulings: &mut Rulings) -> Vec<MustNotExist> {
    let mut must_not_exist = Vec::new();
    let mut add = |path: &Path, access: Access, origin: &str| {
        let way = FollowedPath::of(path, files);
        if !way.leads_somewhere() {
            return;
        }
        must_not_exist.extend(way.kept(origin));
        if rulings.access_at(&way.end) != Some(Access::Deny) {
            rulings.push(Ruling::new(way.end, access, origin));
        }
    };
    for kept in &surroundings.kept {
        add(kept, Access::Read, "windlass keeps its own records there");
    }
    for door in &surroundings.doors {
        add(door, Access::Deny, DOOR);
    }
    must_not_exist
}

/// Hides files with secrets of the runtime, whatever the policy allows there. A file that is missing at the moment,
/// because its owner is replacing it, cannot be created by the command either.
fn add_secrets(
    surroundings: &PolicyContext,
    layers: &[Layer],
    files: &dyn Files,
    rulings: &mut Rulings,
) -> Vec<MustNotExist> {
    const ORIGIN: &str = "windlass reads a secret from it";
    let mut must_not_exist = Vec::new();
    for secret in &surroundings.own_files.secrets {
        let way = FollowedPath::of(secret, files);
        must_not_exist.extend(way.kept(ORIGIN));
        let is_visible = !layers.contains(&Layer::Namespaces) || !is_out_of_sight(&way.end, rulings);
        if way.leads_somewhere() && is_visible {
            rulings.push(Ruling::new(way.end, Access::Deny, ORIGIN));
        }
    }
    must_not_exist
}

/// Whether a path lies where a command with namespaces has a directory of its own, and no rule makes the machine's
/// visible: systemd and containers keep secrets in `/run`. A ruling for it would have every open judged for nothing.
fn is_out_of_sight(path: &Path, rulings: &Rulings) -> bool {
    let is_ruled = |hidden: &str| rulings.iter().any(|ruling| ruling.path.starts_with(hidden));
    HIDDEN.iter().any(|hidden| path.starts_with(hidden) && !is_ruled(hidden))
}

/// Sockets of programs outside, in places that stay visible: a command that could connect to them could have those
/// programs act for it. Those in the workspace are not covered, so that stale ones can be removed; the supervisor
/// refuses connections to them.
fn foreign_sockets(rulings: &Rulings, files: &dyn Files) -> Vec<FollowedPath> {
    let hidden_anyway = |path: &Path| HIDDEN.iter().any(|hidden| path.starts_with(hidden));
    let ours = |path: &Path| match rulings.over(path) {
        // The policy may allow a socket by name.
        Some(ruling) if ruling.access == Access::Write => {
            ruling.path == path || !ruling.path.starts_with("/tmp")
        }
        ruling => ruling.is_some_and(|ruling| ruling.access == Access::Deny),
    };
    let sockets = files.sockets().into_iter().filter(|path| !hidden_anyway(path) && !ours(path));
    let sockets = sockets.filter(|path| files.kind(path) == Some(Kind::File));
    sockets.map(|path| FollowedPath::of(&path, files)).filter(FollowedPath::leads_somewhere).collect()
}

/// Directories of which a confined command has its own.
pub const HIDDEN: [&str; 4] = ["/run", "/var/run", "/dev", "/proc"];

#[cfg(test)]
mod home_tests;
#[cfg(test)]
pub(crate) mod tests;
