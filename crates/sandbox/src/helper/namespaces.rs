//! The namespaces that commands with the same kind of network share: of users and of the network, created once and
//! entered by each command. Creating a network namespace takes the kernel milliseconds, entering one almost nothing.

use super::at;
use crate::request::{ConfineStep, Failure, NetworkKind, Report};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use windlass_sys::channel::{self, Waiting};
use windlass_sys::lockdown::mount;
use windlass_sys::lockdown::namespace::{self, Own, Spaces, Users};
use windlass_sys::lockdown::{Twin, fork};

/// Creates the user namespace and, except for the open network, the network namespace.
pub(super) fn make(
    network: NetworkKind,
    users_from_outside: bool,
    channel: &OwnedFd,
) -> Result<Vec<OwnedFd>, Failure> {
    make_spaces(network, users_from_outside, channel).map_err(at(ConfineStep::Namespaces))
}

fn make_spaces(
    network: NetworkKind,
    users_from_outside: bool,
    channel: &OwnedFd,
) -> Result<Vec<OwnedFd>, Errno> {
    let own = Own::now();
    let limits = watch_limits();
    namespace::separate(Spaces::USER)?;
    if users_from_outside {
        channel::send(channel, &Report::NameUsers.write(), &[], Waiting::Yes)?;
        let named = channel::receive(channel, Waiting::Yes)?;
        if Report::read(&named.bytes) != Some(Report::NameUsers) {
            namespace::map_users("self", Users::Only(own))?;
        }
    } else {
        namespace::map_users("self", Users::Only(own))?;
    }
    for (setting, limit) in limits {
        // Where the settings cannot be written, commands can use up all of the user's share.
        let _ = std::fs::write(setting, limit.to_string());
    }
    let mut spaces = vec![namespace::hold(Spaces::USER)?];
    if network != NetworkKind::On {
        namespace::separate(Spaces::NETWORK)?;
        if network != NetworkKind::Off {
            namespace::raise_loopback()?;
        }
        spaces.push(namespace::hold(Spaces::NETWORK)?);
    }
    Ok(spaces)
}

/// Half of the user's limits for inotify. Instances inside count for the user outside as well, so without a limit of
/// its own a command could leave its user none.
fn watch_limits() -> Vec<(&'static str, u64)> {
    const SETTINGS: [(&str, &str); 2] = [
        ("/proc/sys/fs/inotify/max_user_instances", "/proc/sys/user/max_inotify_instances"),
        ("/proc/sys/fs/inotify/max_user_watches", "/proc/sys/user/max_inotify_watches"),
    ];
    let half = |(outside, inside)| {
        let all: u64 = std::fs::read_to_string(outside).ok()?.trim().parse().ok()?;
        Some((inside, all / 2))
    };
    SETTINGS.into_iter().filter_map(half).collect()
}

/// Tries every namespace operation that a confined command needs, without a command.
pub(super) fn try_everything() -> Result<(), Failure> {
    let own = Own::now();
    namespace::separate(Spaces::USER).map_err(at(ConfineStep::Namespaces))?;
    namespace::map_users("self", Users::Only(own)).map_err(at(ConfineStep::Namespaces))?;
    let spaces = Spaces::MOUNT.and(Spaces::PROCESS).and(Spaces::IPC).and(Spaces::NETWORK);
    namespace::separate(spaces).map_err(at(ConfineStep::Namespaces))?;
    mount::freeze_everything().map_err(at(ConfineStep::Tree))?;
    mount::terminals().map_err(at(ConfineStep::Devices))?;
    match fork().map_err(at(ConfineStep::Watcher))? {
        Twin::Child => std::process::exit(mount::process_table().map_or_else(Errno::raw_os_error, |_| 0)),
        Twin::Parent(child) => {
            let ended = child.reap_blocking().map_err(at(ConfineStep::Watcher))?;
            match ended.how {
                windlass_sys::process::How::Exited(0) => Ok(()),
                windlass_sys::process::How::Exited(errno) => {
                    Err(at(ConfineStep::Processes)(Errno::from_raw_os_error(errno)))
                }
                _ => Err(at(ConfineStep::Processes)(Errno::IO)),
            }
        }
    }
}
