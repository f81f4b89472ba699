//! The end of a tree: TERM, grace, KILL, sweep, verify. One path for stop, timeout, eviction, shutdown and drop.

use super::state::State;
use crate::confined::Watchers;
use crate::deadline::after;
use crate::orphans::Orphans;
use crate::spare::SpareDescriptors;
use crate::{Cause, ProcessLine, reactor};
use rustix::io::Errno;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::Interest;
use tokio::time::{Instant, timeout_at};
use windlass_sys::descent::Descent;
use windlass_sys::mark::{Fate, Mark, RuntimeTag};
use windlass_sys::process::{self, Pid, Process};
use windlass_sys::signal::Signal;
use windlass_sys::tree;

/// The times of the kill ladder.
#[derive(Clone, Copy, Debug)]
pub struct KillDelays {
    /// Between TERM and KILL.
    pub grace: Duration,
    /// Between KILL and giving up on processes that are still there.
    pub after_kill: Duration,
}

impl Default for KillDelays {
    fn default() -> Self {
        Self { grace: Duration::from_secs(2), after_kill: Duration::from_millis(500) }
    }
}

impl KillDelays {
    /// A session that crossed a limit which only sampling enforces would grow further during the grace: it gets none.
    pub(super) fn with(self, state: State) -> Self {
        match state {
            State::Stopping { cause: Cause::Limit(crossed), .. } if crossed.ends_at_once() => {
                Self { grace: Duration::ZERO, ..self }
            }
            _ => self,
        }
    }
}

/// The processes to end, and how to signal them.
#[derive(Clone, Debug)]
pub(crate) struct KillTarget {
    pub(crate) runtime_tag: RuntimeTag,
    pub(crate) whose: TargetScope,
    pub(crate) spare: Arc<SpareDescriptors>,
    pub(crate) orphans: Arc<Orphans>,
    /// Interactive shells ignore TERM, but end when their terminal hangs up.
    pub(crate) on_terminal: bool,
    /// The supervisor of a confined session. It ignores every signal but KILL, ends with the processes that it
    /// supervises, and takes them with it.
    pub(crate) watcher: Option<Pid>,
    /// The supervisors of all sessions.
    pub(crate) watchers: Arc<Watchers>,
}

#[derive(Clone, Debug)]
pub(crate) enum TargetScope {
    /// One session's. The reference to its root is gone once the root has been collected.
    Session { mark: Mark, root: Pid, held: Option<Arc<Process>> },
    /// The processes that one session's root left in its process group. The group's number is not reused while it has a
    /// member.
    Group { mark: Mark, group: Pid },
    /// The processes of every session that ends with its runtime.
    Runtime,
}

/// The outcome of ending a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeEnd {
    /// Processes that were found and are gone. The root is not among them.
    pub ended: Vec<ProcessLine>,
    /// Processes that could not be ended.
    pub remaining: Vec<ProcessLine>,
}

/// The pause between two looks at a tree whose members do not die at once, or that grows while it is being ended.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// After this long a terminal's programs get the hangup signal once more, and then each time four times as late. An
/// interactive shell that is about to read its terminal notes a signal and reads all the same; only the next one wakes
/// it.
const FIRST_REMINDER: Duration = Duration::from_millis(50);

/// Ends the tree and returns the processes that were ended and those that remain.
pub(crate) async fn end_tree(target: KillTarget, patience: KillDelays) -> TreeEnd {
    let mut seen = Seen::default();
    let grace_over = later(patience.grace);
    let (mut phase, mut pause) = (SignalPhase::Ask, FIRST_REMINDER);
    // A tree that forks as fast as it dies is not waited for beyond the grace.
    while Instant::now() < grace_over {
        let survivors = target.signal_all(&mut seen, phase);
        if survivors.is_clear() {
            return ended(seen);
        }
        let reminder = if target.on_terminal { later(pause).min(grace_over) } else { grace_over };
        if !survivors.gone_by(reminder).await {
            (phase, pause) = (SignalPhase::Remind, pause * 4);
        }
    }
    let give_up = later(patience.after_kill);
    loop {
        let survivors = target.signal_all(&mut seen, SignalPhase::Kill);
        if survivors.is_clear() {
            return ended(seen);
        }
        if Instant::now() >= give_up {
            return given_up(seen, &survivors);
        }
        survivors.gone_by(later(LOOK_AGAIN).min(give_up)).await;
    }
}

fn later(wait: Duration) -> Instant {
    after(std::time::Instant::now(), wait).into()
}

/// The processes that were found.
#[derive(Default)]
struct Seen {
    commands: BTreeMap<Pid, String>,
    /// Processes that a runtime inside the session marked as its own, or that shed their mark.
    descent: Descent,
}

/// The signals for the members in each phase of the ladder.
#[derive(Clone, Copy)]
enum SignalPhase {
    Ask,
    /// Sends the hangup again to processes that were asked before, and nothing else: a second TERM means haste to some
    /// programs.
    Remind,
    Kill,
}

impl SignalPhase {
    /// The phase for a process that was not there before.
    fn first(self) -> Self {
        match self {
            Self::Ask | Self::Remind => Self::Ask,
            Self::Kill => Self::Kill,
        }
    }
}

/// The processes that were found alive.
#[derive(Default)]
struct Survivors {
    members: Vec<Process>,
    /// There may be more: some could not be looked at, for want of descriptors.
    partial: bool,
}

impl Survivors {
    fn is_clear(&self) -> bool {
        self.members.is_empty() && !self.partial
    }

    fn add(&mut self, found: Result<Process, Errno>) {
        match found {
            Ok(process) => self.members.push(process),
            Err(_) => self.partial = true,
        }
    }

    /// Waits for every one of them to die; returns whether they did in time. Processes that cannot be watched are
    /// looked at again soon.
    async fn gone_by(self, deadline: Instant) -> bool {
        let mut blind = self.partial;
        for member in self.members {
            match reactor::watch(member, Interest::READABLE) {
                Ok(watched) => {
                    if timeout_at(deadline, watched.readable()).await.is_err() {
                        return false;
                    }
                }
                Err(_) => blind = true,
            }
        }
        if blind {
            // timer: descriptors become free as sessions end; there is no event for that.
            tokio::time::sleep_until(later(LOOK_AGAIN).min(deadline)).await;
        }
        Instant::now() < deadline
    }
}

impl KillTarget {
    /// Signals every living member as it is found, and returns them all.
    fn signal_all(&self, seen: &mut Seen, phase: SignalPhase) -> Survivors {
        // Zombies slow every look, and those of a tree that forks as fast as it dies use up all numbers.
        self.orphans.collect_dead();
        let survivors = self.strike_once(seen, phase);
        if survivors.partial { self.spare.lend(|| self.strike_once(seen, phase)) } else { survivors }
    }

    fn strike_once(&self, seen: &mut Seen, phase: SignalPhase) -> Survivors {
        let mut survivors = Survivors::default();
        match &self.whose {
            TargetScope::Session { mark, root, held } => {
                let living_root = held.as_ref().filter(|root| root.is_alive());
                let alone = self.is_alone(*mark, *root, living_root.is_some());
                // By the session's own pidfd of it: this works even when nothing else can be opened.
                if let Some(root) = living_root {
                    self.follow(root, seen);
                    self.signal(root, phase);
                    survivors.add(root.try_clone());
                }
                if !alone {
                    self.strike_all(seen, phase, &mut survivors);
                } else if self.runtime_tag.is_nested() {
                    self.strike_unmarked(seen, phase, &mut survivors);
                }
            }
            TargetScope::Group { mark, .. } => {
                if self.has_strays(*mark, None) {
                    self.strike_marked(seen, phase, &mut survivors);
                }
            }
            TargetScope::Runtime => self.strike_all(seen, phase, &mut survivors),
        }
        survivors
    }

    /// Signals all members that a walk finds. A walk without a find proves nothing: it may have missed a process that
    /// forks from number to number. Repeats until one is found, or none is left.
    fn strike_all(&self, seen: &mut Seen, phase: SignalPhase, survivors: &mut Survivors) {
        const MOST_WALKS: usize = 8;
        for _ in 0..MOST_WALKS {
            if let SignalPhase::Kill = phase {
                self.kill_orphans(seen);
            }
            self.strike_marked(seen, phase, survivors);
            self.strike_unmarked(seen, phase, survivors);
            if !survivors.is_clear() || !self.is_anybody_left() {
                return;
            }
        }
        // A process is there and could not be opened: look again.
        survivors.partial = true;
    }

    /// Kills orphans. A process that forks from number to number becomes a child of this runtime after each step. A
    /// look at the children takes far less time than a walk, and less than a step.
    fn kill_orphans(&self, seen: &mut Seen) {
        const MOST_LOOKS: usize = 256;
        let mut struck = HashSet::new();
        for _ in 0..MOST_LOOKS {
            let mut found = false;
            for orphan in self.orphans.living(|mark| self.wants(mark)) {
                // A process that was killed already may take its time to die.
                found |= struck.insert(orphan.pid());
                let name = process::command_line(orphan.pid());
                self.signal(&orphan, SignalPhase::Kill);
                if !self.watchers.contains(orphan.pid()) && !self.is_held_root(orphan.pid()) {
                    let command = || name.unwrap_or_else(|| "?".into());
                    seen.commands.entry(orphan.pid()).or_insert_with(command);
                }
            }
            if !found {
                return;
            }
            self.orphans.collect_dead();
        }
    }

    /// Whether a member is a child of this runtime or of a supervisor that is meant. A member below another process has
    /// an ancestor that is.
    fn is_anybody_left(&self) -> bool {
        match &self.whose {
            TargetScope::Session { mark, root, .. } => !self.is_alone(*mark, *root, false),
            TargetScope::Group { .. } => false,
            TargetScope::Runtime => self.orphans.are_there(|mark| self.wants(mark), &[]),
        }
    }

    fn strike_marked(&self, seen: &mut Seen, phase: SignalPhase, survivors: &mut Survivors) {
        for found in tree::living(&*self.orphans, |mark| self.wants(mark)) {
            if let Ok(member) = &found {
                if self.is_held_root(member.pid()) || self.is_elsewhere(member.pid()) {
                    continue;
                }
                let known = seen.commands.contains_key(&member.pid());
                if !self.watchers.contains(member.pid()) {
                    note(member.pid(), &mut seen.commands);
                }
                self.follow(member, seen);
                self.signal(member, if known { phase } else { phase.first() });
            }
            survivors.add(found);
        }
    }

    /// Follows descendants that lost the mark. A runtime inside a session marks its own sessions. If this runtime runs
    /// inside of another one, that overwrites its mark, and only the parents show to which session they belong; they
    /// must be found before those are signalled.
    fn follow(&self, member: &Process, seen: &mut Seen) {
        if self.runtime_tag.is_nested() && !matches!(self.whose, TargetScope::Group { .. }) {
            seen.descent.follow(member, self.runtime_tag);
        }
    }

    fn strike_unmarked(&self, seen: &mut Seen, phase: SignalPhase, survivors: &mut Survivors) {
        let Seen { commands, descent } = seen;
        for member in descent.living(self.runtime_tag) {
            let phase = if commands.contains_key(&member.pid()) { phase } else { phase.first() };
            note(member.pid(), commands);
            self.signal(member, phase);
            survivors.add(member.try_clone());
        }
    }

    fn wants(&self, found: Mark) -> bool {
        match &self.whose {
            TargetScope::Session { mark, .. } | TargetScope::Group { mark, .. } => found == *mark,
            TargetScope::Runtime => found.fate() == Fate::WithRuntime,
        }
    }

    /// The usual case, decided by two small files instead of a walk over the process table. A root without a pidfd has
    /// been collected, or was abandoned by a runtime that dropped its handle: then its mark decides.
    fn is_alone(&self, mark: Mark, root: Pid, held: bool) -> bool {
        let let_go = || self.runtime_tag.on(root) == Some(mark) && tree::is_alive(root);
        let has_more = if held { tree::has_children(root) } else { let_go() };
        !has_more && !self.has_strays(mark, held.then_some(root))
    }

    /// Whether a session has members whose parent died. They are children of this runtime or, in a process namespace of
    /// their own, of the supervisor.
    pub(crate) fn has_strays(&self, mark: Mark, living_root: Option<Pid>) -> bool {
        let known: Vec<Pid> = living_root.into_iter().chain(self.watcher).collect();
        let is_there = |watcher| self.runtime_tag.on(watcher) == Some(mark);
        // A supervisor that ends meanwhile cannot be looked at, and leaves no process.
        let has_children = |watcher| is_there(watcher) && tree::has_children(watcher) && is_there(watcher);
        self.watcher.is_some_and(has_children) || self.orphans.are_there(|found| found == mark, &known)
    }

    /// Whether it has left the group that is meant.
    fn is_elsewhere(&self, pid: Pid) -> bool {
        matches!(&self.whose, TargetScope::Group { group, .. } if process::group_of(pid) != Some(*group))
    }

    fn signal(&self, member: &Process, phase: SignalPhase) {
        let signals: &[Signal] = match phase {
            SignalPhase::Kill => &[Signal::KILL],
            SignalPhase::Remind => &[Signal::HUP, Signal::CONT],
            SignalPhase::Ask if self.on_terminal => &[Signal::TERM, Signal::HUP, Signal::CONT],
            // A stopped process handles TERM once it is continued.
            SignalPhase::Ask => &[Signal::TERM, Signal::CONT],
        };
        for signal in signals {
            // A process that is gone by now needs no signal, and one that may not be signalled is named in the end.
            let _ = member.signal(*signal);
        }
    }

    /// Whether it is the root and was signalled by its pidfd. The kernel may have reused the number of a dead root.
    fn is_held_root(&self, pid: Pid) -> bool {
        let is_it = |held: &Arc<Process>| held.pid() == pid && held.is_alive();
        matches!(&self.whose, TargetScope::Session { held, .. } if held.as_ref().is_some_and(is_it))
    }
}

fn note(pid: Pid, seen: &mut BTreeMap<Pid, String>) {
    seen.entry(pid).or_insert_with(|| command_line(pid).unwrap_or_else(|| "?".into()));
}

fn ended(seen: Seen) -> TreeEnd {
    TreeEnd { ended: seen.commands.into_iter().map(line).collect(), remaining: Vec::new() }
}

fn given_up(Seen { commands: mut seen, .. }: Seen, survivors: &Survivors) -> TreeEnd {
    // On a busy machine a killed process may have died only after it was looked at.
    let members: Vec<&Process> = survivors.members.iter().filter(|member| member.is_alive()).collect();
    let mut remaining: Vec<_> = members.iter().filter_map(|member| describe(member.pid())).collect();
    remaining.extend(survivors.partial.then(unseen));
    seen.retain(|pid, _| members.iter().all(|member| member.pid() != *pid));
    TreeEnd { ended: seen.into_iter().map(line).collect(), remaining }
}

fn line((pid, command): (Pid, String)) -> ProcessLine {
    ProcessLine { pid: pid.get(), command }
}

/// Stands for processes that may be there: an empty list would claim that there are none.
pub(crate) fn unseen() -> ProcessLine {
    ProcessLine { pid: 0, command: "[unknown: the process table could not be read]".into() }
}

/// A living process, named.
pub(crate) fn describe(pid: Pid) -> Option<ProcessLine> {
    command_line(pid).map(|command| ProcessLine { pid: pid.get(), command })
}

/// A process in the middle of `exec` has no arguments for a moment, and would go by its bare name.
fn command_line(pid: Pid) -> Option<String> {
    const LOOKS: usize = 20;
    let mut line = process::command_line(pid);
    for _ in 0..LOOKS {
        if !line.as_ref().is_some_and(|line| line.starts_with('[')) {
            break;
        }
        std::thread::yield_now();
        line = process::command_line(pid).or(line);
    }
    line
}
