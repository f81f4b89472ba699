//! The means by which limits can be enforced on this machine, tried by creating a control group of each kind and
//! removing it.

use windlass_sys::cgroup::{Controller, Hierarchies, RuntimeCgroup, RuntimeCgroupName, Unusable, Version};

use super::Check;

pub(super) fn checks() -> Vec<Check> {
    // No session has a mark of family 0, so this name is not in use.
    let (nest, refusals) =
        RuntimeCgroup::make(&Hierarchies::of_this_process(), RuntimeCgroupName::new(0), &Controller::ALL);
    let refusal = |controller| refusals.iter().find(|refusal| refusal.controller == controller);
    let check = |controller| {
        let version = nest.as_ref().and_then(|nest| nest.version(controller));
        judge(controller, version, refusal(controller).map(|refusal| &refusal.reason))
    };
    vec![check(Controller::Memory), check(Controller::Pids), others()]
}

fn judge(controller: Controller, version: Option<Version>, refused: Option<&Unusable>) -> Check {
    let (name, what, next) = match controller {
        Controller::Memory => (
            "memory limits",
            "memory",
            "windlass measures the whole tree at intervals, and RLIMIT_DATA limits each process",
        ),
        Controller::Pids | Controller::Cpu => (
            "process limits",
            "processes",
            "windlass counts the tree at intervals, and RLIMIT_NPROC limits the user",
        ),
    };
    match version {
        Some(Version::V2) => Check::ok(name, format!("the kernel limits {what} of a session (cgroup v2)")),
        Some(Version::V1) => Check::ok(name, format!("the kernel limits {what} of a session (cgroup v1)")),
        None => {
            let why = refused.map(ToString::to_string).unwrap_or_default();
            let advice = "start windlass with `systemd-run --user --scope -p Delegate=yes` for exact limits";
            Check::note(name, format!("no control group for {what} ({why}): {next}")).advise(advice)
        }
    }
}

fn others() -> Check {
    Check::ok(
        "other limits",
        "windlass measures CPU time, open files and bytes written at intervals, beside rlimits; it counts output as it reads it",
    )
}
