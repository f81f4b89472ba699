//! Detects sockets whose other end has stopped reading for good without closing them. For unix sockets the kernel
//! reports that only to a writer, so the watch sends messages of zero bytes; a full socket, which rejects even those,
//! is tried periodically. For TCP see [`network`].

pub(crate) mod network;

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncWrite, Interest};
use tokio::net::unix::OwnedWriteHalf;
use tokio::time::Sleep;

/// The period at which a full socket is tried, the shortest interval between probes of a socket in use, and the period
/// of TCP look-ups. Tests try all the time.
const EVERY: Duration = Duration::from_millis(if cfg!(test) { 1 } else { 1000 });

/// Waits until the other end of this socket has stopped reading, while this side may be idle or busy writing.
pub(crate) async fn nobody_reads(socket: OwnedFd) {
    // A registration of its own: the watch clears readiness for writing, and the writer must not miss it.
    let Ok(socket) = watch(socket, Interest::WRITABLE) else { return std::future::pending().await };
    while let Ok(mut ready) = socket.writable().await {
        if send(socket.get_ref(), &[], SendFlags::DONTWAIT | SendFlags::NOSIGNAL) == Err(Errno::PIPE) {
            return;
        }
        ready.clear_ready();
        // timer: each message that the other side reads wakes the watch too, and one probe covers all of them.
        tokio::time::sleep(EVERY).await;
    }
    std::future::pending::<()>().await;
}

/// Registers a descriptor with the reactor; gives it back if its kind cannot be polled.
#[expect(deprecated, reason = "sound for a descriptor that we own; the unsafe form is closed to this crate")]
pub(crate) fn watch(fd: OwnedFd, interest: Interest) -> Result<AsyncFd<OwnedFd>, OwnedFd> {
    AsyncFd::try_with_interest(fd, interest).map_err(|error| error.into_parts().0)
}

/// The writing end of such a socket.
#[derive(Debug)]
pub(crate) struct WakeSocket {
    sink: OwnedWriteHalf,
    /// The timer of the next attempt, while the socket is full.
    again: Option<Pin<Box<Sleep>>>,
}

impl WakeSocket {
    pub(crate) fn new(sink: OwnedWriteHalf) -> Self {
        Self { sink, again: None }
    }

    /// Returns the result of a write, or waits for the next attempt.
    fn after(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &[u8],
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.again = None;
            return written;
        }
        loop {
            // timer: see [`EVERY`].
            let again = self.again.get_or_insert_with(|| Box::pin(tokio::time::sleep(EVERY)));
            ready!(again.as_mut().poll(cx));
            self.again = None;
            let socket: &tokio::net::UnixStream = self.sink.as_ref();
            match send(socket.as_fd(), bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                tried => return Poll::Ready(tried.map_err(io::Error::from)),
            }
        }
    }
}

impl AsyncWrite for WakeSocket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.sink).poll_write(cx, bytes);
        self.after(cx, bytes, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.sink.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.sink).poll_write_vectored(cx, pieces);
        let first = pieces.iter().find(|piece| !piece.is_empty());
        self.after(cx, first.map_or(&[], |piece| piece), written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.sink).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.sink).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixStream;

    use super::*;

    fn pair() -> (WakeSocket, UnixStream) {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let (_, sink) = ours.into_split();
        (WakeSocket::new(sink), theirs)
    }

    /// More than a socket holds.
    const MUCH: usize = 4 * 1024 * 1024;

    #[tokio::test]
    async fn whoever_reads_late_gets_every_byte() {
        let (mut ours, mut theirs) = pair();
        let bytes: Vec<u8> = (0..MUCH).map(|number| number.to_le_bytes()[1]).collect();
        let sent = bytes.clone();
        let sending = tokio::spawn(async move { ours.write_all(&sent).await });
        let mut read = vec![0; MUCH];
        for piece in read.chunks_mut(64 * 1024) {
            theirs.read_exact(piece).await.expect("it comes");
        }
        sending.await.expect("no panic").expect("it is taken");
        assert!(read == bytes);
    }

    #[tokio::test]
    async fn whoever_stops_reading_for_good_is_noticed_though_nothing_is_written() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let copy = ours.as_fd().try_clone_to_owned().expect("a copy");
        let mut watching = std::pin::pin!(nobody_reads(copy));
        let (_, mut sink) = ours.into_split();
        let mut theirs = theirs;
        // Traffic wakes the watch, which must not take it for the end.
        for _ in 0..10 {
            sink.write_all(b"hello").await.expect("it is taken");
            let mut read = [0; 5];
            tokio::select! {
                () = &mut watching => panic!("somebody reads"),
                read = theirs.read_exact(&mut read) => drop(read.expect("it comes")),
            }
        }
        let theirs = theirs.into_std().expect("a socket");
        theirs.shutdown(std::net::Shutdown::Read).expect("it can be shut");
        watching.await;
        drop(theirs);
    }

    #[tokio::test]
    async fn so_is_whoever_closes_the_socket() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let copy = ours.as_fd().try_clone_to_owned().expect("a copy");
        let watching = tokio::spawn(nobody_reads(copy));
        drop(theirs);
        watching.await.expect("no panic");
    }

    #[tokio::test]
    async fn whoever_stops_reading_for_good_is_noticed_though_the_socket_is_full() {
        let (mut ours, theirs) = pair();
        ours.sink.writable().await.expect("it is empty");
        while ours.sink.try_write(&[0; 4096]).is_ok() {}
        let sending = tokio::spawn(async move { ours.write_all(&[0; 4096]).await });
        let theirs = theirs.into_std().expect("a socket");
        theirs.shutdown(std::net::Shutdown::Read).expect("it can be shut");
        let error = sending.await.expect("no panic").expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
