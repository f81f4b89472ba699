//! One process: whether any of its threads is blocked reading a source.
//!
//! A *relay* waits for its terminal and for the master of another one in the same call: `script`, `sudo` with a terminal of
//! its own, `apt-get` while it installs. It always reads, and that says nothing. Who reads the terminal behind it does, so
//! its master is borrowed and looked at like ours.

use super::call::Call;
use super::family::{Facts, for_each_thread};
use super::file::{ProcPath, Small, decimal, hexadecimal, words};
use super::source::{Match, Source};
use super::{Reading, terminal_reading_behind};
use crate::process::{Pid, Process};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::io::{BufRead, BufReader};
use std::ops::{ControlFlow, Range};

/// What one process does about a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// A thread of it is blocked reading, or, behind a relay, of that process.
    Waiting {
        /// The reader.
        pid: Pid,
    },
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

/// What a call waits to read, as far as it matters here.
#[derive(Default)]
struct Wanted {
    /// The source is among it.
    source: bool,
    /// Masters of other terminals, by descriptor.
    masters: Vec<u64>,
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
        let Some(call) = Call::decode(line.bytes()) else { return Look::Busy };
        let look = match self.wanted_by(call) {
            Ok(wanted) => self.judge(&wanted),
            Err(Errno::ACCESS | Errno::PERM) => Look::Denied,
            Err(_) => Look::Busy,
        };
        match look {
            Look::Waiting { .. } if !self.still_sleeps_in(thread, &line) => Look::Busy,
            look => look,
        }
    }

    fn judge(&self, wanted: &Wanted) -> Look {
        match (wanted.source, &wanted.masters[..]) {
            (false, _) => Look::Busy,
            (true, []) => Look::Waiting { pid: self.pid },
            (true, masters) => self.look_behind(masters),
        }
    }

    /// Whoever waits behind a relay. The relay itself is asked again afterwards: the look pushed towards it what was
    /// printed there, so if it still sleeps, all of that has come through.
    fn look_behind(&self, masters: &[u64]) -> Look {
        let mut look = Look::Busy;
        for master in masters {
            match self
                .borrow(*master)
                .map(|master| terminal_reading_behind(master.as_fd(), self.pid, self.source))
            {
                Ok(Reading::Waiting { pid }) => return Look::Waiting { pid },
                Ok(Reading::Busy) => {}
                Ok(Reading::Unknown { .. }) | Err(_) => look = Look::Denied,
            }
        }
        look
    }

    /// A copy of a descriptor of the process, for the length of a look.
    fn borrow(&self, descriptor: u64) -> Result<OwnedFd, Errno> {
        let process = Process::open(self.pid)?;
        let number = i32::try_from(descriptor).map_err(|_| Errno::BADF)?;
        rustix::process::pidfd_getfd(process, number, rustix::process::PidfdGetfdFlags::empty())
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

    fn wanted_by(&self, call: Call) -> Result<Wanted, Errno> {
        let mut wanted = Wanted::default();
        match call {
            Call::Read { descriptor } => self.add(descriptor, &mut wanted)?,
            Call::Select { limit, set } => self.add_selected(limit, set, &mut wanted)?,
            Call::Poll { table, length } => self.add_polled(table, length, &mut wanted)?,
            Call::Epoll { descriptor } => self.add_epoll_set(descriptor, &mut wanted)?,
        }
        Ok(wanted)
    }

    fn add(&self, descriptor: u64, wanted: &mut Wanted) -> Result<(), Errno> {
        match self.source.compare(self.pid, descriptor, self.controlling)? {
            Match::Same => wanted.source = true,
            Match::Master => wanted.masters.push(descriptor),
            Match::Other => {}
        }
        Ok(())
    }

    fn add_selected(&self, limit: u64, set: u64, wanted: &mut Wanted) -> Result<(), Errno> {
        // The kernel reads the set in words of a `long`, whose bits count from the lowest.
        const WORD: usize = size_of::<u64>();
        let limit = limit.min(MOST_DESCRIPTORS);
        let length = limit.div_ceil(u64::BITS.into()) * WORD as u64;
        self.for_each_in_memory::<WORD>(set..set.saturating_add(length), |index, word| {
            let word = u64::from_ne_bytes(*word);
            let bits = (0..u64::BITS).filter(|bit| word >> bit & 1 == 1);
            let mut numbers = bits.map(|bit| index * u64::from(u64::BITS) + u64::from(bit));
            numbers.try_for_each(|number| if number < limit { self.add(number, wanted) } else { Ok(()) })
        })
    }

    fn add_polled(&self, table: u64, length: u64, wanted: &mut Wanted) -> Result<(), Errno> {
        // `struct pollfd`: the descriptor, what is wanted of it, what came.
        const ENTRY: usize = size_of::<libc::pollfd>();
        let length = length.min(MOST_DESCRIPTORS) * ENTRY as u64;
        self.for_each_in_memory::<ENTRY>(table..table.saturating_add(length), |_, entry| {
            let descriptor = i32::from_ne_bytes([entry[0], entry[1], entry[2], entry[3]]);
            let events = i16::from_ne_bytes([entry[4], entry[5]]);
            // A negative number is an entry that is switched off.
            match u64::try_from(descriptor) {
                Ok(number) if events & (libc::POLLIN | libc::POLLRDNORM) != 0 => self.add(number, wanted),
                _ => Ok(()),
            }
        })
    }

    /// The kernel lists an epoll set in the descriptor's own file: `tfd: 0 events: 19 data: …`.
    fn add_epoll_set(&self, epoll: u64, wanted: &mut Wanted) -> Result<(), Errno> {
        let path = format!("/proc/{}/fdinfo/{epoll}", self.pid);
        let file = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        for line in BufReader::new(std::fs::File::from(file)).split(b'\n') {
            let line = line.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
            if let Some(descriptor) = epoll_target(&line) {
                self.add(descriptor, wanted)?;
            }
        }
        Ok(())
    }

    /// Goes through a part of the process's memory, item by item, as far as it is there.
    fn for_each_in_memory<const ITEM: usize>(
        &self,
        addresses: Range<u64>,
        mut work: impl FnMut(u64, &[u8; ITEM]) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let pid = self.pid;
        let path = ProcPath::new(format_args!("/proc/{pid}/mem"));
        let memory = open(path.bytes(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let mut chunk = [0; 1024];
        let (mut address, mut index) = (addresses.start, 0);
        while address < addresses.end {
            let size = usize::try_from(addresses.end - address).unwrap_or(usize::MAX).min(chunk.len());
            let count = rustix::io::pread(&memory, &mut chunk[..size], address)?;
            for item in chunk[..count].as_chunks::<ITEM>().0 {
                work(index, item)?;
                index += 1;
            }
            if count < size {
                return Ok(());
            }
            address += size as u64;
        }
        Ok(())
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
