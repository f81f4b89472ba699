//! One process: whether any of its threads is blocked reading a source.
//!
//! A *relay* waits for its terminal and for the master of another one in the same call: `script`, `sudo` with a
//! terminal of its own, `apt-get` while it installs. A relay always reads, which proves nothing. A program that reads
//! the terminal behind it does wait for input, so that terminal's master is borrowed and looked at like ours.

use super::call::{Call, Timeout};
use super::family::{ProcessStat, for_each_thread};
use super::file::{ProcPath, Small, decimal, hexadecimal, words};
use super::peer::Peer;
use super::source::{Match, Source};
use super::{InputState, Watch};
use crate::process::{Pid, Process};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use std::io::{BufRead, BufReader};
use std::ops::{ControlFlow, Range};
use std::path::PathBuf;
use std::time::Duration;

/// The relation of one process to a source.
#[derive(Debug)]
pub(super) enum Look {
    /// A thread of it is blocked reading.
    Reads(Reader),
    /// A thread of it is blocked as a relay; holds the evidence about the terminal behind it.
    Behind(Reader, InputState),
    /// No thread reads; one waits for this socket.
    Asks(u64),
    /// No thread reads.
    Busy,
    /// This user may not inspect it.
    Denied,
}

/// A thread that is blocked reading a source.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) pid: Pid,
    pub(super) thread: u32,
    pub(super) wanted: AwaitedInputs,
    /// Its process while the thread slept, if this is the main thread.
    pub(super) asleep: Option<ProcessStat>,
}

impl Reader {
    /// Whether the program's main thread reads.
    pub(super) fn is_main(&self) -> bool {
        self.thread == self.pid.get()
    }
}

/// Looks at every thread, until one waits.
pub(super) fn look_at(watch: &mut Watch, source: &Source, pid: Pid, facts: ProcessStat) -> Look {
    if matches!(facts.state, b'T' | b't') {
        return Look::Busy;
    }
    let process = Inspected::new(source, pid, facts.terminal);
    if facts.threads == 1 {
        return process.thread(watch, pid.get());
    }
    let mut look = Look::Busy;
    for_each_thread(pid, |thread| match process.thread(watch, thread) {
        Look::Busy => ControlFlow::Continue(()),
        Look::Asks(socket) => {
            look = Look::Asks(socket);
            ControlFlow::Continue(())
        }
        decided => {
            look = decided;
            ControlFlow::Break(())
        }
    });
    look
}

/// A process that may read a source.
pub(super) struct Inspected<'a> {
    source: &'a Source,
    pid: Pid,
    controlling: u32,
}

/// The descriptors that a call waits to read, as far as they matter here.
#[derive(Debug)]
pub(super) struct AwaitedInputs {
    /// Whether the source is among them.
    pub(super) source: bool,
    /// Masters of other terminals, by descriptor.
    pub(super) masters: Vec<u64>,
    /// Sockets, by descriptor.
    pub(super) sockets: Vec<u64>,
    /// Pipes other than the source, by descriptor.
    pub(super) pipes: Vec<u64>,
    /// Processes whose end it waits for, by their `pidfd`.
    pub(super) processes: Vec<Pid>,
    /// The kernel keeps the set, as event loops have it.
    pub(super) is_event_loop: bool,
    timeout: Timeout,
    /// The first timer that is armed.
    timer: Option<Duration>,
}

impl AwaitedInputs {
    fn within(timeout: Timeout) -> Self {
        let (masters, sockets, pipes, processes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (source, is_event_loop, timer) = (false, false, None);
        Self { source, masters, sockets, pipes, processes, is_event_loop, timeout, timer }
    }
}

/// The longest line: nine numbers of 64 bits.
type CallLine = Small<256>;

/// More descriptors than one call can wait for under the usual limits.
const MOST_DESCRIPTORS: u64 = 1 << 16;

impl<'a> Inspected<'a> {
    pub(super) fn new(source: &'a Source, pid: Pid, controlling: u32) -> Self {
        Self { source, pid, controlling }
    }

    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// The call in which a thread is blocked, and the descriptors for which it waits. `None`: the thread runs.
    pub(super) fn blocked(&self, thread: u32) -> Result<Option<(Call, AwaitedInputs)>, Errno> {
        let line = self.call(thread)?;
        let Some(call) = Call::decode(line.bytes()) else { return Ok(None) };
        Ok(Some((call, self.wanted_by(call)?)))
    }

    /// When a call gives up, or a timer that it waits for fires.
    pub(super) fn timer_of(&self, wanted: &AwaitedInputs) -> Option<Duration> {
        [self.time_of(wanted.timeout), wanted.timer].into_iter().flatten().min()
    }

    /// The time after which a call gives up. A time that cannot be read counts as a long one.
    pub(super) fn time_of(&self, timeout: Timeout) -> Option<Duration> {
        const LONG: Duration = Duration::from_secs(1);
        let time = match timeout {
            Timeout::Never => return None,
            Timeout::After(time) => Some(time),
            Timeout::Timespec(address) => self.time_at(address, Duration::from_nanos),
            Timeout::Timeval(address) => self.time_at(address, Duration::from_micros),
            Timeout::At(clock, address) => {
                let time = self.time_at(address, Duration::from_nanos);
                time.zip(time_now(clock)).map(|(time, now)| time.saturating_sub(now))
            }
            Timeout::Unknown => None,
        };
        Some(time.unwrap_or(LONG))
    }

    /// Seconds and their fraction in the process's memory.
    fn time_at(&self, address: u64, fraction: fn(u64) -> Duration) -> Option<Duration> {
        let mut time = None;
        let _ = self.for_each_in_memory::<16>(address..address.saturating_add(16), |_, item| {
            let (seconds, rest) = item.split_at(8);
            let number = |bytes: &[u8]| Some(u64::from_ne_bytes(bytes.try_into().ok()?));
            time = number(seconds).zip(number(rest));
            Ok(())
        });
        time.map(|(seconds, rest)| Duration::from_secs(seconds).saturating_add(fraction(rest)))
    }

    /// The other end of a socket, whose descriptor is copied for this question only.
    pub(super) fn peer(&self, socket: u64) -> Option<Peer> {
        Peer::of(self.borrow(socket).ok()?)
    }

    /// Whether the process has made timers with `timer_create`.
    pub(super) fn has_posix_timers(&self) -> bool {
        let pid = self.pid;
        Small::<16>::read(format_args!("/proc/{pid}/timers")).is_ok_and(|list| !list.bytes().is_empty())
    }

    /// Whether this child still runs its parent's program: it was forked and has not executed another.
    pub(super) fn is_fork_of(&self, parent: &Self) -> bool {
        let program = |pid: Pid| std::fs::read_link(format!("/proc/{pid}/exe")).ok();
        let words = |pid: Pid| std::fs::read(format!("/proc/{pid}/cmdline")).ok();
        program(self.pid).is_some_and(|own| program(parent.pid) == Some(own))
            && words(self.pid) == words(parent.pid)
    }

    /// Whether it runs `sleep`, which prints nothing.
    pub(super) fn is_sleep_command(&self) -> bool {
        let pid = self.pid;
        Small::<32>::read(format_args!("/proc/{pid}/comm")).is_ok_and(|name| name.bytes() == b"sleep\n")
    }

    /// Whether its program is listed as a shell.
    pub(super) fn is_listed_shell(&self) -> bool {
        let Ok(program) = std::fs::read_link(format!("/proc/{}/exe", self.pid)) else { return false };
        let list = std::fs::read("/etc/shells").unwrap_or_default();
        list.split(|byte| *byte == b'\n').any(|line| line == program.as_os_str().as_encoded_bytes())
    }

    /// The name that the kernel gives to what a descriptor refers to.
    pub(super) fn link(&self, descriptor: u64) -> Option<PathBuf> {
        let pid = self.pid;
        std::fs::read_link(format!("/proc/{pid}/fd/{descriptor}")).ok()
    }

    /// Whether its standard output or error is the terminal. On pipes any output may be the session's.
    pub(super) fn may_print(&self) -> bool {
        let is_terminal = |number| self.source.compare(self.pid, number, self.controlling) == Ok(Match::Same);
        self.source.device().is_none() || [1, 2].into_iter().any(is_terminal)
    }

    /// Whether its standard output or error leads to the terminal, or into a pipe or socket from which others may copy.
    pub(super) fn may_be_heard(&self) -> bool {
        let leads_on = |number| {
            let found = self.source.compare(self.pid, number, self.controlling);
            matches!(found, Ok(Match::Same | Match::Pipe | Match::Socket))
        };
        [1, 2].into_iter().any(leads_on)
    }

    /// Whether Go's linker made its program: there is a note of it near the beginning of the file.
    pub(super) fn is_go_program(&self) -> bool {
        /// The note's type and its owner.
        const NOTE: &[u8] = b"\x04\0\0\0Go\0\0";
        let pid = self.pid;
        Small::<4096>::read(format_args!("/proc/{pid}/exe"))
            .is_ok_and(|start| start.bytes().windows(NOTE.len()).any(|bytes| bytes == NOTE))
    }

    fn thread(&self, watch: &mut Watch, thread: u32) -> Look {
        let line = match self.call(thread) {
            Ok(line) => line,
            Err(Errno::ACCESS | Errno::PERM) => return Look::Denied,
            // There is no such file: either the thread is gone, or this kernel does not show the calls of threads.
            Err(Errno::NOENT) if ProcessStat::of_thread(self.pid, thread).is_some() => return Look::Denied,
            Err(_) => return Look::Busy,
        };
        let Some(call) = Call::decode(line.bytes()) else { return Look::Busy };
        let look = match self.wanted_by(call) {
            Ok(wanted) => self.judge(watch, thread, wanted),
            Err(Errno::ACCESS | Errno::PERM) => Look::Denied,
            Err(_) => Look::Busy,
        };
        match look {
            Look::Reads(reader) => match self.asleep_in(thread, &line) {
                Some(facts) => {
                    Look::Reads(Reader { asleep: Some(facts).filter(|_| reader.is_main()), ..reader })
                }
                None => Look::Busy,
            },
            Look::Behind(..) if self.asleep_in(thread, &line).is_none() => Look::Busy,
            look => look,
        }
    }

    fn judge(&self, watch: &mut Watch, thread: u32, wanted: AwaitedInputs) -> Look {
        match (wanted.source, wanted.sockets.first()) {
            (false, Some(socket)) => return Look::Asks(*socket),
            (false, None) => return Look::Busy,
            (true, _) => {}
        }
        let reader = Reader { pid: self.pid, thread, wanted, asleep: None };
        if reader.wanted.masters.is_empty() { Look::Reads(reader) } else { self.look_behind(watch, reader) }
    }

    /// The reader behind a relay. The relay itself is looked at again afterwards: the look pushed all output on that
    /// terminal towards it, so if the relay still sleeps, it has passed all of it on.
    fn look_behind(&self, watch: &mut Watch, relay: Reader) -> Look {
        let mut look = Look::Busy;
        for master in &relay.wanted.masters {
            let Ok(master) = self.borrow(*master) else {
                look = Look::Denied;
                continue;
            };
            match watch.terminal_behind(master.as_fd(), self.pid, self.source) {
                InputState::Busy => {}
                InputState::Unknown { .. } => look = Look::Denied,
                reading => return Look::Behind(relay, reading),
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
    /// same call. Its state shows that, and a second read of the call shows that the state belongs to the same call.
    fn asleep_in(&self, thread: u32, line: &CallLine) -> Option<ProcessStat> {
        let facts = ProcessStat::of_thread(self.pid, thread).filter(|facts| facts.state == b'S')?;
        self.call(thread).is_ok_and(|again| again.bytes() == line.bytes()).then_some(facts)
    }

    fn wanted_by(&self, call: Call) -> Result<AwaitedInputs, Errno> {
        match call {
            Call::Read { descriptor } => {
                let mut wanted = AwaitedInputs::within(Timeout::Never);
                self.add(descriptor, &mut wanted)?;
                Ok(wanted)
            }
            Call::Select { limit, set, timeout } => {
                let mut wanted = AwaitedInputs::within(timeout);
                self.add_selected(limit, set, &mut wanted)?;
                Ok(wanted)
            }
            Call::Poll { table, length, timeout } => {
                let mut wanted = AwaitedInputs::within(timeout);
                self.add_polled(table, length, &mut wanted)?;
                Ok(wanted)
            }
            Call::Epoll { descriptor, timeout } => {
                let mut wanted = AwaitedInputs { is_event_loop: true, ..AwaitedInputs::within(timeout) };
                self.add_epoll_set(descriptor, &mut wanted)?;
                Ok(wanted)
            }
            Call::Sleep(_) | Call::Connect | Call::TimedLock(_) | Call::Lock | Call::Child | Call::Other => {
                Ok(AwaitedInputs::within(Timeout::Never))
            }
        }
    }

    fn add(&self, descriptor: u64, wanted: &mut AwaitedInputs) -> Result<(), Errno> {
        match self.source.compare(self.pid, descriptor, self.controlling)? {
            Match::Same => wanted.source = true,
            Match::Master => wanted.masters.push(descriptor),
            Match::Socket => wanted.sockets.push(descriptor),
            Match::Pipe => wanted.pipes.push(descriptor),
            Match::Anonymous => self.add_anonymous(descriptor, wanted),
            Match::Other => {}
        }
        Ok(())
    }

    /// A `timerfd` fires after a time, again and again or once; a `pidfd` is ready when its process ends.
    fn add_anonymous(&self, descriptor: u64, wanted: &mut AwaitedInputs) {
        let pid = self.pid;
        let Ok(text) = Small::<512>::read(format_args!("/proc/{pid}/fdinfo/{descriptor}")) else { return };
        wanted.timer = [wanted.timer, armed_timer(text.bytes())].into_iter().flatten().min();
        wanted.processes.extend(process_behind(text.bytes()));
    }

    fn add_selected(&self, limit: u64, set: u64, wanted: &mut AwaitedInputs) -> Result<(), Errno> {
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

    fn add_polled(&self, table: u64, length: u64, wanted: &mut AwaitedInputs) -> Result<(), Errno> {
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
    fn add_epoll_set(&self, epoll: u64, wanted: &mut AwaitedInputs) -> Result<(), Errno> {
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

    /// Reads a part of the process's memory, item by item, as far as it exists.
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

/// The time of a clock that a sleep can be measured by.
fn time_now(clock: u64) -> Option<Duration> {
    let clock = match i32::try_from(clock).ok()? {
        libc::CLOCK_REALTIME => ClockId::Realtime,
        libc::CLOCK_MONOTONIC => ClockId::Monotonic,
        libc::CLOCK_BOOTTIME => ClockId::Boottime,
        _ => return None,
    };
    Duration::try_from(clock_gettime(clock)).ok()
}

/// The kernel writes `it_value: (seconds, nanoseconds)`, zero where the timer is off, and likewise `it_interval`.
fn armed_timer(text: &[u8]) -> Option<Duration> {
    let armed = |name: &[u8]| timer_field(text, name).filter(|time| !time.is_zero());
    let value = armed(b"it_value: (")?;
    Some(armed(b"it_interval: (").unwrap_or(value))
}

/// The kernel writes `Pid:` and the number; -1: the process has ended and was waited for.
fn process_behind(text: &[u8]) -> Option<Pid> {
    let line = text.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"Pid:"))?;
    decimal(line.trim_ascii()).map(Pid::new)
}

fn timer_field(text: &[u8], name: &[u8]) -> Option<Duration> {
    let line = text.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(name))?;
    let mut numbers = line.strip_suffix(b")")?.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    let seconds = Duration::from_secs(decimal(numbers.next()?)?);
    Some(seconds + Duration::from_nanos(decimal(numbers.next()?)?))
}

#[cfg(test)]
mod tests {
    use super::{armed_timer, epoll_target, process_behind};
    use crate::process::Pid;
    use std::time::Duration;

    #[test]
    fn a_timer_says_how_long_it_has_to_go() {
        let check = |value: &str, interval: &str, expected: Option<u64>| {
            let text = format!("pos:\t0\nticks: 0\nit_value: {value}\nit_interval: {interval}\n");
            assert_eq!(
                armed_timer(text.as_bytes()),
                expected.map(Duration::from_millis),
                "{value} {interval}"
            );
        };
        check("(2, 500000000)", "(0, 0)", Some(2500));
        check("(0, 1000)", "(3, 0)", Some(3000));
        check("(0, 0)", "(3, 0)", None);
        check("(2", "(0, 0)", None);
        assert_eq!(armed_timer(b"pos:\t0\n"), None);
    }

    #[test]
    fn a_descriptor_of_a_process_names_it() {
        let text = |pid: &str| format!("pos:\t0\nflags:\t02000002\nPid:\t{pid}\nNSpid:\t{pid}\n");
        assert_eq!(process_behind(text("42").as_bytes()), Some(Pid::new(42)));
        assert_eq!(process_behind(text("-1").as_bytes()), None);
        assert_eq!(process_behind(b"pos:\t0\n"), None);
    }

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
