//! The input of a session: a bounded queue, in order, that never holds up anything else.

use crate::progress::InputProgress;
use crate::reactor;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::oneshot;
use windlass_sys::pty;

/// Bytes that may wait for a process that does not read.
pub const QUEUE_LIMIT: usize = 1024 * 1024;

/// Ends of input that may wait on a terminal that does not read.
const MOST_ENDS: usize = 16;

/// The lowest descriptor above standard input, output and errors.
const ABOVE_STDIO: i32 = 3;

/// Why input could not be taken or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// The session was started with its input closed, or it was ended since.
    #[error("the session's input is closed")]
    Closed,
    /// The process closed its end, or is gone.
    #[error("the process has ended or no longer reads its input")]
    Gone,
    /// Too many ends are waiting already.
    #[error("the terminal does not read, and {MOST_ENDS} ends of input are waiting for it")]
    TooManyEnds,
    /// The program reads single keys: such a terminal has no end of input.
    #[error(
        "the terminal is not in line mode, so it has no end-of-file character; send the keys the program expects"
    )]
    NotInLineMode,
}

/// The writing half of a session's task.
#[derive(Debug)]
pub(crate) struct Input {
    target: Target,
    queue: VecDeque<Item>,
    progress: InputProgress,
    /// Whether the next byte begins a line: there, one end-of-file character ends the input; elsewhere it takes two.
    line_start: bool,
}

#[derive(Debug)]
enum Target {
    Pipe(AsyncFd<OwnedFd>),
    Terminal(Keyboard),
    /// Never open, or ended by the runtime.
    Closed,
    /// The other side went away.
    Gone,
}

/// The runtime's end of a terminal, for typing. Terminals take input at once, unless no program reads it for long: only
/// then does the reactor watch for room.
#[derive(Debug)]
struct Keyboard {
    master: Arc<OwnedFd>,
    blocked: Option<AsyncFd<OwnedFd>>,
}

#[derive(Debug)]
enum Item {
    Bytes { bytes: Vec<u8>, done: usize },
    End { last_line: LastLine, reply: Option<EndReply> },
}

/// The treatment of an unfinished line on a terminal when its input ends. On pipes it makes no difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LastLine {
    /// It is delivered as it was typed.
    #[default]
    AsTyped,
    /// It is ended first, even if it is empty.
    Ended,
}

pub(crate) type EndReply = oneshot::Sender<Result<(), InputError>>;

impl Input {
    pub(crate) fn closed() -> Self {
        Self::to(Target::Closed)
    }

    pub(crate) fn pipe(fd: AsyncFd<OwnedFd>) -> Self {
        Self::to(Target::Pipe(fd))
    }

    pub(crate) fn terminal(master: Arc<OwnedFd>) -> Self {
        Self::to(Target::Terminal(Keyboard { master, blocked: None }))
    }

    fn to(target: Target) -> Self {
        Self { target, queue: VecDeque::new(), progress: InputProgress::default(), line_start: true }
    }

    pub(crate) fn progress(&self) -> InputProgress {
        self.progress
    }

    /// Takes as much as fits into the queue and returns how much that was.
    pub(crate) fn accept(&mut self, mut bytes: Vec<u8>) -> Result<usize, InputError> {
        self.check_open()?;
        let queued = usize::try_from(self.progress.queued()).unwrap_or(usize::MAX);
        bytes.truncate(QUEUE_LIMIT.saturating_sub(queued));
        let accepted = bytes.len();
        self.push(bytes);
        Ok(accepted)
    }

    /// Input that came with the command itself: all of it, then the end.
    pub(crate) fn preload(&mut self, bytes: Vec<u8>) {
        self.push(bytes);
        self.queue.push_back(Item::End { last_line: LastLine::AsTyped, reply: None });
    }

    /// Ends the input after the queued bytes.
    pub(crate) fn end(&mut self, last_line: LastLine, reply: EndReply) {
        let ends = self.queue.iter().filter(|item| matches!(item, Item::End { .. })).count();
        let room = if ends < MOST_ENDS { Ok(()) } else { Err(InputError::TooManyEnds) };
        match self.check_open().and(room) {
            Ok(()) => self.queue.push_back(Item::End { last_line, reply: Some(reply) }),
            // The caller may have stopped listening.
            Err(error) => drop(reply.send(Err(error))),
        }
    }

    fn check_open(&self) -> Result<(), InputError> {
        let ending = self.queue.iter().any(|item| matches!(item, Item::End { .. }));
        match self.target {
            Target::Closed => Err(InputError::Closed),
            Target::Gone => Err(InputError::Gone),
            Target::Pipe(_) if ending => Err(InputError::Closed),
            Target::Pipe(_) | Target::Terminal(_) => Ok(()),
        }
    }

    fn push(&mut self, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            self.progress.accepted += bytes.len() as u64;
            self.queue.push_back(Item::Bytes { bytes, done: 0 });
        }
    }

    /// The descriptor to watch for becoming writable; `None` while nothing waits.
    pub(crate) fn pending(&self) -> Option<&AsyncFd<OwnedFd>> {
        match &self.target {
            _ if self.queue.is_empty() => None,
            Target::Pipe(fd) => Some(fd),
            Target::Terminal(keyboard) => keyboard.blocked.as_ref(),
            Target::Closed | Target::Gone => None,
        }
    }

    /// The runtime's end of the pipe that the process reads, if it is one.
    pub(crate) fn pipe_end(&self) -> Option<&OwnedFd> {
        match &self.target {
            Target::Pipe(fd) => Some(fd.get_ref()),
            Target::Terminal(_) | Target::Closed | Target::Gone => None,
        }
    }

    /// Delivers as much as the kernel takes now.
    pub(crate) fn flush(&mut self) {
        while let Some(item) = self.queue.pop_front() {
            match item {
                Item::Bytes { bytes, done } => {
                    if !self.deliver(bytes, done) {
                        return;
                    }
                }
                Item::End { last_line, reply } => self.finish(last_line, reply),
            }
        }
    }

    /// Writes a queued piece, and returns whether all of it was taken. The rest goes back to the front of the queue.
    fn deliver(&mut self, bytes: Vec<u8>, mut done: usize) -> bool {
        while done < bytes.len() {
            match self.write(&bytes[done..]) {
                Ok(count) => {
                    done += count;
                    self.progress.delivered += count as u64;
                    self.line_start = bytes[done - 1] == b'\n' || bytes[done - 1] == b'\r';
                }
                Err(error) => {
                    self.queue.push_front(Item::Bytes { bytes, done });
                    if error.kind() != io::ErrorKind::WouldBlock {
                        self.abandon(Target::Gone, InputError::Gone);
                    }
                    return false;
                }
            }
        }
        true
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.target {
            Target::Pipe(fd) => fd.try_io(Interest::WRITABLE, |fd| write(fd, bytes)),
            Target::Terminal(keyboard) => keyboard.write(bytes),
            Target::Closed | Target::Gone => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn finish(&mut self, last_line: LastLine, reply: Option<EndReply>) {
        let answer = match &self.target {
            Target::Pipe(_) => {
                self.target = Target::Closed;
                Ok(())
            }
            Target::Terminal(keyboard) => self.type_end_of_file(&Arc::clone(&keyboard.master), last_line),
            Target::Closed => Err(InputError::Closed),
            Target::Gone => Err(InputError::Gone),
        };
        if let Some(reply) = reply {
            let _ = reply.send(answer);
        }
    }

    fn type_end_of_file(&mut self, master: &OwnedFd, last_line: LastLine) -> Result<(), InputError> {
        let mode = pty::input_mode(master).map_err(|_| InputError::Gone)?;
        if !mode.canonical {
            return Err(InputError::NotInLineMode);
        }
        let keys = match last_line {
            LastLine::Ended => vec![b'\n', mode.end_of_file],
            LastLine::AsTyped if self.line_start => vec![mode.end_of_file],
            LastLine::AsTyped => vec![mode.end_of_file; 2],
        };
        self.progress.accepted += keys.len() as u64;
        self.queue.push_front(Item::Bytes { bytes: keys, done: 0 });
        Ok(())
    }

    /// The root is gone: no process will read input any more.
    pub(crate) fn root_exited(&mut self) {
        if matches!(self.target, Target::Pipe(_) | Target::Terminal(_)) {
            self.abandon(Target::Gone, InputError::Gone);
        }
    }

    fn abandon(&mut self, target: Target, error: InputError) {
        self.progress.undelivered += self.progress.queued();
        self.target = target;
        for item in self.queue.drain(..) {
            if let Item::End { reply: Some(reply), .. } = item {
                let _ = reply.send(Err(error));
            }
        }
    }
}

impl Keyboard {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &self.blocked {
            Some(watched) => watched.try_io(Interest::WRITABLE, |fd| write(fd, bytes)),
            None => write(&self.master, bytes),
        };
        match &written {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.watch_for_room()?,
            _ => self.blocked = None,
        }
        written
    }

    /// Registers a duplicate of the descriptor: the reactor watches the other one for output, and not always. If none
    /// can be had, there is no way to learn when the program reads again.
    fn watch_for_room(&mut self) -> io::Result<()> {
        if self.blocked.is_none() {
            let own = rustix::io::fcntl_dupfd_cloexec(&*self.master, ABOVE_STDIO)?;
            let watched = reactor::watch(own, Interest::WRITABLE).map_err(|(_, errno)| errno)?;
            self.blocked = Some(watched);
        }
        Ok(())
    }
}

fn write(fd: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match rustix::io::write(fd, bytes) {
            Err(Errno::INTR) => {}
            // A write of a non-empty buffer that returns zero would make this spin; no pipe or terminal does that.
            Ok(0) => return Err(Errno::IO.into()),
            answer => return Ok(answer?),
        }
    }
}
