//! The processes whose end or output a job waits for beside its reader: children, processes behind a `pidfd`, and those that
//! hold the other end of a pipe or a socket. If such a process works or has a timer, the job may print without input.

use super::call::Call;
use super::family::{ProcessStat, for_each_thread};
use super::inspect::{AwaitedInputs, Inspected, Reader};
use super::source::Source;
use crate::process::Pid;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The things that the threads of a job wait for.
#[derive(Debug, Default)]
pub(super) struct Awaited {
    /// Processes that wait for the end of a child, or that a signal tells of it.
    parents: Vec<Pid>,
    /// Processes whose `pidfd` a thread waits for.
    processes: Vec<Pid>,
    /// Pipes, as the links in `/proc/PID/fd` name them.
    pipes: Vec<PathBuf>,
    /// A thread waits for a socket. Its two ends have different names.
    has_sockets: bool,
}

impl Awaited {
    /// By the members of a job around this reader, whose own call was read when it slept: it may run by now. A process that started the reader waits for the reader.
    pub(super) fn by(source: &Source, members: &[(Pid, ProcessStat)], reader: &Reader) -> Self {
        let mut awaited = Self::default();
        awaited.add_inputs(&Inspected::new(source, reader.pid, 0), &reader.wanted);
        for (pid, facts) in members {
            let is_ancestor = starts(members, *pid, reader.pid);
            let process = Inspected::new(source, *pid, facts.terminal);
            if facts.handled.watches_children() && !is_ancestor && !process.is_listed_shell() {
                awaited.parents.push(*pid);
            }
            for_each_thread(*pid, |thread| {
                awaited.add(&process, thread, is_ancestor);
                ControlFlow::Continue(())
            });
        }
        awaited
    }

    fn add(&mut self, process: &Inspected<'_>, thread: u32, is_ancestor: bool) {
        let Ok(Some((call, wanted))) = process.blocked(thread) else { return };
        if call == Call::Child && !is_ancestor {
            self.parents.push(process.pid());
        }
        self.add_inputs(process, &wanted);
    }

    fn add_inputs(&mut self, process: &Inspected<'_>, wanted: &AwaitedInputs) {
        self.pipes.extend(wanted.pipes.iter().filter_map(|pipe| process.link(*pipe)));
        self.processes.extend(&wanted.processes);
        self.has_sockets |= !wanted.sockets.is_empty();
    }

    /// Whether a thread of the job goes on when this process ends or writes.
    pub(super) fn includes(&self, pid: Pid, facts: ProcessStat) -> bool {
        self.parents.contains(&Pid::new(facts.parent)) || self.processes.contains(&pid) || self.writes(pid)
    }

    /// Whether the process holds the writing end of one of the pipes, or a socket. The links are read and not followed: a
    /// file of a server that no longer answers must not hang us.
    fn writes(&self, pid: Pid) -> bool {
        if self.pipes.is_empty() && !self.has_sockets {
            return false;
        }
        let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).any(|path| {
            let Ok(link) = fs::read_link(&path) else { return false };
            let is_socket = link.as_os_str().as_encoded_bytes().starts_with(b"socket:");
            (self.has_sockets && is_socket) || (self.pipes.contains(&link) && is_writable(&path))
        })
    }
}

/// Whether a descriptor is open for writing: the permissions of its link say so.
fn is_writable(descriptor: &Path) -> bool {
    fs::symlink_metadata(descriptor).is_ok_and(|link| link.permissions().mode() & 0o200 != 0)
}

/// Whether `ancestor` started this process, by way of other members or not.
fn starts(members: &[(Pid, ProcessStat)], ancestor: Pid, mut pid: Pid) -> bool {
    // As many steps as there are members: numbers that are used again could make a ring.
    for _ in 0..members.len() {
        let Some((_, facts)) = members.iter().find(|(member, _)| *member == pid) else { return false };
        pid = Pid::new(facts.parent);
        if pid == ancestor {
            return true;
        }
    }
    false
}
