//! The limit watcher: one task for an engine, from its first session that has limits on, and asleep while there is
//! none. The kernel's events wake it where control groups enforce a limit; where nothing does, it samples all such
//! sessions, sooner or later as the nearest limit allows.

use super::bounds::{Bounds, CgroupSeat};
use super::fence::LimitEnforcer;
use super::{Amount, Crossed, LimitMechanism, Limits, Peaks, Resource, Scope, pace};
use crate::session::WeakSession;
use crate::{Cause, reactor};
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use windlass_sys::cgroup::{EventFd, Events, SessionCgroup};
use windlass_sys::mark::Mark;
use windlass_sys::process::Pid;
use windlass_sys::tree;
use windlass_sys::usage::{self, UsageFields};

/// The sessions that are watched.
#[derive(Debug, Default)]
pub(super) struct Watchlist {
    watched: Mutex<WatchList>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct WatchList {
    entries: Vec<WatchedSession>,
    /// The watcher runs, for as long as there is an engine: starting it anew for every session would cost more than
    /// waiting.
    attended: bool,
    /// The engine starts no more sessions: the watcher ends with the last one.
    closing: bool,
}

/// One of them.
#[derive(Clone, Debug)]
pub(super) struct WatchedSession {
    pub(super) session: WeakSession,
    pub(super) bounds: Arc<Bounds>,
    pub(super) mark: Mark,
    /// The limits that only sampling enforces.
    pub(super) sampled: Limits,
    /// How often to read the kernel's own counts, where it enforces a limit without an event.
    pub(super) read_every: Option<Duration>,
}

impl WatchedSession {
    fn is_only_told(&self) -> bool {
        self.sampled.is_empty() && self.read_every.is_none()
    }

    fn pause(&self, used: &Peaks, processors: u64, cost: Duration) -> Option<Duration> {
        let sampled = (!self.sampled.is_empty()).then(|| pace::pause(&self.sampled, used, processors, cost));
        sampled.into_iter().chain(self.read_every).min()
    }
}

impl Watchlist {
    /// Adds a session. Returns whether the caller must start the watcher.
    pub(super) fn add(&self, entry: WatchedSession) -> bool {
        let mut watched = self.watched();
        let (needs_looks, attended) = (!entry.is_only_told(), watched.attended);
        watched.entries.push(entry);
        watched.attended = true;
        drop(watched);
        if attended && needs_looks {
            self.changed.notify_one();
        }
        !attended
    }

    /// A session has ended. One that is sampled is sampled once more: it may have left processes running.
    pub(super) fn left(&self, mark: Mark) {
        let mut watched = self.watched();
        watched.entries.retain(|entry| entry.mark != mark || !entry.sampled.is_empty());
        let wake = watched.closing || watched.entries.iter().any(|entry| entry.mark == mark);
        drop(watched);
        if wake {
            self.changed.notify_one();
        }
    }

    /// No more sessions will come.
    pub(super) fn close(&self) {
        self.watched().closing = true;
        self.changed.notify_one();
    }

    fn is_closing(&self) -> bool {
        self.watched().closing
    }

    /// The watched sessions; `None` if there are none and none will come.
    fn snapshot(&self) -> Option<Vec<WatchedSession>> {
        let watched = self.watched();
        (!watched.closing || !watched.entries.is_empty()).then(|| watched.entries.clone())
    }

    fn forget(&self, gone: &[Mark]) {
        self.watched().entries.retain(|entry| !gone.contains(&entry.mark));
    }

    fn watched(&self) -> MutexGuard<'_, WatchList> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The kernel announces that memory ran out before it kills for it, so there are a few more looks after that.
const AFTERMATH: u32 = 10;

/// Watches until no session is left and none will come.
pub(crate) async fn watch(fence: Arc<LimitEnforcer>) {
    let mut ears = LimitEvents::open(&fence);
    let mut stops = JoinSet::new();
    let mut looks_soon = 0_u32;
    // Read once: it takes as long as the rest of a sample, and a sample follows every start.
    let processors = std::thread::available_parallelism().map_or(1, |number| number.get() as u64);
    while let Some(entries) = fence.watchlist.snapshot() {
        let look = Look::at(&fence, &entries, processors);
        for doomed in look.doomed {
            stops.spawn(end(Arc::clone(&fence), doomed));
        }
        fence.watchlist.forget(&look.gone);
        let soon = (looks_soon > 0).then(|| Instant::now() + pace::FASTEST);
        let next = look.next.into_iter().chain(soon).min();
        looks_soon = looks_soon.saturating_sub(1);
        if wait(&fence, &mut ears, next).await == Woken::Announced {
            looks_soon = AFTERMATH;
        }
        while stops.try_join_next().is_some() {}
    }
    while stops.join_next().await.is_some() {}
}

/// Why the watcher looks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    Announced,
    InTime,
}

/// Waits until it is time to sample again. The start or end of a session is a reason to do so at once; where there are
/// many, one sample in a while covers all of them.
async fn wait(fence: &LimitEnforcer, ears: &mut LimitEvents, mut next: Option<Instant>) -> Woken {
    let earliest = Instant::now() + pace::FASTEST;
    loop {
        tokio::select! {
            () = ears.heard() => return Woken::Announced,
            () = fence.watchlist.changed.notified() => {
                if Instant::now() >= earliest || fence.watchlist.is_closing() {
                    return Woken::InTime;
                }
                next = Some(next.map_or(earliest, |next| next.min(earliest)));
            }
            // timer: without a control group no event says that a limit is crossed; see `pace` for the length.
            () = tokio::time::sleep_until(next.unwrap_or_else(far_away).into()), if next.is_some() => {
                return Woken::InTime;
            }
        }
    }
}

fn far_away() -> Instant {
    Instant::now() + pace::SLOWEST
}

/// A session that is to be ended, and why.
struct Doomed {
    entry: WatchedSession,
    crossed: Crossed,
}

/// Ends a session by the same path as every stop. A tree that multiplies is frozen first.
async fn end(fence: Arc<LimitEnforcer>, doomed: Doomed) {
    let Doomed { entry, crossed } = doomed;
    if crossed.resource == Resource::Processes {
        hold_still(&fence, &entry);
    }
    let Some(session) = entry.session.upgrade() else { return };
    let ended = session.stop_because(Cause::Limit(crossed)).await;
    if !ended.remaining.is_empty() {
        entry.bounds.doomed.store(false, Ordering::Relaxed);
    }
}

fn hold_still(fence: &LimitEnforcer, entry: &WatchedSession) {
    if let CgroupSeat::Own(leaf, _) = &*entry.bounds.seat()
        && leaf.processes().is_some()
        && leaf.limit_processes(Some(0)).is_ok()
    {
        return;
    }
    tree::freeze(fence.runtime_tag, |mark| mark == entry.mark);
}

/// The result of one look at all sessions.
#[derive(Default)]
struct Look {
    doomed: Vec<Doomed>,
    /// Sessions without any process left.
    gone: Vec<Mark>,
    /// When to look again; `None`: at the next event.
    next: Option<Instant>,
    /// The limit of all sessions together allows no more processes.
    is_crowded: bool,
}

impl Look {
    fn at(fence: &LimitEnforcer, entries: &[WatchedSession], processors: u64) -> Self {
        let begun = Instant::now();
        let mut look = Self { is_crowded: has_no_room(fence), ..Self::default() };
        let needs_members = look.is_crowded || entries.iter().any(|entry| !entry.sampled.is_empty());
        let members = if needs_members { usage::members(fence.runtime_tag) } else { HashMap::new() };
        let mut used = Vec::new();
        for entry in entries {
            let of_it = members.get(&entry.mark).map(Vec::as_slice).unwrap_or_default();
            used.push(look.at_one(entry, of_it));
        }
        look.at_all(fence, entries, &used);
        let cost = begun.elapsed();
        let pause =
            entries.iter().zip(&used).filter_map(|(entry, used)| entry.pause(used, processors, cost)).min();
        look.next = pause.map(|pause| Instant::now() + pause);
        look
    }

    fn at_one(&mut self, entry: &WatchedSession, members: &[Pid]) -> Peaks {
        let is_over = entry.session.upgrade().is_none_or(|session| session.progress().receipt.is_some());
        if is_over && members.is_empty() {
            self.gone.push(entry.mark);
            return Peaks::default();
        }
        let wanted = if self.is_crowded {
            entry.sampled.with(Resource::Processes, Some(Amount(0)))
        } else {
            entry.sampled
        };
        let used = measure(entry, &wanted, members);
        entry.bounds.note(&used);
        let by_looking = || {
            used.iter()
                .find_map(|(resource, used)| entry.bounds.exceeded(resource, used, LimitMechanism::Watcher))
        };
        if let Some(crossed) = entry.bounds.enforced_by_kernel().or_else(by_looking) {
            self.doom(entry, crossed);
        }
        used
    }

    /// Checks the limits of all sessions together: the session that uses most of a crossed resource must end.
    fn at_all(&mut self, fence: &LimitEnforcer, entries: &[WatchedSession], used: &[Peaks]) {
        for (resource, limit) in fence.together.limits.iter() {
            let amounts = used.iter().map(|used| used.of(resource).unwrap_or_default().0);
            let sum = match resource {
                Resource::OpenFiles => amounts.clone().max().unwrap_or(0),
                _ => amounts.clone().sum(),
            };
            let most = entries.iter().zip(amounts).max_by_key(|(_, amount)| *amount);
            let by_kernel = resource == Resource::Processes && self.is_crowded;
            if let Some((entry, _)) = most.filter(|_| by_kernel || Amount(sum) > limit) {
                let means = entry.bounds.means(resource, Scope::Runtime);
                let crossed =
                    Crossed { resource, scope: Scope::Runtime, limit, peak: Amount(sum.max(limit.0)), means };
                self.doom(entry, crossed);
            }
        }
    }

    fn doom(&mut self, entry: &WatchedSession, crossed: Crossed) {
        if entry.bounds.doom() {
            self.doomed.push(Doomed { entry: entry.clone(), crossed });
        }
    }
}

/// Whether the kernel refuses processes because all sessions together have as many as they may.
fn has_no_room(fence: &LimitEnforcer) -> bool {
    let limit = fence.together.limits.of(Resource::Processes);
    let whole = fence.ground().whole.as_ref().and_then(SessionCgroup::processes);
    whole.zip(limit).is_some_and(|(now, Amount(limit))| now >= limit)
}

/// The session's present use of the sampled resources.
fn measure(entry: &WatchedSession, wanted: &Limits, members: &[Pid]) -> Peaks {
    let mut used = Peaks::default();
    let wants = |resource| wanted.of(resource).is_some();
    if wanted.is_empty() {
        return used;
    }
    let asked = UsageFields { files: wants(Resource::OpenFiles), written: wants(Resource::Disk) };
    let usage = usage::of(members, asked);
    let seat = entry.bounds.seat();
    let own = match &*seat {
        CgroupSeat::Own(leaf, _) => Some(leaf),
        CgroupSeat::None | CgroupSeat::Common(..) => None,
    };
    let memory = || memory(entry, members, usage.resident);
    let printed = || entry.session.upgrade().map_or(0, |session| session.journal().end().get());
    let rate = || entry.session.upgrade().map_or(0, |session| entry.bounds.rate_of(&session));
    for (resource, _) in wanted.iter() {
        let amount = match resource {
            Resource::Memory => Amount(memory()),
            Resource::Processes => Amount(usage.tasks),
            Resource::CpuTime => own.and_then(SessionCgroup::cpu).unwrap_or(usage.cpu).into(),
            Resource::OpenFiles => Amount(usage.files),
            Resource::Disk => Amount(usage.written),
            Resource::Output => Amount(printed()),
            Resource::OutputRate => Amount(rate()),
        };
        used.note(resource, amount);
    }
    used
}

/// Shared memory is counted for each process that maps it, which is cheap. It is counted exactly only if that sum is
/// too much, or if the session holds much memory in nameless files, which need not be mapped. A little of that is
/// ignored: scripts lie in such files.
fn memory(entry: &WatchedSession, members: &[Pid], resident: u64) -> u64 {
    let Some(Amount(limit)) = entry.sampled.of(Resource::Memory) else { return resident };
    let is_unsure =
        resident > limit && members.len() > 1 || usage::held_in_memory(members) > limit / UNMAPPED_PART;
    if is_unsure { usage::proportional_memory(members) } else { resident }
}

/// The part of its limit that a session may hold in nameless files before they are counted.
const UNMAPPED_PART: u64 = 16;

/// The kernel's events, if there are any.
struct LimitEvents {
    ears: Vec<AsyncFd<EventFd>>,
    fence: Arc<LimitEnforcer>,
}

impl LimitEvents {
    fn open(fence: &Arc<LimitEnforcer>) -> Self {
        let events = fence.ground().events.as_ref();
        let ears = events.map(Events::ears).into_iter().flatten();
        // An event descriptor that the reactor refuses is skipped: then only sampling helps, and the receipt's verdict.
        let ears = ears.filter_map(|ear| reactor::watch(ear, Interest::READABLE).ok()).collect();
        Self { ears, fence: Arc::clone(fence) }
    }

    async fn heard(&mut self) {
        let [first, second] = self.ears.as_slice() else { return std::future::pending().await };
        let heard = tokio::select! {
            heard = first.readable() => heard,
            heard = second.readable() => heard,
        };
        if let Ok(mut heard) = heard {
            self.fence.ground().events.iter().for_each(|events| events.take());
            heard.clear_ready();
        }
    }
}
