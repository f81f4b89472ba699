//! What comes out of a session: read without blocking, journaled, then told.

use super::Shared;
use crate::Stream;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use windlass_output::QueryScanner;
use windlass_sys::pty::{self, Size};

/// The reading half of a session's task.
#[derive(Debug)]
pub(crate) struct Outputs {
    sources: [Option<Source>; Self::SOURCES],
    /// Where the next look begins, so that neither stream starves the other.
    turn: usize,
    terminal: Option<TerminalEnd>,
}

#[derive(Debug)]
struct Source {
    fd: Arc<AsyncFd<OwnedFd>>,
    stream: Stream,
    /// The reactor has seen the other end go away. It never takes that back, even if a terminal is opened again.
    hung_up: bool,
}

#[derive(Debug)]
struct TerminalEnd {
    master: Arc<AsyncFd<OwnedFd>>,
    /// Held while the root lives, so that a program which closes its terminal and opens it again does not end it.
    slave: Option<OwnedFd>,
    /// Looks for questions to the terminal, if the engine is to answer them.
    scanner: Option<QueryScanner>,
}

impl Source {
    fn new(fd: Arc<AsyncFd<OwnedFd>>, stream: Stream) -> Self {
        Self { fd, stream, hung_up: false }
    }
}

/// What a read brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadOutcome {
    /// Nothing, now.
    Nothing,
    /// Output.
    Output,
    /// Output in which a program asks its terminal something.
    Question,
}

/// The most that is read before it is journaled.
const READ_SIZE: usize = 64 * 1024;

thread_local! {
    /// One buffer per thread: a session that waits holds none.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Outputs {
    pub(crate) const SOURCES: usize = 2;

    pub(crate) fn pipes(stdout: AsyncFd<OwnedFd>, stderr: AsyncFd<OwnedFd>) -> Self {
        let stdout = Source::new(Arc::new(stdout), Stream::Stdout);
        let stderr = Source::new(Arc::new(stderr), Stream::Stderr);
        Self { sources: [Some(stdout), Some(stderr)], turn: 0, terminal: None }
    }

    pub(crate) fn terminal(
        master: &Arc<AsyncFd<OwnedFd>>,
        slave: OwnedFd,
        scanner: Option<QueryScanner>,
    ) -> Self {
        let source = Source::new(Arc::clone(master), Stream::Terminal);
        let terminal = TerminalEnd { master: Arc::clone(master), slave: Some(slave), scanner };
        Self { sources: [Some(source), None], turn: 0, terminal: Some(terminal) }
    }

    /// The next source that has something to read, or whose end has come.
    pub(crate) fn poll_readable(&mut self, cx: &mut Context<'_>) -> Poll<usize> {
        for place in 0..Self::SOURCES {
            let source = (self.turn + place) % Self::SOURCES;
            if let Some(Source { fd, hung_up, .. }) = &mut self.sources[source]
                && let Poll::Ready(ready) = fd.poll_read_ready(cx)
            {
                *hung_up = ready.is_ok_and(|guard| guard.ready().is_read_closed());
                self.turn = source + 1;
                return Poll::Ready(source);
            }
        }
        Poll::Pending
    }

    /// Reads what the reactor announced, journals, and tells everyone how far it got.
    pub(crate) fn read(&mut self, source: usize, shared: &Shared) -> ReadOutcome {
        self.read_by(source, shared, fill_when_ready)
    }

    /// Reads what is there, announced or not: the exit of the root may be known before its last output is announced.
    pub(crate) fn read_now(&mut self, source: usize, shared: &Shared) -> ReadOutcome {
        self.read_by(source, shared, |fd, stream, buffer| fill(fd.get_ref(), stream, buffer))
    }

    fn read_by(&mut self, source: usize, shared: &Shared, fill: Fill) -> ReadOutcome {
        let Some(Source { fd, stream, hung_up }) = &self.sources[source] else { return ReadOutcome::Nothing };
        let (fd, stream, hung_up) = (Arc::clone(fd), *stream, *hung_up);
        let root_gone = self.terminal.as_ref().is_some_and(|terminal| terminal.slave.is_none());
        BUFFER.with_borrow_mut(|buffer| {
            buffer.resize(READ_SIZE, 0);
            let filled = match fill(&fd, stream, buffer) {
                // Somebody opened a terminal again after it had ended: waiting for it would be spinning.
                Filled::Emptied(0) if hung_up && root_gone => {
                    self.sources[source] = None;
                    0
                }
                Filled::More(count) | Filled::Emptied(count) => count,
                Filled::Ended(count) => {
                    self.sources[source] = None;
                    count
                }
            };
            if filled == 0 {
                return ReadOutcome::Nothing;
            }
            shared.remember(stream, &buffer[..filled]);
            self.scan(&buffer[..filled])
        })
    }

    fn scan(&mut self, bytes: &[u8]) -> ReadOutcome {
        let scanner = self.terminal.as_mut().and_then(|terminal| terminal.scanner.as_mut());
        if scanner.is_some_and(|scanner| scanner.feed(bytes)) {
            ReadOutcome::Question
        } else {
            ReadOutcome::Output
        }
    }

    /// Whether every source has reached its end.
    pub(crate) fn is_closed(&self) -> bool {
        self.sources.iter().all(Option::is_none)
    }

    /// From now on the terminal ends when the last program lets go of it.
    pub(crate) fn root_exited(&mut self) {
        if let Some(terminal) = &mut self.terminal {
            terminal.slave = None;
        }
    }

    /// Our end of the terminal, if there is one.
    pub(crate) fn master(&self) -> Option<&OwnedFd> {
        self.terminal.as_ref().map(|terminal| terminal.master.get_ref())
    }

    pub(crate) fn resize(&self, size: Size) -> Result<(), Errno> {
        match &self.terminal {
            Some(terminal) => pty::resize(terminal.master.get_ref(), size),
            None => Err(Errno::NOTTY),
        }
    }
}

type Fill = fn(&AsyncFd<OwnedFd>, Stream, &mut [u8]) -> Filled;

enum Filled {
    /// So many bytes, and the kernel has or may have more.
    More(usize),
    /// So many bytes, and the kernel has no more for now.
    Emptied(usize),
    /// So many bytes, and then the end.
    Ended(usize),
}

fn fill_when_ready(fd: &AsyncFd<OwnedFd>, stream: Stream, buffer: &mut [u8]) -> Filled {
    let mut filled = Filled::Emptied(0);
    // The reactor must hear of an emptied source while it knows which announcement was used up by it.
    let _ = fd.try_io(Interest::READABLE, |fd| {
        filled = fill(fd, stream, buffer);
        match filled {
            Filled::Emptied(_) => Err(io::Error::from(io::ErrorKind::WouldBlock)),
            Filled::More(_) | Filled::Ended(_) => Ok(()),
        }
    });
    filled
}

/// Reads until the buffer is full, the kernel has no more, or the end. A terminal hands out at most 4 KiB at a time, so
/// what has piled up is gathered here and journaled once.
fn fill(fd: &OwnedFd, stream: Stream, buffer: &mut [u8]) -> Filled {
    let mut filled = 0;
    while filled < buffer.len() {
        match rustix::io::read(fd, &mut buffer[filled..]) {
            Ok(0) => return Filled::Ended(filled),
            Ok(count) => filled += count,
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) => return Filled::Emptied(filled),
            // EIO is how a terminal says that nobody holds its other end.
            Err(_) => return Filled::Ended(filled),
        }
        // A pipe that gave less than was asked for is empty: the next byte wakes us. A terminal may have more.
        if stream != Stream::Terminal && filled < buffer.len() {
            return Filled::Emptied(filled);
        }
    }
    Filled::More(filled)
}

impl Shared {
    /// Journal first, then tell: nobody hears of a byte that cannot be read.
    fn remember(&self, stream: Stream, bytes: &[u8]) {
        let now = Instant::now();
        let span = self.journal.append(stream, now.duration_since(self.started), bytes);
        self.progress.send_modify(|progress| {
            progress.end = span.to();
            progress.last_output = now;
        });
        self.story.send_replace(());
    }
}
