//! The processes among which a reader is looked for, and those of them that left the reader's job.

use super::awaited::Awaited;
use super::family::{ProcessStat, everyone_in, family_of};
use super::inspect::{Inspected, Reader};
use super::source::Source;
use crate::process::Pid;

/// The part of a session that is looked at.
pub(super) struct Scope {
    /// The terminal's foreground group; `None` for a pipe.
    pub(super) group: Option<Pid>,
    /// The session's root process.
    pub(super) root: Pid,
}

/// The processes of a scope, listed at one moment.
pub(super) struct Members {
    /// The members that may read.
    pub(super) near: Vec<(Pid, ProcessStat)>,
    /// The others below the root, in other groups. Parents come before their children.
    pub(super) away: Vec<(Pid, ProcessStat)>,
}

impl Scope {
    /// The process that most often reads.
    pub(super) fn leader(&self) -> Option<(Pid, ProcessStat)> {
        let leader = self.group.unwrap_or(self.root);
        let belongs = |facts: &ProcessStat| self.group.is_none_or(|group| facts.group == group);
        ProcessStat::of(leader)
            .filter(|facts| facts.is_alive() && belongs(facts))
            .map(|facts| (leader, facts))
    }

    /// The members of the foreground group, its leader first, and descendants of the root that have no terminal of
    /// their own: `su -c` puts its command into a session without one, and that command reads this terminal all the
    /// same.
    ///
    /// `known` was just read of one of them.
    pub(super) fn members(&self, known: Option<(Pid, ProcessStat)>) -> Members {
        let mut family = family_of(self.root, known);
        let living = family.by_ref().filter(|(_, facts)| facts.is_alive());
        let Some(group) = self.group else {
            return Members { near: living.collect(), away: Vec::new() };
        };
        let belongs = |facts: &ProcessStat| facts.group == group || facts.terminal == 0;
        let (mut near, away): (Vec<_>, Vec<_>) = living.partition(|(_, facts)| belongs(facts));
        // The leader is the usual reader, and the group's number says which process that is.
        match near.iter().position(|(pid, _)| *pid == group) {
            Some(place) => near[..=place].rotate_right(1),
            None => {
                near.splice(0..0, self.leader());
            }
        }
        // Orphans are children of another process. The whole process table is read only where the children lists do not
        // suffice.
        let is_empty = !near.iter().any(|(_, facts)| facts.group == group);
        if is_empty || family.is_incomplete() {
            let known: Vec<Pid> = near.iter().map(|(pid, _)| *pid).collect();
            near.extend(everyone_in(group).filter(|(pid, _)| !known.contains(pid)));
        }
        Members { near, away }
    }
}

/// The processes that a job started, that left it for another group or session, and whose output may reach the terminal or
/// for which a thread of the job waits.
/// The background jobs of a shell that manages jobs have left it too, and are meant to go on beside its prompt.
pub(super) fn departed_from(
    source: &Source,
    job: &[(Pid, ProcessStat)],
    members: &Members,
    reader: &Reader,
) -> Vec<(Pid, ProcessStat)> {
    let is_in_job = |pid: Pid| job.iter().find(|(member, _)| *member == pid);
    let mut left: Vec<Departed> = Vec::new();
    let mut awaited = None;
    for (pid, facts) in members.near.iter().chain(&members.away) {
        if is_in_job(*pid).is_some() {
            continue;
        }
        let parent = Pid::new(facts.parent);
        let starter = left.iter().find(|left| left.pid == parent).map(|parent| parent.is_heard);
        let is_of_job = is_in_job(parent).is_some_and(|(_, facts)| !facts.manages_jobs);
        if starter.is_none() && !is_of_job {
            continue;
        }
        // A shell prints when the command is over that it waits for.
        let is_heard = starter == Some(true)
            || Inspected::new(source, *pid, facts.terminal).may_be_heard()
            || awaited.get_or_insert_with(|| Awaited::by(source, job, reader)).includes(*pid, *facts);
        left.push(Departed { pid: *pid, facts: *facts, is_heard });
    }
    left.into_iter().filter(|left| left.is_heard).map(|left| (left.pid, left.facts)).collect()
}

/// A process that left the job.
struct Departed {
    pid: Pid,
    facts: ProcessStat,
    /// Its output, or that of the process that started it, may reach the terminal, or the job waits for it.
    is_heard: bool,
}
