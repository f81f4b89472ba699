//! The runtime's own resource limits, and those of its children.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::OnceLock;

/// The open-file limit as it was before the runtime raised its own, to be given back to every child: programs that
/// use `select`, or close every possible descriptor, misbehave under a large one.
#[derive(Clone, Copy, Debug)]
pub struct OpenFiles {
    /// The limit that the kernel enforces.
    pub soft: u64,
    /// The value up to which the process may raise the soft limit.
    pub hard: u64,
}

impl OpenFiles {
    /// Gives this process the old limit back. From then on it can open no more files than that limit allows.
    pub fn take_on(self) {
        let limit = |value: u64| (value != u64::MAX).then_some(value);
        // A limit that was lowered meanwhile stays as it is.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit(self.soft), maximum: limit(self.hard) });
    }
}

/// Raises the runtime's soft open-file limit to its hard one. A thousand sessions need more than the usual 1024. Every
/// call returns the limit from before the first call.
pub fn raise_open_files() -> OpenFiles {
    static ORIGINAL: OnceLock<OpenFiles> = OnceLock::new();
    *ORIGINAL.get_or_init(raise)
}

/// The most files that this process may have open, as far as it can raise the limit.
pub fn most_open_files() -> u64 {
    getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX)
}

/// The most processes and threads that the user of this process may have, all together.
pub fn most_processes() -> u64 {
    getrlimit(Resource::Nproc).current.unwrap_or(u64::MAX)
}

fn raise() -> OpenFiles {
    let before = getrlimit(Resource::Nofile);
    // Where this is refused, the limit stays, and the code that runs out of descriptors reports that.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: before.maximum, maximum: before.maximum });
    OpenFiles { soft: before.current.unwrap_or(u64::MAX), hard: before.maximum.unwrap_or(u64::MAX) }
}

/// The limits that the kernel enforces on each process of a child's tree. Limits that already bind the runtime itself
/// are never raised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessLimits {
    /// Bytes of private memory that may be written (`RLIMIT_DATA`). Address space that is only reserved does not count.
    /// With `RLIMIT_AS` it would, and programs with garbage collectors could not run.
    pub data: Option<u64>,
    /// Processes and threads of the command's user, all together (`RLIMIT_NPROC`). The superuser is not bound by it.
    pub user_tasks: Option<u64>,
    /// Seconds of CPU time (`RLIMIT_CPU`). One second more, and the kernel kills it.
    pub cpu_seconds: Option<u64>,
    /// Open files (`RLIMIT_NOFILE`).
    pub open_files: Option<u64>,
    /// Bytes of the largest file it may write (`RLIMIT_FSIZE`).
    pub file_size: Option<u64>,
}

/// One limit in the form in which a child sets it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    pub(crate) resource: libc::__rlimit_resource_t,
    pub(crate) soft: u64,
    pub(crate) hard: u64,
}

impl ProcessLimits {
    pub(crate) const COUNT: usize = 5;

    pub(crate) fn bounds(self) -> [Option<Bound>; Self::COUNT] {
        let bound =
            |resource, limit: Option<u64>| limit.map(|limit| Bound { resource, soft: limit, hard: limit });
        let cpu = |seconds| Bound { resource: libc::RLIMIT_CPU, soft: seconds, hard: seconds + 1 };
        [
            bound(libc::RLIMIT_DATA, self.data),
            bound(libc::RLIMIT_NPROC, self.user_tasks),
            self.cpu_seconds.map(cpu),
            bound(libc::RLIMIT_NOFILE, self.open_files),
            bound(libc::RLIMIT_FSIZE, self.file_size),
        ]
    }
}

/// The machine's memory in bytes.
pub fn machine_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// How many processes and threads the machine can have.
pub fn machine_processes() -> Option<u64> {
    let number = |file: &str| std::fs::read_to_string(file).ok()?.trim().parse::<u64>().ok();
    let limits = ["/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"];
    limits.into_iter().filter_map(number).min()
}

/// The runtime's own peak resident memory in bytes: the floor under every child's reported peak.
pub fn own_peak_memory() -> u64 {
    // SAFETY: `rusage` is plain data for which all zeroes is a value, and getrusage only writes into it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024
}
