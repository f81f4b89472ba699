//! Descriptors 0 and 1 as asynchronous streams of any kind: pipes, sockets, terminals, files.
//!
//! The process that started this program shares them, so they are never made non-blocking themselves: a pipe is opened
//! anew, a socket is used with `MSG_DONTWAIT`, and other kinds are polled before each step.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

use crate::unread::{nobody_reads, watch};

/// The size of a write that never blocks on a pipe for which `poll` reports room.
const CAREFUL_STEP: usize = 4096;

/// The largest single read.
const READ_STEP: usize = 64 * 1024;

/// The size of the pipe between this program and a client: both then work for longer before one has to wait for the
/// other.
const ROOMY: usize = 1024 * 1024;

/// Standard input or output.
#[derive(Debug)]
pub(crate) struct Pipe {
    fd: Watched,
    manner: Manner,
}

#[derive(Debug)]
enum Watched {
    Yes(AsyncFd<OwnedFd>),
    /// Files cannot be polled, but never block for long either.
    No(OwnedFd),
}

/// How an operation avoids blocking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// This program alone has the descriptor, and it does not block.
    Own,
    Socket,
    /// The descriptor is shared and may block: poll it first.
    Careful,
}

impl Pipe {
    pub(crate) fn input() -> io::Result<Self> {
        Self::new(rustix::stdio::stdin(), Interest::READABLE)
    }

    pub(crate) fn output() -> io::Result<Self> {
        let output = Self::new(rustix::stdio::stdout(), Interest::WRITABLE)?;
        if let Watched::Yes(fd) = &output.fd {
            // Other kinds of files, and pipes that may not grow, stay as they are.
            let _ = rustix::pipe::fcntl_setpipe_size(fd.get_ref(), ROOMY);
        }
        Ok(output)
    }

    /// Done when the reader of this output has closed it, even if nothing is ever written. Not every kind of descriptor
    /// reports that.
    pub(crate) fn closed(&self) -> impl Future<Output = ()> + Send + use<> {
        let copy = match &self.fd {
            Watched::No(_) => None,
            Watched::Yes(watched) => watched.get_ref().try_clone().ok(),
        };
        let manner = self.manner;
        async move {
            match (copy, manner) {
                (Some(socket), Manner::Socket) => nobody_reads(socket).await,
                (Some(pipe), _) => nobody_has(pipe).await,
                (None, _) => std::future::pending().await,
            }
        }
    }

    fn new(shared: BorrowedFd<'_>, interest: Interest) -> io::Result<Self> {
        let (fd, manner) = acquire(shared, interest)?;
        Ok(Self::watching(fd, manner, interest))
    }

    fn watching(fd: OwnedFd, manner: Manner, interest: Interest) -> Self {
        let fd = watch(fd, interest).map_or_else(Watched::No, Watched::Yes);
        Self { fd, manner }
    }
}

/// Waits until the other end of this pipe is closed in all processes.
async fn nobody_has(pipe: OwnedFd) {
    // A registration of its own: readiness for writing must not wake this one up, nor the other way round.
    match watch(pipe, Interest::ERROR) {
        Ok(pipe) => drop(pipe.ready(Interest::ERROR).await.map(|_| ())),
        Err(_) => std::future::pending().await,
    }
}

impl Manner {
    fn read(self, fd: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Own => Ok(rustix::io::read(fd, buffer)?),
            Self::Socket => Ok(rustix::net::recv(fd, buffer, RecvFlags::DONTWAIT)?.0),
            Self::Careful => {
                look_first(fd, PollFlags::IN)?;
                Ok(rustix::io::read(fd, buffer)?)
            }
        }
    }

    fn write(self, fd: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Own => Ok(rustix::io::write(fd, bytes)?),
            Self::Socket => Ok(rustix::net::send(fd, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?),
            Self::Careful => {
                look_first(fd, PollFlags::OUT)?;
                Ok(rustix::io::write(fd, &bytes[..bytes.len().min(CAREFUL_STEP)])?)
            }
        }
    }
}

/// The same pipe, socket or file as a descriptor of this program's own.
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

/// Fails with `WouldBlock` if an operation on this descriptor would block.
fn look_first(fd: impl AsFd, wanted: PollFlags) -> io::Result<()> {
    let ready = poll(&mut [PollFd::new(&fd, wanted)], Some(&Timespec::default()));
    if matches!(ready, Ok(0) | Err(Errno::INTR)) { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
}

/// Repeats an operation that a signal interrupted.
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
        // Initialise only as much of the buffer as is read at once.
        let step = buffer.remaining().min(READ_STEP);
        let unfilled = buffer.initialize_unfilled_to(step);
        let count = loop {
            match &self.fd {
                Watched::No(fd) => break again_if_interrupted(|| self.manner.read(fd, unfilled)),
                Watched::Yes(watched) => {
                    let mut guard = ready!(watched.poll_read_ready(cx))?;
                    let step = |fd: &AsyncFd<OwnedFd>| {
                        again_if_interrupted(|| self.manner.read(fd.get_ref(), unfilled))
                    };
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
                Watched::No(fd) => return Poll::Ready(again_if_interrupted(|| self.manner.write(fd, bytes))),
                Watched::Yes(watched) => {
                    let mut guard = ready!(watched.poll_write_ready(cx))?;
                    let step = |fd: &AsyncFd<OwnedFd>| {
                        again_if_interrupted(|| self.manner.write(fd.get_ref(), bytes))
                    };
                    if let Ok(done) = guard.try_io(step) {
                        return Poll::Ready(done);
                    }
                }
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.manner == Manner::Own
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let write = |fd: &OwnedFd| again_if_interrupted(|| Ok(rustix::io::writev(fd, pieces)?));
        loop {
            match &self.fd {
                Watched::No(fd) => return Poll::Ready(write(fd)),
                Watched::Yes(watched) => {
                    let mut guard = ready!(watched.poll_write_ready(cx))?;
                    if let Ok(done) = guard.try_io(|fd| write(fd.get_ref())) {
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

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// More than a pipe or a socket holds.
    const MUCH: usize = 1024 * 1024;

    fn is_blocking(fd: impl AsFd) -> bool {
        !rustix::fs::fcntl_getfl(fd).expect("it has flags").contains(OFlags::NONBLOCK)
    }

    /// Sends `MUCH` through one pair and reads it from the other, in both directions.
    async fn check(
        ours: &(OwnedFd, OwnedFd),
        theirs: (OwnedFd, OwnedFd),
        (mut input, mut output): (Pipe, Pipe),
    ) {
        let (mut source, mut sink) = (File::from(theirs.0), File::from(theirs.1));
        let reader = std::thread::spawn(move || {
            let mut seen = vec![0; MUCH];
            source.read_exact(&mut seen).map(|()| seen)
        });
        let writer = std::thread::spawn(move || sink.write_all(&vec![b'y'; MUCH]));
        output.write_all(&vec![b'x'; MUCH]).await.expect("it is taken");
        let mut seen = vec![0; MUCH];
        input.read_exact(&mut seen).await.expect("it arrives");
        assert!(seen.iter().all(|&byte| byte == b'y'));
        writer.join().expect("no panic").expect("it is taken");
        let seen = reader.join().expect("no panic").expect("it arrives");
        assert!(seen.iter().all(|&byte| byte == b'x'));
        assert_eq!(input.read(&mut [0; 1]).await.expect("it has ended"), 0);
        assert!(is_blocking(&ours.0) && is_blocking(&ours.1), "what is shared stays as it was");
    }

    fn found(ours: &(OwnedFd, OwnedFd)) -> (Pipe, Pipe) {
        let input = Pipe::new(ours.0.as_fd(), Interest::READABLE).expect("it can be read");
        let output = Pipe::new(ours.1.as_fd(), Interest::WRITABLE).expect("it can be written");
        (input, output)
    }

    fn pipes() -> ((OwnedFd, OwnedFd), (OwnedFd, OwnedFd)) {
        let (our_input, their_output) = rustix::pipe::pipe().expect("a pipe");
        let (their_input, our_output) = rustix::pipe::pipe().expect("a pipe");
        ((our_input, our_output), (their_input, their_output))
    }

    #[tokio::test]
    async fn pipes_are_read_and_written_without_blocking_and_left_as_they_were() {
        let (ours, theirs) = pipes();
        check(&ours, theirs, found(&ours)).await;
    }

    #[tokio::test]
    async fn so_are_sockets() {
        let ((our_input, their_output), (our_output, their_input)) =
            (UnixStream::pair().expect("a pair"), UnixStream::pair().expect("a pair"));
        let ours = (our_input.into(), our_output.into());
        check(&ours, (their_input.into(), their_output.into()), found(&ours)).await;
    }

    #[tokio::test]
    async fn so_are_pipes_that_cannot_be_opened_anew() {
        let (ours, theirs) = pipes();
        let careful = |fd: &OwnedFd, interest| {
            let fd = fd.try_clone().expect("a copy");
            Pipe::watching(fd, Manner::Careful, interest)
        };
        let found = (careful(&ours.0, Interest::READABLE), careful(&ours.1, Interest::WRITABLE));
        check(&ours, theirs, found).await;
    }

    #[tokio::test]
    async fn an_output_that_nobody_reads_any_more_says_so_though_nothing_is_written() {
        for manner in [Manner::Own, Manner::Careful] {
            let (theirs, ours) = rustix::pipe::pipe().expect("a pipe");
            let output = match manner {
                Manner::Careful => Pipe::watching(ours, manner, Interest::WRITABLE),
                _ => Pipe::new(ours.as_fd(), Interest::WRITABLE).expect("it can be written"),
            };
            let mut closed = std::pin::pin!(output.closed());
            let still_open =
                std::future::poll_fn(|cx| Poll::Ready(closed.as_mut().poll(cx).is_pending())).await;
            assert!(still_open);
            // Only a turn of the reactor delivers the event.
            tokio::task::yield_now().await;
            let still_open =
                std::future::poll_fn(|cx| Poll::Ready(closed.as_mut().poll(cx).is_pending())).await;
            assert!(still_open);
            drop(theirs);
            closed.await;
        }
    }
}
