//! One of the things that a session prints to, as its task reads it.
//!
//! While output comes in drops, the reactor tells of it. In a flood it is not asked: there is always more to read, and a
//! reactor that watches would wake another thread for every few kilobytes, to be told what is known already.

use crate::{Stream, reactor};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;

/// Our end of a pipe or a terminal, to be read.
#[derive(Debug)]
pub(crate) struct Source {
    watch: Watch,
    stream: Stream,
    /// The reactor has seen the other end go away. It does not take that back, even if a terminal is opened again.
    hung_up: bool,
    /// Held by a pipe that was made roomy.
    roomy: Option<OwnedSemaphorePermit>,
}

/// What the reactor has to do with a source.
#[derive(Debug)]
enum Watch {
    /// It tells when there is something to read.
    On(AsyncFd<Arc<OwnedFd>>),
    /// Nothing: there was more than could be read at a time, so there is something to read.
    Off(Arc<OwnedFd>),
    /// It could not watch once more, for want of memory, say. It is asked again before long.
    Refused { fd: Arc<OwnedFd>, again: Pin<Box<Sleep>> },
}

/// What filling a buffer came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filled {
    /// So many bytes, and the kernel has or may have more.
    More(usize),
    /// So many bytes, and the kernel has no more for now.
    Emptied(usize),
    /// So many bytes, and then the end.
    Ended(usize),
}

/// The most that is read of a terminal before it is journaled: two milliseconds' worth of a flood.
const TERMINAL_BATCH: usize = 128 * 1024;
/// The same for a pipe. The kernel's pages are handed over in larger pieces than small writes would get.
const PIPE_BATCH: usize = 256 * 1024;
/// What a pipe holds that nobody made roomy.
const PIPE_HOLDS: usize = 64 * 1024;
/// What a roomy one holds: whoever floods it has to wait less often.
const ROOMY: usize = PIPE_BATCH;

/// How many pipes are roomy at a time. The kernel lends each user room for 1024 ordinary pipes, and gives tiny ones to who
/// has used it up: these take a fifth of it.
pub(crate) const MOST_ROOMY: usize = 64;

const REFUSAL_LASTS: Duration = Duration::from_millis(10);

impl Source {
    /// Our end of one of these streams, which the reactor watches from now on.
    pub(crate) fn watched(fd: OwnedFd, stream: Stream) -> Result<Self, Errno> {
        let watched = reactor::watch(Arc::new(fd), Interest::READABLE).map_err(|(_, errno)| errno)?;
        Ok(Self { watch: Watch::On(watched), stream, hung_up: false, roomy: None })
    }

    pub(crate) fn fd(&self) -> &Arc<OwnedFd> {
        match &self.watch {
            Watch::On(watched) => watched.get_ref(),
            Watch::Off(fd) | Watch::Refused { fd, .. } => fd,
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
            Watch::Refused { again, .. } => again.as_mut().poll(cx),
        }
    }

    /// Reads what was announced, and has the reactor watch or not, as the output flows.
    pub(crate) fn fill_announced(&mut self, buffer: &mut [u8]) -> Filled {
        let filled = match &self.watch {
            Watch::On(watched) => fill_when_ready(watched, self.stream, buffer),
            Watch::Off(fd) | Watch::Refused { fd, .. } => fill(fd, self.stream, buffer),
        };
        match filled {
            Filled::More(_) => self.unwatch(),
            Filled::Emptied(_) => self.rewatch(),
            Filled::Ended(_) => {}
        }
        filled
    }

    /// Reads what is there.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) -> Filled {
        fill(self.fd(), self.stream, buffer)
    }

    /// Lets the other side of a pipe that was full get further ahead from now on, unless too many may already.
    pub(crate) fn flooded(&mut self, count: usize, allowed: &Arc<Semaphore>) {
        if count < PIPE_HOLDS || self.stream == Stream::Terminal || self.roomy.is_some() {
            return;
        }
        self.roomy = Arc::clone(allowed).try_acquire_owned().ok();
        if self.roomy.is_some() {
            // A pipe that may not grow stays as it is, and is not asked again.
            let _ = rustix::pipe::fcntl_setpipe_size(self.fd(), ROOMY);
        }
    }

    fn unwatch(&mut self) {
        if let Watch::On(watched) = &self.watch {
            self.watch = Watch::Off(Arc::clone(watched.get_ref()));
        }
    }

    /// What came meanwhile is announced at once.
    fn rewatch(&mut self) {
        let (Watch::Off(fd) | Watch::Refused { fd, .. }) = &self.watch else { return };
        self.watch = match reactor::watch(Arc::clone(fd), Interest::READABLE) {
            Ok(watched) => Watch::On(watched),
            // timer: the kernel does not tell when it could watch again.
            Err((fd, _)) => Watch::Refused { fd, again: Box::pin(tokio::time::sleep(REFUSAL_LASTS)) },
        };
    }
}

fn fill_when_ready(fd: &AsyncFd<Arc<OwnedFd>>, stream: Stream, buffer: &mut [u8]) -> Filled {
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
        let wanted = buffer.len() - filled;
        let count = match rustix::io::read(fd, &mut buffer[filled..]) {
            Ok(0) => return Filled::Ended(filled),
            Ok(count) => count,
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) => return Filled::Emptied(filled),
            // EIO is how a terminal says that nobody holds its other end.
            Err(_) => return Filled::Ended(filled),
        };
        filled += count;
        // A pipe that gave less than it holds is empty: the next byte wakes us. A terminal may have more.
        if stream != Stream::Terminal && count < wanted.min(PIPE_HOLDS) {
            return Filled::Emptied(filled);
        }
    }
    Filled::More(filled)
}
