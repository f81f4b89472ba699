//! The source of input, and the test whether a descriptor of another process is that source.

use super::InputKind;
use super::file::ProcPath;
use crate::process::Pid;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FileType, Statx, StatxFlags, makedev, statx};
use rustix::io::Errno;

/// A terminal's far end or a pipe.
pub(super) struct Source {
    file: Identity,
    /// The terminal's device as `/proc/PID/stat` writes it; `None` for a pipe.
    terminal: Option<u32>,
    /// How many relays lie between this terminal and ours.
    pub(super) depth: u8,
    /// How input is treated on its way.
    pub(super) kind: InputKind,
}

/// The kind of file behind a descriptor of another process, compared with the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    /// The source.
    Same,
    /// The master of some terminal.
    Master,
    /// A socket.
    Socket,
    /// A pipe, with a name or without.
    Pipe,
    /// A file without a type: a timer, a counter, a set of descriptors.
    Anonymous,
    /// Anything else.
    Other,
}

/// The facts in which two descriptors of the same file agree.
#[derive(PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

/// `/dev/tty`: whatever terminal controls the process that opened it.
const CONTROLLING_TERMINAL: (u32, u32) = (5, 0);

/// `/dev/ptmx`, whichever terminal it made.
const MASTER: (u32, u32) = (5, 2);

impl Source {
    pub(super) fn terminal(slave: &OwnedFd, depth: u8, kind: InputKind) -> Option<Self> {
        let facts = facts_of(slave.as_fd(), b"", AtFlags::EMPTY_PATH).ok()?;
        let terminal = Some(encoded(facts.stx_rdev_major, facts.stx_rdev_minor));
        Some(Self { file: Identity::of(&facts), terminal, depth, kind })
    }

    pub(super) fn pipe(end: BorrowedFd<'_>) -> Option<Self> {
        let facts = facts_of(end, b"", AtFlags::EMPTY_PATH).ok()?;
        Some(Self { file: Identity::of(&facts), terminal: None, depth: 0, kind: InputKind::Line })
    }

    /// The terminal's device as `/proc/PID/stat` writes it.
    pub(super) fn device(&self) -> Option<u32> {
        self.terminal
    }

    /// Compares descriptor `number` of a process with the source, given the terminal that controls the process. A
    /// descriptor that is closed by now does not match.
    pub(super) fn compare(&self, pid: Pid, number: u64, controlling: u32) -> Result<Match, Errno> {
        let path = ProcPath::new(format_args!("/proc/{pid}/fd/{number}"));
        match facts_of(CWD, path.bytes(), AtFlags::empty()) {
            Ok(facts) => Ok(self.recognise(&facts, controlling)),
            Err(Errno::NOENT | Errno::SRCH) => Ok(Match::Other),
            Err(errno) => Err(errno),
        }
    }

    fn recognise(&self, facts: &Statx, controlling: u32) -> Match {
        let device = (facts.stx_rdev_major, facts.stx_rdev_minor);
        let is_alias = device == CONTROLLING_TERMINAL && self.terminal == Some(controlling);
        if is_alias || Identity::of(facts) == self.file {
            Match::Same
        } else if device == MASTER {
            Match::Master
        } else {
            match FileType::from_raw_mode(facts.stx_mode.into()) {
                FileType::Socket => Match::Socket,
                FileType::Fifo => Match::Pipe,
                FileType::Unknown => Match::Anonymous,
                _ => Match::Other,
            }
        }
    }
}

impl Identity {
    fn of(facts: &Statx) -> Self {
        Self { device: makedev(facts.stx_dev_major, facts.stx_dev_minor), inode: facts.stx_ino }
    }
}

/// Reads the facts of a file without a request to a server: a process may read from a network file system that no
/// longer answers, and a look at it must not block this process as well.
fn facts_of(directory: BorrowedFd<'_>, path: &[u8], flags: AtFlags) -> Result<Statx, Errno> {
    statx(directory, path, flags | AtFlags::STATX_DONT_SYNC, StatxFlags::INO | StatxFlags::TYPE)
}

/// The kernel's encoding of a device number in 32 bits.
fn encoded(major: u32, minor: u32) -> u32 {
    (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12)
}

#[cfg(test)]
mod tests {
    use super::encoded;

    #[test]
    fn a_device_is_encoded_as_the_kernel_writes_it() {
        assert_eq!(encoded(136, 7), 34823);
        assert_eq!(encoded(136, 256), 0x0010_8800);
        assert_eq!(encoded(4, 1), 1025);
    }
}
