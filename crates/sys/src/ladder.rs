//! The kill ladder for processes that are not this process's children: TERM, a grace period, a stop of all of them,
//! then KILL until none is left. The guardian of a dead runtime and `windlass stop` use it. A runtime has a ladder of
//! its own that runs beside its other work, as the parent of every orphan of its sessions.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::descent::Descent;
use crate::mark::{Mark, RuntimeTag};
use crate::process::{Pid, Process};
use crate::signal::Signal;
use crate::tree;

/// The processes to end.
#[derive(Debug)]
pub struct KillLadder<W> {
    runtime_tag: RuntimeTag,
    wanted: W,
    /// Interactive shells ignore TERM, and end when their terminal hangs up.
    pub hang_up: bool,
    /// Every process that was ever found and lives. A process that sheds its mark after it was found is still ended.
    held: BTreeMap<Pid, Process>,
    descent: Descent,
    seen: BTreeSet<Pid>,
}

/// A step of the ladder: the signals that the members get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Ask,
    Stop,
    Kill,
}

/// The time after which the ladder gives up if nothing changes, against processes that cannot be killed.
const GIVE_UP: Duration = Duration::from_secs(30);
/// The time that one look waits for the killed processes to be gone before the next.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// The most looks that find new members before the found ones are killed.
const MOST_LOOKS: usize = 8;

impl<W: Fn(Mark) -> bool> KillLadder<W> {
    /// A ladder for the processes of a runtime tag whose mark is wanted.
    pub fn new(runtime_tag: RuntimeTag, wanted: W) -> Self {
        let (held, descent, seen) = (BTreeMap::new(), Descent::default(), BTreeSet::new());
        Self { runtime_tag, wanted, hang_up: false, held, descent, seen }
    }

    /// Adds a process that is known to belong to the tree, with all that it started.
    pub fn add(&mut self, process: Process) {
        self.descent.follow(&process, self.runtime_tag);
        self.held.insert(process.pid(), process);
    }

    /// The processes that live now. Sends no signal.
    pub fn look(&mut self) -> Vec<&Process> {
        self.find(|_| {});
        self.held.values().collect()
    }

    /// Ends all of them. Returns the processes that could not be ended, usually none.
    pub fn climb(mut self, grace: Duration) -> Vec<Process> {
        self.signal_all(Phase::Ask);
        if self.is_clear() {
            return Vec::new();
        }
        wait_until_gone(self.held.values(), grace);
        let mut changed = Instant::now();
        while changed.elapsed() < GIVE_UP {
            let before = self.held.len();
            let is_new = self.kill_newest() | self.stand_still();
            self.signal_all(Phase::Kill);
            wait_until_gone(self.held.values(), LOOK_AGAIN);
            self.held.retain(|_, process| process.is_alive());
            if self.is_clear() {
                return Vec::new();
            }
            if is_new || self.held.len() != before {
                changed = Instant::now();
            }
            if self.held.is_empty() {
                // A process may exist that could not be seen.
                let _ = poll(&mut [], Timespec::try_from(LOOK_AGAIN).ok().as_ref());
            }
        }
        self.held.into_values().collect()
    }

    /// Whether no member is left. A walk proves that, unless one member follows another from number to number and the
    /// dead are collected at once.
    fn is_clear(&mut self) -> bool {
        self.held.is_empty()
            && self.descent.living(self.runtime_tag).is_empty()
            && !self.kill_newest()
            && tree::is_empty(self.runtime_tag, &self.wanted)
    }

    /// Stops all members, over and over until a look finds no new one: a tree that forks as fast as it is killed does
    /// not fork any more. Returns whether there were any that had not been seen before.
    fn stand_still(&mut self) -> bool {
        let known = self.seen.len();
        for _ in 0..MOST_LOOKS {
            let before = self.seen.len();
            self.signal_all(Phase::Stop);
            if self.seen.len() == before {
                break;
            }
        }
        self.seen.len() > known
    }

    /// Signals the processes that are held, then every other member as soon as it is found.
    fn signal_all(&mut self, phase: Phase) {
        let signals: &[Signal] = match phase {
            // A stopped process takes the request once it is continued.
            Phase::Ask if self.hang_up => &[Signal::TERM, Signal::HUP, Signal::CONT],
            Phase::Ask => &[Signal::TERM, Signal::CONT],
            Phase::Stop => &[Signal::STOP],
            Phase::Kill => &[Signal::KILL],
        };
        let send = |process: &Process| {
            for signal in signals {
                // A process that is gone by now needs no signal, and one that this user may not signal is reported in
                // the end.
                let _ = process.signal(*signal);
            }
        };
        self.held.values().for_each(send);
        self.find(send);
    }

    /// Finds members, and calls `each` for each new one.
    fn find(&mut self, each: impl Fn(&Process)) {
        for found in tree::living(self.runtime_tag, &self.wanted) {
            let Ok(process) = found else {
                // Out of descriptors: marked processes are found again without being held.
                self.held.retain(|pid, _| self.runtime_tag.on(*pid).is_none());
                continue;
            };
            self.descent.follow(&process, self.runtime_tag);
            each(&process);
            self.seen.insert(process.pid());
            self.held.insert(process.pid(), process);
        }
        for process in self.descent.living(self.runtime_tag) {
            if self.held.contains_key(&process.pid()) {
                continue;
            }
            each(process);
            self.seen.insert(process.pid());
            // A process for which there is no second descriptor is still in `descent`.
            self.held.extend(process.try_clone().ok().map(|process| (process.pid(), process)));
        }
        self.held.retain(|_, process| process.is_alive());
    }

    /// Kills members among the newest processes. A process that forks and exits at once goes from number to number: a
    /// walk over the process table takes longer than each of these steps, and misses it. But its next number is among
    /// the newest, and looking at those takes less time than a step, however many processes and zombies there are.
    ///
    /// Returns whether there were any.
    fn kill_newest(&mut self) -> bool {
        const NEWEST: u32 = 64;
        const MOST_KILLS: usize = 1000;
        // Most trees never had a living member at this point: then one look suffices.
        let enough = if self.seen.is_empty() { 1 } else { 50 };
        let (known, mut in_vain) = (self.seen.len(), 0);
        for _ in 0..MOST_KILLS {
            let Some(newest) = tree::newest_pid() else { break };
            let numbers = (newest.get().saturating_sub(NEWEST)..=newest.get()).rev().map(Pid::new);
            let killed = numbers.filter(|pid| self.kill_if_wanted(*pid)).count();
            in_vain = if killed == 0 { in_vain + 1 } else { 0 };
            if in_vain == enough {
                break;
            }
        }
        self.seen.len() > known
    }

    /// Signals the process of this number if it is a living member that was not known; returns whether it was.
    fn kill_if_wanted(&mut self, pid: Pid) -> bool {
        let bears = || self.runtime_tag.on(pid).is_some_and(&self.wanted);
        if pid == Pid::of_this_process() || !bears() {
            return false;
        }
        let Ok(process) = Process::open(pid) else { return false };
        // Held first, checked again afterwards: if the number was reused in between, the held process is dead and
        // cannot be hit.
        bears() && process.is_alive() && process.signal(Signal::KILL).is_ok() && self.seen.insert(pid)
    }
}

/// Waits until every one of them is dead, or the time is over.
pub fn wait_until_gone<'a>(processes: impl IntoIterator<Item = &'a Process>, limit: Duration) {
    let deadline = Instant::now() + limit;
    for process in processes {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).unwrap_or_default();
        let _ = poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&timeout));
    }
}
