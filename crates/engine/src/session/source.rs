//! One stream that a session prints to, as its task reads it.
//!
//! While output comes in single pieces, the reactor announces it. In a flood it is not used: there is always more to
//! read, and a reactor that watches would wake another thread for every few kilobytes, only to announce what is known
//! already. Many small pieces in a short time accumulate for a moment, and are read together.

use super::coalesce::{PAUSE, ReadCoalescer};
use crate::{Stream, reactor};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;

/// The runtime's end of a pipe or a terminal, to be read.
#[derive(Debug)]
pub(crate) struct Source {
    watch: Watch,
    stream: Stream,
    /// The reactor has seen the other end close. It does not take that back, even if a terminal is opened again.
    hung_up: bool,
    coalescer: ReadCoalescer,
    /// How much of it the kernel buffers before a program that prints has to wait.
    holds: usize,
    /// Held by a pipe whose buffer was enlarged, and by a terminal whose output is coalesced.
    roomy: Option<OwnedSemaphorePermit>,
}

/// The reactor's part in watching a source.
#[derive(Debug)]
enum Watch {
    /// It announces that there is something to read.
    On(AsyncFd<Arc<OwnedFd>>),
    /// None: there was more than could be read at a time, so there is something to read.
    Off(Arc<OwnedFd>),
    /// None: output accumulates until the alarm.
    Gathering { fd: Arc<OwnedFd>, alarm: Alarm },
    /// It could not register the descriptor again, for want of memory, say. The next try comes soon.
    Refused { fd: Arc<OwnedFd>, again: Pin<Box<Sleep>> },
}

/// The outcome of filling a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filled {
    /// So many bytes, and the kernel has or may have more.
    More(usize),
    /// So many bytes in little pieces: each was read as soon as it was printed.
    Chased(usize),
    /// So many bytes, and the kernel has no more for now.
    Emptied(usize),
    /// So many bytes, and then the end.
    Ended(usize),
}

/// The most that is read of a terminal before it is journaled: two milliseconds of a flood.
const TERMINAL_BATCH: usize = 128 * 1024;
/// The same for a pipe. The kernel's pages are delivered in larger pieces than small writes would get.
const PIPE_BATCH: usize = 256 * 1024;
/// The kernel's default buffer of a pipe.
const PIPE_HOLDS: usize = 64 * 1024;
/// An enlarged one: a program that floods it has to wait less often.
const ROOMY: usize = PIPE_BATCH;

/// The kernel's buffer of a terminal.
const TERMINAL_HOLDS: usize = 64 * 1024;

/// Half of the most that one read of a terminal returns.
const LITTLE: usize = 2 * 1024;
/// After so many reads of little on average the runtime is as fast as the program.
const CHASE: usize = 32;

/// How many pipes are enlarged at a time. The kernel grants each user room for 1024 ordinary pipes, and gives tiny ones
/// to a user that has exceeded it: these take a fifth of it.
pub(crate) const MOST_ROOMY: usize = 64;

const REFUSAL_LASTS: Duration = Duration::from_millis(10);

impl Source {
    /// The runtime's end of one of these streams, which the reactor watches from now on.
    pub(crate) fn watched(fd: OwnedFd, stream: Stream) -> Result<Self, Errno> {
        let watched = reactor::watch(Arc::new(fd), Interest::READABLE).map_err(|(_, errno)| errno)?;
        let coalescer = ReadCoalescer::new(Instant::now());
        let holds = if stream == Stream::Terminal { TERMINAL_HOLDS } else { PIPE_HOLDS };
        Ok(Self { watch: Watch::On(watched), stream, hung_up: false, coalescer, holds, roomy: None })
    }

    pub(crate) fn fd(&self) -> &Arc<OwnedFd> {
        match &self.watch {
            Watch::On(watched) => watched.get_ref(),
            Watch::Off(fd) | Watch::Gathering { fd, .. } | Watch::Refused { fd, .. } => fd,
        }
    }

    pub(crate) fn stream(&self) -> Stream {
        self.stream
    }

    pub(crate) fn has_hung_up(&self) -> bool {
        self.hung_up
    }

    /// The most to be read at a time.
    pub(crate) fn batch(&self) -> usize {
        if self.stream == Stream::Terminal { TERMINAL_BATCH } else { PIPE_BATCH }
    }

    /// Ready when there is something to read, or may be.
    pub(crate) fn poll_readable(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.watch {
            Watch::On(watched) => watched.poll_read_ready(cx).map(|ready| {
                self.hung_up = ready.is_ok_and(|guard| guard.ready().is_read_closed());
            }),
            Watch::Off(_) => Poll::Ready(()),
            Watch::Gathering { alarm, .. } => alarm.poll(cx),
            Watch::Refused { again, .. } => again.as_mut().poll(cx),
        }
    }

    /// Whether output may have come that was not published yet.
    pub(crate) fn is_gathering(&self) -> bool {
        matches!(self.watch, Watch::Gathering { .. })
    }

    /// Reads announced output, and turns the reactor's watching on or off, as the output flows.
    pub(crate) fn fill_announced(&mut self, buffer: &mut [u8]) -> Filled {
        let filled = match &self.watch {
            Watch::On(watched) => fill_when_ready(watched, self.short(), buffer),
            Watch::Off(fd) | Watch::Gathering { fd, .. } | Watch::Refused { fd, .. } => {
                fill(fd, self.short(), buffer)
            }
        };
        match filled {
            Filled::More(_) | Filled::Chased(_) => {
                if self.is_gathering() {
                    self.coalescer.overflowed(Instant::now());
                }
                self.unwatch();
            }
            Filled::Emptied(count) => self.emptied(count),
            Filled::Ended(_) => {}
        }
        filled
    }

    /// Reads the available output.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) -> Filled {
        fill(self.fd(), self.short(), buffer)
    }

    /// The least that a read returns unless it empties the source. A terminal returns the part that it has processed so
    /// far, however much is behind it; but where output is coalesced, the rest may wait, too. Either way the next byte
    /// wakes the task.
    fn short(&self) -> usize {
        match (self.stream, &self.watch) {
            (Stream::Terminal, Watch::Gathering { .. }) => LITTLE,
            (Stream::Terminal, _) => 0,
            (Stream::Stdout | Stream::Stderr, _) => PIPE_HOLDS,
        }
    }

    /// Prepares for more, after so many bytes: a program that filled its pipe gets a larger one, and many small pieces
    /// are coalesced. Not too many sources are served like that at a time.
    pub(crate) fn flows(&mut self, count: usize, allowed: &Arc<Semaphore>) {
        if count >= PIPE_HOLDS && self.stream != Stream::Terminal {
            self.make_roomy(allowed);
        }
        if count == 0 || !matches!(self.watch, Watch::On(_)) {
            return;
        }
        let now = Instant::now();
        self.coalescer.add(now, count);
        if self.coalescer.are_a_spate(now) {
            self.make_roomy(allowed);
            if self.coalescer.fit_into(self.holds, now) {
                self.gather();
            }
        }
    }

    /// Prepares for more output that is read as soon as it is printed.
    pub(crate) fn trickles(&mut self, allowed: &Arc<Semaphore>) {
        if self.coalescer.may_gather(Instant::now()) {
            self.make_roomy(allowed);
            self.gather();
        }
    }

    /// Announces the next piece at once: a client may be waiting for it.
    pub(crate) fn expect_drop(&mut self) {
        self.coalescer.forget(Instant::now());
        if self.is_gathering() {
            self.rewatch();
        }
    }

    fn make_roomy(&mut self, allowed: &Arc<Semaphore>) {
        if self.roomy.is_some() {
            return;
        }
        self.roomy = Arc::clone(allowed).try_acquire_owned().ok();
        if self.roomy.is_some() && self.stream != Stream::Terminal {
            // A pipe that may not grow keeps its size, and is not enlarged later.
            self.holds = rustix::pipe::fcntl_setpipe_size(self.fd(), ROOMY).unwrap_or(self.holds);
        }
    }

    fn emptied(&mut self, count: usize) {
        match &self.watch {
            Watch::On(_) => {}
            Watch::Gathering { alarm, .. }
                if self.coalescer.go_on_gathering(Instant::now(), count, self.holds) && alarm.set() => {}
            Watch::Gathering { .. } | Watch::Off(_) | Watch::Refused { .. } => self.rewatch(),
        }
    }

    /// Starts coalescing, if that is allowed here. If no alarm can be had, everything stays as it is.
    fn gather(&mut self) {
        if self.roomy.is_some()
            && let Ok(alarm) = Alarm::new()
            && alarm.set()
        {
            self.watch = Watch::Gathering { fd: Arc::clone(self.fd()), alarm };
        }
    }

    fn unwatch(&mut self) {
        if !matches!(self.watch, Watch::Off(_)) {
            self.watch = Watch::Off(Arc::clone(self.fd()));
        }
    }

    /// Output that came meanwhile is announced at once.
    fn rewatch(&mut self) {
        self.coalescer.forget(Instant::now());
        if self.stream == Stream::Terminal {
            self.roomy = None;
        }
        self.watch = match reactor::watch(Arc::clone(self.fd()), Interest::READABLE) {
            Ok(watched) => Watch::On(watched),
            // timer: no event of the kernel says when registering could succeed again.
            Err((fd, _)) => Watch::Refused { fd, again: Box::pin(tokio::time::sleep(REFUSAL_LASTS)) },
        };
    }
}

fn fill_when_ready(fd: &AsyncFd<Arc<OwnedFd>>, short: usize, buffer: &mut [u8]) -> Filled {
    let mut filled = Filled::Emptied(0);
    // The reactor must learn that the source is empty while it knows which announcement was used up by it.
    let _ = fd.try_io(Interest::READABLE, |fd| {
        filled = fill(fd, short, buffer);
        match filled {
            Filled::Emptied(_) => Err(io::Error::from(io::ErrorKind::WouldBlock)),
            Filled::More(_) | Filled::Chased(_) | Filled::Ended(_) => Ok(()),
        }
    });
    filled
}

/// Reads until the buffer is full, the kernel has no more, or the end. One read of a terminal returns at most 4 KiB, so
/// several are collected here and journaled once. A read that returns less than `short` has emptied the source.
fn fill(fd: &OwnedFd, short: usize, buffer: &mut [u8]) -> Filled {
    let (mut filled, mut reads) = (0, 0);
    while filled < buffer.len() {
        let wanted = buffer.len() - filled;
        let count = match rustix::io::read(fd, &mut buffer[filled..]) {
            Ok(0) => return Filled::Ended(filled),
            Ok(count) => count,
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) => return Filled::Emptied(filled),
            // A terminal returns EIO once its other end is closed everywhere.
            Err(_) => return Filled::Ended(filled),
        };
        filled += count;
        reads += 1;
        if count < wanted.min(short) {
            return Filled::Emptied(filled);
        }
        if reads >= CHASE && filled < reads * LITTLE {
            return Filled::Chased(filled);
        }
    }
    Filled::More(filled)
}

/// Fires when a pause is over. Tokio's timers are too coarse for that: a pipe would be full.
#[derive(Debug)]
struct Alarm(AsyncFd<OwnedFd>);

impl Alarm {
    fn new() -> Result<Self, Errno> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        reactor::watch(timer, Interest::READABLE).map(Self).map_err(|(_, errno)| errno)
    }

    /// Arms it, once.
    fn set(&self) -> bool {
        let once = Timespec { tv_sec: 0, tv_nsec: i64::from(PAUSE.subsec_nanos()) };
        let time = Itimerspec { it_interval: Timespec::default(), it_value: once };
        // timer: the kernel announces every piece or none.
        timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &time).is_ok()
    }

    fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        // It is armed anew each time, so its readiness is used up here.
        self.0.poll_read_ready(cx).map(|ready| ready.map_or((), |mut guard| guard.clear_ready()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::termios::{LocalModes, OptionalActions, OutputModes};
    use std::future::poll_fn;
    use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
    use std::thread::JoinHandle;
    use windlass_sys::pty;

    /// Prints a line at a time until stopped, then returns the number of bytes and its end of the stream.
    fn print(end: OwnedFd) -> (Sender<()>, JoinHandle<(usize, OwnedFd)>) {
        let (stop, stopped): (_, Receiver<()>) = channel();
        let printer = std::thread::spawn(move || {
            let mut bytes = 0;
            while stopped.try_recv() == Err(TryRecvError::Empty) {
                bytes += rustix::io::write(&end, b"a line of text\n").expect("it is taken");
            }
            (bytes, end)
        });
        (stop, printer)
    }

    /// A source with its other end, and the surroundings that a session gives it.
    struct Rig {
        source: Source,
        allowed: Arc<Semaphore>,
        buffer: Vec<u8>,
        bytes: usize,
    }

    impl Rig {
        fn new(fd: OwnedFd, stream: Stream) -> Self {
            rustix::io::ioctl_fionbio(&fd, true).expect("it need not block");
            let source = Source::watched(fd, stream).expect("it can be watched");
            let allowed = Arc::new(Semaphore::new(1));
            Self { buffer: vec![0; source.batch()], source, allowed, bytes: 0 }
        }

        async fn read(&mut self) -> Filled {
            poll_fn(|cx| self.source.poll_readable(cx)).await;
            let filled = self.source.fill_announced(&mut self.buffer);
            match filled {
                Filled::Chased(_) => self.source.trickles(&self.allowed),
                Filled::Emptied(count) | Filled::More(count) => self.source.flows(count, &self.allowed),
                Filled::Ended(_) => {}
            }
            let (Filled::Chased(count) | Filled::Emptied(count) | Filled::More(count) | Filled::Ended(count)) =
                filled;
            self.bytes += count;
            filled
        }

        /// Reads until the printer has received the stop, for it may have to wait for that, and then the rest.
        async fn stop(&mut self, (stop, printer): (Sender<()>, JoinHandle<(usize, OwnedFd)>)) -> OwnedFd {
            stop.send(()).expect("it prints until then");
            while !printer.is_finished() {
                let _ = tokio::time::timeout(PAUSE, self.read()).await;
            }
            let (printed, theirs) = printer.join().expect("no panic");
            self.read_until(|rig| rig.bytes == printed).await;
            theirs
        }

        async fn read_until(&mut self, is_reached: impl Fn(&Self) -> bool) {
            while !is_reached(self) {
                self.read().await;
            }
        }
    }

    fn pipe() -> (Rig, OwnedFd) {
        let (ours, theirs) = rustix::pipe::pipe().expect("a pipe");
        (Rig::new(ours, Stream::Stdout), theirs)
    }

    /// A terminal that passes output through unchanged.
    fn terminal() -> (Rig, OwnedFd) {
        let pty = pty::open(pty::Size::default()).expect("a terminal");
        let mut modes = rustix::termios::tcgetattr(&pty.slave).expect("it has modes");
        modes.output_modes.remove(OutputModes::OPOST);
        modes.local_modes.remove(LocalModes::ECHO);
        rustix::termios::tcsetattr(&pty.slave, OptionalActions::Now, &modes).expect("they can be set");
        (Rig::new(pty.master, Stream::Terminal), pty.slave)
    }

    #[tokio::test]
    async fn a_spate_of_drops_is_left_to_gather_until_it_is_over_and_nothing_is_lost() {
        for (mut rig, theirs) in [pipe(), terminal()] {
            let printing = print(theirs);
            rig.read_until(|rig| rig.source.is_gathering()).await;
            let before = rig.bytes;
            rig.read_until(|rig| rig.bytes > before + 100_000).await;
            let theirs = rig.stop(printing).await;
            rig.read_until(|rig| !rig.source.is_gathering()).await;
            let before = rig.bytes;
            rustix::io::write(&theirs, b"later").expect("it is taken");
            rig.read_until(|rig| rig.bytes > before).await;
            drop(theirs);
            while !matches!(rig.read().await, Filled::Ended(_)) {}
            assert_eq!(rig.bytes, before + b"later".len());
        }
    }

    #[tokio::test]
    async fn whoever_waits_for_the_next_drop_ends_the_gathering() {
        let (mut rig, theirs) = pipe();
        let printing = print(theirs);
        rig.read_until(|rig| rig.source.is_gathering()).await;
        rig.source.expect_drop();
        assert!(!rig.source.is_gathering());
        rig.stop(printing).await;
    }

    #[tokio::test]
    async fn where_no_more_may_gather_every_drop_is_told() {
        for (mut rig, theirs) in [pipe(), terminal()] {
            let _all = Arc::clone(&rig.allowed).try_acquire_owned().expect("there is one");
            let printing = print(theirs);
            rig.read_until(|rig| rig.bytes > 1_000_000).await;
            assert!(!rig.source.is_gathering());
            rig.stop(printing).await;
        }
    }
}
