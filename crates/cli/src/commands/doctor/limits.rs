//! By what limits can be kept here: tried, by making a control group of each kind and removing it again.

use windlass_sys::cgroup::{Controller, Hierarchies, Nest, NestName, Unusable, Version};

use super::Check;

pub(super) fn checks() -> Vec<Check> {
    // No session has a mark of family 0, so this name is nobody's.
    let (nest, refusals) = Nest::make(&Hierarchies::of_this_process(), NestName::new(0), &Controller::ALL);
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
            "the whole tree is looked at again and again, and RLIMIT_DATA backs that up",
        ),
        Controller::Pids | Controller::Cpu => (
            "process limits",
            "processes",
            "the tree is looked at again and again, and RLIMIT_NPROC protects the machine",
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
        "CPU time, open files and bytes written are looked at again and again beside rlimits; output is counted as it is read",
    )
}
