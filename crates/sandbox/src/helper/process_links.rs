//! `/proc/self` and `/proc/thread-self` in a caller's path. For the kernel they mean the process that looks a path up,
//! which is the supervisor here, so a path through one of them leads to another place than the caller means:
//! `/proc/net/dev` does, too. Such paths are rare. They are recognised by the place where they end, and then followed
//! name by name.

use super::memory::Missing;
use super::place::{MOST_LINKS, Seen};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, openat, readlinkat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use windlass_sys::process::Pid;

/// Links that lead each process that follows them to its own directory.
const LINKS: [&str; 2] = ["self", "thread-self"];

/// Whether a path led to the supervisor's own directory in `/proc`. The caller may have named exactly that.
pub(super) fn is_about_us(seen: &Seen) -> bool {
    seen.path.starts_with(format!("/proc/{}", std::process::id())) && seen.is_of_processes()
}

/// Whether a path may lead through such a link. A path that led nowhere may have failed because of it.
pub(super) fn names_itself(path: &Path) -> bool {
    path.components().any(|name| LINKS.iter().any(|link| name.as_os_str() == *link))
}

/// The target of such a link for a caller. `None`: this is another link.
pub(super) fn target(directory: &Seen, name: &OsStr, caller: Pid) -> Option<OsString> {
    /// The inode number of the root of every `/proc`.
    const ROOT: u64 = 1;
    let is_one = LINKS.iter().any(|link| name == *link)
        && directory.about.st_ino == ROOT
        && directory.is_of_processes();
    is_one.then(|| caller.to_string().into())
}

/// Follows a path name by name, so that these links lead to the caller.
pub(super) fn walk(base: &OwnedFd, path: &Path, flags: OFlags, caller: Pid) -> Result<Seen, Missing> {
    let mut here = Seen::of(base.try_clone().map_err(|_| Missing::Hidden)?)?;
    let mut rest = path.to_owned();
    let mut links = 0;
    while let Some((name, after)) = first(&rest) {
        let is_last = after.as_os_str().is_empty();
        // A slash at the end asks for a directory, and follows a link.
        let follows =
            !is_last || rest.as_os_str().as_bytes().ends_with(b"/") || !flags.contains(OFlags::NOFOLLOW);
        let link = if follows { link_target(&here, &name, caller)? } else { None };
        let Some(link) = link else {
            here = Seen::below(here.hold(), &name, OFlags::NOFOLLOW)?;
            rest = after;
            continue;
        };
        links += 1;
        if links > MOST_LINKS {
            return Err(Errno::LOOP.into());
        }
        if link.is_absolute() {
            here = root_of(caller)?;
        }
        rest = if is_last { link } else { link.join(after) };
    }
    match flags.contains(OFlags::DIRECTORY) && !here.is_directory() {
        true => Err(Errno::NOTDIR.into()),
        false => Ok(here),
    }
}

/// The first name of a path, and what comes after it.
fn first(path: &Path) -> Option<(OsString, PathBuf)> {
    let mut names = path.components().filter(|name| !matches!(name, Component::RootDir | Component::CurDir));
    let name = names.next()?.as_os_str().to_owned();
    Some((name, names.map(Component::as_os_str).collect()))
}

/// The target of a name if it is a link. Links to open files and directories of a process have texts that must not be
/// followed as paths.
fn link_target(directory: &Seen, name: &OsStr, caller: Pid) -> Result<Option<PathBuf>, Missing> {
    if let Some(target) = target(directory, name, caller) {
        return Ok(Some(target.into()));
    }
    let Ok(target) = readlinkat(directory.hold(), name, Vec::new()) else { return Ok(None) };
    match directory.is_of_processes() && directory.path != Path::new("/proc") {
        true => Err(Missing::Hidden),
        false => Ok(Some(OsStr::from_bytes(target.as_bytes()).into())),
    }
}

fn root_of(caller: Pid) -> Result<Seen, Missing> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    Seen::of(openat(rustix::fs::CWD, format!("/proc/{caller}/root"), flags, Mode::empty())?)
}
