//! The handle on a session, for everyone but its task: it sends requests, watches and reads.

mod attention;
mod coalesce;
mod input;
mod output;
mod screen;
mod source;
mod state;
mod task;
mod terminate;

pub use attention::Attention;
pub use input::{InputError, LastLine, QUEUE_LIMIT};
pub use screen::ScreenView;
pub use task::Drain;
pub use terminate::{KillDelays, TreeEnd};

pub(crate) use input::Input;
pub(crate) use output::Outputs;
pub(crate) use screen::LiveScreen;
pub(crate) use source::{MOST_ROOMY, Source};
pub(crate) use task::{Request, SessionTask, TaskState};
pub(crate) use terminate::{KillTarget, TargetScope, end_tree};

use crate::confined::{Confined, Watchers};
use crate::cursor::{Cursor, Subscription, SubscriptionLimits};
use crate::limits::Bounds;
use crate::orphans::Orphans;
use crate::progress::{InputProgress, Progress};
use crate::spare::SpareDescriptors;
use crate::store::NameClaim;
use crate::{Cause, Journal, Lifetime, Pace, ProcessLine, Receipt, SessionId, Store};
use rustix::io::Errno;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use windlass_output::Offset;
use windlass_sandbox::{Denial, Plan};
use windlass_sys::evidence::{self, Endpoint};
use windlass_sys::mark::{Mark, RuntimeTag};
use windlass_sys::process::{Pid, Process};
use windlass_sys::pty::Size;
use windlass_sys::signal::Signal;
use windlass_sys::tree;

/// A handle on a session. Cheap to clone; any number may exist.
#[derive(Clone, Debug)]
pub struct Session {
    pub(crate) shared: Arc<Shared>,
    requests: mpsc::Sender<Request>,
}

/// State that the task and the handles share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) facts: SessionFacts,
    pub(crate) journal: Journal,
    pub(crate) progress: watch::Sender<Progress>,
    /// Notified after every change of progress but those of output and input: a caller that waits for an end need not
    /// be woken for every line of a flood.
    pub(crate) life: watch::Sender<()>,
    /// Notified after every change of progress but those of input: a caller that passes output on need not be woken for
    /// every line that is typed.
    pub(crate) story: watch::Sender<()>,
    pub(crate) started: Instant,
    pub(crate) timeout: Option<Duration>,
    pub(crate) bounds: Arc<Bounds>,
    pub(crate) pace: Pace,
    pub(crate) lifetime: Lifetime,
    pub(crate) limits: Limits,
    pub(crate) runtime_tag: RuntimeTag,
    pub(crate) mark: Mark,
    /// Owned by the task, which alone reaps it; a session that is over holds no descriptor.
    pub(crate) root: Weak<Process>,
    pub(crate) spare: Arc<SpareDescriptors>,
    /// Permits for output sources that may use a large buffer and a pause to coalesce reads.
    pub(crate) roomy: Arc<Semaphore>,
    pub(crate) orphans: Arc<Orphans>,
    pub(crate) store: Option<Arc<Store>>,
    pub(crate) screen: Mutex<LiveScreen>,
    /// Milliseconds from the start to the last request of a handle: the registry finds the least recently used session
    /// by it.
    pub(crate) touched: AtomicU64,
    pub(crate) trouble: Mutex<Option<String>>,
    /// The name on disk, as long as the root runs.
    pub(crate) name_claim: Mutex<Option<NameClaim>>,
    pub(crate) confined: Confined,
    pub(crate) watchers: Arc<Watchers>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Without a receipt the root may be alive, and keeps its name.
        if let Some(claim) = self.take_name_claim() {
            claim.leave();
        }
        if let Some(store) = &self.store {
            let account = self.journal.account();
            store.release(self.facts.id, account.end.get().saturating_sub(account.dropped));
        }
    }
}

/// Facts that were decided when the session started and never change.
#[derive(Clone, Debug)]
pub struct SessionFacts {
    /// Its number.
    pub id: SessionId,
    /// Its name, if it was given one.
    pub name: Option<String>,
    /// The command.
    pub argv: Vec<OsString>,
    /// The script that was asked for, where the command does not show it.
    pub script: Option<String>,
    /// Names of variables that were withheld from it.
    pub withheld: Vec<String>,
    /// The client that it belongs to, if one was named.
    pub owner: Option<String>,
    /// Its working directory.
    pub directory: PathBuf,
    /// The terminal's first size, if it runs on one.
    pub terminal: Option<Size>,
    /// The rule for when it ends.
    pub lifetime: Lifetime,
    /// The root process.
    pub root: Pid,
    /// When it started, by the wall clock.
    pub started: SystemTime,
    /// The plan that confines it, if any.
    pub sandbox: Option<Arc<Plan>>,
    /// The resources that it may use.
    pub limits: crate::Limits,
}

/// The times that govern a session's end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    pub(crate) patience: KillDelays,
    pub(crate) drain: Drain,
}

/// Requests that may be queued for the task; further ones wait in their callers.
const REQUEST_QUEUE: usize = 16;

impl Session {
    pub(crate) fn new(shared: Shared) -> (Self, mpsc::Receiver<Request>) {
        let (requests, receiver) = mpsc::channel(REQUEST_QUEUE);
        (Self { shared: Arc::new(shared), requests }, receiver)
    }

    /// The facts about it that never change.
    pub fn facts(&self) -> &SessionFacts {
        &self.shared.facts
    }

    /// Its number.
    pub fn id(&self) -> SessionId {
        self.shared.facts.id
    }

    /// When it started, by the monotonic clock.
    pub fn started(&self) -> Instant {
        self.shared.started
    }

    /// Every byte it printed.
    pub fn journal(&self) -> &Journal {
        &self.shared.journal
    }

    /// Its present progress.
    pub fn progress(&self) -> Progress {
        self.shared.progress.borrow().clone()
    }

    /// Its progress as a level to wait on.
    pub fn watch(&self) -> watch::Receiver<Progress> {
        self.shared.touch();
        self.shared.progress.subscribe()
    }

    /// A notification of every change of its output and its life, and of none of its input. Read the progress after it.
    pub fn watch_output(&self) -> watch::Receiver<()> {
        self.shared.touch();
        self.shared.story.subscribe()
    }

    /// The receipt, once there is one.
    pub fn receipt(&self) -> Option<Arc<Receipt>> {
        self.shared.progress.borrow().receipt.clone()
    }

    /// A degradation of the session: its record could not be written, say.
    pub fn trouble(&self) -> Option<String> {
        self.shared.trouble.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// The denials of its sandbox so far, each once.
    pub fn denials(&self) -> Vec<Denial> {
        self.shared.confined.denials()
    }

    /// A reader of its own, from this offset on.
    pub fn cursor(&self, from: Offset) -> Cursor {
        Cursor::new(self.clone(), from)
    }

    /// Output as it comes, from this offset on.
    pub fn subscribe(&self, from: Offset, limits: SubscriptionLimits) -> Subscription {
        Subscription::new(self.clone(), from, limits)
    }

    /// The visible screen of a terminal session, made from the journal.
    pub fn screen(&self) -> Option<ScreenView> {
        self.shared.facts.terminal?;
        self.shared.touch();
        Some(self.shared.screen_view())
    }

    /// Waits for the receipt. Cancelled by dropping.
    pub async fn exited(&self) -> Result<Arc<Receipt>, Abandoned> {
        let mut progress = self.shared.progress.subscribe();
        let settled = progress.wait_for(|progress| progress.receipt.is_some() || progress.closed).await;
        let receipt = settled.ok().and_then(|progress| progress.receipt.clone());
        receipt.ok_or(Abandoned { session: self.id() })
    }

    /// Confirms, for a command with the pace of its reader, that everything before this offset was read.
    pub async fn confirm(&self, taken: Offset) {
        // A session whose task has ended needs no confirmation: the error of a closed channel is expected.
        let _ = self.requests.send(Request::Confirm { taken }).await;
    }

    /// Offers bytes to the session's input and returns how many were taken into its queue. The caller keeps the rest.
    pub async fn write(&self, bytes: impl Into<Vec<u8>>) -> Result<usize, InputError> {
        let bytes = bytes.into();
        self.ask(|reply| Request::Write { bytes, reply }).await.unwrap_or(Err(InputError::Gone))
    }

    /// Writes, then waits until all accepted bytes were delivered to the process, or until the deadline.
    pub async fn write_until(
        &self,
        bytes: impl Into<Vec<u8>>,
        deadline: Instant,
    ) -> Result<Written, InputError> {
        let bytes = bytes.into();
        let offered = bytes.len();
        let mut progress = self.shared.progress.subscribe();
        let accepted = self.write(bytes).await?;
        let target = progress.borrow_and_update().input.accepted;
        let settled = progress.wait_for(|p| p.input.delivered + p.input.undelivered >= target);
        // The timeout is no error: the level shows how far delivery got.
        let _ = tokio::time::timeout_at(deadline.into(), settled).await;
        let input = self.shared.progress.borrow().input;
        Ok(Written { refused: offered - accepted, queued: input.queued(), input })
    }

    /// Ends the input: closes the pipe, or types the terminal's end-of-file character.
    pub async fn end_input(&self) -> Result<(), InputError> {
        self.end_input_with(LastLine::AsTyped).await
    }

    /// The same, with a choice for the last line, which may be unfinished.
    pub async fn end_input_with(&self, last_line: LastLine) -> Result<(), InputError> {
        self.ask(|reply| Request::End { last_line, reply }).await.unwrap_or(Err(InputError::Gone))
    }

    /// Whether it waits for input right now. If one look cannot decide, it looks again, for a fraction of a second at
    /// most; a job that is in doubt for longer is busy.
    pub async fn attention(&self) -> Attention {
        const LONGEST: Duration = Duration::from_millis(500);
        let deadline = Instant::now() + LONGEST;
        let mut progress = self.watch();
        loop {
            match self.look().await {
                Attention::Undecided(again) if Instant::now() < deadline => {
                    // timer: the job's processor time is measured over this time; output is a reason to look sooner.
                    let _ = tokio::time::timeout(again, progress.changed()).await;
                }
                Attention::Undecided(_) => return Attention::Busy,
                attention => return attention,
            }
        }
    }

    /// One look.
    pub(crate) async fn look(&self) -> Attention {
        self.ask(|reply| Request::Look { reply }).await.unwrap_or(Attention::Busy)
    }

    /// The addresses on which its processes listen right now.
    pub fn listening(&self) -> Vec<Endpoint> {
        let mark = self.shared.mark;
        let members = tree::members(&*self.shared.orphans, |found| found == mark);
        let members: Vec<Pid> = members.iter().map(Process::pid).collect();
        evidence::listening(&members)
    }

    /// Changes the terminal's size.
    pub async fn resize(&self, size: Size) -> Result<(), Errno> {
        self.ask(|reply| Request::Resize { size, reply }).await.unwrap_or(Err(Errno::SRCH))
    }

    /// Sends a signal to the root's process group, and nothing more.
    pub async fn signal(&self, signal: Signal) -> Result<(), Errno> {
        self.ask(|reply| Request::Signal { signal, reply }).await.unwrap_or(Err(Errno::SRCH))
    }

    /// Ends everything the session started: TERM, grace, KILL, sweep. Also ends processes that an exited root left
    /// running.
    pub async fn stop(&self) -> TreeEnd {
        self.stop_because(Cause::Stopped).await
    }

    /// Ends processes that a finished session left running in its root's process group. Processes that moved to another
    /// group live on.
    pub async fn end_group(&self) -> TreeEnd {
        end_tree(self.shared.group_prey(), self.shared.limits.patience).await
    }

    /// Ends a session whose lifetime is the call that started it.
    pub async fn end_call(&self) -> TreeEnd {
        self.stop_because(Cause::Dropped).await
    }

    pub(crate) async fn stop_because(&self, cause: Cause) -> TreeEnd {
        match self.ask(|reply| Request::Stop { cause, reply }).await {
            Some(end) => end,
            // The task is gone because its session is over: only its tree may remain.
            None => end_tree(self.shared.kill_target(), self.shared.limits.patience).await,
        }
    }

    /// The living processes of the session, the root included, as of now.
    pub fn processes(&self) -> Vec<ProcessLine> {
        let mark = self.shared.mark;
        let members = tree::members(&*self.shared.orphans, |found| found == mark);
        let asked_for = |member: &&Process| self.shared.confined.watcher() != Some(member.pid());
        members.iter().filter(asked_for).filter_map(|member| terminate::describe(member.pid())).collect()
    }

    pub(crate) fn last_used(&self) -> Instant {
        self.shared.started + Duration::from_millis(self.shared.touched.load(Ordering::Relaxed))
    }

    pub(crate) fn downgrade(&self) -> WeakSession {
        WeakSession { shared: Arc::downgrade(&self.shared), requests: self.requests.downgrade() }
    }

    /// Sends a request and returns its answer; `None` if the task has ended.
    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> Option<T> {
        self.shared.touch();
        let (reply, answer) = oneshot::channel();
        self.requests.send(request(reply)).await.ok()?;
        answered(&self.requests, answer).await
    }
}

/// Waits for the answer to a request; `None` if it will never come.
///
/// A request may be enqueued while the task ends: it passed the check for a closed channel, but came after the final
/// drain. It then stays in the queue for as long as there is a handle, and without the second branch its sender would
/// wait as long.
async fn answered<T>(requests: &mpsc::Sender<Request>, mut answer: oneshot::Receiver<T>) -> Option<T> {
    tokio::select! {
        biased;
        given = &mut answer => given.ok(),
        // Every answer is given before the channel closes.
        () = requests.closed() => answer.try_recv().ok(),
    }
}

/// No task watches the session any more, so its end will not be known: its runtime was ended around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("session {session} is no longer watched, and how it ends will not be known")]
pub struct Abandoned {
    /// The session.
    pub session: SessionId,
}

/// The outcome of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Not taken: the queue was full.
    pub refused: usize,
    /// Taken, and still waiting for the process to read.
    pub queued: u64,
    /// The session's input as a whole.
    pub input: InputProgress,
}

/// A weak handle, which does not keep a `call` session alive.
#[derive(Clone, Debug)]
pub(crate) struct WeakSession {
    shared: Weak<Shared>,
    requests: mpsc::WeakSender<Request>,
}

impl WeakSession {
    pub(crate) fn upgrade(&self) -> Option<Session> {
        Some(Session { shared: self.shared.upgrade()?, requests: self.requests.upgrade()? })
    }
}

impl Shared {
    /// Changes the progress of the session's life, and wakes all waiters.
    pub(crate) fn send_life(&self, change: impl FnOnce(&mut Progress)) {
        self.progress.send_modify(change);
        self.life.send_replace(());
        self.story.send_replace(());
    }

    pub(crate) fn kill_target(&self) -> KillTarget {
        let whose =
            TargetScope::Session { mark: self.mark, root: self.facts.root, held: self.root.upgrade() };
        let (spare, orphans) = (Arc::clone(&self.spare), Arc::clone(&self.orphans));
        let (on_terminal, watcher) = (self.facts.terminal.is_some(), self.confined.watcher());
        let watchers = Arc::clone(&self.watchers);
        KillTarget { runtime_tag: self.runtime_tag, whose, spare, orphans, on_terminal, watcher, watchers }
    }

    fn group_prey(&self) -> KillTarget {
        KillTarget {
            whose: TargetScope::Group { mark: self.mark, group: self.facts.root },
            ..self.kill_target()
        }
    }

    fn touch(&self) {
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.touched.fetch_max(now, Ordering::Relaxed);
    }

    fn record_end(&self, receipt: &Receipt) {
        let Some(store) = &self.store else { return };
        if let Err(error) = store.finish(self.facts.id, receipt) {
            self.note_trouble(crate::with_causes(&error));
        }
        // After the receipt is recorded, so that no reader of records sees two sessions of one name run; and before the
        // receipt is published, so that a caller that waited for it finds the name free.
        drop(self.take_name_claim());
    }

    pub(crate) fn record_degraded(&self, degraded: &crate::Degraded) {
        if let Some(store) = &self.store {
            store.degraded(self.facts.id, degraded);
        }
    }

    /// Whether another process is ending this session. One system call for each exit: a root that handles TERM may exit
    /// with any code, so its exit does not show it.
    pub(crate) fn is_stop_requested(&self) -> bool {
        self.store.as_ref().is_some_and(|store| store.is_stop_requested(self.facts.id))
    }

    fn take_name_claim(&self) -> Option<NameClaim> {
        self.name_claim.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
    }

    /// The first trouble is the cause of those that follow.
    pub(crate) fn note_trouble(&self, what: String) {
        self.trouble.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look() -> (Request, oneshot::Receiver<Attention>) {
        let (reply, answer) = oneshot::channel();
        (Request::Look { reply }, answer)
    }

    /// A regression test: a call hung for ever, once in thousands of ends.
    #[tokio::test]
    async fn a_request_that_comes_in_while_the_task_ends_is_not_waited_for() {
        let (requests, mut task) = mpsc::channel(4);
        let late = requests.reserve().await.expect("it is open");
        task.close();
        assert!(task.try_recv().is_err());
        drop(task);
        let (request, answer) = look();
        late.send(request);
        assert_eq!(answered(&requests, answer).await, None);
    }

    #[tokio::test]
    async fn an_answer_that_was_given_before_the_end_is_heard() {
        let (requests, mut task) = mpsc::channel(4);
        let (request, answer) = look();
        requests.send(request).await.expect("it is open");
        let Some(Request::Look { reply }) = task.recv().await else { panic!("it was sent") };
        reply.send(Attention::Busy).expect("somebody waits");
        drop(task);
        assert_eq!(answered(&requests, answer).await, Some(Attention::Busy));
    }
}
