//! The system call that a blocked thread waits in, from one line of `/proc/PID/task/TID/syscall`.

use super::file::{decimal, hexadecimal, words};
use std::time::Duration;

/// A call in which a thread is blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// Reads this descriptor, or accepts a connection on it.
    Read {
        /// The number of the descriptor.
        descriptor: u64,
    },
    /// `select`: a set of descriptors, one bit each.
    Select {
        /// One more than the highest number in the set.
        limit: u64,
        /// The address of the set in the process's memory.
        set: u64,
        /// When it gives up.
        timeout: Timeout,
    },
    /// `poll`: a table of descriptors with what is wanted of each.
    Poll {
        /// The address of the table in the process's memory.
        table: u64,
        /// How many entries it has.
        length: u64,
        /// When it gives up.
        timeout: Timeout,
    },
    /// `epoll_wait`: the kernel keeps the set, under this descriptor.
    Epoll {
        /// The number of the descriptor.
        descriptor: u64,
        /// When it gives up.
        timeout: Timeout,
    },
    /// Sleeps for a time, or until one.
    Sleep(Timeout),
    /// Connects to a peer that has not answered yet.
    Connect,
    /// Waits for a lock or for another thread, for a limited time.
    TimedLock(Timeout),
    /// Waits for a lock or for another thread.
    Lock,
    /// Waits for a child.
    Child,
    /// Any other call: it waits for a signal or for the reader of a pipe.
    Other,
}

/// When a call gives up waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timeout {
    /// Never.
    Never,
    /// After this time.
    After(Duration),
    /// After the `struct timespec` at this address of the process's memory.
    Timespec(u64),
    /// After the `struct timeval` at this address.
    Timeval(u64),
    /// At the time of this clock in the `struct timespec` at this address.
    At(u64, u64),
    /// After some time.
    Unknown,
}

impl Timeout {
    /// From an `int` of milliseconds, where a negative number means forever.
    fn milliseconds(register: u64) -> Self {
        let milliseconds = u32::try_from(register & 0xffff_ffff).unwrap_or_default().cast_signed();
        u64::try_from(milliseconds).map_or(Self::Never, |time| Self::After(Duration::from_millis(time)))
    }

    fn timespec(address: u64) -> Self {
        if address == 0 { Self::Never } else { Self::Timespec(address) }
    }

    #[cfg(target_arch = "x86_64")]
    fn timeval(address: u64) -> Self {
        if address == 0 { Self::Never } else { Self::Timeval(address) }
    }
}

/// The arguments of a call.
type Arguments = [u64; 6];

impl Call {
    /// `None`: the thread runs, or is blocked outside of any call.
    pub(super) fn decode(line: &[u8]) -> Option<Self> {
        let mut words = words(line);
        let number: i64 = decimal(words.next()?)?;
        let mut arguments = Arguments::default();
        for argument in &mut arguments {
            *argument = hexadecimal(words.next()?)?;
        }
        (number >= 0).then(|| Self::of(number, arguments))
    }

    fn of(number: i64, arguments: Arguments) -> Self {
        let [first, second, third, fourth, fifth, _] = arguments;
        // The kernel takes a descriptor as 32 bits and ignores the bits above.
        let descriptor = first & 0xffff_ffff;
        match number {
            libc::SYS_read | libc::SYS_readv | libc::SYS_splice | libc::SYS_tee => Self::Read { descriptor },
            libc::SYS_recvfrom | libc::SYS_recvmsg | libc::SYS_recvmmsg => Self::Read { descriptor },
            libc::SYS_accept | libc::SYS_accept4 => Self::Read { descriptor },
            libc::SYS_connect => Self::Connect,
            libc::SYS_pselect6 => select(first, second, Timeout::timespec(fifth)),
            libc::SYS_ppoll => poll(first, second, Timeout::timespec(third)),
            libc::SYS_epoll_pwait => Self::Epoll { descriptor, timeout: Timeout::milliseconds(fourth) },
            libc::SYS_epoll_pwait2 => Self::Epoll { descriptor, timeout: Timeout::timespec(fourth) },
            libc::SYS_nanosleep => Self::Sleep(Timeout::timespec(first)),
            libc::SYS_clock_nanosleep if second & 1 == 1 => Self::Sleep(Timeout::At(first, third)),
            libc::SYS_clock_nanosleep => Self::Sleep(Timeout::timespec(third)),
            libc::SYS_rt_sigtimedwait if third != 0 => Self::Sleep(Timeout::timespec(third)),
            libc::SYS_futex if waits(second) && fourth != 0 => Self::TimedLock(lock_timeout(second, fourth)),
            libc::SYS_futex => Self::Lock,
            libc::SYS_wait4 | libc::SYS_waitid => Self::Child,
            _ => older(number, arguments),
        }
    }
}

fn select(limit: u64, set: u64, timeout: Timeout) -> Call {
    match (set, timeout) {
        // Without a set it is a way to sleep.
        (0, Timeout::Never) => Call::Other,
        (0, timeout) => Call::Sleep(timeout),
        (set, timeout) => Call::Select { limit: limit & 0xffff_ffff, set, timeout },
    }
}

fn poll(table: u64, length: u64, timeout: Timeout) -> Call {
    match (length & 0xffff_ffff, timeout) {
        (0, Timeout::Never) => Call::Other,
        (0, timeout) => Call::Sleep(timeout),
        (length, timeout) => Call::Poll { table, length, timeout },
    }
}

/// Whether an operation of `futex` has a timeout as its fourth argument.
fn waits(operation: u64) -> bool {
    const FLAGS: u64 = (libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME) as u64;
    const WAITING: [i32; 5] = [
        libc::FUTEX_WAIT,
        libc::FUTEX_WAIT_BITSET,
        libc::FUTEX_LOCK_PI,
        libc::FUTEX_LOCK_PI2,
        libc::FUTEX_WAIT_REQUEUE_PI,
    ];
    WAITING.iter().any(|waiting| u64::from(waiting.unsigned_abs()) == operation & 0xffff_ffff & !FLAGS)
}

/// `FUTEX_WAIT` alone takes a time to wait; the others take the time at which they give up.
fn lock_timeout(operation: u64, address: u64) -> Timeout {
    const PLAIN: u64 = libc::FUTEX_WAIT as u64;
    const REALTIME: u64 = libc::FUTEX_CLOCK_REALTIME as u64;
    const FLAGS: u64 = libc::FUTEX_PRIVATE_FLAG as u64 | REALTIME;
    let clock = if operation & REALTIME == 0 { libc::CLOCK_MONOTONIC } else { libc::CLOCK_REALTIME };
    match operation & 0xffff_ffff & !FLAGS {
        PLAIN => Timeout::Timespec(address),
        _ => Timeout::At(u64::from(clock.unsigned_abs()), address),
    }
}

/// Calls that newer architectures do not have.
#[cfg(target_arch = "x86_64")]
fn older(number: i64, arguments: Arguments) -> Call {
    let [first, second, third, fourth, fifth, _] = arguments;
    let descriptor = first & 0xffff_ffff;
    match number {
        libc::SYS_select => select(first, second, Timeout::timeval(fifth)),
        libc::SYS_poll => poll(first, second, Timeout::milliseconds(third)),
        libc::SYS_epoll_wait => Call::Epoll { descriptor, timeout: Timeout::milliseconds(fourth) },
        libc::SYS_restart_syscall if may_be_poll(second) => poll(first, second, Timeout::milliseconds(third)),
        // The others that go on under this name all have a timeout.
        libc::SYS_restart_syscall if waits(second) && second != 0 => Call::TimedLock(Timeout::Unknown),
        libc::SYS_restart_syscall => Call::Sleep(Timeout::Unknown),
        _ => Call::Other,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn older(_: i64, _: Arguments) -> Call {
    Call::Other
}

/// A call that was stopped and continued goes on as `restart_syscall`, with the arguments it had and no name. Four
/// calls do so. The second argument of `nanosleep` is an address or nothing, `clock_nanosleep` has a number where a
/// table would have an address, and a `futex` that waits has one of these for its second.
#[cfg(target_arch = "x86_64")]
fn may_be_poll(length: u64) -> bool {
    const LONGEST: u64 = 1024;
    const PLAIN: [u64; 2] = [libc::FUTEX_WAIT as u64, libc::FUTEX_WAIT_BITSET as u64];
    const FLAGS: u64 = (libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME) as u64;
    length <= LONGEST && !PLAIN.contains(&(length & !FLAGS))
}

#[cfg(test)]
mod tests {
    use super::{Call, Timeout};
    use std::time::Duration;

    fn check(line: &str, expected: Option<Call>) {
        assert_eq!(Call::decode(line.as_bytes()), expected, "{line}");
    }

    fn line(number: i64, arguments: &str) -> String {
        format!("{number} {arguments} 0x7ffe1 0x7f2b\n")
    }

    #[test]
    fn a_line_of_the_kernel_says_what_a_thread_waits_for() {
        let (never, rest) = (Timeout::Never, "0x0 0x0 0x0 0x6");
        let line = |number, arguments: &str| line(number, &format!("{arguments} {rest}"));
        check(&line(libc::SYS_read, "0x0 0x7ffd"), Some(Call::Read { descriptor: 0 }));
        check(&line(libc::SYS_readv, "0x9 0x7ffd"), Some(Call::Read { descriptor: 9 }));
        check(&line(libc::SYS_recvfrom, "0x9 0x7ffd"), Some(Call::Read { descriptor: 9 }));
        let select = Call::Select { limit: 5, set: 0x7ffd, timeout: never };
        check(&line(libc::SYS_pselect6, "0x5 0x7ffd"), Some(select));
        check(&line(libc::SYS_pselect6, "0x0 0x0"), Some(Call::Other));
        let poll = Call::Poll { table: 0x7ffd, length: 2, timeout: never };
        check(&line(libc::SYS_ppoll, "0x7ffd 0x2"), Some(poll));
        let epoll = Call::Epoll { descriptor: 3, timeout: Timeout::After(Duration::ZERO) };
        check(&line(libc::SYS_epoll_pwait, "0x3 0x7ffd"), Some(epoll));
        check(&line(libc::SYS_write, "0x1 0x7ffd"), Some(Call::Other));
        check(&line(libc::SYS_wait4, "0xffffffffffffffff 0x7ffd"), Some(Call::Child));
    }

    #[test]
    fn a_call_that_gives_up_is_told_from_one_that_waits_forever() {
        let forever = "0x3 0x7ffd 0x40 0xffffffff 0x0 0x8";
        check(
            &line(libc::SYS_epoll_pwait, forever),
            Some(Call::Epoll { descriptor: 3, timeout: Timeout::Never }),
        );
        let short = Timeout::After(Duration::from_millis(10));
        check(
            &line(libc::SYS_epoll_pwait, "0x3 0x7ffd 0x40 0xa 0x0 0x8"),
            Some(Call::Epoll { descriptor: 3, timeout: short }),
        );
        let timeout = Timeout::Timespec(0x7ffe);
        let select = Call::Select { limit: 1, set: 0x7ffd, timeout };
        check(&line(libc::SYS_pselect6, "0x1 0x7ffd 0x0 0x0 0x7ffe 0x0"), Some(select));
        check(&line(libc::SYS_pselect6, "0x0 0x0 0x0 0x0 0x7ffe 0x0"), Some(Call::Sleep(timeout)));
        check(&line(libc::SYS_ppoll, "0x0 0x0 0x7ffe 0x0 0x0 0x0"), Some(Call::Sleep(timeout)));
        check(&line(libc::SYS_clock_nanosleep, "0x1 0x0 0x7ffe 0x0 0x0 0x0"), Some(Call::Sleep(timeout)));
        let absolute = Call::Sleep(Timeout::At(1, 0x7ffe));
        check(&line(libc::SYS_clock_nanosleep, "0x1 0x1 0x7ffe 0x0 0x0 0x0"), Some(absolute));
        for (operation, timeout) in [
            ("0x189", Timeout::At(0, 0x7ffe)),
            ("0x89", Timeout::At(1, 0x7ffe)),
            ("0x80", Timeout::Timespec(0x7ffe)),
        ] {
            let arguments = format!("0x7ffd {operation} 0x0 0x7ffe 0x0 0xffffffff");
            check(&line(libc::SYS_futex, &arguments), Some(Call::TimedLock(timeout)));
        }
        check(&line(libc::SYS_futex, "0x7ffd 0x189 0x0 0x0 0x0 0xffffffff"), Some(Call::Lock));
    }

    #[test]
    fn a_descriptor_is_the_lower_half_of_its_register() {
        let line = format!("{} 0xdead00000004 0x1 0x0 0x0 0x0 0x0 0x1 0x2\n", libc::SYS_read);
        check(&line, Some(Call::Read { descriptor: 4 }));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_call_that_was_continued_is_a_poll_only_if_it_can_be_nothing_else() {
        let line = |second: &str| {
            format!("{} 0x7ffd {second} 0xffffffff 0x0 0x0 0x0 0x1 0x2\n", libc::SYS_restart_syscall)
        };
        let timeout = Timeout::Never;
        check(&line("0x1"), Some(Call::Poll { table: 0x7ffd, length: 1, timeout }));
        check(&line("0x2"), Some(Call::Poll { table: 0x7ffd, length: 2, timeout }));
        // `nanosleep` without and with a place for the rest, and the ways to wait for a lock.
        for (second, expected) in [
            ("0x0", Call::Sleep(Timeout::Unknown)),
            ("0x7ffd00001000", Call::Sleep(Timeout::Unknown)),
            ("0x80", Call::TimedLock(Timeout::Unknown)),
            ("0x9", Call::TimedLock(Timeout::Unknown)),
            ("0x89", Call::TimedLock(Timeout::Unknown)),
            ("0x109", Call::TimedLock(Timeout::Unknown)),
            ("0x189", Call::TimedLock(Timeout::Unknown)),
        ] {
            check(&line(second), Some(expected));
        }
    }

    #[test]
    fn a_thread_that_runs_or_is_outside_of_any_call_waits_for_nothing() {
        check("running\n", None);
        check("-1 0x7ffe1 0x7f2b\n", None);
        check("", None);
        check("0", None);
        check("0 0x0", None);
        check("zero 0x0 0x1", None);
    }
}
