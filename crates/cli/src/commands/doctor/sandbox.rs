//! What a sandbox can be built from. Windlass has none yet, so nothing here is ever a problem.

use std::path::PathBuf;

use rustix::fs::Access;
use windlass_sys::probe;

use super::{Check, kernel_file};

pub(super) fn checks() -> Vec<Check> {
    vec![user_namespaces(), landlock(), seccomp(), cgroup()]
}

fn user_namespaces() -> Check {
    const NAME: &str = "user namespaces";
    let says = |path: &str, value: &str| kernel_file(path).as_deref() == Some(value);
    if says("/proc/sys/user/max_user_namespaces", "0") {
        return Check::note(NAME, "none may be made").advise("raise user.max_user_namespaces");
    }
    if says("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        return Check::note(NAME, "only root may make one")
            .advise("set kernel.unprivileged_userns_clone to 1");
    }
    if says("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        return Check::note(NAME, "AppArmor restricts those made without root")
            .advise("set kernel.apparmor_restrict_unprivileged_userns to 0, or give windlass a profile");
    }
    if !PathBuf::from("/proc/self/ns/user").exists() {
        return Check::note(NAME, "the kernel has none");
    }
    Check::ok(NAME, "may be made")
}

fn landlock() -> Check {
    match probe::landlock_version() {
        Some(version) => Check::ok("landlock", format!("version {version} of its interface")),
        None => Check::note("landlock", "the kernel has none, or it is switched off"),
    }
}

fn seccomp() -> Check {
    match kernel_file("/proc/sys/kernel/seccomp/actions_avail") {
        Some(actions) if actions.contains("user_notif") => {
            Check::ok("seccomp", "filters, also with a supervisor")
        }
        Some(_) => Check::ok("seccomp", "filters, without a supervisor"),
        None => Check::note("seccomp", "the kernel does not say that it has filters"),
    }
}

/// Whether groups of processes can be limited: our own group in the one hierarchy has to be ours to divide.
fn cgroup() -> Check {
    const NAME: &str = "cgroup v2";
    let Some(mount) = cgroup_mount() else {
        return Check::note(NAME, "not mounted, so memory cannot be limited");
    };
    let groups = kernel_file("/proc/self/cgroup").unwrap_or_default();
    let Some(group) = groups.lines().find_map(|line| line.strip_prefix("0::/")) else {
        return Check::note(NAME, "this process is in no group of it");
    };
    let directory = mount.join(group);
    let controllers = std::fs::read_to_string(directory.join("cgroup.controllers")).unwrap_or_default();
    if !controllers.split_whitespace().any(|controller| controller == "memory") {
        let said = format!("{} does not control memory, so it cannot be limited", directory.display());
        return Check::note(NAME, said);
    }
    if rustix::fs::access(&directory, Access::WRITE_OK).is_ok() {
        return Check::ok(NAME, format!("{} can be divided", directory.display()));
    }
    let said = format!("{} belongs to somebody else, so memory cannot be limited", directory.display());
    Check::note(NAME, said).advise("start windlass under `systemd-run --user --scope -p Delegate=yes`")
}

fn cgroup_mount() -> Option<PathBuf> {
    let mounts = kernel_file("/proc/self/mountinfo")?;
    let line = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
    line.split(' ').nth(4).map(PathBuf::from)
}
