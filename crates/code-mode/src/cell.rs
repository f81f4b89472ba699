//! The handle of one cell: its thread, its output, and its end.
//!
//! Only the cell's thread touches the engine. The thread is asked to stop, never killed: the engine checks the request
//! every few thousand steps, also within a loop or a regular expression.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::budget;
use crate::cells::Options;
use crate::engine::{self, Calls, Message};
use crate::host::Host;
use crate::outcome::{CellId, Outcome, Status};
use crate::outside::Direct;
use crate::process::{self, Apart, CellSpawner, ProcessSlot};
use crate::storage::Storage;
use crate::transcript::{End, Transcript};

/// Longer than the start of a cell's process takes on a machine that works.
const LONGEST_START: Duration = Duration::from_secs(30);

/// The parameters of a new cell.
pub(crate) struct Start<'a> {
    pub(crate) source: String,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) options: &'a Options,
    pub(crate) storage: &'a Arc<Storage>,
    /// The thread holds a clone for as long as it lives.
    pub(crate) token: &'a Arc<()>,
    /// Starts the process for the engine; without it, the engine runs in this process.
    pub(crate) spawner: Option<&'a Arc<dyn CellSpawner>>,
}

/// A cell, as seen by callers that wait for it.
pub(crate) struct Cell {
    id: CellId,
    transcript: Arc<Transcript>,
    stop: Arc<AtomicBool>,
    messages: Sender<Message>,
    grace: Duration,
    thread: Mutex<Option<Thread>>,
    /// The process in which the engine runs, if it is not this one.
    process: Option<Arc<ProcessSlot>>,
}

/// The thread, and a channel that closes when the thread is done.
struct Thread {
    handle: JoinHandle<()>,
    done: Receiver<()>,
}

impl Cell {
    /// Starts the thread.
    pub(crate) fn start(id: CellId, start: Start<'_>) -> std::io::Result<Self> {
        let transcript = Arc::new(Transcript::new(start.options.most_output));
        let stop = Arc::new(AtomicBool::new(false));
        let (messages, inbox) = channel();
        let (process, token) = (start.spawner.map(|_| Arc::default()), Arc::clone(start.token));
        let grace = start.options.grace;
        let run = Run {
            source: start.source,
            host: start.host,
            options: start.options.clone(),
            storage: Arc::clone(start.storage),
            transcript: Arc::clone(&transcript),
            stop: Arc::clone(&stop),
            messages: messages.clone(),
            inbox,
            runtime: tokio::runtime::Handle::current(),
            apart: start.spawner.cloned().zip(process.clone()),
        };
        let thread = Mutex::new(Some(Thread::start(id, run, token)?));
        Ok(Self { id, transcript, stop, messages, grace, thread, process })
    }

    pub(crate) fn id(&self) -> CellId {
        self.id
    }

    pub(crate) fn is_over(&self) -> bool {
        self.transcript.is_over()
    }

    /// Asks the thread to end the cell.
    pub(crate) fn terminate(&self) {
        self.stop.store(true, Ordering::Relaxed);
        // Sending fails if the thread has ended; then it needs no wake-up.
        let _ = self.messages.send(Message::Wake);
    }

    /// Waits, at most for this time, until the cell is over or yields. A cell that was asked to end gets its grace
    /// period instead.
    pub(crate) async fn worth_telling(&self, time: Duration) {
        if self.stop.load(Ordering::Relaxed) {
            return self.ended().await;
        }
        // timer: a process that takes unreasonably long to start; the caller then gets a reply without it.
        let _ = tokio::time::timeout(LONGEST_START, self.transcript.begun()).await;
        // timer: the caller's yield time, after which the cell continues without it.
        let _ = tokio::time::timeout(time, self.transcript.worth_telling()).await;
    }

    /// The cell's output since the last reply, and its status.
    pub(crate) fn tell(&self, began: Instant, most_tokens: u64) -> Outcome {
        let (items, end) = self.transcript.take();
        let status = end.map_or(Status::Running(self.id), End::status);
        Outcome { status, wall: began.elapsed(), items: budget::fit(items, most_tokens) }
    }

    /// Waits for the end of a cell that was asked to end.
    pub(crate) async fn ended(&self) {
        // timer: the time that a built-in function of the engine may take before the engine checks the request.
        let in_time = tokio::time::timeout(self.grace, self.transcript.over()).await;
        if in_time.is_err() {
            self.give_up();
        }
        self.join_if_done();
    }

    /// Records the end of a cell whose thread does not react.
    fn give_up(&self) {
        let reason = match &self.process {
            Some(_) => "the script was inside a built-in function that did not stop; its process was killed",
            None => {
                "the script is inside a built-in function that does not stop; its thread ends when that is done"
            }
        };
        self.transcript.end(End::Terminated, Some(reason.to_string()));
        self.kill();
        // The thread is never joined: it could block for ever.
        drop(self.thread.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Kills the process of the cell, if it has one.
    fn kill(&self) {
        self.process.iter().for_each(|process| process.kill());
    }

    fn join_if_done(&self) {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take_if(|thread| thread.is_done()) {
            thread.join();
        }
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        self.terminate();
        self.kill();
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            thread.join_within(self.grace);
        }
    }
}

/// The data that a cell's thread starts with.
struct Run {
    source: String,
    host: Arc<dyn Host>,
    options: Options,
    storage: Arc<Storage>,
    transcript: Arc<Transcript>,
    stop: Arc<AtomicBool>,
    messages: Sender<Message>,
    inbox: Receiver<Message>,
    runtime: tokio::runtime::Handle,
    /// The spawner of the engine's process, and the slot that holds the process.
    apart: Option<(Arc<dyn CellSpawner>, Arc<ProcessSlot>)>,
}

impl Run {
    /// An engine needs a deep stack; a thread that only talks to a process does not.
    fn stack_bytes(&self) -> usize {
        if self.apart.is_some() { 1 << 20 } else { engine::stack_bytes(&self.options) }
    }

    fn finish(self) {
        let Self { source, host, options, storage, stop, messages, inbox, runtime, .. } = self;
        let transcript = Arc::clone(&self.transcript);
        let verdict = match self.apart {
            Some((spawner, slot)) => process::run(Apart {
                source,
                options,
                host,
                storage,
                transcript: self.transcript,
                stop,
                messages,
                inbox,
                runtime,
                spawner,
                slot,
            }),
            None => {
                let calls = Calls::new(Arc::clone(&host), runtime, messages, options.most_pending_calls);
                let calls = RefCell::new(calls);
                transcript.begin();
                let outside = Direct { host, calls, storage, transcript: self.transcript };
                engine::run(engine::Work { source, options, stop, inbox }, Rc::new(outside))
            }
        };
        transcript.end(verdict.end, verdict.reason);
    }
}

impl Thread {
    fn start(id: CellId, run: Run, token: Arc<()>) -> std::io::Result<Self> {
        let (working, done) = channel();
        let builder = std::thread::Builder::new().name(format!("cell {id}"));
        let handle = builder.stack_size(run.stack_bytes()).spawn(move || {
            run.finish();
            drop::<Sender<()>>(working);
            drop(token);
        })?;
        Ok(Self { handle, done })
    }

    /// Whether the thread has finished its work and is about to exit, so that joining it does not block.
    fn is_done(&self) -> bool {
        self.done.try_recv() == Err(std::sync::mpsc::TryRecvError::Disconnected)
    }

    fn join_within(self, grace: Duration) {
        // timer: as long as a built-in function may take; a thread that takes longer is not joined.
        if self.done.recv_timeout(grace) == Err(RecvTimeoutError::Disconnected) {
            self.join();
        }
    }

    fn join(self) {
        // The thread catches its own panics; if one gets through, the cell is over all the same.
        let _ = self.handle.join();
    }
}
