//! The sandbox of a running session: its supervisor's process, and the denials so far.

use std::sync::{Mutex, MutexGuard, PoisonError};
use windlass_sandbox::{Denial, Line, Operation};
use windlass_sys::mark::RuntimeTag;
use windlass_sys::process::{Pid, Process};
use windlass_sys::signal::Signal;
use windlass_sys::tree;

/// The supervisors and helpers of one runtime's sandboxes: members of its sessions that no caller asked for, and that
/// no receipt names. A helper exits when its command runs, but on a busy machine the command may end first.
#[derive(Debug, Default)]
pub(crate) struct Watchers {
    numbers: Mutex<Vec<Pid>>,
}

impl Watchers {
    /// Adds the processes of one sandbox, and forgets those that have exited.
    pub(crate) fn add(&self, processes: impl IntoIterator<Item = Pid>, runtime_tag: RuntimeTag) {
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        numbers.retain(|number| runtime_tag.on(*number).is_some());
        numbers.extend(processes);
    }

    pub(crate) fn contains(&self, pid: Pid) -> bool {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner).contains(&pid)
    }
}

/// More different denials than a reader needs.
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
    /// The number of denials that are not listed, by the supervisor's count and by the engine's.
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

    /// Each denial once and, last, the number of those that are not listed.
    fn all(&self) -> Vec<Denial> {
        let beyond = self.beyond.0.saturating_add(self.beyond.1);
        let more = (beyond > 0).then(|| Denial::more(beyond));
        self.told.iter().cloned().chain(more).collect()
    }
}

impl Confined {
    /// The sandbox of a running command: its supervisor, its helper, and the line on which the supervisor reports
    /// denials.
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

    /// The supervisor's process: it belongs to the session, but no caller asked for it.
    pub(crate) fn watcher(&self) -> Option<Pid> {
        self.watcher
    }

    /// All denials, each once, followed by the number of those that were too many to list.
    pub(crate) fn denials(&self) -> Vec<Denial> {
        let mut rest = self.rest();
        let news = rest.line.as_mut().map(Line::take).unwrap_or_default();
        for denial in news {
            // The supervisor counts repetitions itself and reports the sum so far.
            rest.add(denial, u32::max);
        }
        rest.all()
    }

    /// Adds a denial that another layer than the supervisor reported, or counts it once more.
    pub(crate) fn refused(&self, denial: Denial) {
        self.rest().add(denial, u32::saturating_add);
    }

    /// The root is gone. A supervisor without any process left to supervise ends, and the session closes its
    /// descriptors of it.
    pub(crate) fn root_is_gone(&self) {
        let mut rest = self.rest();
        let left = rest.hold.as_ref().is_some_and(|watcher| tree::has_children(watcher.pid()));
        if let Some(watcher) = &rest.hold
            && !left
        {
            // It is about to end by itself; the signal is for a supervisor that hangs.
            let _ = watcher.signal(Signal::KILL);
        }
        rest.hold = None;
        if !left {
            // No process is left that could be denied anything.
            rest.line = None;
        }
    }

    fn rest(&self) -> MutexGuard<'_, Rest> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
