//! The end of a tree: TERM, grace, KILL, sweep, verify. One path for stop, timeout, eviction, shutdown and drop.

use crate::{ProcessLine, reactor};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::io::Interest;
use tokio::time::{Instant, timeout_at};
use windlass_sys::mark::{Brand, Fate, Mark};
use windlass_sys::process::{self, Pid, Process};
use windlass_sys::signal::Signal;
use windlass_sys::tree;

/// The times of the ladder.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Between TERM and KILL.
    pub grace: Duration,
    /// Between KILL and giving up on what is still there.
    pub after_kill: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { grace: Duration::from_secs(2), after_kill: Duration::from_millis(500) }
    }
}

/// Whose processes, and how to ask them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prey {
    pub(crate) brand: Brand,
    pub(crate) whose: Whose,
    /// Interactive shells ignore TERM, but end when their terminal hangs up.
    pub(crate) on_terminal: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Whose {
    /// One session's, whose root is this process or was.
    Session { mark: Mark, root: Pid },
    /// Those of every session that ends with its runtime.
    Runtime,
}

/// What became of a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeEnd {
    /// Processes that were found and are gone. The root is not among them.
    pub ended: Vec<ProcessLine>,
    /// Processes that could not be ended.
    pub remaining: Vec<ProcessLine>,
}

/// Between two looks at a tree whose members do not die at once, or that grows while it is being ended.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Ends the tree and says what it took.
pub(crate) async fn end_tree(prey: Prey, patience: Patience) -> TreeEnd {
    let mut seen = BTreeMap::new();
    let grace_over = Instant::now() + patience.grace;
    // A tree that forks as fast as it dies is not waited for beyond the grace.
    while Instant::now() < grace_over {
        let members = prey.strike(&mut seen, Blow::Ask);
        if members.is_empty() {
            return ended(seen);
        }
        if !gone_by(members, grace_over).await {
            break;
        }
    }
    let give_up = Instant::now() + patience.after_kill;
    loop {
        let members = prey.strike(&mut seen, Blow::Kill);
        if members.is_empty() {
            return ended(seen);
        }
        if Instant::now() >= give_up {
            return given_up(seen, &members);
        }
        gone_by(members, (Instant::now() + LOOK_AGAIN).min(give_up)).await;
    }
}

/// What members get.
#[derive(Clone, Copy)]
enum Blow {
    Ask,
    Kill,
}

impl Prey {
    /// Signals every living member as it is found, and returns them all.
    fn strike(&self, seen: &mut BTreeMap<Pid, String>, blow: Blow) -> Vec<Process> {
        let mut hit = |member: &Process| {
            self.note(member.pid(), seen);
            self.signal(member, blow);
        };
        match self.whose {
            Whose::Session { mark, root } if self.is_alone(mark, root) => {
                let ours = |process: &Process| process.is_alive() && self.is_ours(root, mark);
                Process::open(root).into_iter().filter(ours).inspect(&mut hit).collect()
            }
            Whose::Session { mark, .. } => {
                tree::living(self.brand, move |found| found == mark).inspect(&mut hit).collect()
            }
            Whose::Runtime => tree::living(self.brand, |found| found.fate() == Fate::WithRuntime)
                .inspect(&mut hit)
                .collect(),
        }
    }

    /// The usual case, told by two small files instead of a walk over the process table.
    fn is_alone(&self, mark: Mark, root: Pid) -> bool {
        !tree::has_children(root) && !tree::has_orphans(self.brand, mark, root)
    }

    fn is_ours(&self, pid: Pid, mark: Mark) -> bool {
        !self.brand.can_mark() || self.brand.on(pid) == Some(mark)
    }

    fn signal(&self, member: &Process, blow: Blow) {
        let signals: &[Signal] = match blow {
            Blow::Kill => &[Signal::KILL],
            Blow::Ask if self.on_terminal => &[Signal::TERM, Signal::HUP, Signal::CONT],
            // A stopped process takes the request once it is continued.
            Blow::Ask => &[Signal::TERM, Signal::CONT],
        };
        for signal in signals {
            // One that is gone by now needs none, and one that is not ours to signal is named in the end.
            let _ = member.signal(*signal);
        }
    }

    fn note(&self, pid: Pid, seen: &mut BTreeMap<Pid, String>) {
        if !self.is_root(pid) {
            seen.entry(pid).or_insert_with(|| process::command_line(pid).unwrap_or_else(|| "?".into()));
        }
    }

    fn is_root(&self, pid: Pid) -> bool {
        matches!(self.whose, Whose::Session { root, .. } if root == pid)
    }
}

/// Waits for every one of them to die; whether they did in time.
async fn gone_by(members: Vec<Process>, deadline: Instant) -> bool {
    for member in members {
        let Ok(watched) = reactor::watch(member, Interest::READABLE) else { return false };
        if timeout_at(deadline, watched.readable()).await.is_err() {
            return false;
        }
    }
    true
}

fn ended(seen: BTreeMap<Pid, String>) -> TreeEnd {
    TreeEnd { ended: seen.into_iter().map(line).collect(), remaining: Vec::new() }
}

fn given_up(mut seen: BTreeMap<Pid, String>, members: &[Process]) -> TreeEnd {
    let remaining = members.iter().filter_map(|member| describe(member.pid())).collect();
    seen.retain(|pid, _| members.iter().all(|member| member.pid() != *pid));
    TreeEnd { ended: seen.into_iter().map(line).collect(), remaining }
}

fn line((pid, command): (Pid, String)) -> ProcessLine {
    ProcessLine { pid: pid.get(), command }
}

/// A living process, named.
pub(crate) fn describe(pid: Pid) -> Option<ProcessLine> {
    process::command_line(pid).map(|command| ProcessLine { pid: pid.get(), command })
}
