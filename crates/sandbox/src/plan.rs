//! From a policy to what will be enforced on this machine, by which layer, and what cannot be. Pure but for looking at the
//! tree of files through [`Files`].

mod expand;
mod readable;

use crate::disk::Disk;
use crate::files::{Files, Kind};
use crate::ground::Grounds;
use crate::machine::Machine;
use crate::policy::{Access, Base, Confined, Network};
use crate::protect::{self, Unborn};
use std::path::{Path, PathBuf};

/// Where a command runs, as far as a policy speaks of it.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// The directory that `workspace-write` is about, and from which relative places count. Absolute.
    pub workspace: PathBuf,
    /// The temporary directory of the environment.
    pub temporary: Option<PathBuf>,
    /// The home directory, for `~`.
    pub home: Option<PathBuf>,
    /// Places that the runtime itself keeps things in, such as journals: nobody may write there.
    pub kept: Vec<PathBuf>,
    /// Places at which others wait to do things: nobody may even see them.
    pub doors: Vec<PathBuf>,
}

/// What holds for one place and everything below it that has no ruling of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// Where. Without links.
    pub path: PathBuf,
    /// What may be done.
    pub access: Access,
    /// Who said so, in the words of the policy.
    pub origin: String,
    /// Whether the place itself may not be moved or replaced, although what is in it may be changed.
    pub pinned: bool,
}

/// Something that keeps a command from things.
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
    /// Somebody who is asked before files are changed, and writes down what was refused.
    Supervisor,
}

/// What will be enforced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The name of the policy it comes from.
    pub policy: &'static str,
    /// What holds where, from the root of the tree down.
    pub rulings: Vec<Ruling>,
    /// Names that must not come into being.
    pub unborn: Vec<Unborn>,
    /// Sockets of others, which are hidden.
    pub sockets: Vec<PathBuf>,
    /// The only places that may be read, where the tree cannot be changed to hide the others.
    pub readable: Option<Vec<PathBuf>>,
    /// What of the network may be used.
    pub network: Network,
    /// What does the enforcing.
    pub layers: Vec<Layer>,
    /// What is not enforced as the policy means it, in sentences.
    pub differences: Vec<String>,
}

/// Why there is no plan: the command must not be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A place that was to be writable does not exist.
    #[error("the sandbox cannot make {} writable: there is no such file or directory", .path.display())]
    NoSuchPlace {
        /// The place.
        path: PathBuf,
    },
    /// A place of which every command has its own, or the whole tree.
    #[error("the sandbox cannot make {} writable: work in a directory of your own", .path.display())]
    Unsuitable {
        /// The place.
        path: PathBuf,
    },
    /// A rule about somebody's home that is not known.
    #[error("the sandbox cannot tell where `{pattern}` is: write the path out")]
    NoHome {
        /// The pattern.
        pattern: String,
    },
    /// A pattern would have to be looked for in too many places.
    #[error(
        "the sandbox cannot look for `{pattern}`: there are more than {limit} files to look at; begin it with a directory"
    )]
    TooManyFiles {
        /// The pattern.
        pattern: String,
        /// How many were looked at.
        limit: usize,
    },
    /// This machine lacks what the policy needs.
    #[error("the sandbox cannot be enforced on this machine: {need} needs {missing}; {remedy}")]
    Missing {
        /// What of the policy.
        need: String,
        /// What is not there, and why.
        missing: String,
        /// What to do about it.
        remedy: String,
    },
}

/// Plans what a confined command gets.
pub fn plan(
    confined: &Confined,
    surroundings: &Surroundings,
    machine: &Machine,
    files: &dyn Files,
) -> Result<Plan, PlanError> {
    machine.check(confined)?;
    let mut rulings =
        vec![Ruling::new("/", Access::Read, format!("{}: everything else", confined.base.name()))];
    add_writable_places(confined, surroundings, files, &mut rulings);
    let mut unborn = expand::add_rules(confined, surroundings, files, &mut rulings)?;
    unborn.extend(protect::add_protected(&mut rulings, files));
    add_kept(surroundings, files, &mut rulings);
    let rulings = in_order(rulings);
    refuse_unsuitable(&rulings)?;
    let layers = machine.layers(&confined.network);
    let namespaces = layers.contains(&Layer::Namespaces);
    let readable = (!namespaces && rulings.iter().any(|ruling| ruling.access == Access::Deny))
        .then(|| readable::all_but_denied(&rulings, files));
    let mut plan = Plan {
        policy: confined.base.name(),
        sockets: if namespaces { foreign_sockets(&rulings, files) } else { Vec::new() },
        rulings,
        unborn,
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
    surroundings: &Surroundings,
    grounds: &Grounds,
) -> Result<Plan, PlanError> {
    plan(confined, surroundings, grounds.machine(), &Disk)
}

impl Ruling {
    pub(crate) fn new(path: impl Into<PathBuf>, access: Access, origin: impl Into<String>) -> Self {
        Self { path: path.into(), access, origin: origin.into(), pinned: false }
    }
}

impl Plan {
    /// What holds at a path without links.
    pub fn ruling_at(&self, path: &Path) -> Option<&Ruling> {
        ruling_at(&self.rulings, path)
    }

    /// Whether a layer takes part, whatever its version.
    pub fn has(&self, layer: Layer) -> bool {
        self.layers.iter().any(|it| std::mem::discriminant(it) == std::mem::discriminant(&layer))
    }
}

/// The most specific ruling over a path: they are in order, so it is the last that covers it.
pub(crate) fn ruling_at<'a>(rulings: &'a [Ruling], path: &Path) -> Option<&'a Ruling> {
    rulings.iter().rev().find(|ruling| path.starts_with(&ruling.path))
}

/// The same while they are still being collected, in any order.
pub(crate) fn most_specific<'a>(rulings: &'a [Ruling], path: &Path) -> Option<&'a Ruling> {
    let covering = rulings.iter().filter(|ruling| path.starts_with(&ruling.path));
    covering.max_by_key(|ruling| ruling.path.components().count())
}

fn add_writable_places(
    confined: &Confined,
    surroundings: &Surroundings,
    files: &dyn Files,
    rulings: &mut Vec<Ruling>,
) {
    if confined.base == Base::ReadOnly {
        return;
    }
    let mut add = |path: &Path, origin: &str| {
        // A temporary directory that is not there needs no rule; a workspace that is not there cannot be entered.
        if let Some(real) = files.real(path) {
            rulings.push(Ruling::new(real, Access::Write, origin));
        }
    };
    if confined.temporary.common {
        add(Path::new("/tmp"), "workspace-write: the temporary directory");
    }
    if let Some(own) = surroundings.temporary.as_deref().filter(|_| confined.temporary.own) {
        add(own, "workspace-write: the temporary directory");
    }
    add(&surroundings.workspace, "workspace-write: the workspace");
}

/// Some places cannot be handed out: everybody's devices and processes, and everything at once.
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

/// What the runtime keeps is nobody's to change, also where it lies in a writable place. Where nothing may be read, that stays.
fn add_kept(surroundings: &Surroundings, files: &dyn Files, rulings: &mut Vec<Ruling>) {
    for kept in surroundings.kept.iter().filter_map(|kept| files.real(kept)) {
        if most_specific(rulings, &kept).is_some_and(|ruling| ruling.access == Access::Deny) {
            continue;
        }
        rulings.push(Ruling::new(kept, Access::Read, "windlass keeps its own records there"));
    }
    for door in surroundings.doors.iter().filter_map(|door| files.real(door)) {
        rulings.push(Ruling::new(door, Access::Deny, "windlass waits for calls there"));
    }
}

/// From the root down; of several for one place, the last counts.
fn in_order(rulings: Vec<Ruling>) -> Vec<Ruling> {
    let mut ordered: Vec<Ruling> = Vec::with_capacity(rulings.len());
    for ruling in rulings {
        match ordered.iter_mut().find(|it| it.path == ruling.path) {
            Some(same) => {
                let pinned = same.pinned || ruling.pinned;
                *same = Ruling { pinned, ..ruling };
            }
            None => ordered.push(ruling),
        }
    }
    ordered.sort_by_key(|ruling| ruling.path.components().count());
    ordered
}

/// Sockets that others wait at, in places that stay visible: a command that could reach them could have others act for it.
/// Those in the workspace itself are its own business.
fn foreign_sockets(rulings: &[Ruling], files: &dyn Files) -> Vec<PathBuf> {
    let hidden_anyway = |path: &Path| HIDDEN.iter().any(|hidden| path.starts_with(hidden));
    let ours = |path: &Path| {
        ruling_at(rulings, path).is_some_and(|ruling| {
            ruling.access == Access::Deny
                || ruling.access == Access::Write && !ruling.path.starts_with("/tmp")
        })
    };
    let sockets = files.sockets().into_iter().filter(|path| !hidden_anyway(path) && !ours(path));
    sockets.filter(|path| files.kind(path) == Some(Kind::File)).filter_map(|path| files.real(&path)).collect()
}

/// Directories of which a confined command has its own.
pub const HIDDEN: [&str; 4] = ["/run", "/var/run", "/dev", "/proc"];

#[cfg(test)]
pub(crate) mod tests;
