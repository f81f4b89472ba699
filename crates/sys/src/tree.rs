//! All processes that a child started, even those that tried to escape.
//!
//! Two facts make this complete and cheap. As a *subreaper*, this process inherits every descendant whose parent died,
//! and the kernel makes those orphans children of its main thread: one small file shows that a session left nothing.
//! And every member bears the session's *mark*, so one walk over the process table finds the rest by a system call
//! each. One that shed its mark is recognised by its session's leader, which it cannot change without becoming one
//! itself.

use crate::mark::{Fate, Mark, RuntimeTag, marks_on};
use crate::process::{Pid, Process, session_of};
use crate::signal::Signal;
use rustix::io::Errno;
use std::collections::{BTreeSet, HashSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Tells to which session a process belongs.
pub trait Recognise {
    /// The mark of the session that a process belongs to.
    fn mark_of(&self, pid: Pid) -> Option<Mark>;
}

/// By the mark that it bears. A process that shed its mark, by changing that limit, is recognised by the leader of its
/// session (`setsid`), as long as the leader lives and bears the mark.
impl Recognise for RuntimeTag {
    fn mark_of(&self, pid: Pid) -> Option<Mark> {
        self.on(pid).or_else(|| self.on(session_of(pid)?))
    }
}

impl<T: Recognise> Recognise for &T {
    fn mark_of(&self, pid: Pid) -> Option<Mark> {
        (**self).mark_of(pid)
    }
}

/// The right to adopt every descendant whose parent died, and the list of the adopted ones.
///
/// The list is opened once and read again from its start: it is read at every session's end, and a look that needs no
/// new descriptor cannot fail for lack of one.
#[derive(Debug)]
pub struct Adoption {
    /// `None` on a kernel built without it: then all processes are looked at.
    list: Option<File>,
}

/// From now on, descendants whose parent dies become children of this process instead of init's.
pub fn adopt_orphans() -> Adoption {
    // Every kernel since 3.4 has it; on failure orphans go to init, and the mark still finds them.
    let _ = rustix::process::set_child_subreaper(rustix::process::Pid::from_raw(1));
    let me = Pid::of_this_process();
    Adoption { list: File::open(format!("/proc/self/task/{me}/children")).ok() }
}

impl Adoption {
    /// The children of this process's main thread: orphans, and children that it started itself.
    pub fn adopted(&self) -> io::Result<Vec<Pid>> {
        let Some(list) = &self.list else { return everyone()?.collect() };
        let text = read_from_the_start(list)?;
        let words = text.split(u8::is_ascii_whitespace).filter_map(|word| std::str::from_utf8(word).ok());
        Ok(words.filter_map(|word| word.parse().ok().map(Pid::new)).collect())
    }

    /// Whether this process has a child with a wanted mark besides the known ones (a root, while it lives, and a
    /// supervisor); also `true` where we could not look.
    ///
    /// One look proves nothing: a listed process may have left a child and died before it was looked at, and the kernel
    /// may skip a child whose elder sibling is collected while the list is read. When the same list is read again after
    /// every wanted process on it was seen dead, no such process is left: a living one would be on the list.
    pub fn has_orphans(&self, who: impl Recognise, wanted: impl Fn(Mark) -> bool, known: &[Pid]) -> bool {
        let mut before = Vec::new();
        for _ in 0..MOST_LOOKS {
            let Ok(mut adopted) = self.adopted() else { return true };
            if self.list.is_none() {
                // Without the list these are all processes on the machine: only ours must be the same in two looks.
                adopted.retain(|pid| who.mark_of(*pid).is_some());
            }
            let is_orphan = |pid: &Pid| !known.contains(pid) && who.mark_of(*pid).is_some_and(&wanted);
            if adopted.iter().filter(|pid| is_orphan(pid)).any(|pid| is_alive(*pid)) {
                return true;
            }
            if adopted == before {
                return false;
            }
            before = adopted;
        }
        true
    }
}

/// After this many looks at processes that come and go all the time, nothing is proved.
const MOST_LOOKS: usize = 32;

/// Files of `/proc` report no length: the end is where a read returns nothing.
fn read_from_the_start(file: &File) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut chunk = [0; 1024];
    loop {
        match file.read_at(&mut chunk, text.len() as u64)? {
            0 => return Ok(text),
            count => text.extend_from_slice(&chunk[..count]),
        }
    }
}

/// Whether a process has children of its own right now; also `true` where we could not look.
pub fn has_children(pid: Pid) -> bool {
    let threads = format!("/proc/{pid}/task");
    match fs::metadata(&threads) {
        // A directory has two links and one for each directory in it: this is the usual process with one thread.
        Ok(metadata) if metadata.nlink() == 3 => {
            thread_has_children(&Path::new(&threads).join(pid.to_string()))
        }
        Ok(_) => any_thread_has_children(&threads),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

fn any_thread_has_children(threads: &str) -> bool {
    match fs::read_dir(threads) {
        Ok(mut threads) => {
            threads.any(|thread| thread.map_or(true, |thread| thread_has_children(&thread.path())))
        }
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

fn thread_has_children(thread: &Path) -> bool {
    match fs::read(thread.join("children")) {
        Ok(children) => !children.is_empty(),
        // The thread ended meanwhile, or the kernel has no such file: then only a walk over all processes shows whether
        // it has children.
        Err(_) => true,
    }
}

/// All living processes whose mark is wanted, each held so that its number cannot be reused. Processes that could not
/// be looked at are left out: this is for reports, not for ending processes.
pub fn members(who: impl Recognise, wanted: impl Fn(Mark) -> bool) -> Vec<Process> {
    living(who, wanted).flatten().collect()
}

/// The same, one by one while the process table is walked. A caller that signals them as they come leaves them no time
/// to fork: the kernel lists processes in the order of their numbers, so a child made meanwhile usually still lies
/// ahead. An error means that we could not look (out of descriptors, say), and that there may be more.
pub fn living(
    who: impl Recognise,
    wanted: impl Fn(Mark) -> bool,
) -> impl Iterator<Item = Result<Process, Errno>> {
    let me = Pid::of_this_process();
    let bears = move |pid: Pid| who.mark_of(pid).is_some_and(&wanted);
    let (everyone, blind) = match everyone() {
        Ok(everyone) => (Some(everyone), None),
        Err(error) => (None, Some(Err(errno(&error)))),
    };
    let found = everyone.into_iter().flatten().filter_map(move |pid| match pid {
        Ok(pid) if pid == me || !bears(pid) => None,
        // Held first, checked again afterwards: if the number was reused in between, the held process is dead and
        // cannot be hit.
        Ok(pid) => match Process::open(pid) {
            Ok(process) => (bears(pid) && process.is_alive()).then_some(Ok(process)),
            Err(Errno::SRCH) => None,
            Err(errno) => Some(Err(errno)),
        },
        Err(error) => Some(Err(errno(&error))),
    });
    blind.into_iter().chain(found)
}

/// Whether no process with a wanted mark is alive, for sure. One walk that finds none does not prove it: the walk may
/// have missed a process whose pid the kernel had allocated and did not show yet, or whose pid wrapped around. The
/// parent of that process existed then, bears the mark, and is alive or has died since. So no process is left when a
/// walk finds no living one and no new dead one.
pub fn is_empty(who: impl Recognise, wanted: impl Fn(Mark) -> bool) -> bool {
    let mut dead_before = HashSet::new();
    for _ in 0..MOST_LOOKS {
        let mut dead = HashSet::new();
        let Ok(everyone) = everyone() else { return false };
        for pid in everyone {
            let Ok(pid) = pid else { return false };
            // A dead process keeps its mark until it is collected. Deaths of unmarked processes prove nothing.
            if !who.mark_of(pid).is_some_and(&wanted) {
                continue;
            }
            if is_alive(pid) {
                return false;
            }
            dead.insert(pid);
        }
        if dead.is_subset(&dead_before) {
            return true;
        }
        dead_before = dead;
    }
    false
}

/// Those of `families`, numbers of runtime tags, of which processes live that should have ended with their runtime.
pub fn living_families(families: &BTreeSet<u32>) -> BTreeSet<u32> {
    living_marks(families).into_iter().map(|mark| mark.runtime_tag().family()).collect()
}

/// The marks with these runtime tags that living processes bear and that should have ended with their runtime, by one
/// walk over the process table.
pub fn living_marks(families: &BTreeSet<u32>) -> HashSet<Mark> {
    let mut living = HashSet::new();
    if families.is_empty() {
        return living;
    }
    // The next windlass that starts looks again at processes that cannot be inspected now.
    for pid in everyone().into_iter().flatten().flatten() {
        let ends_with_runtime = |mark: &Mark| mark.fate() == Fate::WithRuntime;
        let is_wanted = |mark: &Mark| families.contains(&mark.runtime_tag().family());
        let found = marks_on(pid).filter(ends_with_runtime).filter(is_wanted);
        let found: Vec<Mark> = found.filter(|mark| !living.contains(mark)).collect();
        if !found.is_empty() && is_alive(pid) {
            living.extend(found);
        }
    }
    living
}

/// Stops all living processes whose mark is wanted, again and again until a look finds no new one: a tree that
/// multiplies faster than it can be ended stands still afterwards. Returns how many processes are stopped.
pub fn freeze(who: impl Recognise, wanted: impl Fn(Mark) -> bool) -> usize {
    let mut standing = HashSet::new();
    // Each look finds the children made during the one before, which are fewer each time.
    for _ in 0..MOST_LOOKS {
        let before = standing.len();
        for process in living(&who, &wanted).flatten() {
            if standing.insert(process.pid()) {
                // A process that is gone by now needs no signal, and one that this user may not signal goes on.
                let _ = process.signal(Signal::STOP);
            }
        }
        if standing.len() == before {
            break;
        }
    }
    standing.len()
}

/// The number that the kernel gave out last in this pid namespace.
pub(crate) fn newest_pid() -> Option<Pid> {
    let load = fs::read_to_string("/proc/loadavg").ok()?;
    load.split_whitespace().next_back()?.parse().ok().map(Pid::new)
}

/// Whether the process of this number lives now; also `true` where we could not look.
pub fn is_alive(pid: Pid) -> bool {
    match Process::open(pid) {
        Ok(process) => process.is_alive(),
        Err(errno) => errno != Errno::SRCH,
    }
}

pub(crate) fn everyone() -> io::Result<impl Iterator<Item = io::Result<Pid>>> {
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok().map(Pid::new);
    Ok(fs::read_dir("/proc")?.filter_map(move |entry| entry.map(number).transpose()))
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
