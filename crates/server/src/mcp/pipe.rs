//! Descriptors 0 and 1 as asynchronous streams, whatever they are: pipes, sockets, terminals, files.
//!
//! They are shared with whoever started us, so they are never made non-blocking themselves: a pipe is opened anew, a
//! socket is asked not to wait each time, and what can be neither is looked at before each step.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

/// What fits in a pipe that has any room at all.
const CAREFUL_STEP: usize = 4096;

/// One direction of our own input or output.
#[derive(Debug)]
pub(crate) struct Pipe {
    fd: Watched,
    manner: Manner,
}

#[derive(Debug)]
enum Watched {
    Yes(AsyncFd<OwnedFd>),
    /// Files cannot be waited for, but never block for long either.
    No(OwnedFd),
}

/// How to keep from blocking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// The descriptor is ours alone and does not block.
    Own,
    Socket,
    /// The descriptor is shared and may block: ask the kernel first.
    Careful,
}

impl Pipe {
    pub(crate) fn input() -> io::Result<Self> {
        Self::new(rustix::stdio::stdin(), Interest::READABLE)
    }

    pub(crate) fn output() -> io::Result<Self> {
        Self::new(rustix::stdio::stdout(), Interest::WRITABLE)
    }

    #[expect(
        deprecated,
        reason = "sound for a descriptor that we own; the unsafe form is closed to this crate"
    )]
    fn new(shared: BorrowedFd<'_>, interest: Interest) -> io::Result<Self> {
        let (fd, manner) = acquire(shared, interest)?;
        let fd = match AsyncFd::try_with_interest(fd, interest) {
            Ok(watched) => Watched::Yes(watched),
            Err(error) => Watched::No(error.into_parts().0),
        };
        Ok(Self { fd, manner })
    }

    fn read(&self, fd: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
        match self.manner {
            Manner::Own => Ok(rustix::io::read(fd, buffer)?),
            Manner::Socket => Ok(rustix::net::recv(fd, buffer, RecvFlags::DONTWAIT)?.0),
            Manner::Careful => {
                look_first(fd, PollFlags::IN)?;
                Ok(rustix::io::read(fd, buffer)?)
            }
        }
    }

    fn write(&self, fd: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
        match self.manner {
            Manner::Own => Ok(rustix::io::write(fd, bytes)?),
            Manner::Socket => Ok(rustix::net::send(fd, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?),
            Manner::Careful => {
                look_first(fd, PollFlags::OUT)?;
                Ok(rustix::io::write(fd, &bytes[..bytes.len().min(CAREFUL_STEP)])?)
            }
        }
    }
}

/// The same pipe, socket or file as a descriptor of our own.
fn acquire(shared: BorrowedFd<'_>, interest: Interest) -> io::Result<(OwnedFd, Manner)> {
    match FileType::from_raw_mode(rustix::fs::fstat(shared)?.st_mode) {
        FileType::Socket => Ok((shared.try_clone_to_owned()?, Manner::Socket)),
        FileType::RegularFile => Ok((shared.try_clone_to_owned()?, Manner::Own)),
        // A pipe that belongs to another user cannot be opened anew.
        _ => match reopen(shared, interest) {
            Ok(own) => Ok((own, Manner::Own)),
            Err(_) => Ok((shared.try_clone_to_owned()?, Manner::Careful)),
        },
    }
}

fn reopen(shared: BorrowedFd<'_>, interest: Interest) -> io::Result<OwnedFd> {
    let access = if interest.is_readable() { OFlags::RDONLY } else { OFlags::WRONLY };
    let flags = access | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let path = format!("/proc/self/fd/{}", shared.as_raw_fd());
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// An error like that of a descriptor that does not block, if this one would.
fn look_first(fd: impl AsFd, wanted: PollFlags) -> io::Result<()> {
    let ready = poll(&mut [PollFd::new(&fd, wanted)], Some(&Timespec::default()));
    if matches!(ready, Ok(0) | Err(Errno::INTR)) { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
}

/// A signal that came in between is no reason to give up.
fn again_if_interrupted(mut step: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match step() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

impl AsyncRead for Pipe {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let unfilled = buffer.initialize_unfilled();
        let count = loop {
            match &self.fd {
                Watched::No(fd) => break again_if_interrupted(|| self.read(fd, unfilled)),
                Watched::Yes(watched) => {
                    let mut guard = ready!(watched.poll_read_ready(cx))?;
                    let step =
                        |fd: &AsyncFd<OwnedFd>| again_if_interrupted(|| self.read(fd.get_ref(), unfilled));
                    if let Ok(done) = guard.try_io(step) {
                        break done;
                    }
                }
            }
        }?;
        buffer.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            match &self.fd {
                Watched::No(fd) => return Poll::Ready(again_if_interrupted(|| self.write(fd, bytes))),
                Watched::Yes(watched) => {
                    let mut guard = ready!(watched.poll_write_ready(cx))?;
                    let step =
                        |fd: &AsyncFd<OwnedFd>| again_if_interrupted(|| self.write(fd.get_ref(), bytes));
                    if let Ok(done) = guard.try_io(step) {
                        return Poll::Ready(done);
                    }
                }
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
