//! Controls one process for its client: input, signals and the terminal's size, in the order of the requests, except
//! that nothing waits for input that the process does not read.
//!
//! A write is answered when the process's queue has taken it. Until then its bytes wait here or on disk, up to a limit,
//! and only later input of this process waits behind them.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use tokio::sync::{mpsc, watch};
use windlass_engine::{InputError, Progress, QUEUE_LIMIT, Session, Signal, Size};
use windlass_protocol::envelope::{INTERNAL_ERROR, INVALID_REQUEST, OVERLOADED, Refusal};
use windlass_protocol::exec::{Done, WriteResponse, WriteStatus};

use super::reply::Reply;
use super::sessions::ExecSession;
use super::waiting::{Allowance, Full, WriteOrder, WritePosition, WriteReservation};
use crate::spill::Stock;

/// The memory that a waiting request takes beside its bytes.
const OVERHEAD: usize = 256;

/// How many ids of writes are remembered.
const REMEMBERED: usize = 4096;

/// Whether the process has an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// It can be written until it is closed.
    Open,
    /// The process was started without input.
    None,
}

/// The sender of requests to the task that controls a process.
pub(super) struct Controls {
    sender: mpsc::UnboundedSender<Control>,
    waiting: Allowance,
    writes: Arc<Writes>,
    input: Input,
    order: WriteOrder,
}

enum Control {
    Feed(Feed),
    Signal { signal: Signal, reply: Reply },
    Resize { size: Size, reply: Reply },
}

impl What {
    fn place(&self) -> WritePosition<'_> {
        match self {
            Self::Bytes { name, .. } => WritePosition::Write(name),
            Self::Again { .. } => WritePosition::Beside,
            Self::End => WritePosition::Behind,
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Bytes { name, .. } | Self::Again { name } => name,
            Self::End => "",
        }
    }
}

/// A request in the input queue: a write, or the end.
struct Feed {
    what: What,
    reply: Reply,
    /// The room that it takes, given back on drop.
    _held: WriteReservation,
}

enum What {
    /// Bytes, how many of them were passed on, and the id of the write.
    Bytes { stock: Stock, done: usize, name: String },
    /// The same write again, while the first one still waits.
    Again { name: String },
    /// The end of the input.
    End,
}

impl Controls {
    pub(super) fn start(session: Session, input: Input, exec: &ExecSession) -> Self {
        let (sender, requests) = mpsc::unbounded_channel();
        let (waiting, writes) = (exec.input().for_process(), Arc::default());
        let progress = session.watch();
        let feeds = VecDeque::new();
        let known = Arc::clone(&writes);
        exec.spawn(ProcessController { session, progress, requests, feeds, known, ending: None }.serve());
        Self { sender, waiting, writes, input, order: WriteOrder::default() }
    }

    /// Queues a write, or replies at once why not.
    pub(super) fn write(&self, name: String, bytes: Vec<u8>, reply: Reply) {
        match self.writes.state(&name) {
            Some(WriteState::Taken) => return reply.give(Ok(response(WriteStatus::Accepted))),
            Some(WriteState::Waiting) => return self.feed(What::Again { name }, reply),
            None => {}
        }
        if self.input == Input::None {
            return reply.give(Ok(response(WriteStatus::StdinClosed)));
        }
        let beside = OVERHEAD + name.len();
        let room = self.order.admit(WritePosition::Write(&name), || self.waiting.hold(bytes, beside));
        if room.is_ok() {
            self.writes.remember(&name);
        }
        self.send_if(room, |stock| What::Bytes { stock, done: 0, name }, reply);
    }

    /// Ends the input after earlier writes.
    pub(super) fn close_input(&self, reply: Reply) {
        match self.input {
            Input::Open => self.feed(What::End, reply),
            Input::None => reply.give(Ok(response(WriteStatus::StdinClosed))),
        }
    }

    pub(super) fn signal(&self, signal: Signal, reply: Reply) {
        self.send(Control::Signal { signal, reply });
    }

    pub(super) fn resize(&self, size: Size, reply: Reply) {
        self.send(Control::Resize { size, reply });
    }

    /// Queues a request without bytes, if there is room for it.
    fn feed(&self, what: What, reply: Reply) {
        let room =
            self.order.admit(what.place(), || self.waiting.hold(Vec::new(), OVERHEAD + what.name().len()));
        self.send_if(room, |_| what, reply);
    }

    /// Sends the request if there is room, or replies that there is none.
    fn send_if(
        &self,
        room: Result<(Stock, WriteReservation), Full>,
        what: impl FnOnce(Stock) -> What,
        reply: Reply,
    ) {
        match room {
            Ok((stock, held)) => {
                self.send(Control::Feed(Feed { what: what(stock), reply, _held: held }));
            }
            Err(full) => {
                reply.give(Err::<WriteResponse, _>(Refusal::new(OVERLOADED, full.to_string())));
            }
        }
    }

    /// The controlling task lives as long as the exec session; after that no client waits for a reply.
    fn send(&self, control: Control) {
        let _ = self.sender.send(control);
    }
}

/// The task that carries out the requests for one process.
struct ProcessController {
    session: Session,
    progress: watch::Receiver<Progress>,
    requests: mpsc::UnboundedReceiver<Control>,
    /// The input queue, in order.
    feeds: VecDeque<Feed>,
    known: Arc<Writes>,
    /// The end of the input, under way: later requests wait for it.
    ending: Option<FeedEnd>,
}

type FeedEnd = Pin<Box<dyn Future<Output = Result<(), InputError>> + Send>>;

impl ProcessController {
    async fn serve(mut self) {
        loop {
            self.feed_on().await;
            let waits = !self.feeds.is_empty() && self.ending.is_none();
            tokio::select! {
                biased;
                request = self.requests.recv() => match request {
                    Some(request) => self.take(request).await,
                    None => return,
                },
                ended = ended(&mut self.ending) => self.input_ended(ended),
                changed = self.progress.changed(), if waits => if changed.is_err() { return },
            }
        }
    }

    async fn take(&mut self, control: Control) {
        match control {
            Control::Feed(feed) => self.feeds.push_back(feed),
            // Signalling a process that has exited is not an error in this dialect.
            Control::Signal { signal, reply } => {
                let _ = self.session.signal(signal).await;
                reply.give(Ok(Done {}));
            }
            Control::Resize { size, reply } => {
                let resized = self.session.resize(size).await;
                reply.give(resized.map(|()| Done {}).map_err(not_resized));
            }
        }
    }

    /// Passes on as much as the process's queue takes.
    async fn feed_on(&mut self) {
        self.progress.mark_unchanged();
        while self.ending.is_none()
            && let Some(mut feed) = self.feeds.pop_front()
        {
            let status = match &mut feed.what {
                What::Bytes { stock, done, name } => match write(&self.session, stock, done).await {
                    Ok(status) => status.inspect(|status| match status {
                        WriteStatus::Accepted => self.known.taken(name),
                        _ => self.known.forget(name),
                    }),
                    Err(error) => {
                        self.known.forget(name);
                        feed.refuse(
                            INTERNAL_ERROR,
                            format!("what was written was put aside and is lost: {error}"),
                        );
                        continue;
                    }
                },
                What::Again { name } => Some(match self.known.state(name) {
                    Some(WriteState::Taken) => WriteStatus::Accepted,
                    Some(WriteState::Waiting) | None => WriteStatus::StdinClosed,
                }),
                What::End => {
                    let session = self.session.clone();
                    self.ending = Some(Box::pin(async move { session.end_input().await }));
                    None
                }
            };
            match status {
                Some(status) => feed.settle(status),
                None => return self.feeds.push_front(feed),
            }
        }
    }

    fn input_ended(&mut self, ended: Result<(), InputError>) {
        self.ending = None;
        let Some(feed) = self.feeds.pop_front() else { return };
        match ended {
            Ok(()) => feed.settle(WriteStatus::Accepted),
            Err(InputError::Closed | InputError::Gone) => feed.settle(WriteStatus::StdinClosed),
            Err(error @ (InputError::TooManyEnds | InputError::NotInLineMode)) => {
                feed.refuse(INVALID_REQUEST, format!("failed to close stdin: {error}"));
            }
        }
    }
}

impl Feed {
    fn settle(self, status: WriteStatus) {
        self.reply.give(Ok(response(status)));
    }

    fn refuse(self, code: i64, why: String) {
        self.reply.give(Err::<WriteResponse, _>(Refusal::new(code, why)));
    }
}

/// Writes on. The status once all bytes are passed on or none will be; `None` while some have to wait.
async fn write(session: &Session, stock: &Stock, done: &mut usize) -> io::Result<Option<WriteStatus>> {
    let queued = || usize::try_from(session.progress().input.queued()).unwrap_or(usize::MAX);
    loop {
        if let Stock::OnDisk(_) = stock {
            // Read the bytes from disk only when many of them can be passed on, and not at all when the input is
            // closed.
            if session.write([]).await.is_err() {
                return Ok(Some(WriteStatus::StdinClosed));
            }
            if queued() > QUEUE_LIMIT / 2 {
                return Ok(None);
            }
        }
        // The session never takes more at once.
        let next = stock.piece(*done, QUEUE_LIMIT - queued().min(QUEUE_LIMIT - 1)).await?;
        match session.write(&*next).await {
            Err(_) => return Ok(Some(WriteStatus::StdinClosed)),
            Ok(count) => *done += count,
        }
        if *done == stock.len() {
            return Ok(Some(WriteStatus::Accepted));
        }
        if queued() > 0 {
            return Ok(None);
        }
    }
}

fn not_resized(errno: Errno) -> Refusal {
    let why = match errno {
        Errno::NOTTY => "the process has none".to_owned(),
        errno => errno.to_string(),
    };
    Refusal::new(INVALID_REQUEST, format!("failed to resize the terminal: {why}"))
}

fn response(status: WriteStatus) -> WriteResponse {
    WriteResponse { status }
}

/// Waits until the input has ended; for ever while no end is under way.
async fn ended(ending: &mut Option<FeedEnd>) -> Result<(), InputError> {
    match ending {
        Some(ending) => ending.await,
        None => std::future::pending().await,
    }
}

/// The recent writes, by the ids that the client gave them.
#[derive(Default)]
struct Writes {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    states: HashMap<String, WriteState>,
    /// Oldest first.
    order: VecDeque<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteState {
    Waiting,
    Taken,
}

impl Writes {
    fn state(&self, name: &str) -> Option<WriteState> {
        self.lock().states.get(name).copied()
    }

    fn remember(&self, name: &str) {
        let mut known = self.lock();
        if known.states.insert(name.to_owned(), WriteState::Waiting).is_none() {
            known.order.push_back(name.to_owned());
        }
        while known.order.len() > REMEMBERED
            && let Some(oldest) = known.order.pop_front()
        {
            known.states.remove(&oldest);
        }
    }

    fn taken(&self, name: &str) {
        if let Some(state) = self.lock().states.get_mut(name) {
            *state = WriteState::Taken;
        }
    }

    /// Forgets a failed write, which may then be tried again. Its place in the order stays, which is harmless.
    fn forget(&self, name: &str) {
        self.lock().states.remove(name);
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_writes_are_remembered_and_no_more() {
        let writes = Writes::default();
        for number in 0..=REMEMBERED {
            writes.remember(&number.to_string());
            writes.taken(&number.to_string());
        }
        assert_eq!(writes.state("0"), None);
        assert_eq!(writes.state("1"), Some(WriteState::Taken));
        assert_eq!(writes.lock().states.len(), REMEMBERED);
    }

    #[test]
    fn a_write_that_came_to_nothing_may_be_tried_again() {
        let writes = Writes::default();
        writes.remember("a");
        assert_eq!(writes.state("a"), Some(WriteState::Waiting));
        writes.forget("a");
        assert_eq!(writes.state("a"), None);
    }
}
