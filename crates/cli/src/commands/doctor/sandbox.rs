//! Which layers a sandbox can use on this machine, and how strong it is with them; determined by trying.

use std::path::PathBuf;

use rustix::fs::Access;
use windlass_sys::probe;

use super::{Check, kernel_file};
use crate::args::LayersName;
use crate::config::Config;
use crate::confinement;

pub(super) fn checks(config: &Config) -> Vec<Check> {
    vec![
        sandbox(config),
        user_namespaces(),
        landlock(),
        seccomp(),
        unix_sockets(probe::lists_unix_sockets()),
        cgroup(),
    ]
}

/// The layers that would confine a command.
fn sandbox(config: &Config) -> Check {
    const NAME: &str = "sandbox";
    let grounds = confinement::grounds(LayersName::All, config);
    let machine = grounds.machine();
    let supervised = if machine.supervisor { " with a supervisor" } else { "" };
    if machine.confined {
        return Check::note(
            NAME,
            "this process is in a sandbox of Windlass already, which allows no second one",
        )
        .advise("run commands without --sandbox: the sandbox in force holds for them too");
    }
    match (&machine.namespaces, machine.landlock, machine.filter) {
        (_, _, false) => Check::problem(
            NAME,
            "cannot be enforced: system calls cannot be filtered",
            "use a kernel with CONFIG_SECCOMP_FILTER; without it only --sandbox full-access and external work",
        ),
        (Ok(()), landlock, true) => {
            Check::ok(NAME, format!("complete: namespaces, landlock {landlock}, seccomp{supervised}"))
        }
        (Err(why), 2.., true) => Check::note(
            NAME,
            format!("weaker: landlock and seccomp{supervised}, without namespaces: {why}"),
        )
        .advise("`windlass sandbox explain` lists what differs; the next line says how to allow namespaces"),
        (Err(why), _, true) => Check::problem(
            NAME,
            format!("cannot be enforced: no namespaces ({why}) and no Landlock"),
            "allow user namespaces or switch on Landlock; --sandbox full-access and external work without",
        ),
    }
}

fn user_namespaces() -> Check {
    const NAME: &str = "user namespaces";
    let says = |path: &str, value: &str| kernel_file(path).as_deref() == Some(value);
    if says("/proc/sys/user/max_user_namespaces", "0") {
        return Check::note(NAME, "this machine allows none").advise("raise user.max_user_namespaces");
    }
    if says("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        return Check::note(NAME, "only root can create one")
            .advise("set kernel.unprivileged_userns_clone to 1");
    }
    if says("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        return Check::note(NAME, "AppArmor restricts those that are created without root")
            .advise("set kernel.apparmor_restrict_unprivileged_userns to 0, or give windlass a profile");
    }
    if !PathBuf::from("/proc/self/ns/user").exists() {
        return Check::note(NAME, "the kernel has none");
    }
    Check::ok(NAME, "can be created")
}

fn landlock() -> Check {
    match probe::landlock_version() {
        Some(version) => Check::ok("landlock", format!("ABI version {version}")),
        None => Check::note("landlock", "the kernel has none, or it is switched off"),
    }
}

/// Without the list the supervisor cannot tell who owns a socket, and denies all connections to them.
fn unix_sockets(are_listed: bool) -> Check {
    const NAME: &str = "unix sockets";
    match are_listed {
        true => Check::ok(
            NAME,
            "the kernel lists them, so confined commands connect to those of their own runtime only",
        ),
        false => Check::note(NAME, confinement::NO_UNIX_SOCKETS)
            .advise("load the module unix_diag, or use a kernel with CONFIG_UNIX_DIAG"),
    }
}

fn seccomp() -> Check {
    match kernel_file("/proc/sys/kernel/seccomp/actions_avail") {
        Some(actions) if actions.contains("user_notif") => {
            Check::ok("seccomp", "filters and user notification, which the supervisor needs")
        }
        Some(_) => Check::ok("seccomp", "filters, but no user notification, so there is no supervisor"),
        None => Check::note("seccomp", "no filters found in /proc/sys/kernel/seccomp"),
    }
}

/// Whether groups of processes can be limited: windlass needs write access to its own group in the unified hierarchy.
fn cgroup() -> Check {
    const NAME: &str = "cgroup v2";
    let Some(mount) = cgroup_mount() else {
        return Check::note(NAME, "not mounted");
    };
    let groups = kernel_file("/proc/self/cgroup").unwrap_or_default();
    let Some(group) = groups.lines().find_map(|line| line.strip_prefix("0::/")) else {
        return Check::note(NAME, "this process is in no group of it");
    };
    let directory = mount.join(group);
    let controllers = std::fs::read_to_string(directory.join("cgroup.controllers")).unwrap_or_default();
    if !controllers.split_whitespace().any(|controller| controller == "memory") {
        let said = format!(
            "{} has no memory controller; the line `memory limits` says what is used",
            directory.display()
        );
        return Check::note(NAME, said);
    }
    if rustix::fs::access(&directory, Access::WRITE_OK).is_ok() {
        return Check::ok(NAME, format!("{} is delegated to this user", directory.display()));
    }
    let said = format!(
        "{} belongs to another user; the line `memory limits` says what is used instead",
        directory.display()
    );
    Check::note(NAME, said).advise("start windlass under `systemd-run --user --scope -p Delegate=yes`")
}

fn cgroup_mount() -> Option<PathBuf> {
    let mounts = kernel_file("/proc/self/mountinfo")?;
    let line = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
    line.split(' ').nth(4).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_lists_no_unix_sockets_is_said() {
        let said = format!("{:?}", unix_sockets(false));
        assert!(said.contains("connect to none") && said.contains("unix_diag"), "{said}");
        assert!(!format!("{:?}", unix_sockets(true)).contains("connect to none"));
    }
}
