//! The caller of a supervised call: the conditions that it must meet, and the rights with which the call is carried out
//! in its place.

use rustix::fs::{Mode, makedev, stat};
use rustix::io::Errno;
use std::path::PathBuf;
use windlass_sys::lockdown::privilege::{self, Capabilities};
use windlass_sys::process::Pid;

/// A thread that waits for an answer to a supervised call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Caller {
    thread: Pid,
    /// The process that the thread belongs to.
    pub(super) process: Pid,
    /// The user and group with whose rights it reaches files.
    user: u32,
    group: u32,
    capabilities: u64,
    /// The bits that it removes from the mode of new files.
    umask: u32,
}

impl Caller {
    /// `SRCH`: the thread is gone.
    pub(super) fn of(thread: Pid) -> Result<Self, Errno> {
        let text = std::fs::read_to_string(format!("/proc/{thread}/status")).map_err(|_| Errno::SRCH)?;
        Self::parse(thread, &text).ok_or(Errno::SRCH)
    }

    fn parse(thread: Pid, text: &str) -> Option<Self> {
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        // Four of each: real, effective, saved, and the one that counts for files.
        let identity = |name: &str| field(name)?.split_whitespace().nth(3)?.parse().ok();
        Some(Self {
            thread,
            process: Pid::new(field("Tgid:")?.parse().ok()?),
            user: identity("Uid:")?,
            group: identity("Gid:")?,
            capabilities: u64::from_str_radix(field("CapEff:")?, 16).ok()?,
            umask: u32::from_str_radix(field("Umask:")?, 8).ok()?,
        })
    }

    /// Runs an emulated call as the caller would: with its rights over files and its mask, and without any further
    /// rights of this process.
    pub(super) fn act<T>(&self, emulated: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
        // No process inside the sandbox can change its user. If one has done so all the same, we cannot act with its
        // rights.
        let own = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        if (self.user, self.group) != own {
            return Err(Errno::PERM);
        }
        privilege::act_with(Capabilities::from_bits(self.capabilities))?;
        rustix::process::umask(Mode::from_raw_mode(self.umask));
        let done = emulated();
        privilege::act_with(Capabilities::from_bits(u64::MAX))?;
        done
    }

    /// The largest file that it may write; `None`: no limit.
    pub(super) fn longest_file(&self) -> Result<Option<u64>, Errno> {
        let text =
            std::fs::read_to_string(format!("/proc/{}/limits", self.thread)).map_err(|_| Errno::SRCH)?;
        let line = text.lines().find_map(|line| line.strip_prefix("Max file size"));
        Ok(line.and_then(|line| line.split_whitespace().next()?.parse().ok()))
    }

    /// Whether a signal is pending that it handles and by which programs are asked to stop.
    pub(super) fn is_asked_to_stop(&self) -> bool {
        std::fs::read_to_string(format!("/proc/{}/status", self.thread))
            .is_ok_and(|text| is_stopped_by(&text))
    }

    /// The path at which its controlling terminal can be opened. `/dev/tty` would be that of the supervisor. `first` is
    /// the command, which leads the first session.
    pub(super) fn terminal(&self, first: Pid) -> Result<PathBuf, Errno> {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.thread)).map_err(|_| Errno::SRCH)?;
        let (session, number) = session_and_terminal(&text).ok_or(Errno::NXIO)?;
        // The terminal on which the command was started has another name inside. A terminal that was opened inside may
        // have the same number, but then it belongs to a later session.
        let candidates = [PathBuf::from("/dev/console"), PathBuf::from(format!("/dev/pts/{number}"))];
        let is_it = |path: &PathBuf| {
            stat(path.as_path()).is_ok_and(|about| about.st_rdev == makedev(TERMINALS, number))
        };
        let mut found = candidates.into_iter().filter(is_it).filter(|path| {
            session == first.get() || !path.starts_with("/dev/console") || !has_own_terminals()
        });
        found.next().ok_or(Errno::NXIO)
    }
}

fn is_stopped_by(status: &str) -> bool {
    /// Hang-up, interrupt, quit, alarm and termination, each at its bit.
    const STOPPING: u64 = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 13 | 1 << 14;
    let set = |name: &str| {
        let text = status.lines().find_map(|line| line.strip_prefix(name));
        text.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0)
    };
    let pending = set("SigPnd:") | set("ShdPnd:");
    pending & set("SigCgt:") & !set("SigBlk:") & STOPPING != 0
}

/// The major number of the devices that are pseudo-terminals.
const TERMINALS: u32 = 136;

/// Whether the caller's namespaces have terminals of their own; the supervisor is the first process there.
fn has_own_terminals() -> bool {
    std::process::id() == 1
}

/// Parses a line whose second field is the name of a program, which may contain anything.
fn session_and_terminal(line: &str) -> Option<(u32, u32)> {
    let mut fields = line.rsplit_once(')')?.1.split_whitespace();
    let session = fields.nth(3)?.parse().ok()?;
    let device: u32 = fields.next()?.parse().ok()?;
    let kind = device >> 8 & 0xfff;
    (kind == TERMINALS).then_some((session, device & 0xff | device >> 12 & 0xf_ff00))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_caller_is_known_by_what_the_kernel_writes_of_it() {
        let text = "Name:\tx\nUmask:\t0027\nTgid:\t7\nPid:\t8\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nCapEff:\t000000000000001b\n";
        let expected = Caller {
            thread: Pid::new(8),
            process: Pid::new(7),
            user: 4,
            group: 8,
            capabilities: 0x1b,
            umask: 0o27,
        };
        assert_eq!(Caller::parse(Pid::new(8), text), Some(expected));
        assert_eq!(Caller::parse(Pid::new(8), "Name:\tx\n"), None);
    }

    #[test]
    fn a_caller_is_asked_to_stop_by_signals_that_it_handles() {
        let check = |pending: &str, blocked: &str, handled: &str, expected| {
            let status = format!("SigPnd:\t{pending}\nShdPnd:\t0\nSigBlk:\t{blocked}\nSigCgt:\t{handled}\n");
            assert_eq!(is_stopped_by(&status), expected, "{status}");
        };
        check("0000000000000002", "0", "0000000000000002", true);
        check("0000000000002000", "0", "0000000000002000", true);
        check("0000000000000002", "2", "0000000000000002", false);
        check("0000000000000002", "0", "0000000000000000", false);
        check("0000000000010000", "0", "0000000000010000", false);
        assert!(!is_stopped_by(""));
    }

    #[test]
    fn this_thread_can_be_read_of() {
        let caller = Caller::of(Pid::of_this_process()).expect("it is there");
        assert_eq!(caller.process, Pid::of_this_process());
    }

    #[test]
    fn a_terminal_is_told_by_its_number() {
        let check = |line: &str, expected| assert_eq!(session_and_terminal(line), expected, "{line}");
        check("7 (sh) S 1 7 2 34816 7 4194304", Some((2, 0)));
        check("7 (a) b) S 1 7 9 34819 7 4194304", Some((9, 3)));
        check("7 (sh) S 1 7 2 0 -1 4194304", None);
        check("7 (sh) S 1 7 2 1025 -1 4194304", None);
    }

    proptest! {
        #[test]
        fn no_text_of_the_kernel_is_too_strange(text in "\\PC{0,80}") {
            let _ = Caller::parse(Pid::new(1), &text);
            let _ = session_and_terminal(&text);
        }
    }
}
