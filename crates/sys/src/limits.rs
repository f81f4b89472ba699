//! The runtime's own resource limits, and what children get instead.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::OnceLock;

/// The open-file limit as it was before the runtime raised its own, to be given back to every child: programs that
/// use `select`, or close every possible descriptor, misbehave under a large one.
#[derive(Clone, Copy, Debug)]
pub struct OpenFiles {
    /// What a program meets.
    pub soft: u64,
    /// What it may raise that to.
    pub hard: u64,
}

impl OpenFiles {
    /// Gives this process the limit back. It opens no more files of its own after that than such a limit allows.
    pub fn take_on(self) {
        let limit = |value: u64| (value != u64::MAX).then_some(value);
        // A limit that was lowered meanwhile stays as it is.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit(self.soft), maximum: limit(self.hard) });
    }
}

/// Raises the runtime's soft open-file limit to its hard one. A thousand sessions need more than the usual 1024. What the
/// limit was before the first call is what every call returns.
pub fn raise_open_files() -> OpenFiles {
    static ORIGINAL: OnceLock<OpenFiles> = OnceLock::new();
    *ORIGINAL.get_or_init(raise)
}

fn raise() -> OpenFiles {
    let before = getrlimit(Resource::Nofile);
    // Where this is refused, the limit stays, and running out is reported by whoever meets it.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: before.maximum, maximum: before.maximum });
    OpenFiles { soft: before.current.unwrap_or(u64::MAX), hard: before.maximum.unwrap_or(u64::MAX) }
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
