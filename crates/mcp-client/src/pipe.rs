//! The stdio transport: a server that the engine starts as a session, reached by lines on its pipes, and ended with its
//! tree.
//!
//! The reader follows the journal by offset and paces the server, so that no line is lost and no flood is stored.
//! Output that is not a message is noted and skipped. The end of standard error is kept to explain a failure.

mod stderr;
mod writer;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{AbortHandle, JoinSet};
use windlass_engine::{
    CommandSpec, Delivery, Engine, Exit, Io, JournalPiece, Lifetime, Offset, Pace, Session,
};
use windlass_engine::{Receipt, StartError, Stdin, Stream, SubscriptionLimits};

use self::stderr::Tail;
use crate::client_handler::ClientHandler;
use crate::fault::Fault;
use crate::lines::{Line, Lines};
use crate::message::{self, Message, REFUSED, RpcError};
use crate::notes::quote;

/// How far a server may print ahead of the reader. Beyond it the server blocks.
const WINDOW: u64 = 4 * 1024 * 1024;

/// How many bytes are read before they are confirmed, which lets the server go on.
const CONFIRM_EVERY: u64 = WINDOW / 4;

/// The most messages that may wait for a server that does not read.
const OUTBOX: usize = 64;

/// The most requests of a server that may be open at the same time.
const QUESTIONS: usize = 16;

/// How long a server may take to exit by itself after its input has ended.
const PARTING: Duration = Duration::from_millis(500);

/// A connection to a program.
pub(crate) struct Pipe {
    session: Session,
    outbox: mpsc::Sender<Vec<u8>>,
    desk: Arc<PipeShared>,
    /// The tasks of the reader and the writer.
    tasks: Mutex<JoinSet<()>>,
}

/// The state that the reader and the callers share.
struct PipeShared {
    waiting: Mutex<Waiting>,
    /// How the server ended, once it has.
    ended: watch::Sender<Option<Arc<str>>>,
    stderr: Mutex<Tail>,
    handler: Arc<ClientHandler>,
}

/// The calls that wait for a response, by id.
#[derive(Default)]
struct Waiting {
    next_id: u64,
    callers: HashMap<u64, oneshot::Sender<Result<Value, RpcError>>>,
    closed: bool,
}

impl Pipe {
    /// Starts the program. The caller chooses its environment and directory; this transport sets its pipes.
    pub(crate) fn open(
        engine: &Engine,
        mut spec: CommandSpec,
        handler: Arc<ClientHandler>,
    ) -> Result<Self, StartError> {
        spec.io = Io::Pipes(Stdin::Open);
        spec.lifetime = Lifetime::Call;
        spec.pace = Pace::Reader { window: WINDOW };
        let session = engine.start(spec)?;
        let (outbox, messages) = mpsc::channel(OUTBOX);
        let ended = watch::Sender::new(None);
        let desk =
            Arc::new(PipeShared { waiting: Mutex::default(), ended, stderr: Mutex::default(), handler });
        let reader = Reader {
            session: session.clone(),
            desk: Arc::clone(&desk),
            outbox: outbox.clone(),
            questions: JoinSet::new(),
            open: HashMap::new(),
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(reader.run());
        tasks.spawn(writer::write(session.clone(), messages));
        Ok(Self { session, outbox, desk, tasks: Mutex::new(tasks) })
    }

    /// Sends a request and waits for the response. Dropping the future cancels the request at the server.
    pub(crate) async fn request(&self, method: &str, params: &Map<String, Value>) -> Result<Value, Fault> {
        let (id, answer) = self.desk.expect().ok_or_else(|| Fault::Gone(self.desk.how_it_ended()))?;
        let mut call = OpenCall { pipe: self, id, cancellable: false };
        let said = self.outbox.send(message::request(id, method, params)).await;
        said.map_err(|_| Fault::Gone(self.desk.how_it_ended()))?;
        // The protocol forbids cancelling the handshake.
        call.cancellable = method != "initialize";
        let answer = answer.await.map_err(|_| Fault::Ended(self.desk.how_it_ended()))?;
        call.cancellable = false;
        answer.map_err(Fault::Refused)
    }

    /// Sends a notification.
    pub(crate) async fn notify(&self, method: &str, params: &Map<String, Value>) -> Result<(), Fault> {
        let said = self.outbox.send(message::notification(method, params)).await;
        said.map_err(|_| Fault::Gone(self.desk.how_it_ended()))
    }

    /// Waits until the server has ended. Returns how.
    pub(crate) async fn ended(&self) -> Arc<str> {
        let mut ended = self.desk.ended.subscribe();
        let settled = ended.wait_for(Option::is_some).await;
        settled.ok().and_then(|how| how.clone()).unwrap_or_else(|| Arc::from("it is no longer watched"))
    }

    /// Output of the server that may explain its failure.
    pub(crate) fn evidence(&self) -> String {
        self.desk.evidence()
    }

    /// Ends the server: closes its input, which asks it to exit, then ends everything that is left of it.
    pub(crate) async fn end(&self) {
        let parting = async {
            // Fails if the server takes no more input. Then the steps below end it.
            let _ = self.session.end_input().await;
            self.session.exited().await
        };
        // timer: a server that does not exit after the end of its input is ended anyway.
        let _ = tokio::time::timeout(PARTING, parting).await;
        self.session.stop().await;
        let mut tasks = std::mem::take(&mut *lock(&self.tasks));
        tasks.shutdown().await;
        self.desk.close("it was stopped");
    }
}

/// A request that waits for its response. Dropped before that, it cancels the request at the server.
struct OpenCall<'a> {
    pipe: &'a Pipe,
    id: u64,
    cancellable: bool,
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        let was_open = lock(&self.pipe.desk.waiting).callers.remove(&self.id).is_some();
        // The outbox is full: a server that has left its messages unread for so long would not read this one either.
        if was_open && self.cancellable && self.pipe.outbox.try_send(message::cancellation(self.id)).is_err()
        {
            self.pipe.desk.handler.notes.add("it did not read that a call was cancelled");
        }
    }
}

impl PipeShared {
    /// Registers a call. `None` once the server has ended.
    fn expect(&self) -> Option<(u64, oneshot::Receiver<Result<Value, RpcError>>)> {
        let mut waiting = lock(&self.waiting);
        if waiting.closed {
            return None;
        }
        waiting.next_id += 1;
        let (id, (sender, receiver)) = (waiting.next_id, oneshot::channel());
        waiting.callers.insert(id, sender);
        Some((id, receiver))
    }

    /// Passes a response to its caller.
    fn settle(&self, id: u64, answer: Result<Value, RpcError>) {
        match lock(&self.waiting).callers.remove(&id) {
            // The caller may just have been dropped.
            Some(caller) => drop(caller.send(answer)),
            None => self.handler.notes.add("it answered something that nobody waits for (any more)"),
        }
    }

    /// Fails all pending calls. Registers no more.
    fn close(&self, how: &str) {
        self.ended.send_if_modified(|ended| {
            let is_first = ended.is_none();
            ended.get_or_insert_with(|| how.into());
            is_first
        });
        let mut waiting = lock(&self.waiting);
        waiting.closed = true;
        waiting.callers.clear();
    }

    fn how_it_ended(&self) -> Arc<str> {
        let how = self.ended.borrow().clone();
        how.unwrap_or_else(|| Arc::from("it no longer reads its input"))
    }

    fn evidence(&self) -> String {
        let stderr = lock(&self.stderr).text();
        let notes = self.handler.notes.all();
        let noted = notes.last().map(|note| format!("; {note}")).unwrap_or_default();
        if stderr.is_empty() { noted } else { format!("{noted}; the end of its standard error:\n{stderr}") }
    }
}

/// Reads the server's output for as long as it runs.
struct Reader {
    session: Session,
    desk: Arc<PipeShared>,
    outbox: mpsc::Sender<Vec<u8>>,
    questions: JoinSet<()>,
    /// Requests of the server that are being answered, by the id that the server gave them.
    open: HashMap<String, AbortHandle>,
}

impl Reader {
    async fn run(mut self) {
        let how = match self.follow().await {
            Some(receipt) => format!("{}{}", describe(&receipt), self.desk.evidence()),
            None => "it is no longer watched".to_owned(),
        };
        self.desk.close(&how);
    }

    async fn follow(&mut self) -> Option<Arc<Receipt>> {
        let mut output = self.session.subscribe(Offset::ZERO, SubscriptionLimits::default());
        let (mut lines, mut confirmed) = (Lines::default(), Offset::ZERO);
        while let Some(delivery) = output.next().await {
            match delivery {
                Delivery::Piece(piece) => {
                    let position = piece.span().to();
                    self.take(piece, &mut lines);
                    if position.since(confirmed) >= CONFIRM_EVERY {
                        self.session.confirm(position).await;
                        confirmed = position;
                    }
                }
                Delivery::Exited(receipt) => {
                    // The last line may lack its end.
                    lines.push(b"\n", |line| self.take_line(line));
                    // The owner of the pipe ends the processes that the server left running. They must not block on
                    // output that the reader no longer confirms.
                    self.session.confirm(Offset::new(u64::MAX)).await;
                    return Some(receipt);
                }
                Delivery::Capped { .. } | Delivery::Closed { .. } => {}
            }
        }
        None
    }

    fn take(&mut self, piece: JournalPiece, lines: &mut Lines) {
        match piece {
            JournalPiece::Bytes { stream: Stream::Stderr, bytes, .. } => lock(&self.desk.stderr).push(&bytes),
            JournalPiece::Bytes { bytes, .. } => lines.push(&bytes, |line| self.take_line(line)),
            JournalPiece::Dropped { .. } | JournalPiece::Unreadable { .. } => {
                self.desk.handler.notes.add("some of what it printed was lost before it was read");
                lines.interrupt();
            }
        }
    }

    fn take_line(&mut self, line: Line<'_>) {
        let notes = &self.desk.handler.notes;
        let bytes = match line {
            Line::Whole(bytes) => bytes.trim_ascii(),
            Line::TooLong => return notes.add("it printed a line that is longer than any message may be"),
        };
        if bytes.is_empty() {
            return;
        }
        match message::read(bytes) {
            Ok(messages) => messages.into_iter().for_each(|message| self.take_message(message)),
            Err(problem) => {
                notes.add(&format!("it printed {} to its standard output: {problem}", quote(bytes)));
            }
        }
    }

    fn take_message(&mut self, message: Message) {
        match message {
            Message::Answer { id, answer } => self.desk.settle(id, answer),
            Message::Complaint(RpcError { message, .. }) => {
                self.desk.handler.notes.add(&format!("it complained: {message}"));
            }
            Message::Notification { method, params } if method == "notifications/cancelled" => {
                self.take_back(params.get("requestId"));
            }
            Message::Notification { method, .. } => self.desk.handler.hear(&method),
            Message::Request { id, method, params } => self.answer(id, method, params),
        }
    }

    /// Answers a request in a task of its own, because it may take as long as the user does.
    fn answer(&mut self, id: Value, method: String, params: Map<String, Value>) {
        while self.questions.try_join_next().is_some() {}
        self.open.retain(|_, question| !question.is_finished());
        if self.questions.len() >= QUESTIONS {
            let refusal = RpcError { code: REFUSED, message: "too many questions at a time".to_owned() };
            // A server with this many open requests that does not read its input does not even get the rejection.
            let _ = self.outbox.try_send(message::answer(&id, Err(refusal)));
            return;
        }
        let (handler, outbox) = (Arc::clone(&self.desk.handler), self.outbox.clone());
        let key = id.to_string();
        let question = self.questions.spawn(async move {
            let answer = handler.answer(&method, &params).await;
            // The server may have ended meanwhile.
            let _ = outbox.send(message::answer(&id, answer)).await;
        });
        self.open.insert(key, question);
    }

    fn take_back(&mut self, id: Option<&Value>) {
        if let Some(question) = id.and_then(|id| self.open.remove(&id.to_string())) {
            question.abort();
        }
    }
}

/// Describes how a program ended.
fn describe(receipt: &Receipt) -> String {
    match receipt.exit {
        Exit::Code(code) => format!("it exited with code {code}"),
        Exit::Signal(signal) => format!("it was ended by signal {signal}"),
        Exit::Unknown => "it ended".to_owned(),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
