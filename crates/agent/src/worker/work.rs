//! The work that an agent has in progress during a turn: a stream, calls, a pause, a summary, a wait. Dropping it
//! cancels all.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Sleep;
use windlass_llm::{Call, CallId, ContentPart, Failure, Request, ResponseEvent, Usage};

use super::summary::Summary;
use super::{Worker, pump};
use crate::call_queue::CallQueue;
use crate::event::{CallNote, EventKind, Reporter};
use crate::model_client::ModelClient;
use crate::tool::Output;
use crate::turn::Happened;

/// How often an agent that waits for commands checks whether they still have something to do.
const LOOK: Duration = Duration::from_millis(500);

/// Everything that is in progress.
#[derive(Default)]
pub(super) struct Work {
    /// Events that are known already. They go before anything that is awaited.
    pub(super) due: VecDeque<Happened>,
    pub(super) listening: Listening,
    /// Whether the agent is to end. Reported once.
    pub(super) stopped: bool,
    /// Whether the agent's inbox is closed.
    pub(super) deaf: bool,
    stream: Option<Stream>,
    calls: JoinSet<CallAnswer>,
    running: HashMap<Id, (CallNote, Instant)>,
    queue: CallQueue,
    rest: Option<Pin<Box<Sleep>>>,
    summary: Option<Summarising>,
}

type Summarising = Pin<Box<dyn Future<Output = Result<Summary, Failure>> + Send>>;

struct Stream {
    pieces: mpsc::Receiver<Result<ResponseEvent, Failure>>,
    _pump: JoinSet<()>,
}

/// The result of a tool call.
pub(super) struct CallAnswer {
    pub(super) note: CallNote,
    pub(super) output: Output,
    pub(super) wall: Duration,
}

/// Progress of something that was awaited.
pub(super) enum Arrived {
    Text(EventKind),
    Happened(Happened),
    Completed(Usage),
    Answer(CallAnswer),
    Summary(Result<Summary, Failure>),
    Patience,
    /// A check of the awaited commands is due.
    Look,
}

impl Work {
    /// Sends a request; its response arrives event by event.
    pub(super) fn ask(&mut self, model_client: Arc<dyn ModelClient>, request: Request) {
        let (sender, pieces) = mpsc::channel(pump::QUEUE);
        let mut task = JoinSet::new();
        task.spawn(pump::pump(model_client, request, sender));
        self.stream = Some(Stream { pieces, _pump: task });
    }

    pub(super) fn rest(&mut self, delay: Duration) {
        // timer: the provider is given a moment before the next try.
        self.rest = Some(Box::pin(tokio::time::sleep(delay)));
    }

    pub(super) fn summarise(
        &mut self,
        summary: impl Future<Output = Result<Summary, Failure>> + Send + 'static,
    ) {
        self.summary = Some(Box::pin(summary));
    }

    /// Runs a call.
    pub(super) async fn start(&mut self, worker: &Worker, call: Call) {
        let tool = worker.tools.find(&call);
        let about = tool.map(|tool| tool.about(&call)).unwrap_or_default();
        let note = CallNote { id: call.id.0.clone(), tool: call.name.clone(), about };
        worker.report.tell(EventKind::CallStarted(note.clone())).await;
        // Spawned tasks are polled in any order, so the call takes its positions before it has a task.
        let ticket = self.queue.ticket(worker.tools.pace(&call));
        let running = worker.tools.call(call);
        let (told, began) = (note.clone(), Instant::now());
        let task = self.calls.spawn(async move {
            ticket.turn().await;
            let output = running.await;
            CallAnswer { note, output, wall: began.elapsed() }
        });
        self.running.insert(task.id(), (told, began));
    }

    /// Cancels everything, and reports a result for every call.
    pub(super) async fn abandon(&mut self, report: &Reporter) {
        (self.stream, self.rest, self.summary) = (None, None, None);
        self.listening.end();
        // A call may report events until its task is gone, so the events of all calls precede the rest.
        self.calls.shutdown().await;
        for (_, (note, began)) in self.running.drain() {
            let wall = began.elapsed();
            let words = format!("Wall time: {:.1} seconds\naborted by user", wall.as_secs_f64());
            self.due.push_back(Happened::Answered(
                CallId(note.id.clone()),
                vec![ContentPart::Text(words.clone())],
            ));
            report.tell(EventKind::CallEnded { call: note, ok: false, wall, answer: words }).await;
        }
    }

    /// Waits for the first progress of anything. Cancel safe: dropping the future loses nothing.
    pub(super) async fn arrives(&mut self) -> Arrived {
        tokio::select! {
            piece = next_piece(&mut self.stream) => self.piece(piece),
            Some(joined) = self.calls.join_next_with_id(), if !self.calls.is_empty() => self.joined(joined),
            () = elapsed(&mut self.rest) => {
                self.rest = None;
                Arrived::Happened(Happened::Rested)
            }
            summary = finished(&mut self.summary) => {
                self.summary = None;
                Arrived::Summary(summary)
            }
            arrived = self.listening.patience() => arrived,
        }
    }

    fn piece(&mut self, piece: Option<Result<ResponseEvent, Failure>>) -> Arrived {
        let cut = || Failure::passing("the stream ended before the answer was complete");
        match piece {
            Some(Ok(ResponseEvent::Text(text))) => Arrived::Text(EventKind::Text(text)),
            Some(Ok(ResponseEvent::Thought(text))) => Arrived::Text(EventKind::Thought(text)),
            Some(Ok(ResponseEvent::Started | ResponseEvent::Calling(_))) => {
                Arrived::Text(EventKind::Text(String::new()))
            }
            Some(Ok(ResponseEvent::Item(item))) => Arrived::Happened(Happened::Item(item)),
            Some(Ok(ResponseEvent::Completed(usage))) => {
                self.stream = None;
                Arrived::Completed(usage)
            }
            Some(Err(failure)) => {
                self.stream = None;
                Arrived::Happened(Happened::Broke(failure))
            }
            None => {
                self.stream = None;
                Arrived::Happened(Happened::Broke(cut()))
            }
        }
    }

    fn joined(&mut self, joined: Result<(Id, CallAnswer), JoinError>) -> Arrived {
        match joined {
            Ok((id, answer)) => {
                self.running.remove(&id);
                Arrived::Answer(answer)
            }
            // Tools catch panics, so a join error means that the tokio runtime is shutting down.
            Err(error) => match self.running.remove(&error.id()) {
                Some((note, began)) => {
                    let output = Output::refused(format!("the tool failed: {error}"));
                    Arrived::Answer(CallAnswer { note, output, wall: began.elapsed() })
                }
                None => Arrived::Text(EventKind::Text(String::new())),
            },
        }
    }
}

async fn next_piece(stream: &mut Option<Stream>) -> Option<Result<ResponseEvent, Failure>> {
    match stream {
        Some(stream) => stream.pieces.recv().await,
        None => std::future::pending().await,
    }
}

async fn elapsed(rest: &mut Option<Pin<Box<Sleep>>>) {
    match rest {
        Some(rest) => rest.as_mut().await,
        None => std::future::pending().await,
    }
}

async fn finished(summary: &mut Option<Summarising>) -> Result<Summary, Failure> {
    match summary {
        Some(summary) => summary.as_mut().await,
        None => std::future::pending().await,
    }
}

/// Whether an agent that has nothing else to do waits for what still runs.
#[derive(Default)]
pub(super) enum Listening {
    #[default]
    Off,
    On {
        limit: Duration,
        expiry: Pin<Box<Sleep>>,
    },
    /// The wait has lasted for this long, which is its limit.
    Expired(Duration),
}

impl Listening {
    pub(super) fn begin(&mut self, patience: Duration) {
        // timer: a command that never ends must not block the agent for ever.
        let expiry = Box::pin(tokio::time::sleep(patience));
        *self = Self::On { limit: patience, expiry };
    }

    pub(super) fn end(&mut self) {
        *self = Self::Off;
    }

    pub(super) fn is_on(&self) -> bool {
        !matches!(self, Self::Off)
    }

    pub(super) fn run_out(&mut self) {
        if let Self::On { limit, .. } = self {
            *self = Self::Expired(*limit);
        }
    }

    /// The limit of a wait that has reached it.
    pub(super) fn ran_out(&self) -> Option<Duration> {
        match self {
            Self::Expired(limit) => Some(*limit),
            Self::Off | Self::On { .. } => None,
        }
    }

    async fn patience(&mut self) -> Arrived {
        match self {
            Self::On { expiry, .. } => tokio::select! {
                () = expiry.as_mut() => Arrived::Patience,
                // timer: no event reports that a command begins to wait for input, or for clients.
                () = tokio::time::sleep(LOOK) => Arrived::Look,
            },
            Self::Off | Self::Expired(_) => std::future::pending().await,
        }
    }
}
