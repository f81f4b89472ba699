//! Orphans: descendants whose parent died, which the kernel hands to this process. It has to collect them when they
//! die, and must never collect the root of a session, whose exit belongs to its task.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;
use windlass_sys::mark::{Mark, RuntimeTag};
use windlass_sys::process::{self, Pid, Process};
use windlass_sys::tree::{self, Adoption, Recognise};

/// The roots of all sessions, by the sequence number in their mark.
#[derive(Debug, Default)]
pub(crate) struct Roots {
    by_sequence: Mutex<HashMap<u32, Root>>,
    /// The marks of the latest sessions, by the number of their root, which may be gone.
    latest: Mutex<Latest>,
    /// Notified when the collector has to look although nothing died just now.
    look: Notify,
}

#[derive(Clone, Copy, Debug)]
enum Root {
    /// The process may exist already, but its number is not known yet: nothing of this session may be collected. The
    /// field notes whether a dead process was skipped for that reason: its death is not announced again.
    Starting {
        passed_over: bool,
    },
    Started(Pid),
    /// Not a root: stands for the engine that is gone. No session has its number.
    NoEngine,
}

#[derive(Debug, Default)]
struct Latest {
    marks: HashMap<Pid, Mark>,
    /// Oldest first.
    order: VecDeque<Pid>,
}

/// How many of them are remembered.
const REMEMBERED: usize = 4096;

impl Latest {
    fn remember(&mut self, root: Pid, mark: Mark) {
        // The kernel reused a number: the session that had it before has no process left.
        if self.marks.insert(root, mark).is_none() {
            self.order.push_back(root);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.marks.remove(&oldest);
        }
    }
}

impl Root {
    fn passed_over(self) -> bool {
        matches!(self, Self::Starting { passed_over: true })
    }
}

/// The number that stands for the absence of the engine: no session has it.
const NO_ENGINE: u32 = u32::MAX;

impl Roots {
    pub(crate) fn starting(&self, sequence: u32) {
        self.with(|roots| roots.insert(sequence, Root::Starting { passed_over: false }));
    }

    pub(crate) fn started(&self, mark: Mark, root: Pid) {
        self.latest().remember(root, mark);
        let before = self.with(|roots| roots.insert(mark.sequence(), Root::Started(root)));
        if before.is_some_and(Root::passed_over) {
            self.look.notify_one();
        }
    }

    /// The root was collected, or never existed.
    pub(crate) fn gone(&self, sequence: u32) {
        let has_reason = self.with(|roots| {
            let before = roots.remove(&sequence);
            before.is_some_and(Root::passed_over) || roots.contains_key(&NO_ENGINE)
        });
        // With an engine the collector waits for deaths. If it were woken here every time, it would run before the task
        // that waits for this session, and move that one to another thread.
        if has_reason {
            self.look.notify_one();
        }
    }

    /// The engine is gone: the collector ends with the last session.
    pub(crate) fn engine_gone(&self) {
        self.with(|roots| roots.insert(NO_ENGINE, Root::NoEngine));
        self.look.notify_one();
    }

    /// The mark of the session whose root this process is or was.
    fn mark_of_root(&self, root: Pid) -> Option<Mark> {
        self.latest().marks.get(&root).copied()
    }

    fn latest(&self) -> MutexGuard<'_, Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_finished(&self) -> bool {
        self.with(|roots| roots.len() == 1 && roots.contains_key(&NO_ENGINE))
    }

    fn is_orphan(&self, sequence: u32, pid: Pid) -> bool {
        self.with(|roots| match roots.get_mut(&sequence) {
            Some(Root::Starting { passed_over }) => {
                *passed_over = true;
                false
            }
            Some(Root::NoEngine) => false,
            Some(Root::Started(root)) => *root != pid,
            None => true,
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut HashMap<u32, Root>) -> T) -> T {
        work(&mut self.by_sequence.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The descendants that the kernel hands to this process.
#[derive(Debug)]
pub(crate) struct Orphans {
    runtime_tag: RuntimeTag,
    adoption: Adoption,
    pub(crate) roots: Roots,
}

impl Recognise for Orphans {
    /// The session of an orphan by its mark or, if it shed its mark, by its session leader: an orphan in the session of
    /// a root whose leader is gone can only be one of its descendants. A process that leads a session itself may be a
    /// direct child that has the number of a former root.
    fn mark_of(&self, pid: Pid) -> Option<Mark> {
        self.runtime_tag.mark_of(pid).or_else(|| {
            let leader = process::session_of(pid).filter(|leader| *leader != pid)?;
            let mark = self.roots.mark_of_root(leader)?;
            (process::parent_of(pid) == Some(Pid::of_this_process())).then_some(mark)
        })
    }
}

impl Orphans {
    /// From now on the kernel hands orphans to this process.
    pub(crate) fn adopt(runtime_tag: RuntimeTag) -> Self {
        Self { runtime_tag, adoption: tree::adopt_orphans(), roots: Roots::default() }
    }

    /// Whether, besides the known ones, there are any whose mark is wanted; also `true` if the process list could not
    /// be read.
    pub(crate) fn are_there(&self, wanted: impl Fn(Mark) -> bool, known: &[Pid]) -> bool {
        self.adoption.has_orphans(self, wanted, known)
    }

    /// Living orphans whose mark is wanted, one by one as they are found, each held so that the kernel cannot reuse its
    /// number.
    pub(crate) fn living(&self, wanted: impl Fn(Mark) -> bool) -> impl Iterator<Item = Process> {
        let bears = move |pid| self.mark_of(pid).is_some_and(&wanted);
        self.adoption.adopted().unwrap_or_default().into_iter().filter_map(move |pid| {
            let process = bears(pid).then(|| Process::open(pid).ok()).flatten()?;
            (process.is_alive() && bears(pid)).then_some(process)
        })
    }

    /// Collects the dead ones.
    pub(crate) fn collect_dead(&self) {
        // If the list cannot be read now, the next death is another chance.
        for pid in self.adoption.adopted().unwrap_or_default() {
            let Some(mark) = self.mark_of(pid) else { continue };
            if self.roots.is_orphan(mark.sequence(), pid) {
                process::reap_orphan(pid);
            }
        }
    }
}

/// Collects dead orphans as long as there is an engine or one of its sessions. The kernel says that a child died, not
/// which: several deaths may be one signal, so each signal is a look at all that were adopted.
pub(crate) async fn collect(orphans: Arc<Orphans>) {
    // Without the signal, orphans are still collected whenever this process ends; nothing else depends on it.
    let Ok(mut deaths) = signal(SignalKind::child()) else { return };
    while !orphans.roots.is_finished() {
        orphans.collect_dead();
        tokio::select! {
            _ = deaths.recv() => {}
            () = orphans.roots.look.notified() => {}
        }
        // Most deaths are of roots, and a session's task waits for each of those: the tasks run first.
        tokio::task::yield_now().await;
    }
    orphans.collect_dead();
}

#[cfg(test)]
mod tests {
    use windlass_sys::mark::Fate;

    use super::*;

    fn mark(sequence: u32) -> Mark {
        RuntimeTag::generate().mark(sequence, Fate::WithRuntime)
    }

    /// Whether the collector was asked to look.
    async fn is_called(roots: &Roots) -> bool {
        tokio::select! {
            biased;
            () = roots.look.notified() => true,
            () = std::future::ready(()) => false,
        }
    }

    #[tokio::test]
    async fn a_death_passed_over_during_a_start_is_looked_at_when_the_start_has_failed_or_succeeded() {
        let (roots, orphan) = (Roots::default(), Pid::new(7));
        roots.starting(1);
        assert!(!roots.is_orphan(1, orphan));
        assert!(!is_called(&roots).await);
        roots.gone(1);
        assert!(is_called(&roots).await);
        assert!(roots.is_orphan(1, orphan));

        roots.starting(2);
        assert!(!roots.is_orphan(2, orphan));
        roots.started(mark(2), Pid::new(8));
        assert!(is_called(&roots).await);
        assert!(roots.is_orphan(2, orphan));
    }

    #[test]
    fn the_latest_roots_are_remembered_and_no_more() {
        let roots = Roots::default();
        let number = |number: usize| u32::try_from(number).expect("a small number");
        for root in 1..=REMEMBERED + 1 {
            roots.started(mark(number(root)), Pid::new(number(root)));
        }
        assert_eq!(roots.mark_of_root(Pid::new(1)), None);
        let last = roots.mark_of_root(Pid::new(number(REMEMBERED + 1))).expect("it is remembered");
        assert_eq!(last.sequence(), number(REMEMBERED + 1));
        roots.started(mark(7), Pid::new(2));
        assert_eq!(roots.mark_of_root(Pid::new(2)).map(Mark::sequence), Some(7));
    }

    #[tokio::test]
    async fn a_session_that_comes_and_goes_calls_nobody_while_there_is_an_engine() {
        let roots = Roots::default();
        roots.starting(1);
        roots.started(mark(1), Pid::new(8));
        roots.gone(1);
        assert!(!is_called(&roots).await);
        roots.engine_gone();
        assert!(is_called(&roots).await);
    }
}
