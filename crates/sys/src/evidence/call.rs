//! What a blocked thread asked the kernel for, from one line of `/proc/PID/task/TID/syscall`.

use super::file::{decimal, hexadecimal, words};

/// A call that waits until something can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// Reads this descriptor.
    Read {
        /// Its number.
        descriptor: u64,
    },
    /// `select`: a set of descriptors, one bit each.
    Select {
        /// One more than the highest number in the set.
        limit: u64,
        /// Where in the process's memory the set is.
        set: u64,
    },
    /// `poll`: a table of descriptors with what is wanted of each.
    Poll {
        /// Where in the process's memory the table is.
        table: u64,
        /// How many entries it has.
        length: u64,
    },
    /// `epoll_wait`: the kernel keeps the set, under this descriptor.
    Epoll {
        /// Its number.
        descriptor: u64,
    },
}

impl Call {
    /// `None`: the thread runs, or waits for something that is no input.
    pub(super) fn decode(line: &[u8]) -> Option<Self> {
        let mut words = words(line);
        let number: i64 = decimal(words.next()?)?;
        let mut argument = || hexadecimal(words.next()?);
        let (first, second) = (argument()?, argument()?);
        match kind(number)? {
            // The kernel takes a descriptor as 32 bits and ignores what stands above.
            Kind::Read => Some(Self::Read { descriptor: first & 0xffff_ffff }),
            // Without a set it is a way to sleep.
            Kind::Select if second == 0 => None,
            Kind::Select => Some(Self::Select { limit: first & 0xffff_ffff, set: second }),
            Kind::Poll => Some(Self::Poll { table: first, length: second & 0xffff_ffff }),
            Kind::Epoll => Some(Self::Epoll { descriptor: first & 0xffff_ffff }),
            #[cfg(target_arch = "x86_64")]
            Kind::Restarted => {
                may_be_poll(second).then_some(Self::Poll { table: first, length: second & 0xffff_ffff })
            }
        }
    }
}

enum Kind {
    Read,
    Select,
    Poll,
    Epoll,
    #[cfg(target_arch = "x86_64")]
    Restarted,
}

/// A call that was stopped and continued goes on as `restart_syscall`, with the arguments it had and no name. Four calls do
/// so. The second argument of `nanosleep` is an address or nothing, `clock_nanosleep` has a number where a table would have
/// an address, and a `futex` that waits has one of these for its second.
#[cfg(target_arch = "x86_64")]
fn may_be_poll(length: u64) -> bool {
    const LONGEST: u64 = 1024;
    const PLAIN: [u64; 2] = [libc::FUTEX_WAIT as u64, libc::FUTEX_WAIT_BITSET as u64];
    const FLAGS: u64 = (libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME) as u64;
    length <= LONGEST && !PLAIN.contains(&(length & !FLAGS))
}

fn kind(number: i64) -> Option<Kind> {
    match number {
        libc::SYS_read | libc::SYS_readv | libc::SYS_splice | libc::SYS_tee => Some(Kind::Read),
        libc::SYS_pselect6 => Some(Kind::Select),
        libc::SYS_ppoll => Some(Kind::Poll),
        libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => Some(Kind::Epoll),
        _ => older_kind(number),
    }
}

/// The calls that newer architectures were born without.
#[cfg(target_arch = "x86_64")]
fn older_kind(number: i64) -> Option<Kind> {
    match number {
        libc::SYS_select => Some(Kind::Select),
        libc::SYS_poll => Some(Kind::Poll),
        libc::SYS_epoll_wait => Some(Kind::Epoll),
        libc::SYS_restart_syscall => Some(Kind::Restarted),
        _ => None,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn older_kind(_: i64) -> Option<Kind> {
    None
}

#[cfg(test)]
mod tests {
    use super::Call;

    fn check(line: &str, expected: Option<Call>) {
        assert_eq!(Call::decode(line.as_bytes()), expected, "{line}");
    }

    #[test]
    fn a_line_of_the_kernel_says_what_a_thread_waits_for() {
        let rest = "0x3 0x4 0x5 0x6 0x7ffe1 0x7f2b\n";
        let line = |number: i64, arguments: &str| format!("{number} {arguments} {rest}");
        check(&line(libc::SYS_read, "0x0 0x7ffd"), Some(Call::Read { descriptor: 0 }));
        check(&line(libc::SYS_readv, "0x9 0x7ffd"), Some(Call::Read { descriptor: 9 }));
        check(&line(libc::SYS_pselect6, "0x5 0x7ffd"), Some(Call::Select { limit: 5, set: 0x7ffd }));
        check(&line(libc::SYS_pselect6, "0x0 0x0"), None);
        check(&line(libc::SYS_ppoll, "0x7ffd 0x2"), Some(Call::Poll { table: 0x7ffd, length: 2 }));
        check(&line(libc::SYS_epoll_pwait, "0x3 0x7ffd"), Some(Call::Epoll { descriptor: 3 }));
        check(&line(libc::SYS_write, "0x1 0x7ffd"), None);
        check(&line(libc::SYS_wait4, "0xffffffffffffffff 0x7ffd"), None);
    }

    #[test]
    fn a_descriptor_is_the_lower_half_of_its_register() {
        let line = format!("{} 0xdead00000004 0x1 0x0 0x0 0x0 0x0 0x1 0x2\n", libc::SYS_read);
        check(&line, Some(Call::Read { descriptor: 4 }));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_call_that_was_continued_is_a_poll_only_if_it_can_be_nothing_else() {
        let line =
            |second: &str| format!("{} 0x7ffd {second} 0x0 0x0 0x0 0x0 0x1 0x2\n", libc::SYS_restart_syscall);
        check(&line("0x1"), Some(Call::Poll { table: 0x7ffd, length: 1 }));
        check(&line("0x2"), Some(Call::Poll { table: 0x7ffd, length: 2 }));
        // `nanosleep` without and with a place for the rest, and the ways to wait for a lock.
        for second in ["0x0", "0x7ffd00001000", "0x80", "0x9", "0x89", "0x109", "0x189"] {
            check(&line(second), None);
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
