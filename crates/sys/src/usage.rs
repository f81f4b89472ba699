//! The resources that processes use, from the process table alone: CPU time, memory, threads, descriptors, bytes
//! written. One small file for each process has most of it; the more expensive ones are read only on request.

use crate::mark::{Mark, RuntimeTag, marks_on};
use crate::process::Pid;
use crate::tree::everyone;
use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::ops::AddAssign;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

/// The resources that some processes use together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Processes and their threads, as the kernel counts them against limits.
    pub tasks: u64,
    /// Processes.
    pub processes: u64,
    /// CPU time, with that of children they waited for.
    pub cpu: Duration,
    /// Resident memory; pages that several processes share are counted for each.
    pub resident: u64,
    /// The most descriptors that any of them has open.
    pub files: u64,
    /// Bytes they, and children they waited for, sent to disks.
    pub written: u64,
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.tasks += other.tasks;
        self.processes += other.processes;
        self.cpu += other.cpu;
        self.resident += other.resident;
        self.files = self.files.max(other.files);
        self.written += other.written;
    }
}

/// The fields that need more than the first small file.
#[derive(Clone, Copy, Debug, Default)]
pub struct UsageFields {
    /// How many descriptors are open.
    pub files: bool,
    /// How many bytes were written to disks.
    pub written: bool,
}

/// The resources that these processes use together. Processes that are gone use nothing.
pub fn of(processes: &[Pid], wanted: UsageFields) -> Usage {
    let mut sum = Usage::default();
    for usage in processes.iter().filter_map(|pid| of_one(*pid, wanted)) {
        sum += usage;
    }
    sum
}

/// The memory that these processes use between them: pages that several have in common are counted once, and the
/// content of files without a name is counted, mapped or not. Much more expensive than the resident memory. A process
/// whose share may not be read counts with its resident memory.
pub fn proportional_memory(processes: &[Pid]) -> u64 {
    let resident = |pid: Pid| of_one(pid, UsageFields::default()).map_or(0, |usage| usage.resident);
    let share = |pid: Pid| share_of(pid).unwrap_or_else(|| Share { own: resident(pid), of_files: 0 });
    let shares: Vec<_> = processes.iter().map(|pid| share(*pid)).collect();
    let of_files: u64 = shares.iter().map(|share| share.of_files).sum();
    shares.iter().map(|share| share.own).sum::<u64>() + of_files.max(held_in_memory(processes))
}

/// Bytes in memory-backed files that have no name (any more) and that these processes have open: no other process can
/// free them. Much of it may be mapped, and so be resident, too.
pub fn held_in_memory(processes: &[Pid]) -> u64 {
    let mut held = HashMap::new();
    for pid in processes {
        for entry in fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten() {
            let path = entry.path();
            // Only files with such a name are looked at: a question to another file system could block for ever.
            let is_memory =
                fs::read_link(&path).is_ok_and(|link| is_nameless_memory(link.as_os_str().as_bytes()));
            if let Some(about) = is_memory.then(|| fs::metadata(&path).ok()).flatten() {
                held.insert((about.dev(), about.ino()), about.blocks() * 512);
            }
        }
    }
    held.into_values().sum()
}

/// Whether the target of a descriptor's link in `/proc` is such a file.
fn is_nameless_memory(link: &[u8]) -> bool {
    link.ends_with(b" (deleted)") && (link.starts_with(b"/memfd:") || link.starts_with(b"/dev/shm/"))
}

/// The processes of every session of a runtime, by their marks.
pub fn members(runtime_tag: RuntimeTag) -> HashMap<Mark, Vec<Pid>> {
    let mut members: HashMap<_, Vec<_>> = HashMap::new();
    for pid in everyone().into_iter().flatten().flatten() {
        if let Some(mark) = runtime_tag.on(pid) {
            members.entry(mark).or_default().push(pid);
        }
    }
    members
}

/// The processes of every session on this machine, of any runtime and user, by their marks. A session that runs inside
/// another belongs to both.
pub fn members_of_all() -> HashMap<Mark, Vec<Pid>> {
    let mut members: HashMap<_, Vec<_>> = HashMap::new();
    for pid in everyone().into_iter().flatten().flatten() {
        for mark in marks_on(pid) {
            members.entry(mark).or_default().push(pid);
        }
    }
    members
}

/// The number of processes and threads of this process's user, for a limit that counts them all.
pub fn tasks_of_this_user() -> u64 {
    let user = rustix::process::getuid().as_raw();
    let threads = |pid: Pid| {
        let metadata = fs::metadata(format!("/proc/{pid}/task")).ok()?;
        // A directory has two links and one for each directory in it.
        (metadata.uid() == user).then(|| metadata.nlink().saturating_sub(2))
    };
    everyone().into_iter().flatten().flatten().filter_map(threads).sum()
}

fn of_one(pid: Pid, wanted: UsageFields) -> Option<Usage> {
    let mut usage = from_stat(&read_small(&format!("/proc/{pid}/stat"))?)?;
    if wanted.files {
        usage.files = open_files(pid);
    }
    if wanted.written {
        usage.written = written(pid);
    }
    Some(usage)
}

/// The usage of a dead process that is not collected yet has no memory any more, but still the CPU time that it used.
fn from_stat(stat: &[u8]) -> Option<Usage> {
    // The name in brackets may hold anything: the fields count from the last bracket.
    let fields = &stat[stat.iter().rposition(|byte| *byte == b')')? + 1..];
    let fields: Vec<&str> = std::str::from_utf8(fields).ok()?.split_whitespace().collect();
    let number = |place: usize| fields.get(place)?.parse::<u64>().ok();
    let ticks = number(11)? + number(12)? + number(13)? + number(14)?;
    let is_dead = matches!(*fields.first()?, "Z" | "X");
    let living = u64::from(!is_dead);
    Some(Usage {
        tasks: number(17)? * living,
        processes: living,
        cpu: Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second().max(1)),
        resident: number(21)? * rustix::param::page_size() as u64 * living,
        ..Usage::default()
    })
}

/// Since Linux 6.2 the size of the directory is the number of descriptors; before, they are counted one by one.
fn open_files(pid: Pid) -> u64 {
    let directory = format!("/proc/{pid}/fd");
    match fs::metadata(&directory).map(|metadata| metadata.size()) {
        Ok(0) => fs::read_dir(&directory).map_or(0, |entries| entries.count() as u64),
        Ok(size) => size,
        Err(_) => 0,
    }
}

fn written(pid: Pid) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|number| number.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    // Data that was written and removed before it got to the disk was not written.
    number("write_bytes:").saturating_sub(number("cancelled_write_bytes:"))
}

/// A process's share of mapped memory.
struct Share {
    own: u64,
    /// The part of it in memory-backed files.
    of_files: u64,
}

fn share_of(pid: Pid) -> Option<Share> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let bytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
    };
    let of_files = bytes("Pss_Shmem:").unwrap_or(0);
    Some(Share { own: bytes("Pss:")?.saturating_sub(of_files), of_files })
}

/// The file reports the size 0, so reading it whole would need several calls.
fn read_small(file: &str) -> Option<Vec<u8>> {
    let mut text = vec![0; 1024];
    let length = fs::File::open(file).ok()?.read(&mut text).ok()?;
    text.truncate(length);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::{
        Usage, UsageFields, from_stat, held_in_memory, is_nameless_memory, of, proportional_memory,
        tasks_of_this_user,
    };
    use crate::process::Pid;
    use std::io::Write;
    use std::time::Duration;

    #[test]
    fn a_name_with_brackets_and_spaces_does_not_shift_the_fields() {
        let line = |state: &str| {
            format!("7 (a) b (c) {state} 1 7 7 0 -1 0 0 0 0 0 100 50 30 20 20 0 3 0 900 4096 5 0 0\n")
        };
        let page = rustix::param::page_size() as u64;
        let second = Duration::from_millis(200 * 1000 / rustix::param::clock_ticks_per_second());
        let living = Usage { tasks: 3, processes: 1, cpu: second, resident: 5 * page, ..Usage::default() };
        assert_eq!(from_stat(line("S").as_bytes()), Some(living));
        assert_eq!(from_stat(line("Z").as_bytes()), Some(Usage { cpu: second, ..Usage::default() }));
        for torn in ["", "7 (x", "7 (x) S 1 2", "no brackets"] {
            assert_eq!(from_stat(torn.as_bytes()), None, "{torn}");
        }
    }

    #[test]
    fn this_process_uses_something_of_everything() {
        let own = [Pid::of_this_process()];
        let usage = of(&own, UsageFields { files: true, written: true });
        assert!(
            usage.tasks >= 1 && usage.processes == 1 && usage.resident > 0 && usage.files >= 3,
            "{usage:?}"
        );
        let share = proportional_memory(&own);
        assert!(share > 0 && share <= usage.resident + (64 << 20), "{share}");
        assert!(tasks_of_this_user() >= usage.tasks);
        assert_eq!(of(&[Pid::new(0x3fff_ffff)], UsageFields::default()), Usage::default());
    }

    #[test]
    fn memory_without_a_name_is_told_by_what_the_kernel_calls_it() {
        let check =
            |link: &str, expected| assert_eq!(is_nameless_memory(link.as_bytes()), expected, "{link}");
        check("/memfd:held (deleted)", true);
        check("/dev/shm/sem (deleted)", true);
        check("/dev/shm/sem", false);
        check("/tmp/x (deleted)", false);
        check("pipe:[7]", false);
    }

    /// No other test of this process holds such files.
    #[test]
    fn what_is_held_in_files_without_a_name_is_memory_and_counts_once() {
        const SIZE: usize = 8 << 20;
        let own = [Pid::of_this_process()];
        let (before, share) = (held_in_memory(&own), proportional_memory(&own));
        let file = rustix::fs::memfd_create("held", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let mut file = std::fs::File::from(file);
        file.write_all(&vec![1; SIZE]).unwrap();
        let again = file.try_clone().unwrap();
        assert_eq!(held_in_memory(&own) - before, SIZE as u64);
        assert!(proportional_memory(&own) >= share / 2 + SIZE as u64);
        drop((file, again));
        assert_eq!(held_in_memory(&own), before);
    }
}
