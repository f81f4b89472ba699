//! The job around a reader: whether anything in it works towards output while one of its threads reads the terminal.
//!
//! A thread can print without input if it runs, waits for the disk, sleeps until a time, or waits for a peer outside of
//! the job. A thread that waits for a lock, a child, a pipe or a socket within the job can not: the thread at the other
//! end of that wait is looked at itself.

use super::activity::Sample;
use super::awaited::Awaited;
use super::call::{Call, Timeout};
use super::family::{ProcessStat, for_each_thread};
use super::inspect::{AwaitedInputs, Inspected, Reader};
use super::scope::{Members, Scope, departed_from};
use super::source::Source;
use super::{Doubt, InputKind};
use crate::process::Pid;
use std::ops::ControlFlow;
use std::time::Duration;

/// A reader that gives up this soon may be a program that looks at its terminal between two bursts of work.
const SHORT_TIMEOUT: Duration = Duration::from_millis(200);
/// The shortest window in which a job must be quiet to be called idle.
const SHORTEST_WINDOW: Duration = Duration::from_millis(30);
/// The window in which a job must be quiet before a doubt is all that speaks against waiting.
const DOUBTFUL_WINDOW: Duration = Duration::from_millis(100);

/// A clock of a reader of lines is watched for one round if it fires at least this often. A question that must be
/// answered sooner is not meant for a caller that reads it first.
const LONGEST_ROUND: Duration = Duration::from_secs(2);
/// The window for a clock that fires later, or at an unknown time: the job must be quiet for so long. A caller waits
/// for half a second of silence in any case.
const CLOCK_WINDOW: Duration = Duration::from_millis(400);

/// A process that left the job, and may print.
const LEFT: Finding = Finding::Doubtful(CLOCK_WINDOW, Some(Doubt::LeftJob));

/// A reader with everything that could print beside it.
pub(super) struct Job<'a> {
    source: &'a Source,
    pub(super) reader: &'a Reader,
    around: &'a Surroundings<'a>,
    /// The reader's group.
    group: Pid,
    /// Whether the reader is a daemon that reads for the job. Waits for a server are then explained: they are for that
    /// daemon.
    is_elsewhere: bool,
    /// The processes of the job, the reader's among them.
    pub(super) members: Vec<(Pid, ProcessStat)>,
    /// Processes that left the job, and may print.
    departed: Vec<(Pid, ProcessStat)>,
}

/// The processes around a reader.
pub(super) struct Surroundings<'a> {
    pub(super) scope: &'a Scope,
    pub(super) members: Members,
    pub(super) listed: Listed,
}

type Processes = Vec<(Pid, ProcessStat)>;

/// The moment at which processes were listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listed {
    /// Before the reader was found: it may have started others since.
    BeforeTheLook,
    /// After the reader was found asleep.
    AfterTheLook,
}

/// The finding about a job, from the least to the most that speaks against waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// The job waits.
    Idle,
    /// The job waits if it uses no processor time for this long, and then perhaps with a doubt.
    Doubtful(Duration, Option<Doubt>),
    /// The job works.
    Works,
}

impl Finding {
    fn quiet_for(window: Duration) -> Self {
        Self::Doubtful(window, None)
    }

    fn doubt(doubt: Doubt) -> Self {
        Self::Doubtful(DOUBTFUL_WINDOW, Some(doubt))
    }

    /// The combination of both, with the first doubt.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Works, _) | (_, Self::Works) => Self::Works,
            (Self::Idle, finding) | (finding, Self::Idle) => finding,
            (Self::Doubtful(one, doubt), Self::Doubtful(two, other)) => {
                Self::Doubtful(one.max(two), doubt.or(other))
            }
        }
    }
}

impl<'a> Job<'a> {
    /// `group` is the reader's.
    pub(super) fn new(
        source: &'a Source,
        reader: &'a Reader,
        around: &'a Surroundings<'a>,
        (group, is_elsewhere): (Pid, bool),
    ) -> Self {
        let (members, departed) = (Vec::new(), Vec::new());
        let mut job = Self { source, reader, around, group, is_elsewhere, members, departed };
        (job.members, job.departed) = job.lists(&around.members);
        job
    }

    /// The processes of the job, and those that left it.
    fn lists(&self, members: &Members) -> (Processes, Processes) {
        let job = self.members_among(members);
        // A relay passes on what the job behind it prints. A reader of keys draws, and goes on reading beside others.
        let may_matter = self.source.kind == InputKind::Line && self.reader.wanted.masters.is_empty();
        let departed =
            if may_matter { departed_from(self.source, &job, members, self.reader) } else { Vec::new() };
        (job, departed)
    }

    /// The foreground group, and the reader's own group where that is another one: `su -c` puts its command into a
    /// session without a terminal. A daemon's group does not belong to the job.
    fn members_among(&self, members: &Members) -> Vec<(Pid, ProcessStat)> {
        let reader = self.reader.pid;
        let belongs =
            |pid: Pid, facts: &ProcessStat| facts.terminal != 0 || facts.group == self.group || pid == reader;
        let mut job: Vec<_> =
            members.near.iter().filter(|(pid, facts)| belongs(*pid, facts)).copied().collect();
        if self.is_elsewhere {
            job.extend(ProcessStat::of(reader).map(|facts| (reader, facts)));
        }
        job
    }

    pub(super) fn finding(&self) -> Finding {
        let own = self.of_reader();
        if self.is_alone() {
            return if self.was_woken() { Finding::Works } else { own };
        }
        let (before, departed) = (Sample::of(&self.members), Sample::of(&self.departed));
        let mut finding = own;
        for (pid, facts) in &self.members {
            finding = finding.and(self.of_process(*pid, *facts));
            if finding == Finding::Works {
                return finding;
            }
        }
        for (pid, facts) in &self.departed {
            finding = finding.and(self.of_departed(*pid, *facts));
        }
        // Threads that hand work to each other may each have been asleep when they were looked at, and a process may
        // have started another one since they were listed. If none had a turn and none is new, all slept at the same
        // time.
        let (members, left) = self.lists(&self.around.scope.members(None));
        if counts(&members) != counts(&self.members) || Sample::of(&self.members).differs_from(&before) {
            return Finding::Works;
        }
        let goes_on =
            counts(&left) != counts(&self.departed) || Sample::of(&self.departed).differs_from(&departed);
        if goes_on { finding.and(LEFT) } else { finding }
    }

    /// The threads that wake up every few milliseconds.
    pub(super) fn ticking(&self) -> Vec<(Pid, u32)> {
        let mut ticking = Vec::new();
        for (pid, _) in &self.members {
            let process = self.inspected(*pid);
            for_each_thread(*pid, |thread| {
                let time = match process.blocked(thread) {
                    Ok(Some((Call::Sleep(timeout), _))) => process.time_of(timeout),
                    Ok(Some((_, wanted))) => process.timer_of(&wanted),
                    Ok(None) | Err(_) => None,
                };
                ticking.extend(time.filter(|time| *time <= SHORT_TIMEOUT).map(|_| (*pid, thread)));
                ControlFlow::Continue(())
            });
        }
        ticking
    }

    /// Whether another process than the one that types woke the reader before the list, by its end or through a pipe: then it
    /// may be gone from the list.
    fn was_woken(&self) -> bool {
        let wanted = &self.reader.wanted;
        let watches_children =
            || self.facts(self.reader.pid).is_some_and(|facts| facts.handled.watches_children());
        if wanted.pipes.is_empty() && wanted.processes.is_empty() && !watches_children() {
            return false;
        }
        let state = ProcessStat::of_thread(self.reader.pid, self.reader.thread).map(|facts| facts.state);
        let blocked = self.inspected(self.reader.pid).blocked(self.reader.thread);
        state != Some(b'S') || !matches!(blocked, Ok(Some((_, wanted))) if wanted.source)
    }

    fn is_alone(&self) -> bool {
        let is_single =
            matches!(&self.members[..], [(pid, facts)] if *pid == self.reader.pid && facts.threads == 1);
        is_single && self.departed.is_empty() && self.around.listed == Listed::AfterTheLook
    }

    /// The reader's own call may wait for more than the terminal.
    fn of_reader(&self) -> Finding {
        let (process, wanted) = (self.inspected(self.reader.pid), &self.reader.wanted);
        // A relay waits for whatever the program behind it does, and that was looked at.
        if !wanted.masters.is_empty() {
            return Finding::Idle;
        }
        let timer = process.timer_of(wanted).map_or(Finding::Idle, |time| self.of_timer(time));
        let timer = timer.and(self.of_alarms(&process));
        if self.waits_for_peer(&process, wanted) {
            timer.and(Finding::doubt(Doubt::Connection))
        } else {
            timer
        }
    }

    /// Programs that draw wake up by the clock to draw again. One that reads plain lines either asks for an answer
    /// within a time or goes on by the clock, and the kernel does not show which. So a clock with a short round is
    /// watched for one round: a program that prints meanwhile goes on.
    fn of_timer(&self, time: Duration) -> Finding {
        let is_short = time <= SHORT_TIMEOUT;
        if self.source.kind != InputKind::Line {
            let window = SHORTEST_WINDOW.max(time.min(SHORT_TIMEOUT) * 5 / 2);
            return if is_short { Finding::quiet_for(window) } else { Finding::Idle };
        }
        let window = match time {
            _ if is_short => DOUBTFUL_WINDOW.max(time * 5 / 2),
            _ if time <= LONGEST_ROUND => time * 3 / 2,
            _ => CLOCK_WINDOW,
        };
        Finding::Doubtful(window, Some(Doubt::Timer))
    }

    /// A signal may interrupt a reader of lines by the clock.
    fn of_alarms(&self, process: &Inspected<'_>) -> Finding {
        let is_due = self.source.kind == InputKind::Line
            && self.facts(process.pid()).is_some_and(|facts| may_have_alarm(process, facts));
        if is_due { Finding::Doubtful(CLOCK_WINDOW, Some(Doubt::Alarm)) } else { Finding::Idle }
    }

    /// Whether output is a sign that the job goes on by the clock. Beside a reader of keys it is drawing.
    pub(super) fn prints_by_clock(&self, doubt: Option<Doubt>) -> bool {
        let is_clock = match doubt {
            None | Some(Doubt::Hidden | Doubt::Connection) => false,
            Some(Doubt::Timer | Doubt::Alarm | Doubt::ThreadTimer) => true,
            Some(Doubt::ProcessTimer | Doubt::ParentTimer | Doubt::LeftJob) => true,
        };
        is_clock && self.source.kind == InputKind::Line
    }

    /// The finding about a clock beside the reader.
    fn clock(&self, doubt: Doubt) -> Finding {
        let is_line = self.source.kind == InputKind::Line;
        Finding::Doubtful(if is_line { CLOCK_WINDOW } else { DOUBTFUL_WINDOW }, Some(doubt))
    }

    fn of_process(&self, pid: Pid, facts: ProcessStat) -> Finding {
        let mut finding = self.of_process_alarms(pid, facts);
        if facts.threads == 1 {
            return finding.and(self.of_thread(pid, pid.get(), facts));
        }
        for_each_thread(pid, |thread| {
            finding = finding.and(self.of_thread(pid, thread, facts));
            if finding == Finding::Works { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        finding
    }

    /// `timeout` sets an alarm and waits for a signal, and no call of it shows that it has a clock.
    fn of_process_alarms(&self, pid: Pid, facts: ProcessStat) -> Finding {
        if pid == self.reader.pid || !may_have_alarm(&self.inspected(pid), facts) {
            return Finding::Idle;
        }
        match (self.role(pid, facts), self.source.kind) {
            (Role::Ancestor, _) => self.clock(Doubt::ParentTimer),
            (Role::Foreground, InputKind::Line) => self.clock(Doubt::ProcessTimer),
            _ => Finding::Idle,
        }
    }

    /// A process that left the job, and can print. Nothing says whether it will.
    fn of_departed(&self, pid: Pid, facts: ProcessStat) -> Finding {
        let process = Inspected::new(self.source, pid, facts.terminal);
        let mut finding = Finding::Idle;
        for_each_thread(pid, |thread| {
            let is_idle = match ProcessStat::of_thread(pid, thread).map(|facts| facts.state) {
                Some(b'R' | b'D') => false,
                Some(b'S') => match process.blocked(thread) {
                    Ok(Some((Call::Connect, _))) | Ok(None) | Err(_) => false,
                    Ok(Some((call, wanted))) => {
                        !sleeps(&process, call, &wanted) && !self.waits_for_peer(&process, &wanted)
                    }
                },
                _ => true,
            };
            if is_idle {
                return ControlFlow::Continue(());
            }
            finding = LEFT;
            ControlFlow::Break(())
        });
        if may_have_alarm(&process, facts) { finding.and(LEFT) } else { finding }
    }

    fn of_thread(&self, pid: Pid, thread: u32, facts: ProcessStat) -> Finding {
        if (pid, thread) == (self.reader.pid, self.reader.thread) {
            return Finding::Idle;
        }
        match ProcessStat::of_thread(pid, thread).map(|facts| facts.state) {
            Some(b'R' | b'D') => return Finding::Works,
            Some(b'S') => {}
            _ => return Finding::Idle,
        }
        let process = self.inspected(pid);
        let (call, wanted) = match process.blocked(thread) {
            Ok(Some(blocked)) => blocked,
            // The thread was woken at this moment.
            Ok(None) => return Finding::Works,
            // Its calls are hidden from this user, but not its processor time.
            Err(_) => return Finding::quiet_for(SHORTEST_WINDOW),
        };
        if wanted.source {
            return Finding::Idle;
        }
        match self.role(pid, facts) {
            Role::Reader => self.of_sibling_thread(&process, thread, (call, &wanted)),
            Role::Ancestor => self.of_ancestor(&process, call, &wanted),
            Role::Descendant => {
                let finding = self.of_descendant(&process, call, &wanted);
                if sleeps(&process, call, &wanted) {
                    finding.and(self.of_child(&process, facts))
                } else {
                    finding
                }
            }
            Role::Older if wakes_soon(&process, call, &wanted) => Finding::quiet_for(SHORTEST_WINDOW),
            Role::Older => Finding::Idle,
            Role::Foreground => self.of_other_process(&process, call, &wanted),
        }
    }

    /// Another thread of the process that reads.
    fn of_sibling_thread(
        &self,
        process: &Inspected<'_>,
        thread: u32,
        (call, wanted): (Call, &AwaitedInputs),
    ) -> Finding {
        let is_main = thread == process.pid().get();
        match call {
            // The program itself sleeps, and a helper reads plain lines beside it.
            Call::Sleep(_) if is_main && self.source.kind == InputKind::Line => Finding::Works,
            Call::Sleep(_) => self.clock(Doubt::ThreadTimer),
            Call::TimedLock(_) if is_main => self.clock(Doubt::ThreadTimer),
            Call::TimedLock(timeout) => self.of_timed_lock(process, timeout, Doubt::ThreadTimer),
            Call::Connect => Finding::doubt(Doubt::Connection),
            _ if self.waits_for_peer(process, wanted) => Finding::doubt(Doubt::Connection),
            _ if process.timer_of(wanted).is_none() => Finding::Idle,
            // A line editor's helper, such as the one by which fish watches files.
            _ if self.reader.is_main() && self.source.kind != InputKind::Line => {
                Finding::quiet_for(SHORTEST_WINDOW)
            }
            _ => self.clock(Doubt::ThreadTimer),
        }
    }

    /// A thread of Java, tokio or Python that waits for work until a time looks like one that prints at that time.
    /// Beside a reader of keys it is taken for the former. Those of Go are known: its goroutines wait for timers in
    /// `epoll` alone.
    fn of_timed_lock(&self, process: &Inspected<'_>, timeout: Timeout, doubt: Doubt) -> Finding {
        let is_line = self.source.kind == InputKind::Line;
        let is_of_go = matches!(timeout, Timeout::Timespec(_)) && process.is_go_program();
        if is_line && !is_of_go { self.clock(doubt) } else { Finding::quiet_for(SHORTEST_WINDOW) }
    }

    fn of_other_process(&self, process: &Inspected<'_>, call: Call, wanted: &AwaitedInputs) -> Finding {
        match call {
            Call::Sleep(_) if self.source.kind == InputKind::Line => Finding::Works,
            Call::Sleep(_) => self.clock(Doubt::ProcessTimer),
            Call::Connect => Finding::doubt(Doubt::Connection),
            _ if self.waits_for_peer(process, wanted) => Finding::doubt(Doubt::Connection),
            _ if sleeps(process, call, wanted) => self.clock(Doubt::ProcessTimer),
            _ => Finding::Idle,
        }
    }

    /// A process that started the reader and then sleeps for long has left it in the background. One that looks for the
    /// end of a child every few milliseconds waits for the reader, and may end it after a time, as `timeout` does.
    fn of_ancestor(&self, process: &Inspected<'_>, call: Call, wanted: &AwaitedInputs) -> Finding {
        let is_line = self.source.kind == InputKind::Line;
        let is_long = |time| process.time_of(time).is_some_and(|time| time > SHORT_TIMEOUT);
        match call {
            Call::Sleep(time) if is_line && is_long(time) => Finding::Works,
            Call::Sleep(time) if is_line || is_long(time) => self.clock(Doubt::ParentTimer),
            Call::Sleep(_) => Finding::quiet_for(SHORTEST_WINDOW),
            _ if !is_line => Finding::Idle,
            Call::TimedLock(timeout) => self.of_timed_lock(process, timeout, Doubt::ParentTimer),
            _ if process.timer_of(wanted).is_some() => self.clock(Doubt::ParentTimer),
            _ => Finding::Idle,
        }
    }

    /// A reader that is the main thread reads instead of waiting for its children, and they are in its background. If
    /// the main thread waits for them, by a call or at the end of a pipe, a helper thread reads beside.
    fn of_descendant(&self, process: &Inspected<'_>, call: Call, wanted: &AwaitedInputs) -> Finding {
        let reader = self.reader;
        if !sleeps(process, call, wanted) {
            return Finding::Idle;
        }
        if reader.is_main() && process.is_fork_of(&self.inspected(reader.pid)) && process.may_print() {
            // It runs the program's own code, which goes on after the sleep.
            return match (call, self.source.kind) {
                (Call::Sleep(_), InputKind::Line) => Finding::Works,
                _ => self.clock(Doubt::ProcessTimer),
            };
        }
        if reader.is_main() {
            let is_loop = reader.wanted.is_event_loop && self.source.kind == InputKind::Line;
            return match (is_loop, wakes_soon(process, call, wanted)) {
                (true, _) => self.clock(Doubt::ProcessTimer),
                (false, true) => Finding::quiet_for(SHORTEST_WINDOW),
                (false, false) => Finding::Idle,
            };
        }
        match self.inspected(reader.pid).blocked(reader.pid.get()) {
            Ok(Some((Call::Child | Call::Read { .. } | Call::Select { .. } | Call::Poll { .. }, _))) => {
                Finding::Works
            }
            _ => self.clock(Doubt::ProcessTimer),
        }
    }

    /// A child that sleeps beside a reader of lines may print when its time is over, unless it is `sleep`; and a process that
    /// waits for the child, or for a pipe from it, may print then.
    fn of_child(&self, process: &Inspected<'_>, facts: ProcessStat) -> Finding {
        if self.source.kind != InputKind::Line {
            return Finding::Idle;
        }
        let may_print = process.may_be_heard() && !process.is_sleep_command();
        let is_awaited =
            || Awaited::by(self.source, &self.members, self.reader).includes(process.pid(), facts);
        if may_print || is_awaited() { self.clock(Doubt::ProcessTimer) } else { Finding::Idle }
    }

    /// A shell without job control puts background processes into its own group. It starts the one that it waits for
    /// last, so a process that is older than the reader is in the background. A child of such a process is not alone:
    /// `(sleep 9; echo) &` prints after its sleep, and `sleep 9 &` does not.
    fn role(&self, pid: Pid, facts: ProcessStat) -> Role {
        let started = |pid: Pid, facts: &ProcessStat| (facts.started, pid.get());
        let Some(reader) = self.facts(self.reader.pid) else { return Role::Older };
        if pid == self.reader.pid {
            Role::Reader
        } else if self.descends(reader, pid) {
            Role::Ancestor
        } else if facts.parent == self.reader.pid.get() {
            Role::Descendant
        } else if self.descends(facts, self.reader.pid) {
            // A reader of keys starts shells of its own, and goes on reading.
            if self.source.kind == InputKind::Line { Role::Foreground } else { Role::Descendant }
        } else if started(pid, &facts) < started(self.reader.pid, &reader) && self.is_started_by_shell(facts)
        {
            Role::Older
        } else {
            Role::Foreground
        }
    }

    /// Whether its parent started the reader too, or does not belong to the job.
    fn is_started_by_shell(&self, facts: ProcessStat) -> bool {
        let (parent, reader) = (Pid::new(facts.parent), self.facts(self.reader.pid));
        self.facts(parent).is_none() || reader.is_some_and(|reader| self.descends(reader, parent))
    }

    fn descends(&self, mut facts: ProcessStat, ancestor: Pid) -> bool {
        // At most as many steps as there are members: reused numbers could form a cycle.
        for _ in 0..self.members.len() {
            if facts.parent == ancestor.get() {
                return true;
            }
            match self.facts(Pid::new(facts.parent)) {
                Some(parent) => facts = parent,
                None => return false,
            }
        }
        false
    }

    fn facts(&self, pid: Pid) -> Option<ProcessStat> {
        self.members.iter().find(|(member, _)| *member == pid).map(|(_, facts)| *facts)
    }

    fn waits_for_peer(&self, process: &Inspected<'_>, wanted: &AwaitedInputs) -> bool {
        let is_member = |pid: Pid| self.members.iter().any(|(member, _)| *member == pid);
        let mut peers = wanted.sockets.iter().filter_map(|socket| process.peer(*socket));
        peers.any(|peer| peer.is_outside(is_member) && !(self.is_elsewhere && peer.is_local()))
    }

    fn inspected(&self, pid: Pid) -> Inspected<'_> {
        Inspected::new(self.source, pid, self.facts(pid).map_or(0, |facts| facts.terminal))
    }
}

/// Processes and how many threads each has, in the order of their numbers.
fn counts(members: &[(Pid, ProcessStat)]) -> Vec<(Pid, u32)> {
    let mut counts: Vec<_> = members.iter().map(|(pid, facts)| (*pid, facts.threads)).collect();
    counts.sort_unstable();
    counts
}

/// The part that a process plays beside a reader.
enum Role {
    /// It is the reader's process.
    Reader,
    /// It started the reader.
    Ancestor,
    /// The reader started it.
    Descendant,
    /// A shell started it before the reader: a background process.
    Older,
    /// The shell waits for it, or a part of the shell in the background does.
    Foreground,
}

/// Whether a signal may interrupt a process by the clock. The kernel does not tell whether `alarm` and `setitimer` are
/// set, only that there is a handler, and of POSIX timers only that there are some.
fn may_have_alarm(process: &Inspected<'_>, facts: ProcessStat) -> bool {
    let may_have_timers = !facts.handled.is_empty() || facts.threads > 1;
    facts.handled.uses_alarms() || (may_have_timers && process.has_posix_timers())
}

fn sleeps(process: &Inspected<'_>, call: Call, wanted: &AwaitedInputs) -> bool {
    matches!(call, Call::Sleep(_) | Call::TimedLock(_)) || process.timer_of(wanted).is_some()
}

/// Whether it may be asleep between two bursts of work. The time limit of a lock is not known.
fn wakes_soon(process: &Inspected<'_>, call: Call, wanted: &AwaitedInputs) -> bool {
    let time = match call {
        Call::Sleep(timeout) => process.time_of(timeout),
        Call::TimedLock(_) => return true,
        _ => process.timer_of(wanted),
    };
    time.is_some_and(|time| time <= SHORT_TIMEOUT)
}
