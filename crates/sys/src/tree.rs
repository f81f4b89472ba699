//! Everything a child started, however it tried to get away.
//!
//! Two facts make this complete and cheap. As a *subreaper*, this process inherits every descendant whose parent died,
//! and the kernel hangs those orphans on its main thread: one small file tells that a session left nothing. And every
//! member bears the session's *mark*, so one walk over the process table finds the rest by a system call each.

use crate::mark::{Brand, Mark};
use crate::process::{Pid, Process};
use std::fs;

/// From now on, descendants whose parent dies become children of this process instead of init's.
pub fn adopt_orphans() {
    // Every kernel since 3.4 has it; on failure orphans go to init, and the mark still finds them.
    let _ = rustix::process::set_child_subreaper(rustix::process::Pid::from_raw(1));
}

/// The processes hanging on this process's main thread: orphans, and children it started itself.
pub fn adopted() -> Vec<Pid> {
    let me = Pid::of_this_process();
    match fs::read_to_string(format!("/proc/self/task/{me}/children")) {
        Ok(text) => text.split_whitespace().filter_map(|word| word.parse().ok().map(Pid::new)).collect(),
        // A kernel built without that file: look at everyone.
        Err(_) => everyone().collect(),
    }
}

/// Whether a process has children of its own right now.
pub fn has_children(pid: Pid) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return false;
    };
    threads.flatten().any(|thread| match fs::read(thread.path().join("children")) {
        Ok(children) => !children.is_empty(),
        Err(_) => true,
    })
}

/// Whether, besides its root, a session has members that hang on this process.
pub fn has_orphans(brand: Brand, mark: Mark, root: Pid) -> bool {
    adopted().into_iter().any(|pid| pid != root && brand.on(pid) == Some(mark) && is_alive(pid))
}

/// All living processes whose mark is wanted, each held so that its number cannot be reused.
pub fn members(brand: Brand, wanted: impl Fn(Mark) -> bool) -> Vec<Process> {
    living(brand, wanted).collect()
}

/// The same, one by one while the process table is walked. Whoever signals them as they come leaves no time to fork: the
/// kernel lists processes in the order of their numbers, so a child made meanwhile usually still lies ahead.
pub fn living(brand: Brand, wanted: impl Fn(Mark) -> bool) -> impl Iterator<Item = Process> {
    let me = Pid::of_this_process();
    let bears = move |pid: Pid| brand.on(pid).is_some_and(&wanted);
    everyone().filter(move |pid| *pid != me).filter_map(move |pid| {
        // Held first, asked then: had the number changed hands meanwhile, the one we hold is dead and cannot be hit.
        let process = if bears(pid) { Process::open(pid)? } else { return None };
        (bears(pid) && process.is_alive()).then_some(process)
    })
}

fn is_alive(pid: Pid) -> bool {
    Process::open(pid).is_some_and(|process| process.is_alive())
}

fn everyone() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok().map(Pid::new))
}
