//! A nest: the groups that one runtime creates below its own group, one in each hierarchy that it uses, with a leaf in
//! it for each session that needs one. Its name identifies the runtime, so that a later runtime can tell that a nest
//! was abandoned; the kernel removes no group that still holds a process, so removing is always safe to try.

use super::layout::{Hierarchies, OwnGroup, words_of};
use super::leaf::{Branch, SessionCgroup, write};
use super::{Controller, Version};
use crate::process::{self, Pid, Process};
use rustix::io::Errno;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The name of a nest: `windlass-PID-START-FAMILY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuntimeCgroupName {
    pid: u32,
    start_ticks: u64,
    family: u32,
}

const PREFIX: &str = "windlass-";
/// The group into which a runtime moves itself, when its own group may hold no process any more.
const OWN: &str = "-runtime";

impl RuntimeCgroupName {
    /// The name of this process's nest for sessions with this runtime tag.
    pub fn new(family: u32) -> Self {
        let own = Pid::of_this_process();
        Self { pid: own.get(), start_ticks: process::start_ticks(own).unwrap_or(0), family }
    }

    fn parse(name: &str) -> Option<Self> {
        let name = name.strip_suffix(OWN).unwrap_or(name);
        let mut parts = name.strip_prefix(PREFIX)?.split('-');
        let (pid, start_ticks, family) = (parts.next()?, parts.next()?, parts.next()?);
        let name = Self {
            pid: pid.parse().ok()?,
            start_ticks: start_ticks.parse().ok()?,
            family: family.parse().ok()?,
        };
        parts.next().is_none().then_some(name)
    }

    fn runtime_is_gone(self) -> bool {
        let pid = Pid::new(self.pid);
        // A process that is dead but not collected yet is gone, too.
        process::start_ticks(pid) != Some(self.start_ticks)
            || Process::open(pid).is_ok_and(|process| !process.is_alive())
    }
}

impl std::fmt::Display for RuntimeCgroupName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{PREFIX}{}-{}-{}", self.pid, self.start_ticks, self.family)
    }
}

/// The reason why a controller is not used.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// No hierarchy of this process has it.
    #[error("no hierarchy that this process is in has it")]
    Absent,
    /// Another runtime's sandbox is around this process. No attempt is made: each one would be reported as a denial.
    #[error("the sandbox around this process allows no changes to control groups")]
    Confined,
    /// Version 2 lets a group either hold processes or have children with controllers, and our group holds processes of
    /// others.
    #[error("{} holds other processes or was not delegated to us, so it cannot be divided", .group.display())]
    Shared {
        /// Our own group.
        group: PathBuf,
    },
    /// The kernel refused.
    #[error("{}: {}", .path.display(), .source)]
    Refused {
        /// The file or directory that could not be created or written.
        path: PathBuf,
        /// The kernel's error.
        #[source]
        source: io::Error,
    },
}

/// A controller that is not used, and why.
#[derive(Debug)]
pub struct UnusedController {
    /// The controller.
    pub controller: Controller,
    /// The reason.
    pub reason: Unusable,
}

/// A runtime's groups. Dropping it removes those that are empty.
#[derive(Debug)]
pub struct RuntimeCgroup {
    groups: Vec<HierarchyGroup>,
    next: AtomicU64,
    /// Emptied branches that can be used again: those of memory cost the kernel most to make.
    emptied: Mutex<Vec<Branch>>,
    /// Branches that could not be removed, because something still runs in them.
    lingering: Mutex<Vec<PathBuf>>,
}

/// The nest's group in one hierarchy.
#[derive(Debug)]
struct HierarchyGroup {
    version: Version,
    directory: PathBuf,
    controllers: Vec<Controller>,
}

/// Emptied branches that are kept; more are removed.
const MOST_EMPTIED: usize = 32;

impl RuntimeCgroup {
    /// Creates a nest with as many of the wanted controllers as can be used, and reports which cannot and why. `None`:
    /// none can.
    pub fn make(
        hierarchies: &Hierarchies,
        name: RuntimeCgroupName,
        wanted: &[Controller],
    ) -> (Option<Self>, Vec<UnusedController>) {
        let (mut groups, mut refusals): (Vec<HierarchyGroup>, _) = (Vec::new(), Vec::new());
        for &controller in wanted {
            match add_twig(hierarchies, name, controller, &mut groups) {
                Ok(()) => {}
                Err(reason) => refusals.push(UnusedController { controller, reason }),
            }
        }
        let nest =
            Self { groups, next: AtomicU64::new(1), emptied: Mutex::default(), lingering: Mutex::default() };
        ((!nest.groups.is_empty()).then_some(nest), refusals)
    }

    /// The interface through which a controller is used here; `None`: it is not used.
    pub fn version(&self, controller: Controller) -> Option<Version> {
        self.groups.iter().find(|group| group.controllers.contains(&controller)).map(|group| group.version)
    }

    /// Creates a leaf with these controllers, for the processes of one session.
    pub fn leaf(&self, wanted: &[Controller]) -> io::Result<SessionCgroup> {
        self.retry_lingering();
        let needed =
            self.groups.iter().filter(|group| group.controllers.iter().any(|it| wanted.contains(it)));
        let branches = needed.map(|group| self.branch(group)).collect::<io::Result<_>>()?;
        Ok(SessionCgroup { branches })
    }

    /// The group for sessions that have no leaf of their own: all are counted together there.
    pub fn common(&self, wanted: &[Controller]) -> io::Result<SessionCgroup> {
        let needed =
            self.groups.iter().filter(|group| group.controllers.iter().any(|it| wanted.contains(it)));
        let branch = |group: &HierarchyGroup| match group.version {
            // In version 1 a group may have children and hold processes, too.
            Version::V1 => Branch::open(group.version, group.directory.clone(), group.controllers.clone()),
            Version::V2 => {
                let directory = group.directory.join("common");
                make_directory(&directory)?;
                Branch::open(group.version, directory, group.controllers.clone())
            }
        };
        Ok(SessionCgroup { branches: needed.map(branch).collect::<io::Result<_>>()? })
    }

    /// The nest itself, to limit and to count everything in it.
    pub fn whole(&self) -> io::Result<SessionCgroup> {
        let branch = |group: &HierarchyGroup| {
            Branch::open(group.version, group.directory.clone(), group.controllers.clone())
        };
        Ok(SessionCgroup { branches: self.groups.iter().map(branch).collect::<io::Result<_>>()? })
    }

    /// Takes back a leaf whose session is over. It may take a moment: memory that was left in it is given up.
    pub fn take_back(&self, leaf: SessionCgroup) {
        for branch in leaf.branches {
            let has_room = self.emptied.lock().unwrap_or_else(PoisonError::into_inner).len() < MOST_EMPTIED;
            if has_room && branch.renew() {
                self.emptied.lock().unwrap_or_else(PoisonError::into_inner).push(branch.begin_anew());
            } else {
                self.lingering.lock().unwrap_or_else(PoisonError::into_inner).push(branch.directory);
            }
        }
        self.retry_lingering();
    }

    /// Removes its empty groups, itself included. For a runtime that starts no more sessions.
    pub fn remove_empty(&self) {
        self.emptied.lock().unwrap_or_else(PoisonError::into_inner).clear();
        for group in &self.groups {
            remove_with_children(&group.directory);
        }
    }

    fn branch(&self, group: &HierarchyGroup) -> io::Result<Branch> {
        let mut emptied = self.emptied.lock().unwrap_or_else(PoisonError::into_inner);
        let place = emptied.iter().position(|branch| branch.directory.parent() == Some(&*group.directory));
        if let Some(place) = place {
            return Ok(emptied.swap_remove(place));
        }
        drop(emptied);
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let directory = group.directory.join(format!("leaf-{number}"));
        make_directory(&directory)?;
        Branch::open(group.version, directory, group.controllers.clone())
    }

    fn retry_lingering(&self) {
        let mut lingering = self.lingering.lock().unwrap_or_else(PoisonError::into_inner);
        lingering.retain(|directory| fs::remove_dir(directory).is_err_and(|error| is_busy(&error)));
    }
}

impl Drop for RuntimeCgroup {
    fn drop(&mut self) {
        self.remove_empty();
    }
}

fn is_busy(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::BUSY)
}

/// Creates the nest's group for a controller in the hierarchy that has it.
fn add_twig(
    hierarchies: &Hierarchies,
    name: RuntimeCgroupName,
    controller: Controller,
    groups: &mut Vec<HierarchyGroup>,
) -> Result<(), Unusable> {
    if hierarchies.confined {
        return Err(Unusable::Confined);
    }
    let place = hierarchies.with(controller).ok_or(Unusable::Absent)?;
    let directory = place.directory.join(name.to_string());
    if place.version == Version::V2 && controller != Controller::Cpu {
        divide(place, name, controller)?;
    }
    make_directory(&directory).map_err(|source| Unusable::Refused { path: directory.clone(), source })?;
    if place.version == Version::V2 && controller != Controller::Cpu {
        enable(&directory, controller)?;
    }
    match groups.iter_mut().find(|group| group.directory == directory) {
        Some(group) => group.controllers.push(controller),
        None => {
            groups.push(HierarchyGroup { version: place.version, directory, controllers: vec![controller] });
        }
    }
    Ok(())
}

/// Enables a controller for the children of our own group of version 2. The kernel allows that only for a group without
/// processes, so this process moves into a child of the group, if the group was delegated to it and holds only this
/// process and its children.
fn divide(place: &OwnGroup, name: RuntimeCgroupName, controller: Controller) -> Result<(), Unusable> {
    let group = &place.directory;
    let word = controller.name(Version::V2);
    if words_of(&group.join("cgroup.subtree_control")).any(|enabled| enabled == word) {
        return Ok(());
    }
    // Only the root of the hierarchy lacks this file, and only it may have children with controllers while it holds
    // processes.
    let is_root = !group.join("cgroup.type").exists();
    if !is_root && holds_processes(group) {
        let ours = is_delegated(group) && all_are_ours(group);
        if !ours {
            return Err(Unusable::Shared { group: group.clone() });
        }
        move_all(group, &group.join(format!("{name}{OWN}")))?;
    }
    enable(group, controller)
}

fn enable(group: &Path, controller: Controller) -> Result<(), Unusable> {
    let path = group.join("cgroup.subtree_control");
    write(&path, &format!("+{}", controller.name(Version::V2)))
        .map_err(|source| Unusable::Refused { path, source })
}

fn members(group: &Path) -> impl Iterator<Item = Pid> + use<> {
    words_of(&group.join("cgroup.procs")).filter_map(|word| word.parse().ok().map(Pid::new))
}

fn holds_processes(group: &Path) -> bool {
    members(group).next().is_some()
}

/// Whether the machine's manager of groups has delegated this one to us: systemd sets an attribute that says so, and a
/// group that belongs to an ordinary user was given to that user.
fn is_delegated(group: &Path) -> bool {
    let mut value = [0; 8];
    let says_so = ["user.delegate", "trusted.delegate"].iter().any(|attribute| {
        let length = rustix::fs::getxattr(group, *attribute, &mut value).unwrap_or(0);
        value[..length] == *b"1"
    });
    let user = rustix::process::geteuid();
    let owner = fs::metadata(group.join("cgroup.procs")).map(|metadata| metadata.uid());
    says_so || !user.is_root() && owner.is_ok_and(|owner| owner == user.as_raw())
}

/// Whether the group holds only this process and its children.
fn all_are_ours(group: &Path) -> bool {
    let own = Pid::of_this_process();
    members(group).all(|pid| pid == own || process::parent_of(pid) == Some(own))
}

fn move_all(from: &Path, to: &Path) -> Result<(), Unusable> {
    let refused = |source| Unusable::Refused { path: to.to_owned(), source };
    make_directory(to).map_err(refused)?;
    for pid in members(from) {
        write(&to.join("cgroup.procs"), &pid.to_string()).map_err(refused)?;
    }
    Ok(())
}

fn make_directory(directory: &Path) -> io::Result<()> {
    match fs::create_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// Removes the nests of runtimes that are gone, as far as they are empty. Returns the number of removed groups.
pub fn remove_abandoned(hierarchies: &Hierarchies) -> usize {
    // In a sandbox, runtimes outside are invisible, and all of their nests would look abandoned.
    if hierarchies.confined {
        return 0;
    }
    // A runtime that moved itself into a child of its group left its nest beside that child, not below it.
    let above = |place: &OwnGroup| {
        let own = place.directory.file_name().and_then(|name| RuntimeCgroupName::parse(name.to_str()?));
        own.and(place.directory.parent().map(Path::to_owned))
    };
    let places = hierarchies.places.iter();
    places.flat_map(|place| [Some(place.directory.clone()), above(place)]).flatten().map(remove_below).sum()
}

fn remove_below(place: PathBuf) -> usize {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let is_abandoned = |entry: &fs::DirEntry| {
        entry
            .file_name()
            .to_str()
            .and_then(RuntimeCgroupName::parse)
            .is_some_and(RuntimeCgroupName::runtime_is_gone)
    };
    entries.filter(is_abandoned).map(|entry| remove_with_children(&entry.path())).sum()
}

/// Groups are removed from below; each that still holds a process stays, and so does what is above it.
fn remove_with_children(directory: &Path) -> usize {
    let children = fs::read_dir(directory).into_iter().flatten().flatten();
    let directories = children.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let below: usize = directories.map(|entry| remove_with_children(&entry.path())).sum();
    below + usize::from(fs::remove_dir(directory).is_ok())
}
