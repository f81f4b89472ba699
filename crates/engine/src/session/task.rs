//! The task that owns a session: it alone reads, writes, signals and reaps. All others send it requests, watch the
//! progress that it publishes, and read the journal.

use super::Shared;
use super::attention::Attention;
use super::input::{EndReply, Input, InputError, LastLine};
use super::output::{Outputs, ReadOutcome};
use super::state::{Happening, NextAction, State};
use super::terminate::{self, KillTarget, TargetScope, TreeEnd, end_tree};
use crate::deadline::after;
use crate::progress::Progress;
use crate::{Account, Cause, Exit, Lifetime, Pace, PeakMemory, ProcessLine, Receipt};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Sleep;
use windlass_output::Offset;
use windlass_sys::evidence::Watch;
use windlass_sys::process::{Ended, How, Process};
use windlass_sys::pty::Size;
use windlass_sys::signal::Signal;
use windlass_sys::{limits, tree};

/// Requests of a handle to the task. They are carried out in the order in which they were made.
#[derive(Debug)]
pub(crate) enum Request {
    Write { bytes: Vec<u8>, reply: oneshot::Sender<Result<usize, InputError>> },
    End { last_line: LastLine, reply: EndReply },
    Resize { size: Size, reply: oneshot::Sender<Result<(), rustix::io::Errno>> },
    Signal { signal: Signal, reply: oneshot::Sender<Result<(), rustix::io::Errno>> },
    Stop { cause: Cause, reply: oneshot::Sender<TreeEnd> },
    Confirm { taken: Offset },
    Look { reply: oneshot::Sender<Attention> },
}

/// How long the task waits for output once the root is gone and another process still holds the pipe.
#[derive(Clone, Copy, Debug)]
pub struct Drain {
    /// After this long without a byte, the wait is over.
    pub silence: Duration,
    /// The longest wait, however busy the pipe is.
    pub ceiling: Duration,
}

impl Default for Drain {
    fn default() -> Self {
        Self { silence: Duration::from_millis(50), ceiling: Duration::from_secs(1) }
    }
}

/// A running session.
pub(crate) struct SessionTask {
    pub(crate) shared: Arc<Shared>,
    pub(crate) root: AsyncFd<Arc<Process>>,
    pub(crate) outputs: Outputs,
    pub(crate) input: Input,
    pub(crate) requests: mpsc::Receiver<Request>,
    pub(crate) life: TaskState,
}

/// The part of a task that changes as the session goes through its states.
#[derive(Default)]
pub(crate) struct TaskState {
    state: Option<State>,
    exit: Option<(Ended, Instant)>,
    ladder: Option<Pin<Box<dyn Future<Output = TreeEnd> + Send>>>,
    tree_end: TreeEnd,
    /// The ladder ended with an empty tree: a look for orphans can find no more.
    swept: bool,
    stop_replies: Vec<oneshot::Sender<TreeEnd>>,
    timer: Option<Pin<Box<Sleep>>>,
    drain_ceiling: Option<Instant>,
    /// The offset that the reader which sets the pace has confirmed.
    confirmed: Offset,
    deaf: bool,
    /// The state of the search for a reader of the input, from one look to the next.
    pub(crate) watch: Watch,
}

/// The event that woke the task.
enum TaskEvent {
    Asked(Request),
    Unheld,
    RootExited,
    LadderDone(TreeEnd),
    TimeUp,
    Writable,
    Readable(usize),
}

impl SessionTask {
    /// Runs until no event can come any more.
    pub(crate) async fn run(mut self) {
        self.set_timer(self.shared.timeout.map(|timeout| after(self.shared.started, timeout)));
        self.input.flush();
        self.report_input();
        while !self.is_finished() {
            match poll_fn(|cx| self.poll_event(cx)).await {
                TaskEvent::Asked(request) => self.answer(request),
                TaskEvent::Unheld => self.unheld(),
                TaskEvent::RootExited => self.root_exited(),
                TaskEvent::LadderDone(end) => self.ladder_done(end),
                TaskEvent::TimeUp => self.time_up(),
                TaskEvent::Writable => self.write(),
                TaskEvent::Readable(source) => self.read(source),
            }
        }
        self.close();
    }

    /// Requests come first, so that a flood of output cannot hold them up; then the root's exit, then input, then
    /// output.
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<TaskEvent> {
        if !self.life.deaf
            && let Poll::Ready(request) = self.requests.poll_recv(cx)
        {
            return Poll::Ready(request.map_or(TaskEvent::Unheld, TaskEvent::Asked));
        }
        if self.life.exit.is_none() && self.root.poll_read_ready(cx).is_ready() {
            return Poll::Ready(TaskEvent::RootExited);
        }
        if let Some(ladder) = &mut self.life.ladder
            && let Poll::Ready(end) = ladder.as_mut().poll(cx)
        {
            return Poll::Ready(TaskEvent::LadderDone(end));
        }
        if let Some(timer) = &mut self.life.timer
            && timer.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(TaskEvent::TimeUp);
        }
        if let Some(fd) = self.input.pending()
            && fd.poll_write_ready(cx).is_ready()
        {
            return Poll::Ready(TaskEvent::Writable);
        }
        if self.is_ahead() {
            // A confirmation is a request, and requests wake this task.
            return Poll::Pending;
        }
        self.outputs.poll_readable(cx).map(TaskEvent::Readable)
    }

    /// Whether the command has to wait for the reader that sets its pace.
    fn is_ahead(&self) -> bool {
        let ahead = self.shared.journal.end().since(self.life.confirmed);
        matches!(self.shared.pace, Pace::Reader { window } if ahead >= window && !self.life.deaf)
    }

    fn answer(&mut self, request: Request) {
        // The caller may have gone away meanwhile: its answer is dropped.
        match request {
            Request::Write { bytes, reply } => {
                let answer = self.input.accept(bytes);
                self.write();
                let _ = reply.send(answer);
            }
            Request::End { last_line, reply } => {
                self.input.end(last_line, reply);
                self.write();
            }
            Request::Resize { size, reply } => {
                let _ = reply.send(self.outputs.resize(size));
                self.shared.screen_resized(size);
            }
            Request::Signal { signal, reply } => {
                let _ = reply.send(self.signal_group(signal));
            }
            Request::Stop { cause, reply } => {
                if self.state() == State::Over && self.life.ladder.is_none() {
                    // The receipt lists the processes that were ended before; this stop reports its own.
                    self.life.tree_end = TreeEnd::default();
                }
                self.life.stop_replies.push(reply);
                self.stop(cause);
            }
            // Several readers may confirm, in any order: a confirmed offset never moves back.
            Request::Confirm { taken } => self.life.confirmed = self.life.confirmed.max(taken),
            Request::Look { reply } => {
                let _ = reply.send(self.look());
            }
        }
    }

    fn signal_group(&self, signal: Signal) -> Result<(), rustix::io::Errno> {
        if self.life.exit.is_some() {
            return Err(rustix::io::Errno::SRCH);
        }
        self.root.get_ref().signal_group(signal)
    }

    /// The last handle is gone: that ends a `call` session, and any session once the engine is gone.
    fn unheld(&mut self) {
        self.life.deaf = true;
        let cause = if self.shared.lifetime == Lifetime::Call { Cause::Dropped } else { Cause::Shutdown };
        if self.shared.lifetime != Lifetime::Detached {
            self.stop(cause);
        }
    }

    /// A root that has exited already did so by itself, whatever is asked for now.
    fn stop(&mut self, cause: Cause) {
        if self.state() == State::Running {
            self.root_exited();
        }
        self.happen(Happening::StopAsked(cause));
    }

    /// Collects the root, if it has exited.
    fn root_exited(&mut self) {
        let mut reaped = Ok(None);
        // Checked inside of `try_io`, so that an exit between the check and the clearing of the readiness is not lost.
        let announced = self.root.try_io(Interest::READABLE, |root| {
            reaped = root.reap();
            if let Ok(None) = reaped { Err(std::io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
        });
        if announced.is_err() && matches!(reaped, Ok(None)) {
            reaped = self.root.get_ref().reap();
        }
        match reaped {
            Ok(None) => return,
            Ok(Some(ended)) => self.life.exit = Some((ended, Instant::now())),
            // Other code in this process waits for any child, and reaped this one.
            Err(_) => self.life.exit = Some((Ended::UNKNOWN, Instant::now())),
        }
        self.outputs.root_exited();
        if self.state() == State::Running && self.shared.is_stop_requested() {
            // `windlass stop` in another process ends it. This task ends the processes that the root left, as in any
            // other stop.
            self.happen(Happening::StopAsked(Cause::Stopped));
        }
        self.happen(Happening::RootExited);
    }

    fn ladder_done(&mut self, end: TreeEnd) {
        self.life.ladder = None;
        self.life.tree_end.ended.extend(end.ended);
        self.life.tree_end.remaining = end.remaining;
        self.admit_a_living_root();
        self.life.swept = self.life.tree_end.remaining.is_empty();
        self.happen(Happening::LadderDone);
        if self.life.ladder.is_none() && !self.receipt_will_come() {
            self.answer_stops();
        }
    }

    /// Whatever the ladder found: a root that lives has not been ended, and no caller may wait for its receipt.
    fn admit_a_living_root(&mut self) {
        let root = self.root.get_ref();
        let remaining = &mut self.life.tree_end.remaining;
        if remaining.is_empty() && self.life.exit.is_none() && root.is_alive() {
            remaining.push(terminate::describe(root.pid()).unwrap_or_else(terminate::unseen));
        }
    }

    /// Whether the answer to a stop should wait for the receipt. The ladder may see the root dead before this task has
    /// collected it; a root that could not be ended will have no receipt.
    fn receipt_will_come(&self) -> bool {
        match self.state() {
            State::Draining { .. } => true,
            State::Stopping { .. } => self.life.tree_end.remaining.is_empty(),
            State::Running | State::Over => false,
        }
    }

    fn time_up(&mut self) {
        self.life.timer = None;
        match (self.state(), self.shared.timeout) {
            (State::Running, Some(timeout)) => self.time_out(timeout),
            // The reader that sets the pace keeps this task from reading: the pipe need not be silent at all.
            (State::Draining { .. }, _) if self.is_ahead() => self.start_drain_clock(),
            (State::Draining { .. }, _) => self.happen(Happening::OutputOver),
            _ => {}
        }
    }

    /// Unlike a stop, a timeout that comes too late does nothing.
    fn time_out(&mut self, timeout: Duration) {
        self.root_exited();
        if self.state() == State::Running {
            self.happen(Happening::StopAsked(Cause::Timeout(timeout)));
        }
    }

    fn write(&mut self) {
        self.input.flush();
        self.outputs.expect_drop();
        self.report_input();
    }

    fn report_input(&self) {
        let input = self.input.progress();
        self.shared.progress.send_if_modified(|progress| {
            let changed = progress.input != input;
            progress.input = input;
            changed
        });
    }

    fn read(&mut self, source: usize) {
        let outcome = self.outputs.read(source, &self.shared);
        self.after_read(outcome);
    }

    fn after_read(&mut self, outcome: ReadOutcome) {
        if let ReadOutcome::Question = outcome {
            self.answer_terminal();
        }
        self.check_output();
        if self.state() == State::Over && self.outputs.is_closed() {
            self.shared.send_life(|progress| progress.closed = true);
        }
        if let State::Draining { .. } = self.state() {
            self.keep_draining(outcome);
        }
    }

    fn check_output(&mut self) {
        if self.state() == State::Running && self.shared.bounds.counts_output() {
            let printed = self.shared.journal.end().get();
            let crossed = self.shared.bounds.printed(printed, self.shared.started.elapsed());
            crossed.into_iter().for_each(|crossed| self.stop(Cause::Limit(crossed)));
        }
    }

    fn answer_terminal(&mut self) {
        let replies = self.shared.terminal_replies();
        if !replies.is_empty() && self.input.accept(replies).is_ok() {
            self.write();
        }
    }

    /// The one place where the state changes and its actions are carried out.
    fn happen(&mut self, happening: Happening) {
        let (next, order) = self.state().after(happening);
        self.life.state = Some(next);
        if next.phase() != self.shared.progress.borrow().phase {
            self.shared.send_life(|progress| progress.phase = next.phase());
        }
        match order {
            NextAction::Nothing => {}
            NextAction::EndTree => self.end_tree(),
            NextAction::Drain => self.start_draining(),
            NextAction::Publish(cause) => self.publish(cause),
        }
    }

    pub(super) fn state(&self) -> State {
        self.life.state.unwrap_or(State::Running)
    }

    fn end_tree(&mut self) {
        // A second stop joins the one under way: starting over would put off the KILL.
        if self.life.ladder.is_some() {
            return;
        }
        self.life.timer = None;
        let target = self.shared.kill_target();
        let patience = self.shared.limits.patience.with(self.state());
        self.life.ladder = Some(Box::pin(end_tree(target, patience)));
    }

    fn start_draining(&mut self) {
        self.input.root_exited();
        self.report_input();
        self.start_drain_clock();
        // All output of the root is in the pipe by now: most sessions end in this very step.
        for source in 0..Outputs::SOURCES {
            self.drain_source(source);
        }
        if self.outputs.is_closed() {
            self.happen(Happening::OutputOver);
        }
    }

    fn start_drain_clock(&mut self) {
        let Drain { silence, ceiling } = self.shared.limits.drain;
        self.life.drain_ceiling = Some(after(Instant::now(), ceiling));
        self.set_timer(Some(after(Instant::now(), silence.min(ceiling))));
    }

    /// The root's output fits into the kernel's buffer; if there is more than that, another process printed it.
    fn drain_source(&mut self, source: usize) {
        const MOST_READS: usize = 32;
        for _ in 0..MOST_READS {
            match self.outputs.read_now(source, &self.shared) {
                ReadOutcome::Nothing => return,
                ReadOutcome::Output | ReadOutcome::Question => {}
            }
        }
    }

    /// Reads the available output, and returns whether there was none.
    pub(super) fn has_read_everything(&mut self) -> bool {
        let mut quiet = true;
        for source in 0..Outputs::SOURCES {
            let outcome = self.outputs.read_now(source, &self.shared);
            quiet &= outcome == ReadOutcome::Nothing;
            self.after_read(outcome);
        }
        quiet
    }

    fn keep_draining(&mut self, outcome: ReadOutcome) {
        let ceiling = self.life.drain_ceiling.unwrap_or_else(Instant::now);
        if self.outputs.is_closed() || Instant::now() >= ceiling {
            self.happen(Happening::OutputOver);
        } else if !matches!(outcome, ReadOutcome::Nothing) {
            self.set_timer(Some(after(Instant::now(), self.shared.limits.drain.silence).min(ceiling)));
        }
    }

    fn set_timer(&mut self, deadline: Option<Instant>) {
        // timer: the session's timeout while it runs, the end of silence while it drains.
        self.life.timer = deadline.map(|at| Box::pin(tokio::time::sleep_until(at.into())));
    }

    fn publish(&mut self, cause: Cause) {
        self.life.timer = None;
        let closed = self.outputs.is_closed();
        if closed {
            // Before the end is published: whether a file that is removed after that can still be read must not depend
            // on when this task closes it.
            self.shared.journal.seal();
        }
        let receipt = Arc::new(self.receipt(cause));
        self.shared.confined.root_is_gone();
        self.shared.record_end(&receipt);
        self.shared.journal.set_over();
        self.shared.send_life(|progress: &mut Progress| {
            progress.receipt = Some(receipt);
            progress.closed = closed;
        });
        self.answer_stops();
    }

    fn receipt(&mut self, cause: Cause) -> Receipt {
        let (ended, at) = self.life.exit.unwrap_or_else(|| (Ended::UNKNOWN, Instant::now()));
        let TreeEnd { ended: ended_processes, remaining } = self.life.tree_end.clone();
        self.shared.journal.check();
        let Account { bytes, degraded, .. } = self.shared.journal.account();
        self.shared.bounds.printed_in_all(bytes.total());
        Receipt {
            exit: match ended.how {
                How::Exited(code) => Exit::Code(code),
                How::Signalled(signal) => Exit::Signal(signal.number()),
                How::Unknown => Exit::Unknown,
            },
            cause: self.shared.bounds.verdict(cause, ended.how),
            wall: at.duration_since(self.shared.started),
            cpu_user: ended.cpu_user,
            cpu_system: ended.cpu_system,
            peak_memory: peak_memory(ended.peak_memory),
            bytes,
            cut_off: !self.outputs.is_closed(),
            degraded,
            undelivered_input: self.input.progress().undelivered,
            denials: self.shared.confined.denials(),
            left_running: self.left_running(),
            ended: ended_processes,
            remaining,
            peaks: self.shared.bounds.final_peaks(),
            enforced: self.shared.bounds.enforced(),
        }
    }

    fn left_running(&self) -> Vec<ProcessLine> {
        let target = self.shared.kill_target();
        let KillTarget { whose: TargetScope::Session { mark, root, .. }, .. } = target else {
            return Vec::new();
        };
        let living_root = self.life.exit.is_none().then_some(root);
        if self.life.swept || !target.has_strays(mark, living_root) {
            return Vec::new();
        }
        let watcher = self.shared.confined.watcher();
        let look = || tree::living(&*target.orphans, |found| found == mark).collect::<Vec<_>>();
        // One walk over the process table may miss a process that forks from number to number.
        const MOST_WALKS: usize = 8;
        let mut walks = (0..MOST_WALKS).map(|_| self.shared.spare.lend(look));
        let is_enough = |found: &Vec<_>| !found.is_empty() || !target.has_strays(mark, living_root);
        let found = walks.find(is_enough).unwrap_or_default();
        let line = |found: &Result<Process, _>| match found {
            Ok(process) if Some(process.pid()) == watcher => None,
            Ok(process) => terminate::describe(process.pid()),
            Err(_) => Some(terminate::unseen()),
        };
        found.iter().filter_map(line).collect()
    }

    fn answer_stops(&mut self) {
        for reply in self.life.stop_replies.drain(..) {
            let _ = reply.send(self.life.tree_end.clone());
        }
    }

    fn is_finished(&self) -> bool {
        let abandoned = self.life.deaf && self.shared.lifetime == Lifetime::Detached;
        let over = self.state() == State::Over && self.life.ladder.is_none();
        abandoned || over && (self.life.deaf || self.outputs.is_closed() && !self.owes_an_end())
    }

    /// A `call` session that left processes running ends them when its caller goes away.
    fn owes_an_end(&self) -> bool {
        let left =
            |progress: &Progress| progress.receipt.as_ref().is_some_and(|it| !it.left_running.is_empty());
        self.shared.lifetime == Lifetime::Call && left(&self.shared.progress.borrow())
    }

    fn close(&mut self) {
        self.shared.journal.seal();
        self.shared.send_life(|progress| progress.closed = true);
        self.requests.close();
        // A stop that came in just now finds nothing left to do here; the handle then ends the tree itself.
        while self.requests.try_recv().is_ok() {}
    }
}

/// The kernel starts a child's high-water mark at its parent's, so a figure that is not above the runtime's own is only
/// a bound.
fn peak_memory(reported: u64) -> PeakMemory {
    if reported > limits::own_peak_memory() {
        PeakMemory::Exactly(reported)
    } else {
        PeakMemory::AtMost(reported)
    }
}
