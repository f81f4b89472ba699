//! Descendants that do not bear the mark of their tree.
//!
//! A process can shed its mark, and a runtime inside a session marks the sessions that it runs itself. A limit has two
//! halves, so of three runtimes around one another the mark of the middle one is overwritten. But every process has a
//! parent: as long as a marked process lives, its children name the rest. They are looked for before anything is
//! signalled, since the death of a parent hands its children to another process, and they are held from then on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::mark::{Halves, Mark, RuntimeTag};
use crate::process::{Pid, Process, parent_of};
use crate::tree;

/// The unmarked descendants that were found so far.
#[derive(Debug, Default)]
pub struct Descent {
    held: BTreeMap<Pid, Process>,
    nested: BTreeSet<NestedFamily>,
}

/// The sessions of a runtime inside the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct NestedFamily {
    family: u32,
    /// The other half of the limit: that of the session around both runtimes.
    hard: u64,
}

/// The most descendants that are held. Further ones are still found through their parents, which are held.
const MOST_HELD: usize = 512;

impl Descent {
    /// Holds the descendants of a member that a walk for this runtime tag does not find.
    pub fn follow(&mut self, member: &Process, runtime_tag: RuntimeTag) {
        let mut parents = vec![member.pid()];
        while let Some(parent) = parents.pop() {
            for child in children_of(parent) {
                if self.take(child, parent, runtime_tag) {
                    parents.push(child);
                }
            }
        }
    }

    /// The living processes, including all sessions of the runtimes among them.
    pub fn living(&mut self, runtime_tag: RuntimeTag) -> Vec<&Process> {
        let known: Vec<Pid> = self.held.keys().copied().collect();
        for pid in known {
            if let Some(process) = self.held.remove(&pid).filter(Process::is_alive) {
                self.follow(&process, runtime_tag);
                self.held.insert(pid, process);
            }
        }
        for nested in self.nested.clone() {
            let is_of_this_tree = |process: &Process| nested.is_on(process.pid());
            let found = tree::living(RuntimeTag::of_family(nested.family), |_: Mark| true).flatten();
            for process in found.filter(is_of_this_tree) {
                self.hold(process);
            }
        }
        self.held.values().filter(|process| process.is_alive()).collect()
    }

    /// Whether the process is one that the walk does not find.
    fn take(&mut self, child: Pid, parent: Pid, runtime_tag: RuntimeTag) -> bool {
        if child == Pid::of_this_process() || self.held.get(&child).is_some_and(Process::is_alive) {
            return false;
        }
        let Ok(process) = Process::open(child) else { return false };
        // The parent is read after the process was held: if the number was reused, the parent differs.
        if runtime_tag.on(child).is_some() || parent_of(child) != Some(parent) {
            return false;
        }
        // A mark that this process bears, too, belongs to a runtime around the tree, not to one inside: a sandbox keeps
        // its mark on every process.
        let is_around = |nested: &NestedFamily| nested.is_on(Pid::of_this_process());
        self.nested.extend(NestedFamily::on(child).filter(|nested| !is_around(nested)));
        self.hold(process);
        true
    }

    fn hold(&mut self, process: Process) {
        if self.held.len() < MOST_HELD {
            self.held.insert(process.pid(), process);
        }
    }
}

impl NestedFamily {
    /// The runtime tag of a mark that is only in the soft half, which is where a runtime inside a session puts it.
    fn on(pid: Pid) -> Option<Self> {
        let Halves { soft, hard } = Halves::on(pid)?;
        let mark = Mark::from_bits(soft).filter(|_| soft != hard && hard != u64::MAX)?;
        Some(Self { family: mark.runtime_tag().family(), hard })
    }

    fn is_on(self, pid: Pid) -> bool {
        Self::on(pid) == Some(self)
    }
}

/// The children of a process right now, those of all its threads.
fn children_of(pid: Pid) -> Vec<Pid> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| numbers(&list)).collect()
}

fn numbers(list: &str) -> Vec<Pid> {
    list.split_whitespace().filter_map(|number| number.parse().ok().map(Pid::new)).collect()
}
