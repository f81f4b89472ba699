//! The choice of a mechanism for each limit on this machine: made before anything starts, from the limits and from the
//! control groups that exist.

use super::fence::{RuntimeLimits, Watching};
use super::{Amount, Enforced, LimitMechanism, Limits, Resource, Scope};
use windlass_sys::cgroup::{Controller, RuntimeCgroup, Version};
use windlass_sys::limits::ProcessLimits;
use windlass_sys::usage;

/// The kernel's own limit is a backstop for growth that is faster than sampling. It is this much higher, so that
/// sampling notices first and can report what happened.
///
/// Stacks of threads count as memory that may be written, most of which never is.
const MEMORY_SLACK: u64 = 1 << 30;
const FILE_SLACK: u64 = 32;
const DISK_SLACK: u64 = 1 << 20;
/// The user's other programs start processes too while the session runs.
const USER_SLACK: u64 = 512;

/// The mechanisms for each limit of one session. Made before anything starts.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) enforced: Vec<Enforced>,
    pub(super) of_processes: ProcessLimits,
    pub(super) controllers: Vec<Controller>,
}

impl Plan {
    pub(super) fn new(limits: &Limits, together: &RuntimeLimits, nest: Option<&RuntimeCgroup>) -> Self {
        let mut plan = Self::default();
        for (resource, limit) in limits.iter() {
            plan.keep(resource, limit, nest);
        }
        for (resource, limit) in together.limits.iter() {
            let version = controller(resource).and_then(|controller| nest?.version(controller));
            plan.keep_together(
                Enforced { resource, scope: Scope::Runtime, limit, means: LimitMechanism::Watcher },
                version,
                together.watching,
            );
        }
        plan
    }

    fn keep(&mut self, resource: Resource, limit: Amount, nest: Option<&RuntimeCgroup>) {
        let controller = controller(resource);
        let version = controller.and_then(|controller| nest?.version(controller));
        self.controllers.extend(controller.filter(|_| version.is_some()));
        let means: &[LimitMechanism] = match (resource, version) {
            (Resource::Memory | Resource::Processes, Some(Version::V1)) => &[LimitMechanism::CgroupV1],
            (Resource::Memory | Resource::Processes, Some(Version::V2)) => &[LimitMechanism::CgroupV2],
            (Resource::Output | Resource::OutputRate, _) => &[LimitMechanism::Reader],
            _ => {
                self.back_up(resource, limit);
                &[LimitMechanism::Watcher, LimitMechanism::ResourceLimit]
            }
        };
        let enforced =
            |means: &LimitMechanism| Enforced { resource, scope: Scope::Session, limit, means: *means };
        self.enforced.extend(means.iter().map(enforced));
    }

    /// Adds a limit that the kernel enforces by itself, as a backstop beside sampling.
    fn back_up(&mut self, resource: Resource, Amount(limit): Amount) {
        let limits = &mut self.of_processes;
        match resource {
            Resource::Memory => limits.data = Some(limit.saturating_mul(4).saturating_add(MEMORY_SLACK)),
            Resource::Processes => {
                limits.user_tasks = Some(usage::tasks_of_this_user().saturating_add(limit) + USER_SLACK);
            }
            Resource::CpuTime => limits.cpu_seconds = Some(limit.div_ceil(1_000_000_000) + 1),
            Resource::OpenFiles => limits.open_files = Some(limit.saturating_add(FILE_SLACK)),
            Resource::Disk => limits.file_size = Some(limit.saturating_add(DISK_SLACK)),
            Resource::Output | Resource::OutputRate => {}
        }
    }

    /// Memory and processes are limited for the whole nest of groups, where there is one; the rest is sampled, if that
    /// is wanted.
    fn keep_together(&mut self, wanted: Enforced, version: Option<Version>, watching: Watching) {
        let is_limited = matches!(wanted.resource, Resource::Memory | Resource::Processes);
        let means = match version.filter(|_| is_limited) {
            Some(Version::V1) => Some(LimitMechanism::CgroupV1),
            Some(Version::V2) => Some(LimitMechanism::CgroupV2),
            None if watching == Watching::WhereNeeded => Some(LimitMechanism::Watcher),
            // Costs one call in the child; the superuser is not bound by it.
            None if wanted.resource == Resource::Processes && !rustix::process::getuid().is_root() => {
                self.of_processes.user_tasks.get_or_insert(wanted.limit.0);
                Some(LimitMechanism::ResourceLimit)
            }
            None => None,
        };
        self.enforced.extend(means.map(|means| Enforced { means, ..wanted }));
    }
}

/// The controller of control groups that limits a resource, or counts it.
pub(super) fn controller(resource: Resource) -> Option<Controller> {
    match resource {
        Resource::Memory => Some(Controller::Memory),
        Resource::Processes => Some(Controller::Pids),
        Resource::CpuTime => Some(Controller::Cpu),
        Resource::OpenFiles | Resource::Output | Resource::OutputRate | Resource::Disk => None,
    }
}
