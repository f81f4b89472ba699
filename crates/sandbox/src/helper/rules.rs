//! The restrictions that a helper puts on itself: Landlock for files, a filter for system calls.

use crate::confinement::Confinement;
use crate::policy::Access;
use crate::request::{ConfineStep, Failure, NetworkKind};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::Errno;
use std::path::{Path, PathBuf};
use windlass_sys::lockdown::landlock::{Beyond, Rights, Ruleset, Version};

pub(super) fn enforce_landlock(order: &Confinement) -> Result<(), Failure> {
    if order.landlock == 0 {
        return Ok(());
    }
    let failed = |errno| Failure { stage: ConfineStep::Landlock, place: String::new(), errno };
    let handled = match order.readable {
        Some(_) => Rights::WRITE.and(Rights::READ).and(Rights::EXECUTE),
        None => Rights::WRITE,
    };
    // The supervisor connects for the command. Without this a command could send a message to another socket past the
    // supervisor, with `sendmsg`.
    let handled = handled.and(Rights::REACH_SOCKETS);
    let no_tcp = !order.own_network && order.network != NetworkKind::On;
    let beyond = Beyond { no_tcp, scoped: true };
    let mut rules = Ruleset::over(handled, beyond, Version(order.landlock)).map_err(failed)?;
    let shared = common(order).into_iter().map(|(path, rights)| (path, rights, ResolveFlags::empty()));
    // Places of the plan are without links. A place that has a link by now leads elsewhere.
    let planned = planned(order).into_iter().map(|(path, rights)| (path, rights, ResolveFlags::NO_SYMLINKS));
    for (path, rights, how) in planned.chain(shared) {
        allow(&mut rules, (&path, how), rights)
            .map_err(|errno| Failure { place: path.display().to_string(), ..failed(errno) })?;
    }
    rules.enforce().map_err(failed)
}

fn allow(rules: &mut Ruleset, (path, how): (&Path, ResolveFlags), rights: Rights) -> Result<(), Errno> {
    let place = match openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), how) {
        Ok(place) => place,
        // A path that does not exist, or that this process cannot reach, needs no rule.
        Err(Errno::NOENT | Errno::ACCESS | Errno::LOOP) => return Ok(()),
        Err(errno) => return Err(errno),
    };
    let is_directory = FileType::from_raw_mode(fstat(&place)?.st_mode).is_dir();
    rules.allow(place, if is_directory { rights.of_directories() } else { rights.of_files() })
}

fn planned(order: &Confinement) -> Vec<(PathBuf, Rights)> {
    let mut allowed = Vec::new();
    for path in order.readable.iter().flatten() {
        allowed.push((path.clone(), Rights::READ.and(Rights::EXECUTE)));
    }
    // A rule holds for everything below, so it is needed where the writable places begin.
    let writable =
        order.rulings.iter().filter(|ruling| ruling.access == Access::Write && !order.is_held(ruling));
    let rights = Rights::WRITE.and(Rights::REACH_SOCKETS);
    allowed.extend(writable.map(|ruling| (ruling.path.clone(), rights)));
    allowed
}

fn common(order: &Confinement) -> Vec<(PathBuf, Rights)> {
    let own: &[(&str, Rights)] = if order.namespaces { &OWN_PLACES } else { &COMMON_PLACES };
    let mut allowed: Vec<_> = own.iter().map(|(path, rights)| (PathBuf::from(path), *rights)).collect();
    if !order.namespaces {
        allowed.extend(own_terminal().map(|path| (path, Rights::WRITE_INTO)));
    }
    allowed
}

/// Places that exist for the command alone.
const OWN_PLACES: [(&str, Rights); 4] = [
    ("/dev", Rights::WRITE_INTO),
    ("/dev/shm", Rights::WRITE),
    ("/proc", Rights::WRITE_INTO),
    ("/run", Rights::WRITE),
];

/// Places that every command may use. Terminals of others are not among them, nor is `/dev/ptmx`, through which one
/// command could take all terminals of the machine; nor is `/proc`, through which a command could change other
/// processes.
pub(super) const COMMON_PLACES: [(&str, Rights); 7] = [
    ("/dev/null", Rights::WRITE_INTO),
    ("/dev/zero", Rights::WRITE_INTO),
    ("/dev/full", Rights::WRITE_INTO),
    ("/dev/random", Rights::WRITE_INTO),
    ("/dev/urandom", Rights::WRITE_INTO),
    ("/dev/tty", Rights::WRITE_INTO),
    ("/dev/shm", Rights::WRITE),
];

fn own_terminal() -> Option<PathBuf> {
    std::fs::read_link("/proc/self/fd/0").ok().filter(|path| path.starts_with("/dev/pts"))
}
