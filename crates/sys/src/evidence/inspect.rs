//! One process: whether any of its threads is blocked reading a source.

use super::call::Call;
use super::family::{Facts, for_each_thread};
use super::file::{Small, decimal, hexadecimal, words};
use super::source::Source;
use crate::process::Pid;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;

/// What one process does about a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// A thread of it is blocked reading.
    Waiting,
    /// None is.
    Busy,
    /// We may not know.
    Denied,
}

/// Looks at every thread, until one waits.
pub(super) fn look_at(source: &Source, pid: Pid, facts: Facts) -> Look {
    if matches!(facts.state, b'T' | b't') {
        return Look::Busy;
    }
    let seen = Seen { source, pid, controlling: facts.terminal };
    if facts.threads == 1 {
        return seen.thread(pid.get());
    }
    let mut look = Look::Busy;
    for_each_thread(pid, |thread| match seen.thread(thread) {
        Look::Busy => ControlFlow::Continue(()),
        decided => {
            look = decided;
            ControlFlow::Break(())
        }
    });
    look
}

/// A process as somebody who may read a source.
struct Seen<'a> {
    source: &'a Source,
    pid: Pid,
    controlling: u32,
}

/// The longest line: nine numbers of 64 bits.
type CallLine = Small<256>;

/// More descriptors than one call can wait for under the usual limits.
const MOST_DESCRIPTORS: u64 = 1 << 16;

impl Seen<'_> {
    fn thread(&self, thread: u32) -> Look {
        let line = match self.call(thread) {
            Ok(line) => line,
            Err(Errno::ACCESS | Errno::PERM) => return Look::Denied,
            // No such file: either the thread is gone, or this kernel does not tell what threads do.
            Err(Errno::NOENT) if Facts::of_thread(self.pid, thread).is_some() => return Look::Denied,
            Err(_) => return Look::Busy,
        };
        match Call::decode(line.bytes()).map(|call| self.waits_for_source(call)) {
            None | Some(Ok(false)) => Look::Busy,
            Some(Ok(true)) if self.still_sleeps_in(thread, &line) => Look::Waiting,
            Some(Ok(true)) => Look::Busy,
            Some(Err(Errno::ACCESS | Errno::PERM)) => Look::Denied,
            Some(Err(_)) => Look::Busy,
        }
    }

    fn call(&self, thread: u32) -> Result<CallLine, Errno> {
        let pid = self.pid;
        CallLine::read(format_args!("/proc/{pid}/task/{thread}/syscall"))
    }

    /// A thread that was stopped, or that has its input already and waits for a page of memory to put it in, is in the
    /// same call. Its state tells, and the call read once more says that the state belongs to it.
    fn still_sleeps_in(&self, thread: u32, line: &CallLine) -> bool {
        let sleeps = Facts::of_thread(self.pid, thread).is_some_and(|facts| facts.state == b'S');
        sleeps && self.call(thread).is_ok_and(|again| again.bytes() == line.bytes())
    }

    fn waits_for_source(&self, call: Call) -> Result<bool, Errno> {
        match call {
            Call::Read { descriptor } => self.is_source(descriptor),
            Call::Select { limit, set } => self.selects_source(limit, set),
            Call::Poll { table, length } => self.polls_source(table, length),
            Call::Epoll { descriptor } => self.has_source_in_epoll(descriptor),
        }
    }

    fn is_source(&self, descriptor: u64) -> Result<bool, Errno> {
        self.source.is(self.pid, descriptor, self.controlling)
    }

    fn selects_source(&self, limit: u64, set: u64) -> Result<bool, Errno> {
        // The kernel reads the set in words of a `long`, whose bits count from the lowest.
        const WORD: usize = size_of::<u64>();
        let limit = limit.min(MOST_DESCRIPTORS);
        let length = limit.div_ceil(u64::BITS.into()) * WORD as u64;
        self.any_in_memory::<WORD>(set, length, |index, word| {
            let word = u64::from_ne_bytes(*word);
            let numbers = (0..u64::BITS).filter(|bit| word >> bit & 1 == 1);
            let mut numbers = numbers.map(|bit| index * u64::from(u64::BITS) + u64::from(bit));
            any(numbers.by_ref().take_while(|number| *number < limit), |number| self.is_source(number))
        })
    }

    fn polls_source(&self, table: u64, length: u64) -> Result<bool, Errno> {
        // `struct pollfd`: the descriptor, what is wanted, what came.
        const ENTRY: usize = size_of::<libc::pollfd>();
        let length = length.min(MOST_DESCRIPTORS) * ENTRY as u64;
        self.any_in_memory::<ENTRY>(table, length, |_, entry| {
            let descriptor = i32::from_ne_bytes([entry[0], entry[1], entry[2], entry[3]]);
            let wanted = i16::from_ne_bytes([entry[4], entry[5]]);
            // A negative number is an entry that is switched off.
            match u64::try_from(descriptor) {
                Ok(descriptor) if wanted & (libc::POLLIN | libc::POLLRDNORM) != 0 => {
                    self.is_source(descriptor)
                }
                _ => Ok(false),
            }
        })
    }

    /// Goes through the process's memory item by item.
    fn any_in_memory<const ITEM: usize>(
        &self,
        address: u64,
        length: u64,
        wanted: impl Fn(u64, &[u8; ITEM]) -> Result<bool, Errno>,
    ) -> Result<bool, Errno> {
        let pid = self.pid;
        let path = super::file::ProcPath::new(format_args!("/proc/{pid}/mem"));
        let memory = open(path.bytes(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let mut chunk = [0; 1024];
        let mut offset = 0;
        while offset < length {
            let size = usize::try_from(length - offset).unwrap_or(usize::MAX).min(chunk.len());
            let count = rustix::io::pread(&memory, &mut chunk[..size], address.wrapping_add(offset))?;
            let (items, _) = chunk[..count].as_chunks::<ITEM>();
            let first = offset / ITEM as u64;
            if any((first..).zip(items), |(index, item)| wanted(index, item))? {
                return Ok(true);
            }
            if count < size {
                return Ok(false);
            }
            offset += size as u64;
        }
        Ok(false)
    }

    /// The kernel lists an epoll set in the descriptor's own file: `tfd: 0 events: 19 data: …`.
    fn has_source_in_epoll(&self, epoll: u64) -> Result<bool, Errno> {
        let path = format!("/proc/{}/fdinfo/{epoll}", self.pid);
        let file = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        for line in BufReader::new(std::fs::File::from(file)).split(b'\n') {
            let line = line.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
            if let Some(descriptor) = epoll_target(&line)
                && self.is_source(descriptor)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The descriptor of one line of an epoll set, if input is wanted of it.
fn epoll_target(line: &[u8]) -> Option<u64> {
    let mut words = words(line);
    if words.next()? != b"tfd:" {
        return None;
    }
    let descriptor = decimal(words.next()?)?;
    let events = hexadecimal(words.nth(1)?)?;
    let input = (libc::EPOLLIN | libc::EPOLLRDNORM).cast_unsigned();
    (events & u64::from(input) != 0).then_some(descriptor)
}

/// Whether the answer is yes for any of them; the first that cannot be answered ends the search.
fn any<T>(
    items: impl IntoIterator<Item = T>,
    mut wanted: impl FnMut(T) -> Result<bool, Errno>,
) -> Result<bool, Errno> {
    for item in items {
        if wanted(item)? {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::epoll_target;

    #[test]
    fn an_epoll_set_names_the_descriptors_of_which_input_is_wanted() {
        let check = |line: &str, expected| assert_eq!(epoll_target(line.as_bytes()), expected, "{line}");
        check("tfd:        5 events:       19 data: ffff7f  pos:0 ino:61 sdev:19", Some(5));
        check("tfd:        0 events: 80000001 data: 0", Some(0));
        check("tfd:        5 events: 4000001c data: 0", None);
        check("pos:\t0", None);
        check("tfd:", None);
    }
}
