//! One agent at work: the task that owns a conversation, calls the model, runs its calls, and reads its inbox.
//!
//! The turn's state machine decides; this file only carries out. Everything that takes time is an arm of one `select!`,
//! so an interrupt reaches a stream, a tool, a pause and a summary alike.

mod commands;
mod pump;
mod summary;
mod work;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc, watch};
use tokio_util::sync::CancellationToken;
use windlass_llm::{Content, Item, Request, Role, ToolSpec, Usage};
use windlass_tools::{LeftProcess, SessionEvent, SessionSummary, Toolbox};

pub(crate) use self::commands::Commands;
use self::work::{Arrived, Work};
use crate::deps::{AgentDeps, Background, ModelParams};
use crate::event::{EventKind, Reporter};
use crate::history::{History, HistoryEntry};
use crate::notices::Notices;
use crate::record::Record;
use crate::team::{Status, Team};
use crate::thread::ThreadId;
use crate::tool::{ToolSet, shortened};
use crate::turn::{Happened, RetryLimits, Turn, TurnAction, TurnEnd};

/// An operation that another task sends to an agent.
#[derive(Debug)]
pub(crate) enum Op {
    /// Input. While the agent works it is read at the next boundary.
    Say(Vec<HistoryEntry>),
    /// Interrupt the turn.
    Interrupt,
    /// Switch the model, from the next request on.
    UseModel(String),
    /// Compact the conversation, once no turn is in progress.
    Compact,
}

/// The next task of an agent.
enum WorkerTask {
    /// A turn on this input.
    Words(Vec<HistoryEntry>),
    /// Compaction.
    Compact,
}

/// An agent, as its own task sees it.
pub(crate) struct Worker {
    pub(crate) me: ThreadId,
    /// Whether it is the root agent.
    pub(crate) is_first: bool,
    pub(crate) deps: Arc<AgentDeps>,
    pub(crate) team: Team,
    pub(crate) params: ModelParams,
    pub(crate) schema: Option<Value>,
    /// The same for all agents of a team, so that they share the provider's cache.
    pub(crate) cache_key: String,
    pub(crate) history: History,
    pub(crate) record: Option<Record>,
    pub(crate) usage: Usage,
    /// The estimated tokens of the conversation.
    pub(crate) filled: u64,
    pub(crate) toolbox: Toolbox,
    pub(crate) tools: ToolSet,
    pub(crate) specs: Arc<[ToolSpec]>,
    pub(crate) commands: Arc<Commands>,
    pub(crate) report: Reporter,
    pub(crate) inbox: mpsc::Receiver<Op>,
    pub(crate) status: watch::Sender<Status>,
    pub(crate) closing: CancellationToken,
    pub(crate) sessions: broadcast::Receiver<SessionEvent>,
    pub(crate) changes: watch::Receiver<u64>,
    /// Input that arrived during the turn.
    pub(crate) said: Vec<HistoryEntry>,
    /// Whether compaction was requested.
    pub(crate) compact: bool,
    /// The last message of the present turn.
    pub(crate) last_words: Option<String>,
    /// The tokens of the present turn.
    pub(crate) turn_usage: Usage,
    /// The messages of this conversation, for sub-agents that are given them.
    pub(crate) heard: Arc<Mutex<Vec<HistoryEntry>>>,
    /// How many messages were sent to the agent that it does not work on yet.
    pub(crate) unheard: Arc<AtomicUsize>,
    /// How many of those it has taken out of its inbox.
    pub(crate) taken: usize,
    /// The notices of its scripts to the model.
    pub(crate) notices: Notices,
}

impl Worker {
    /// Works until the agent is closed.
    pub(crate) async fn live(mut self) {
        while let Some(task) = self.next_task().await {
            self.turn(task).await;
        }
        if !self.is_closed_after_answer() {
            self.tell_left_running(Vec::new()).await;
        }
        self.commands.all_ended().await;
        self.toolbox.end_sessions().await;
        self.report.tell(EventKind::Gone).await;
    }

    /// Waits for the next task; `None` once the agent is to end.
    async fn next_task(&mut self) -> Option<WorkerTask> {
        loop {
            if self.closing.is_cancelled() {
                return None;
            }
            if std::mem::take(&mut self.compact) {
                return Some(WorkerTask::Compact);
            }
            let heard = if self.is_wakeful() { self.collect() } else { std::mem::take(&mut self.said) };
            if !heard.is_empty() {
                return Some(WorkerTask::Words(heard));
            }
            tokio::select! {
                () = self.closing.cancelled() => return None,
                op = self.inbox.recv() => match op {
                    Some(Op::Interrupt) => {}
                    Some(op) => self.takes(op),
                    None => return None,
                },
                event = self.sessions.recv() => self.session_event(event).await,
                _ = self.changes.changed() => {}
            }
        }
    }

    /// Whether the end of background work begins a turn. An interrupted agent waits for input, and one that is about to
    /// be closed must not replace its answer by a remark on such an end.
    fn is_wakeful(&self) -> bool {
        let interrupted = *self.status.borrow() == Status::Interrupted;
        !self.said.is_empty() || !(interrupted || self.is_closed_after_answer())
    }

    fn is_closed_after_answer(&self) -> bool {
        self.deps.config.background != Background::Wake && self.is_first
    }

    async fn turn(&mut self, task: WorkerTask) {
        (self.last_words, self.turn_usage) = (None, Usage::default());
        self.status.send_replace(Status::Running);
        self.words_taken();
        self.report.tell(EventKind::TurnStarted).await;
        let config = &self.deps.config;
        let patience = RetryLimits { most_tries: config.most_tries, compact_at: config.compact_at };
        let (mut turn, orders) = match task {
            WorkerTask::Words(words) => Turn::begin(patience, words, self.filled),
            WorkerTask::Compact => Turn::summing_up(patience),
        };
        let mut work = Work::default();
        let mut ending = self.carry_out(orders, &mut work).await;
        while ending.is_none() {
            let happened = self.next(&mut work).await;
            ending = self.carry_out(turn.on(happened), &mut work).await;
        }
        self.end_turn(ending.unwrap_or(TurnEnd::Interrupted)).await;
    }

    /// Waits for the next event that the turn must know of.
    async fn next(&mut self, work: &mut Work) -> Happened {
        loop {
            if let Some(due) = work.due.pop_front() {
                return due;
            }
            tokio::select! {
                biased;
                () = self.closing.cancelled(), if !work.stopped => {
                    work.stopped = true;
                    return Happened::Interrupted;
                }
                op = self.inbox.recv(), if !work.deaf => match op {
                    Some(Op::Interrupt) => return Happened::Interrupted,
                    Some(op) => self.takes(op),
                    None => work.deaf = true,
                },
                event = self.sessions.recv() => self.session_event(event).await,
                _ = self.changes.changed() => {}
                arrived = work.arrives() => match arrived {
                    Arrived::Text(kind) => self.report.tell(kind).await,
                    Arrived::Happened(happened) => return happened,
                    Arrived::Completed(usage) => return self.completed(usage),
                    Arrived::Answer(answer) => return self.answered(answer).await,
                    Arrived::Summary(result) => return self.summarised(result).await,
                    Arrived::Patience => work.listening.run_out(),
                    Arrived::Look => {}
                },
            }
            if let Some(heard) = self.listen_again(work).await {
                return heard;
            }
        }
    }

    /// Carries actions out. Returns how the turn ended, if it did.
    async fn carry_out(&mut self, orders: Vec<TurnAction>, work: &mut Work) -> Option<TurnEnd> {
        let mut ending = None;
        for order in orders {
            match order {
                TurnAction::Keep(entry) => self.keep(entry).await,
                TurnAction::Start(call) => work.start(self, call).await,
                TurnAction::Ask => work.ask(self.deps.model_client.clone(), self.request()),
                TurnAction::Rest { attempt, failure } => self.rest(attempt, &failure, work).await,
                TurnAction::Compact(_) => work.summarise(self.summary()),
                TurnAction::Listen { called } => self.listen(called, work).await,
                TurnAction::Abandon => work.abandon(&self.report).await,
                TurnAction::End(how) => ending = Some(how),
            }
        }
        ending
    }

    fn request(&self) -> Request {
        Request {
            model: self.params.model.clone(),
            items: self.history.items(),
            tools: Arc::clone(&self.specs),
            parallel_calls: true,
            effort: self.params.effort.clone(),
            summary: self.params.summary.clone(),
            verbosity: self.params.verbosity.clone(),
            output_schema: self.schema.clone(),
            most_output: None,
            cache_key: self.cache_key.clone(),
            thread: self.me.to_string(),
        }
    }

    /// Writes an item to disk before it is reported to any receiver.
    async fn keep(&mut self, entry: HistoryEntry) {
        self.filled += entry.estimate();
        let recorded = self.record.as_mut().map_or(Ok(()), |record| record.item(&entry));
        self.recorded(recorded).await;
        let told = told(&entry.item);
        if let Some(EventKind::Message(text)) = &told {
            self.last_words = Some(text.clone());
        }
        if matches!(entry.item.content(), Content::Message { .. }) {
            self.heard.lock().unwrap_or_else(PoisonError::into_inner).push(entry.clone());
        }
        self.history.push(entry);
        if let Some(kind) = told {
            self.report.tell(kind).await;
        }
    }

    /// Reports once that the file cannot be written any more. The work goes on.
    async fn recorded(&mut self, result: Result<(), crate::record::RecordError>) {
        if let Err(error) = result {
            self.record = None;
            let words = format!("this conversation is no longer recorded: {error}");
            self.report.tell(EventKind::Warning(words)).await;
        }
    }

    fn completed(&mut self, usage: Usage) -> Happened {
        self.usage = self.usage.and(usage);
        self.turn_usage = self.turn_usage.and(usage);
        self.filled = usage.total();
        if let Some(record) = &mut self.record {
            // Only numbers: if the disk is full, the next item reports it.
            let _ = record.usage(usage);
        }
        Happened::Completed(usage)
    }

    async fn answered(&mut self, answer: work::CallAnswer) -> Happened {
        let work::CallAnswer { note, output, wall } = answer;
        let id = windlass_llm::CallId(note.id.clone());
        let shown = output.shown();
        let ended = EventKind::CallEnded { call: note, ok: output.ok, wall, answer: shown };
        self.report.tell(ended).await;
        output.delivery.confirm();
        Happened::Answered(id, output.parts)
    }

    async fn rest(&mut self, attempt: u32, failure: &windlass_llm::Failure, work: &mut Work) {
        let delay = pump::delay(attempt, failure);
        let most = self.deps.config.most_tries;
        let seconds = delay.as_secs_f64();
        let words = format!("{failure}; trying again in {seconds:.1} s ({attempt} of {most})");
        self.report.tell(EventKind::Warning(words)).await;
        work.rest(delay);
    }

    async fn session_event(&mut self, event: Result<SessionEvent, RecvError>) {
        match event {
            Ok(SessionEvent::Ended { session, .. }) => self.commands.ended(&session).await,
            Ok(_) => {}
            Err(RecvError::Lagged(_)) => self.commands.look_again().await,
            // The toolbox, which holds the sender, lives as long as this task, so the channel stays open.
            Err(RecvError::Closed) => {}
        }
    }

    /// The input that arrived meanwhile: ends of sessions and sub-agents first, then messages.
    fn collect(&mut self) -> Vec<HistoryEntry> {
        let mut heard = Vec::new();
        let sessions = self.toolbox.news();
        if !sessions.is_empty() {
            let lines = sessions.join("\n");
            heard.push(HistoryEntry::notice(format!(
                "<session_notification>\n{lines}\n</session_notification>"
            )));
        }
        heard.extend(self.team.news(&self.me));
        heard.extend(self.notices.take());
        heard.append(&mut self.said);
        heard
    }

    /// Handles a boundary. A message without calls is the answer: only input for the agent keeps its turn from ending
    /// with it, unless the turn is to wait for background work.
    async fn listen(&mut self, called: bool, work: &mut Work) {
        let waits = matches!(self.deps.config.background, Background::Wait(_));
        let goes_on = called || !self.said.is_empty() || waits;
        let heard = if goes_on { self.collect() } else { Vec::new() };
        self.words_taken();
        let (true, Background::Wait(patience)) = (heard.is_empty() && !called, self.deps.config.background)
        else {
            return work.due.push_back(Happened::Heard(heard));
        };
        let awaited = self.awaited().await;
        if awaited.is_empty() {
            return work.due.push_back(Happened::Heard(Vec::new()));
        }
        work.listening.begin(patience);
        self.report.tell(EventKind::Waiting(awaited)).await;
    }

    /// Something happened while the agent had nothing else to do.
    async fn listen_again(&mut self, work: &mut Work) -> Option<Happened> {
        if !work.listening.is_on() {
            return None;
        }
        let heard = self.collect();
        if heard.is_empty() && !self.awaited().await.is_empty() {
            let limit = work.listening.ran_out()?;
            self.report.tell(EventKind::WaitExpired(limit)).await;
        }
        work.listening.end();
        self.words_taken();
        Some(Happened::Heard(heard))
    }

    /// The background work that will end by itself and is worth waiting for, described in words.
    async fn awaited(&self) -> Vec<String> {
        let mut awaited = self.team.busy_children(&self.me);
        let sessions = self.toolbox.expected().await;
        awaited.extend(sessions.iter().map(in_words));
        awaited
    }

    /// Reports everything that ends because the agent is closed: these, its commands, and processes that its exited
    /// commands left.
    async fn tell_left_running(&self, mut left: Vec<String>) {
        left.extend(self.toolbox.running().iter().map(in_words));
        left.extend(self.toolbox.left_processes().iter().map(left_in_words));
        if !left.is_empty() {
            self.report.tell(EventKind::LeftRunning(left)).await;
        }
    }

    async fn end_turn(&mut self, ending: TurnEnd) {
        if self.is_closed_after_answer() {
            self.tell_left_running(self.team.busy_children(&self.me)).await;
        }
        let (kind, status, word) = match ending {
            TurnEnd::Completed => {
                let (turn, thread) = (self.turn_usage, self.usage);
                let status = Status::Completed(self.last_words.clone());
                (EventKind::TurnCompleted { turn, thread }, status, "completed")
            }
            TurnEnd::Failed(message) => {
                let kind = EventKind::TurnFailed { message: message.clone() };
                (kind, Status::Errored(message), "failed")
            }
            TurnEnd::Interrupted => {
                self.keep(HistoryEntry::notice(INTERRUPTED)).await;
                (EventKind::TurnInterrupted, Status::Interrupted, "interrupted")
            }
        };
        let message = if let Status::Errored(message) = &status { Some(message.clone()) } else { None };
        let recorded = self.record.as_mut().map_or(Ok(()), |record| record.turn(word, message.as_deref()));
        self.recorded(recorded).await;
        self.report.tell(kind).await;
        self.team.turn_ended(&self.me, &self.status, status);
    }

    /// Handles an operation that can wait for the next boundary.
    fn takes(&mut self, op: Op) {
        match op {
            Op::Say(entries) => {
                self.taken += 1;
                self.said.extend(entries);
            }
            Op::UseModel(model) => self.params.model = model,
            Op::Compact => self.compact = true,
            Op::Interrupt => {}
        }
    }

    /// Subtracts the input that the agent now works on from the count of unread messages.
    fn words_taken(&mut self) {
        self.unheard.fetch_sub(std::mem::take(&mut self.taken), Ordering::SeqCst);
    }
}

fn in_words(session: &SessionSummary) -> String {
    format!("session {} ({})", session.id, shortened(&session.command, 120))
}

fn left_in_words(left: &LeftProcess) -> String {
    let LeftProcess { session, pid, command } = left;
    format!("process {pid} ({}), left by session {session}", shortened(command, 120))
}

/// The message to the model about an interrupted turn.
const INTERRUPTED: &str = "<turn_aborted>\nThe user interrupted this turn. Commands that it was running may have been ended \
                           halfway; look before you rely on what they should have done.\n</turn_aborted>";

/// The event of an item that is kept. Calls and their results are reported while they run.
fn told(item: &Item) -> Option<EventKind> {
    match item.content() {
        Content::Message { role: Role::Assistant, .. } => {
            Some(EventKind::Message(item.words_of(Role::Assistant)?))
        }
        Content::Reasoning { text } if !text.trim().is_empty() => Some(EventKind::Reasoning(text.clone())),
        Content::Other { kind } if kind == "web_search_call" => {
            Some(EventKind::WebSearch(serde_json::from_str(item.json()).unwrap_or(Value::Null)))
        }
        _ => None,
    }
}
