//! Everything a child started, however it tried to get away.
//!
//! Two facts make this complete and cheap. As a *subreaper*, this process inherits every descendant whose parent died,
//! and the kernel hangs those orphans on its main thread: one small file tells that a session left nothing. And every
//! member bears the session's *mark*, so one walk over the process table finds the rest by a system call each.

use crate::mark::{Brand, Mark};
use crate::process::{Pid, Process};
use rustix::io::Errno;
use std::fs;
use std::io;
use std::path::Path;

/// From now on, descendants whose parent dies become children of this process instead of init's.
pub fn adopt_orphans() {
    // Every kernel since 3.4 has it; on failure orphans go to init, and the mark still finds them.
    let _ = rustix::process::set_child_subreaper(rustix::process::Pid::from_raw(1));
}

/// The processes hanging on this process's main thread: orphans, and children it started itself.
pub fn adopted() -> io::Result<Vec<Pid>> {
    let me = Pid::of_this_process();
    match fs::read_to_string(format!("/proc/self/task/{me}/children")) {
        Ok(text) => Ok(text.split_whitespace().filter_map(|word| word.parse().ok().map(Pid::new)).collect()),
        // A kernel built without that file: look at everyone.
        Err(error) if error.kind() == io::ErrorKind::NotFound => everyone()?.collect(),
        Err(error) => Err(error),
    }
}

/// Whether a process has children of its own right now; also `true` where we could not look.
pub fn has_children(pid: Pid) -> bool {
    match fs::read_dir(format!("/proc/{pid}/task")) {
        Ok(mut threads) => {
            threads.any(|thread| thread.map_or(true, |thread| thread_has_children(&thread.path())))
        }
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

fn thread_has_children(thread: &Path) -> bool {
    match fs::read(thread.join("children")) {
        Ok(children) => !children.is_empty(),
        // The thread ended meanwhile, or the kernel has no such file: then only the walk over all processes tells.
        Err(_) => true,
    }
}

/// Whether, besides its root (while that lives), a session has members that hang on this process; also `true` where we
/// could not look.
pub fn has_orphans(brand: Brand, mark: Mark, root: Option<Pid>) -> bool {
    let is_orphan = |pid: &Pid| Some(*pid) != root && brand.on(*pid) == Some(mark) && is_alive(*pid);
    let look =
        || adopted().map_or((true, false), |adopted| (adopted.iter().any(is_orphan), adopted.is_empty()));
    let (found, nobody) = look();
    // The kernel may skip a child whose elder sibling is collected while the list is read. A list that is empty from the
    // start skipped nobody; any other is read twice before it is believed.
    found || !nobody && look().0
}

/// All living processes whose mark is wanted, each held so that its number cannot be reused. What could not be looked
/// at is left out: this is for telling, not for ending.
pub fn members(brand: Brand, wanted: impl Fn(Mark) -> bool) -> Vec<Process> {
    living(brand, wanted).flatten().collect()
}

/// The same, one by one while the process table is walked. Whoever signals them as they come leaves no time to fork: the
/// kernel lists processes in the order of their numbers, so a child made meanwhile usually still lies ahead. An error
/// means that we could not look (out of descriptors, say), and that there may be more.
pub fn living(brand: Brand, wanted: impl Fn(Mark) -> bool) -> impl Iterator<Item = Result<Process, Errno>> {
    let me = Pid::of_this_process();
    let bears = move |pid: Pid| brand.on(pid).is_some_and(&wanted);
    let (everyone, blind) = match everyone() {
        Ok(everyone) => (Some(everyone), None),
        Err(error) => (None, Some(Err(errno(&error)))),
    };
    let found = everyone.into_iter().flatten().filter_map(move |pid| match pid {
        Ok(pid) if pid == me || !bears(pid) => None,
        // Held first, asked again then: had the number changed hands, the one we hold is dead and cannot be hit.
        Ok(pid) => match Process::open(pid) {
            Ok(process) => (bears(pid) && process.is_alive()).then_some(Ok(process)),
            Err(Errno::SRCH) => None,
            Err(errno) => Some(Err(errno)),
        },
        Err(error) => Some(Err(errno(&error))),
    });
    blind.into_iter().chain(found)
}

/// Also `true` where we could not look.
fn is_alive(pid: Pid) -> bool {
    match Process::open(pid) {
        Ok(process) => process.is_alive(),
        Err(errno) => errno != Errno::SRCH,
    }
}

fn everyone() -> io::Result<impl Iterator<Item = io::Result<Pid>>> {
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok().map(Pid::new);
    Ok(fs::read_dir("/proc")?.filter_map(move |entry| entry.map(number).transpose()))
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
