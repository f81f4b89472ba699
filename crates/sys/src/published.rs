//! Numbers that a process shows to every process of this machine while it lives: locks on ranges of a file in memory,
//! which `/proc/locks` lists with both their ends. An ordinary user cannot read the descriptors of a process that hides
//! them (`hide_from_others`), and a file would disappear with its directory; these locks stay, and end with the
//! process.
//!
//! No process ever waits for such a lock, because the file has no name. Any process can show numbers for any topic, so
//! a reader may only take them as a lower bound.

use std::fs;
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{MemfdFlags, memfd_create};

/// An offset has 63 bits: the topic, then the number.
const NUMBER_BITS: u32 = 32;
const NUMBER_MASK: u64 = (1 << NUMBER_BITS) - 1;

/// The subject of the published numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topic(u64);

impl Topic {
    /// The same name gives the same topic in every version of every program (FNV-1a), which the hashers of the standard
    /// library do not promise.
    pub fn of(name: &[u8]) -> Self {
        let hash = name.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        // Bit 30 keeps it apart from locks of other programs, which lie within the size of some file.
        Self((hash ^ hash >> 32) & 0x3fff_ffff | 1 << 30)
    }

    fn offset(self, number: u64) -> u64 {
        self.0 << NUMBER_BITS | number
    }

    fn number(self, offset: u64) -> Option<u64> {
        (offset >> NUMBER_BITS == self.0).then_some(offset & NUMBER_MASK)
    }
}

/// The numbers that this process publishes. They disappear when it ends.
#[derive(Debug)]
pub struct Published(OwnedFd);

impl Published {
    /// Publishes no number yet.
    pub fn new() -> io::Result<Self> {
        Ok(Self(memfd_create("windlass-numbers", MemfdFlags::CLOEXEC)?))
    }

    /// Publishes more numbers. Those that do not fit are left out.
    pub fn add(&self, topic: Topic, numbers: &RangeInclusive<u64>) -> io::Result<()> {
        if *numbers.end() > NUMBER_MASK {
            return Ok(());
        }
        let count = numbers.end().saturating_sub(*numbers.start()) + 1;
        let signed = |value: u64| i64::try_from(value).map_err(io::Error::other);
        // SAFETY: a `flock` of zeroes is valid; it is plain data.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = libc::F_WRLCK as libc::c_short;
        lock.l_whence = libc::SEEK_SET as libc::c_short;
        (lock.l_start, lock.l_len) = (signed(topic.offset(*numbers.start()))?, signed(count)?);
        // SAFETY: the descriptor is open, and the structure is complete and outlives the call.
        match unsafe { libc::fcntl(self.0.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// The highest number that a living process publishes for this topic.
pub fn highest(topic: Topic) -> Option<u64> {
    highest_in(&fs::read_to_string("/proc/locks").ok()?, topic)
}

/// The numbers that living processes show for this topic, in ranges, in no order.
pub fn shown(topic: Topic) -> Vec<RangeInclusive<u64>> {
    fs::read_to_string("/proc/locks").map(|locks| shown_in(&locks, topic)).unwrap_or_default()
}

fn highest_in(locks: &str, topic: Topic) -> Option<u64> {
    shown_in(locks, topic).into_iter().map(|range| *range.end()).max()
}

fn shown_in(locks: &str, topic: Topic) -> Vec<RangeInclusive<u64>> {
    let of_line = |line: &str| {
        let mut words = line.split_whitespace();
        let kind = words.nth(1)?;
        let last = topic.number(words.next_back()?.parse().ok()?)?;
        let first = topic.number(words.next_back()?.parse().ok()?)?;
        (kind == "OFDLCK").then_some(first..=last)
    };
    locks.lines().filter_map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_until_their_process_lets_them_go() {
        let own = |name: &str| Topic::of(format!("{name}-{}", std::process::id()).as_bytes());
        let (topic, other) = (own("published"), own("other"));
        assert_eq!(highest(topic), None);
        let published = Published::new().unwrap();
        published.add(topic, &(1001..=1001)).unwrap();
        published.add(topic, &(1002..=1065)).unwrap();
        published.add(other, &(9000..=9000)).unwrap();
        assert_eq!((highest(topic), highest(other)), (Some(1065), Some(9000)));
        assert_eq!(shown(topic), [1001..=1065]);
        drop(published);
        assert_eq!(highest(topic), None);
    }

    #[test]
    fn locks_of_other_kinds_and_of_other_programs_are_no_numbers() {
        let topic = Topic::of(b"/state");
        let at = topic.offset(1005);
        let locks = format!(
            "1: FLOCK  ADVISORY  WRITE 11 fe:01:5 0 EOF\n2: OFDLCK ADVISORY  READ -1 fe:01:5 1073741826 1073742335\n\
             3: POSIX  ADVISORY  WRITE 11 00:01:5 {at} {at}\n4: OFDLCK ADVISORY  WRITE -1 00:01:5 {} {at}\n",
            topic.offset(1001)
        );
        assert_eq!(highest_in(&locks, topic), Some(1005));
        assert_eq!(highest_in(&locks, Topic::of(b"/other")), None);
    }
}
