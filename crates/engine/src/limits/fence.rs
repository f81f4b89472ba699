//! The enforcement of limits around a runtime's sessions: chooses a mechanism for each limit on this machine, and makes
//! the control groups. Nothing is made before the first limit is asked for, so sessions without limits cost nothing.

use super::bounds::{Bounds, CgroupSeat, KernelLimits};
use super::plan::{self, Plan};
use super::watcher::{WatchedSession, Watchlist};
use super::{Bytes, Count, Enforced, LimitMechanism, Limits, Resource, Scope, pace};
use crate::{Session, StartError};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use windlass_sys::cgroup::{
    self, Controller, Events, Hierarchies, RuntimeCgroup, RuntimeCgroupName, SessionCgroup, UnusedController,
};
use windlass_sys::mark::{Mark, RuntimeTag};

/// Limits of all sessions of a runtime together. When one is crossed, the session that uses most of the resource is
/// ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuntimeLimits {
    /// The limits.
    pub limits: Limits,
    /// Whether the runtime samples where the kernel does not enforce.
    pub watching: Watching,
}

/// Whether to sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Watching {
    /// Where no other mechanism enforces a limit.
    #[default]
    WhereNeeded,
    /// Never: limits that would need sampling are not enforced.
    Never,
}

/// The control groups that may be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cgroups {
    /// Groups below the one this process is in, where that is allowed.
    #[default]
    OfThisProcess,
    /// Groups in this tree.
    At(Hierarchies),
    /// None.
    Unused,
}

impl RuntimeLimits {
    /// Generous limits that protect a machine from its sessions: four fifths of its memory, half of its processes. Only
    /// mechanisms that cost next to nothing are used for them.
    pub fn protecting(machine_memory: Option<u64>, most_processes: Option<u64>) -> Self {
        let memory = machine_memory.map(|bytes| Bytes(bytes / 5 * 4));
        let processes = most_processes.map(|most| Count(most / 2));
        Self { limits: Limits { memory, processes, ..Limits::default() }, watching: Watching::Never }
    }
}

/// Enforces the limits of one engine.
#[derive(Debug)]
pub(crate) struct LimitEnforcer {
    each: Limits,
    pub(super) together: RuntimeLimits,
    cgroups: Cgroups,
    pub(super) runtime_tag: RuntimeTag,
    /// For sessions without limits: they all share it.
    free: Arc<Bounds>,
    ground: OnceLock<RuntimeCgroups>,
    gave_up: AtomicBool,
    pub(super) watchlist: Watchlist,
    trouble: Mutex<Option<String>>,
}

/// The control groups of this runtime, if there are any.
#[derive(Debug, Default)]
pub(super) struct RuntimeCgroups {
    nest: Option<Arc<RuntimeCgroup>>,
    pub(super) whole: Option<SessionCgroup>,
    common: Option<Arc<SessionCgroup>>,
    pub(super) events: Option<Arc<Events>>,
}

/// How an engine limits.
#[derive(Debug)]
pub(crate) struct LimitEnforcerOptions {
    pub(crate) each: Limits,
    pub(crate) together: RuntimeLimits,
    pub(crate) cgroups: Cgroups,
    pub(crate) runtime_tag: RuntimeTag,
}

impl LimitEnforcer {
    pub(crate) fn new(options: LimitEnforcerOptions) -> Self {
        Self {
            each: options.each,
            together: options.together,
            cgroups: options.cgroups,
            runtime_tag: options.runtime_tag,
            free: Arc::new(Bounds::default()),
            ground: OnceLock::new(),
            gave_up: AtomicBool::new(false),
            watchlist: Watchlist::default(),
            trouble: Mutex::default(),
        }
    }

    /// A command's limits, tightened by those that hold for each session.
    pub(crate) fn effective(&self, limits: Limits) -> Limits {
        limits.tightened(self.each)
    }

    /// Starts something within its limits. If groups turn out to be unusable, the next mechanism is used instead.
    pub(crate) fn launch<T>(
        &self,
        limits: Limits,
        launch: impl Fn(KernelLimits<'_>) -> Result<T, StartError>,
    ) -> Result<(T, Arc<Bounds>), StartError> {
        let bounds = self.bounds(limits);
        match bounds.launch(&launch) {
            Err(StartError::Group { source }) => {
                self.give_up(&format!("a control group cannot be entered: {source}"));
                self.give_back(&bounds);
                let bounds = self.bounds(limits);
                bounds.launch(&launch).map(|started| (started, bounds))
            }
            Err(error) => {
                self.give_back(&bounds);
                Err(error)
            }
            Ok(started) => Ok((started, bounds)),
        }
    }

    /// Adds a session to the watchlist, if it must be watched. Returns whether the caller must start the limit watcher.
    pub(crate) fn enlist(&self, session: &Session) -> bool {
        let shared = &session.shared;
        let bounds = Arc::clone(&shared.bounds);
        let has_seat = !matches!(*bounds.seat(), CgroupSeat::None);
        let sampled = self.sampled(&bounds);
        if !has_seat && sampled.is_empty() {
            return false;
        }
        let read_every = unannounced(&bounds);
        let entry =
            WatchedSession { session: session.downgrade(), bounds, mark: shared.mark, sampled, read_every };
        let begin = self.watchlist.add(entry);
        // Its task may have been over before it was on the list.
        if session.progress().closed {
            self.watchlist.left(shared.mark);
        }
        begin
    }

    /// The session's task is over.
    pub(crate) fn left(&self, mark: Mark, bounds: &Bounds) {
        self.give_back(bounds);
        self.watchlist.left(mark);
    }

    /// No more sessions will be started.
    pub(crate) fn retire(&self) {
        self.watchlist.close();
    }

    /// Removes the runtime's groups, as far as they are empty; those of sessions that live on stay.
    pub(crate) fn close(&self) {
        if let Some(nest) = self.ground.get().and_then(|ground| ground.nest.as_ref()) {
            nest.remove_empty();
        }
    }

    /// The failures of setting up limits, if any: the next mechanism was used instead.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn give_back(&self, bounds: &Bounds) {
        let Some((leaf, nest)) = bounds.release() else { return };
        match tokio::runtime::Handle::try_current() {
            // Emptying a group may take the kernel a moment.
            Ok(runtime) => drop(runtime.spawn_blocking(move || nest.take_back(leaf))),
            Err(_) => nest.take_back(leaf),
        }
    }

    fn give_up(&self, reason: &str) {
        self.gave_up.store(true, Ordering::Relaxed);
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason.to_owned());
    }

    /// The limits that only sampling enforces, the session's own and those of all together.
    fn sampled(&self, bounds: &Bounds) -> Limits {
        let watched = bounds.enforced.iter().filter(|enforced| enforced.means == LimitMechanism::Watcher);
        watched.fold(Limits::default(), |limits, enforced| {
            limits.tightened(Limits::default().with(enforced.resource, Some(enforced.limit)))
        })
    }

    fn bounds(&self, limits: Limits) -> Arc<Bounds> {
        if limits == Limits::default() && self.together.limits.is_empty() {
            return Arc::clone(&self.free);
        }
        let needs_groups = limits.iter().chain(self.together.limits.iter());
        let needs_groups = needs_groups.into_iter().any(|(resource, _)| plan::controller(resource).is_some());
        if !needs_groups {
            return self.assemble(Plan::new(&limits, &self.together, None), limits, CgroupSeat::None);
        }
        let ground = self.ground();
        let nest = ground.nest.as_ref().filter(|_| !self.gave_up.load(Ordering::Relaxed));
        let plan = Plan::new(&limits, &self.together, nest.map(Arc::as_ref));
        let seat = match seat(&plan, &limits, ground, nest) {
            Ok(seat) => seat,
            Err(error) => {
                self.give_up(&format!("a control group cannot be made: {error}"));
                let plan = Plan::new(&limits, &self.together, None);
                return self.assemble(plan, limits, CgroupSeat::None);
            }
        };
        self.assemble(plan, limits, seat)
    }

    fn assemble(&self, plan: Plan, limits: Limits, seat: CgroupSeat) -> Arc<Bounds> {
        Arc::new(Bounds {
            limits,
            together: self.together.limits,
            enforced: plan.enforced,
            of_processes: plan.of_processes,
            seat: Mutex::new(seat),
            ..Bounds::default()
        })
    }

    pub(super) fn ground(&self) -> &RuntimeCgroups {
        self.ground.get_or_init(|| self.prepare_ground())
    }

    fn prepare_ground(&self) -> RuntimeCgroups {
        let hierarchies = match &self.cgroups {
            Cgroups::OfThisProcess => Hierarchies::of_this_process(),
            Cgroups::At(hierarchies) => hierarchies.clone(),
            Cgroups::Unused => return RuntimeCgroups::default(),
        };
        cgroup::remove_abandoned(&hierarchies);
        let name = RuntimeCgroupName::new(self.runtime_tag.family());
        let (nest, refusals) = RuntimeCgroup::make(&hierarchies, name, &Controller::ALL);
        let refusal =
            |it: &UnusedController| format!("no control group of {:?}: {}", it.controller, it.reason);
        let trouble = refusals.iter().map(refusal).collect::<Vec<_>>().join("; ");
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(trouble).filter(|trouble| !trouble.is_empty());
        let Some(nest) = nest else { return RuntimeCgroups::default() };
        let events = Events::open().ok().map(Arc::new);
        let mut ground = RuntimeCgroups { nest: Some(Arc::new(nest)), events, ..RuntimeCgroups::default() };
        if let Err(error) = self.limit_all(&mut ground) {
            self.give_up(&format!("all sessions together cannot be limited: {error}"));
        }
        ground
    }

    /// Limits the nest of groups as a whole, and makes the common group of sessions without limits of their own.
    fn limit_all(&self, ground: &mut RuntimeCgroups) -> io::Result<()> {
        let Limits { memory, processes, .. } = self.together.limits;
        let Some(nest) = ground.nest.as_ref().filter(|_| memory.is_some() || processes.is_some()) else {
            return Ok(());
        };
        let whole = nest.whole()?;
        whole.limit_memory(memory.map(|Bytes(bytes)| bytes))?;
        whole.limit_processes(processes.map(|Count(count)| count))?;
        if let Some(events) = &ground.events {
            whole.announce(events)?;
        }
        ground.common = Some(Arc::new(nest.common(&[Controller::Memory, Controller::Pids])?));
        ground.whole = Some(whole);
        Ok(())
    }
}

/// The groups that a session is started in.
fn seat(
    plan: &Plan,
    limits: &Limits,
    ground: &RuntimeCgroups,
    nest: Option<&Arc<RuntimeCgroup>>,
) -> io::Result<CgroupSeat> {
    let Some(nest) = nest else { return Ok(CgroupSeat::None) };
    if plan.controllers.is_empty() {
        let common = ground.common.as_ref();
        return Ok(common.map_or(CgroupSeat::None, |leaf| {
            CgroupSeat::Common(Arc::clone(leaf), leaf.killed_for_memory())
        }));
    }
    // A resource that is counted for all together must be counted here as well.
    let mut controllers = plan.controllers.clone();
    if ground.whole.is_some() {
        controllers.extend([Controller::Memory, Controller::Pids]);
    }
    let leaf = nest.leaf(&controllers)?;
    leaf.limit_memory(limits.memory.map(|Bytes(bytes)| bytes))?;
    leaf.limit_processes(limits.processes.map(|Count(count)| count))?;
    if let Some(events) = &ground.events {
        leaf.announce(events)?;
    }
    Ok(CgroupSeat::Own(leaf, Arc::clone(nest)))
}

/// Version 1 refuses processes without an event: its counts have to be read. It enforces the limit meanwhile, so there
/// is no haste, least of all for the limit of all sessions together.
fn unannounced(bounds: &Bounds) -> Option<Duration> {
    const OF_ONE: Duration = Duration::from_millis(100);
    let silent = |it: &&Enforced| (it.resource, it.means) == (Resource::Processes, LimitMechanism::CgroupV1);
    let pause = |it: &Enforced| if it.scope == Scope::Session { OF_ONE } else { pace::SLOWEST };
    bounds.enforced.iter().filter(silent).map(pause).min()
}
