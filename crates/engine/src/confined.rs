//! What a session has of its sandbox: who watches it, and what it was refused so far.

use std::sync::{Mutex, MutexGuard, PoisonError};
use windlass_sandbox::{Denial, Line, Operation};
use windlass_sys::mark::RuntimeTag;
use windlass_sys::process::{Pid, Process};
use windlass_sys::signal::Signal;
use windlass_sys::tree;

/// The watchers and helpers of one runtime's sandboxes: members of its sessions that no caller asked for, and that no receipt names.
/// A helper exits when its command runs, but on a busy machine the command may end first.
#[derive(Debug, Default)]
pub(crate) struct Watchers {
    numbers: Mutex<Vec<Pid>>,
}

impl Watchers {
    /// Takes note of the processes of one sandbox. Those that are gone are forgotten on the way.
    pub(crate) fn add(&self, processes: impl IntoIterator<Item = Pid>, runtime_tag: RuntimeTag) {
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        numbers.retain(|number| runtime_tag.on(*number).is_some());
        numbers.extend(processes);
    }

    pub(crate) fn contains(&self, pid: Pid) -> bool {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner).contains(&pid)
    }
}

/// More different refusals than anybody reads.
const MOST_REFUSALS: usize = 512;

/// The sandbox of one session, or none.
#[derive(Debug, Default)]
pub(crate) struct Confined {
    watcher: Option<Pid>,
    helper: Option<Pid>,
    rest: Mutex<Rest>,
}

#[derive(Debug, Default)]
struct Rest {
    hold: Option<Process>,
    line: Option<Line>,
    told: Vec<Denial>,
    /// How much was refused that is not listed, by the watcher's count and by ours.
    beyond: (u32, u32),
}

impl Rest {
    fn add(&mut self, denial: Denial, counted: impl Fn(u32, u32) -> u32) {
        if denial.operation == Operation::More {
            self.beyond.0 = self.beyond.0.max(denial.times);
            return;
        }
        let same = |it: &Denial| {
            (it.operation, &it.target, &it.rule) == (denial.operation, &denial.target, &denial.rule)
        };
        match self.told.iter().position(same) {
            Some(place) => self.told[place].times = counted(self.told[place].times, denial.times),
            None if self.told.len() < MOST_REFUSALS => self.told.push(denial),
            None => self.beyond.1 = self.beyond.1.saturating_add(1),
        }
    }

    /// Each thing once and, last, how much there was beside.
    fn all(&self) -> Vec<Denial> {
        let beyond = self.beyond.0.saturating_add(self.beyond.1);
        let more = (beyond > 0).then(|| Denial::more(beyond));
        self.told.iter().cloned().chain(more).collect()
    }
}

impl Confined {
    /// A command that runs, with who watches it and where that one tells of refusals.
    pub(crate) fn new(watcher: Option<Process>, helper: Pid, line: Line) -> Self {
        let rest = Rest { line: Some(line), ..Rest::default() };
        Self {
            watcher: watcher.as_ref().map(Process::pid),
            helper: Some(helper),
            rest: Mutex::new(Rest { hold: watcher, ..rest }),
        }
    }

    /// The processes of the sandbox itself.
    pub(crate) fn own_processes(&self) -> impl Iterator<Item = Pid> {
        self.watcher.into_iter().chain(self.helper)
    }

    /// The process that watches: it belongs to the session, but nobody asked for it.
    pub(crate) fn watcher(&self) -> Option<Pid> {
        self.watcher
    }

    /// Everything that was refused, each thing once; of what is too much to list, the number.
    pub(crate) fn denials(&self) -> Vec<Denial> {
        let mut rest = self.rest();
        let news = rest.line.as_mut().map(Line::take).unwrap_or_default();
        for denial in news {
            // The watcher counts, and tells how often by now.
            rest.add(denial, u32::max);
        }
        rest.all()
    }

    /// Something was refused elsewhere than by the watcher, once more.
    pub(crate) fn refused(&self, denial: Denial) {
        self.rest().add(denial, u32::saturating_add);
    }

    /// The root is gone. A watcher that nothing is left to watch for ends, and the session holds no descriptor of it.
    pub(crate) fn root_is_gone(&self) {
        let mut rest = self.rest();
        let left = rest.hold.as_ref().is_some_and(|watcher| tree::has_children(watcher.pid()));
        if let Some(watcher) = &rest.hold
            && !left
        {
            // It is about to end by itself; this is for one that nobody can ask.
            let _ = watcher.signal(Signal::KILL);
        }
        rest.hold = None;
        if !left {
            // Nobody is left who could be refused anything.
            rest.line = None;
        }
    }

    fn rest(&self) -> MutexGuard<'_, Rest> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
