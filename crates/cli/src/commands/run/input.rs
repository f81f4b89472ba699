//! Forwards standard input to the session: reads when the kernel says that there is input, and only as much as the
//! session takes.

use std::io;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::BorrowedFd;
use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use windlass_engine::{InputError, Met, QUEUE_LIMIT, Session, Until};

const STEP: usize = 64 * 1024;

/// The byte that `Ctrl-D` sends.
pub(super) const END_OF_TRANSMISSION: u8 = 0x04;

/// Forwards until standard input ends or the session takes no more.
pub(crate) async fn forward(session: Session) {
    let mut source = Source::new(rustix::stdio::stdin());
    // For the command, an input that cannot be read any more has ended.
    while let Some(bytes) = source.read().await.ok().filter(|bytes| !bytes.is_empty()) {
        if write_all(&session, bytes).await.is_err() {
            return;
        }
    }
    end(&session).await;
}

/// Offers bytes until all are taken. A process that does not read holds up its own input and nothing else.
async fn write_all(session: &Session, mut bytes: Vec<u8>) -> Result<(), InputError> {
    loop {
        let taken = session.write(bytes.clone()).await?;
        bytes.drain(..taken);
        if bytes.is_empty() {
            return Ok(());
        }
        let room = |queued: u64| queued < QUEUE_LIMIT as u64 / 2;
        let mut progress = session.watch();
        let changed = progress.wait_for(|level| room(level.input.queued()) || level.receipt.is_some()).await;
        if changed.is_err() {
            return Err(InputError::Gone);
        }
    }
}

/// Ends the session's input. On a terminal the end is a key, and a program that edits its own lines changes the
/// terminal's mode around each of them: an end that is typed at the wrong moment has no effect. So it is typed again
/// whenever the program has fallen silent, at growing intervals.
async fn end(session: &Session) {
    let mut silence = FIRST_SILENCE;
    while type_end(session).await.is_ok() && session.facts().terminal.is_some() {
        let until = Until { exit: true, idle: Some(silence), ..Until::default() };
        if let Met::Exit(_) = session.wait(&until).await {
            return;
        }
        silence = LONGEST_SILENCE.min(silence * 2);
    }
}

const FIRST_SILENCE: Duration = Duration::from_millis(100);
const LONGEST_SILENCE: Duration = Duration::from_secs(5);

/// A program that is not in line mode has no end of file, but knows the key for it.
async fn type_end(session: &Session) -> Result<(), InputError> {
    match session.end_input().await {
        Err(InputError::NotInLineMode) => session.write([END_OF_TRANSMISSION]).await.map(drop),
        ended => ended,
    }
}

/// Descriptor 0. Other processes share it, so it is never made non-blocking: it is read only when the kernel says that
/// the read will not block. Files cannot be waited for, but never block either.
pub(crate) enum Source {
    Watched(AsyncFd<BorrowedFd<'static>>),
    File(BorrowedFd<'static>),
}

impl Source {
    #[expect(
        deprecated,
        reason = "sound for descriptor 0, which stays open; the unsafe form is closed to this crate"
    )]
    pub(crate) fn new(fd: BorrowedFd<'static>) -> Self {
        match AsyncFd::with_interest(fd, Interest::READABLE) {
            Ok(watched) => Self::Watched(watched),
            Err(_) => Self::File(fd),
        }
    }

    /// The bytes that can be read without waiting; empty if there are none or the input has ended.
    pub(crate) fn read_now(&mut self) -> Vec<u8> {
        let fd = match self {
            Self::Watched(fd) => *fd.get_ref(),
            Self::File(fd) => *fd,
        };
        read_if_ready(fd).unwrap_or_default()
    }

    /// The next bytes; empty at the end.
    pub(crate) async fn read(&mut self) -> io::Result<Vec<u8>> {
        match self {
            Self::Watched(fd) => fd.async_io(Interest::READABLE, |fd| read_if_ready(*fd)).await,
            Self::File(fd) => {
                let fd = *fd;
                tokio::task::spawn_blocking(move || read(fd)).await.map_err(io::Error::other)?
            }
        }
    }
}

fn read_if_ready(fd: BorrowedFd<'static>) -> io::Result<Vec<u8>> {
    let ready = poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&Timespec::default()));
    if matches!(ready, Ok(0) | Err(Errno::INTR)) {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    read(fd)
}

fn read(fd: BorrowedFd<'static>) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; STEP];
    loop {
        match rustix::io::read(fd, &mut bytes) {
            Ok(count) => {
                bytes.truncate(count);
                return Ok(bytes);
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}
