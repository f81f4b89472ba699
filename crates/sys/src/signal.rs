//! Signals by number and by name.

use std::fmt;
use std::str::FromStr;

/// A signal that can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Signal(i32);

impl Signal {
    /// Asks the process to end.
    pub const TERM: Self = Self(libc::SIGTERM);
    /// Ends the process; cannot be caught.
    pub const KILL: Self = Self(libc::SIGKILL);
    /// The terminal has hung up.
    pub const HUP: Self = Self(libc::SIGHUP);
    /// Ctrl-C.
    pub const INT: Self = Self(libc::SIGINT);
    /// Ctrl-\.
    pub const QUIT: Self = Self(libc::SIGQUIT);
    /// Continues a stopped process.
    pub const CONT: Self = Self(libc::SIGCONT);
    /// Stops the process; cannot be caught.
    pub const STOP: Self = Self(libc::SIGSTOP);
    /// A write to a pipe that has no reader.
    pub const PIPE: Self = Self(libc::SIGPIPE);
    /// A child has died. A process that ignores this signal need not collect its children.
    pub const CHLD: Self = Self(libc::SIGCHLD);

    /// The process has used more CPU time than it may.
    pub const XCPU: Self = Self(libc::SIGXCPU);
    /// The process has written a larger file than it may.
    pub const XFSZ: Self = Self(libc::SIGXFSZ);

    /// The kernel's number for it.
    pub const fn number(self) -> i32 {
        self.0
    }

    pub(crate) fn to_rustix(self) -> rustix::process::Signal {
        rustix::process::Signal::from_named_raw(self.0).unwrap_or(rustix::process::Signal::TERM)
    }
}

/// Makes this process ignore signals.
pub fn ignore(signals: &[Signal]) {
    for signal in signals {
        // SAFETY: with SIG_IGN none of our code runs in a handler.
        unsafe { libc::signal(signal.0, libc::SIG_IGN) };
    }
}

const NAMES: [(&str, i32); 31] = [
    ("HUP", libc::SIGHUP),
    ("INT", libc::SIGINT),
    ("QUIT", libc::SIGQUIT),
    ("ILL", libc::SIGILL),
    ("TRAP", libc::SIGTRAP),
    ("ABRT", libc::SIGABRT),
    ("BUS", libc::SIGBUS),
    ("FPE", libc::SIGFPE),
    ("KILL", libc::SIGKILL),
    ("USR1", libc::SIGUSR1),
    ("SEGV", libc::SIGSEGV),
    ("USR2", libc::SIGUSR2),
    ("PIPE", libc::SIGPIPE),
    ("ALRM", libc::SIGALRM),
    ("TERM", libc::SIGTERM),
    ("STKFLT", libc::SIGSTKFLT),
    ("CHLD", libc::SIGCHLD),
    ("CONT", libc::SIGCONT),
    ("STOP", libc::SIGSTOP),
    ("TSTP", libc::SIGTSTP),
    ("TTIN", libc::SIGTTIN),
    ("TTOU", libc::SIGTTOU),
    ("URG", libc::SIGURG),
    ("XCPU", libc::SIGXCPU),
    ("XFSZ", libc::SIGXFSZ),
    ("VTALRM", libc::SIGVTALRM),
    ("PROF", libc::SIGPROF),
    ("WINCH", libc::SIGWINCH),
    ("IO", libc::SIGIO),
    ("PWR", libc::SIGPWR),
    ("SYS", libc::SIGSYS),
];

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(_, number)| *number == self.0) {
            Some((name, _)) => write!(f, "SIG{name}"),
            None => write!(f, "signal {}", self.0),
        }
    }
}

/// The text is not the name of a signal.
#[derive(Debug, thiserror::Error)]
#[error("unknown signal `{0}`: use a name such as TERM, SIGINT or a number from 1 to 31")]
pub struct UnknownSignal(String);

impl FromStr for Signal {
    type Err = UnknownSignal;

    fn from_str(text: &str) -> Result<Self, UnknownSignal> {
        let upper = text.to_ascii_uppercase();
        let bare = upper.strip_prefix("SIG").unwrap_or(&upper);
        let by_number = bare.parse().ok().filter(|n| (1..=31).contains(n));
        let by_name = NAMES.iter().find(|(name, _)| *name == bare).map(|(_, number)| *number);
        by_number.or(by_name).map(Self).ok_or_else(|| UnknownSignal(text.to_owned()))
    }
}

impl From<i32> for Signal {
    fn from(number: i32) -> Self {
        Self(number)
    }
}

#[cfg(test)]
mod tests {
    use super::Signal;

    #[test]
    fn a_signal_is_read_by_name_prefix_or_number_and_prints_its_name() {
        for text in ["TERM", "sigterm", "15", "SIGTERM"] {
            assert_eq!(text.parse::<Signal>().unwrap(), Signal::TERM);
        }
        assert_eq!(Signal::KILL.to_string(), "SIGKILL");
        for text in ["", "0", "99", "-1", "NOPE"] {
            assert!(text.parse::<Signal>().unwrap_err().to_string().contains(text));
        }
    }
}
