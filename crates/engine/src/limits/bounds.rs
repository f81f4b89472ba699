//! The limits of one session, the mechanisms that enforce them, and the measurements so far. The session's task asks
//! after each piece of output and at the end; the limit watcher asks and notes in between.

use super::rate::Rate;
use super::{Amount, Crossed, Enforced, LimitMechanism, Limits, Peaks, Resource, Scope};
use crate::{Cause, Session};
use rustix::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use windlass_sys::cgroup::{RuntimeCgroup, SessionCgroup};
use windlass_sys::limits::ProcessLimits;
use windlass_sys::process::How;
use windlass_sys::signal::Signal;

/// One session's limits with their mechanisms.
#[derive(Debug, Default)]
pub(crate) struct Bounds {
    pub(super) limits: Limits,
    /// Those of all sessions together.
    pub(super) together: Limits,
    pub(super) enforced: Vec<Enforced>,
    pub(super) of_processes: ProcessLimits,
    pub(super) seat: Mutex<CgroupSeat>,
    pub(super) measured: Mutex<Measured>,
    /// It is being ended for a limit.
    pub(super) doomed: AtomicBool,
}

/// The control groups that a session's processes are in.
#[derive(Debug, Default)]
pub(super) enum CgroupSeat {
    /// Those of the runtime.
    #[default]
    None,
    /// Those of all sessions that have none of their own, and how many processes the kernel had killed in them before.
    Common(Arc<SessionCgroup>, u64),
    /// Its own, to be given back.
    Own(SessionCgroup, Arc<RuntimeCgroup>),
}

/// The limits and control groups that are set when the session's root is started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelLimits<'a> {
    pub(crate) limits: ProcessLimits,
    pub(crate) groups: &'a [BorrowedFd<'a>],
}

#[derive(Debug, Default)]
pub(super) struct Measured {
    peaks: Peaks,
    rate: Rate,
    /// The same as the limit watcher sees it, for the rate of all sessions together.
    looked_at: Rate,
}

impl Bounds {
    /// Starts something in the session's groups and under its limits.
    pub(super) fn launch<T>(&self, launch: impl FnOnce(KernelLimits<'_>) -> T) -> T {
        let seat = self.seat();
        let groups = seat.leaf().map(SessionCgroup::entries).unwrap_or_default();
        launch(KernelLimits { limits: self.of_processes, groups: &groups })
    }

    /// The limits of the session.
    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// How long it may run.
    pub(crate) fn wall(&self) -> Option<Duration> {
        self.limits.wall
    }

    /// Whether output is counted at all: checked after every piece of it.
    pub(crate) fn counts_output(&self) -> bool {
        self.limits.output.is_some() || self.limits.output_rate.is_some()
    }

    /// Notes the sum of printed bytes, and returns the limit that it crosses, if any.
    pub(crate) fn printed(&self, bytes: u64, since_start: Duration) -> Option<Crossed> {
        let mut measured = self.measured();
        let rate = measured.rate.note(since_start, bytes);
        measured.peaks.note(Resource::Output, Amount(bytes));
        measured.peaks.note(Resource::OutputRate, Amount(rate));
        let amounts = [(Resource::Output, Amount(bytes)), (Resource::OutputRate, Amount(rate))];
        amounts.into_iter().find_map(|(resource, used)| self.exceeded(resource, used, LimitMechanism::Reader))
    }

    /// The rate at which a session prints, from the sum of its printed bytes.
    pub(super) fn rate_of(&self, session: &Session) -> u64 {
        let (now, sum) = (session.started().elapsed(), session.journal().end().get());
        self.measured().looked_at.note(now, sum)
    }

    /// Whether the session's own limit is below this.
    pub(super) fn exceeded(
        &self,
        resource: Resource,
        used: Amount,
        means: LimitMechanism,
    ) -> Option<Crossed> {
        let limit = self.limits.of(resource).filter(|limit| used > *limit)?;
        Some(Crossed { resource, scope: Scope::Session, limit, peak: used, means })
    }

    /// A limit that the kernel itself enforced: it killed for want of memory, or refused a process.
    pub(super) fn enforced_by_kernel(&self) -> Option<Crossed> {
        let seat = self.seat();
        let CgroupSeat::Own(leaf, _) = &*seat else { return None };
        if leaf.killed_for_memory() > 0 {
            return Some(self.told(Resource::Memory, leaf.peak_memory()));
        }
        (leaf.forks_refused() > 0).then(|| self.told(Resource::Processes, leaf.peak_processes()))
    }

    /// The limit behind a refusal of the kernel: that of all sessions together, unless the session was near its own.
    fn told(&self, resource: Resource, peak: Option<u64>) -> Crossed {
        let own = self.limits.of(resource);
        let peak = peak.map(Amount);
        let near = |limit: &Amount| peak.is_none_or(|peak| peak.0 >= limit.0 - limit.0 / 16);
        let (scope, limit) = match (own.filter(near), self.together.of(resource)) {
            (Some(own), _) => (Scope::Session, own),
            (None, Some(together)) => (Scope::Runtime, together),
            (None, None) => (Scope::Session, own.unwrap_or_default()),
        };
        let means = self.means(resource, scope);
        Crossed { resource, scope, limit, peak: peak.unwrap_or(limit), means }
    }

    /// The mechanism of a limit. A limit that is not in the list is enforced by the limit watcher alone.
    pub(super) fn means(&self, resource: Resource, scope: Scope) -> LimitMechanism {
        let is_it = |it: &&Enforced| it.resource == resource && it.scope == scope;
        self.enforced.iter().find(is_it).map_or(LimitMechanism::Watcher, |it| it.means)
    }

    /// Why it ended, once that is known: a root that was ended by the kernel for a limit did not end by itself.
    pub(crate) fn verdict(&self, cause: Cause, how: How) -> Cause {
        match cause {
            Cause::Itself => self.crossed_at_the_end(how).map_or(cause, Cause::Limit),
            Cause::Limit(crossed) => {
                let peak = self.final_peaks().of(crossed.resource).unwrap_or(crossed.peak);
                let peak =
                    if crossed.scope == Scope::Session { peak.max(crossed.peak) } else { crossed.peak };
                Cause::Limit(Crossed { peak, ..crossed })
            }
            other => other,
        }
    }

    fn crossed_at_the_end(&self, how: How) -> Option<Crossed> {
        let by_signal = |resource, number: i32| {
            let limit = self.limits.of(resource).filter(|_| how == How::Signalled(Signal::from(number)))?;
            let peak = self.final_peaks().of(resource).map_or(limit, |peak| peak.max(limit));
            Some(Crossed {
                resource,
                scope: Scope::Session,
                limit,
                peak,
                means: LimitMechanism::ResourceLimit,
            })
        };
        self.enforced_by_kernel()
            .or_else(|| self.killed_in_common(how))
            .or_else(|| by_signal(Resource::CpuTime, Signal::XCPU.number()))
            .or_else(|| by_signal(Resource::Disk, Signal::XFSZ.number()))
    }

    /// The kernel says how many processes it killed in a group, not which: if it killed one and the root was killed, it
    /// was the root.
    fn killed_in_common(&self, how: How) -> Option<Crossed> {
        let seat = self.seat();
        let CgroupSeat::Common(leaf, before) = &*seat else { return None };
        let limit = self.together.of(Resource::Memory)?;
        let was_killed = how == How::Signalled(Signal::KILL) && leaf.killed_for_memory() > *before;
        let (resource, scope) = (Resource::Memory, Scope::Runtime);
        let means = self.means(resource, scope);
        was_killed.then_some(Crossed { resource, scope, limit, peak: limit, means })
    }

    /// Notes the sum of all printed bytes, if it is limited: the last output of a root is read after its end.
    pub(crate) fn printed_in_all(&self, bytes: u64) {
        if self.counts_output() {
            self.measured().peaks.note(Resource::Output, Amount(bytes));
        }
    }

    /// All measurements, with the kernel's final counts.
    pub(crate) fn final_peaks(&self) -> Peaks {
        let mut peaks = self.measured().peaks;
        if let CgroupSeat::Own(leaf, _) = &*self.seat() {
            let counted = [
                (Resource::Memory, leaf.peak_memory().map(Amount)),
                (Resource::Processes, leaf.peak_processes().map(Amount)),
                (Resource::CpuTime, leaf.cpu().map(Amount::from)),
            ];
            for (resource, amount) in counted {
                amount.into_iter().for_each(|amount| peaks.note(resource, amount));
            }
        }
        peaks
    }

    /// The limits that were in force.
    pub(crate) fn enforced(&self) -> Vec<Enforced> {
        self.enforced.clone()
    }

    pub(super) fn note(&self, used: &Peaks) {
        let mut measured = self.measured();
        used.iter().for_each(|(resource, amount)| measured.peaks.note(resource, amount));
    }

    /// Gives the session's groups back. Processes that still run in them stay there, and stay limited.
    pub(super) fn release(&self) -> Option<(SessionCgroup, Arc<RuntimeCgroup>)> {
        match std::mem::take(&mut *self.seat()) {
            CgroupSeat::Own(leaf, nest) => Some((leaf, nest)),
            CgroupSeat::None | CgroupSeat::Common(..) => None,
        }
    }

    /// Claims the right to end the session; `false` for every caller but the first.
    pub(super) fn doom(&self) -> bool {
        !self.doomed.swap(true, Ordering::Relaxed)
    }

    pub(super) fn seat(&self) -> MutexGuard<'_, CgroupSeat> {
        self.seat.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn measured(&self) -> MutexGuard<'_, Measured> {
        self.measured.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CgroupSeat {
    pub(super) fn leaf(&self) -> Option<&SessionCgroup> {
        match self {
            Self::None => None,
            Self::Common(leaf, _) => Some(leaf),
            Self::Own(leaf, _) => Some(leaf),
        }
    }
}

impl Crossed {
    /// Whether a polite end would take too long: a resource that grows faster than a process reacts to TERM, and that
    /// only sampling limits, is crossed further meanwhile, so the session is killed at once, as the kernel would.
    pub(crate) fn ends_at_once(self) -> bool {
        self.means == LimitMechanism::Watcher
            && matches!(self.resource, Resource::Memory | Resource::Processes)
    }
}
