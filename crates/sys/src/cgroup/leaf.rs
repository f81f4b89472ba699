//! A leaf: the groups of one session, to be entered, limited, counted and watched. Every file is small and is read
//! whole; if one is missing, this kernel does not count that resource.

use super::{Controller, Events, Version};
use crate::descriptor::above_stdio;
use crate::process::Pid;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The groups of one session.
#[derive(Debug)]
pub struct SessionCgroup {
    pub(super) branches: Vec<Branch>,
}

/// A session's group in one hierarchy.
#[derive(Debug)]
pub(super) struct Branch {
    version: Version,
    pub(super) directory: PathBuf,
    controllers: Vec<Controller>,
    /// A process that writes `0` to it enters the group.
    entry: OwnedFd,
    /// Whether the group is watched already, because another session used it before.
    announced: AtomicBool,
    /// The kernel's counts for the group when this session took it. They may stem from another session, and the kernel
    /// never resets them.
    before: Counts,
}

/// The kernel's counters, which only grow.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    out_of_memory: u64,
    forks_refused: u64,
    cpu: Duration,
}

impl SessionCgroup {
    /// The files to which a child writes `0`, so that it and everything it starts is in the leaf.
    pub fn entries(&self) -> Vec<BorrowedFd<'_>> {
        self.branches.iter().map(|branch| branch.entry.as_fd()).collect()
    }

    /// Limits its memory, swap included; `None` lifts the limit.
    pub fn limit_memory(&self, bytes: Option<u64>) -> io::Result<()> {
        let Some(branch) = self.with(Controller::Memory) else { return Ok(()) };
        match branch.version {
            Version::V1 => branch.limit_memory_v1(bytes),
            Version::V2 => branch.limit_memory_v2(bytes),
        }
    }

    /// Limits how many processes and threads it may have; `None` lifts the limit.
    pub fn limit_processes(&self, most: Option<u64>) -> io::Result<()> {
        let Some(branch) = self.with(Controller::Pids) else { return Ok(()) };
        branch.write("pids.max", &most.map_or("max".to_owned(), |most| most.to_string()))
    }

    /// Bytes of memory it has now.
    pub fn memory(&self) -> Option<u64> {
        let branch = self.with(Controller::Memory)?;
        branch.number(branch.named("memory.usage_in_bytes", "memory.current"))
    }

    /// The most memory that it had.
    pub fn peak_memory(&self) -> Option<u64> {
        let branch = self.with(Controller::Memory)?;
        branch.number(branch.named("memory.max_usage_in_bytes", "memory.peak"))
    }

    /// How many of its processes the kernel killed for lack of memory.
    pub fn killed_for_memory(&self) -> u64 {
        let Some(branch) = self.with(Controller::Memory) else { return 0 };
        branch.counts().out_of_memory.saturating_sub(branch.before.out_of_memory)
    }

    /// Processes and threads it has now.
    pub fn processes(&self) -> Option<u64> {
        self.with(Controller::Pids)?.number("pids.current")
    }

    /// The most processes and threads that it had.
    pub fn peak_processes(&self) -> Option<u64> {
        self.with(Controller::Pids)?.number("pids.peak")
    }

    /// How many times it was not allowed another process.
    pub fn forks_refused(&self) -> u64 {
        let Some(branch) = self.with(Controller::Pids) else { return 0 };
        branch.counts().forks_refused.saturating_sub(branch.before.forks_refused)
    }

    /// CPU time of all that was ever in it.
    pub fn cpu(&self) -> Option<Duration> {
        let branch = self.with(Controller::Cpu)?;
        Some(branch.cpu()?.saturating_sub(branch.before.cpu))
    }

    /// The processes in the group.
    pub fn members(&self) -> Vec<Pid> {
        let Some(branch) = self.branches.first() else { return Vec::new() };
        let text = fs::read_to_string(branch.directory.join("cgroup.procs")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok().map(Pid::new)).collect()
    }

    /// Asks for an event when the kernel refuses the leaf a process or kills one of its processes.
    pub fn announce(&self, events: &Events) -> io::Result<()> {
        self.branches.iter().try_for_each(|branch| branch.announce(events))
    }

    fn with(&self, controller: Controller) -> Option<&Branch> {
        self.branches.iter().find(|branch| branch.controllers.contains(&controller))
    }
}

impl Branch {
    pub(super) fn open(
        version: Version,
        directory: PathBuf,
        controllers: Vec<Controller>,
    ) -> io::Result<Self> {
        // Through `tasks` a single thread moves, and a child has only one; the kernel then need not stop the machine's
        // forks.
        let entry = match version {
            Version::V1 => "tasks",
            Version::V2 => "cgroup.procs",
        };
        let entry = OpenOptions::new().append(true).create(true).open(directory.join(entry))?;
        let entry = above_stdio(entry.into())?;
        let branch = Self {
            version,
            directory,
            controllers,
            entry,
            announced: AtomicBool::new(false),
            before: Counts::default(),
        };
        Ok(branch.begin_anew())
    }

    /// Takes the present counts as the baseline for another session.
    pub(super) fn begin_anew(self) -> Self {
        let before = self.counts();
        Self { before, ..self }
    }

    /// Makes an empty group fit for another session, if that is worth it: memory groups are the most expensive to
    /// create, and only version 1 can reset a peak.
    pub(super) fn renew(&self) -> bool {
        let is_worth_it = self.version == Version::V1 && self.controllers == [Controller::Memory];
        if !is_worth_it || read(&self.directory.join("cgroup.procs")).is_none_or(|text| !text.is_empty()) {
            return false;
        }
        let renewed = self
            .limit_memory_v1(None)
            .and_then(|()| self.write("memory.force_empty", "0"))
            .and_then(|()| self.write("memory.max_usage_in_bytes", "0"));
        renewed.is_ok()
    }

    /// Version 1 has no events about processes.
    fn announce(&self, events: &Events) -> io::Result<()> {
        if self.announced.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let has = |controller| self.controllers.contains(&controller);
        match self.version {
            Version::V1 if has(Controller::Memory) => events.watch_memory(&self.directory),
            Version::V1 => Ok(()),
            Version::V2 => {
                let files = [(Controller::Memory, "memory.events"), (Controller::Pids, "pids.events")];
                let mut wanted = files.into_iter().filter(|(controller, _)| has(*controller));
                wanted.try_for_each(|(_, file)| events.watch(&self.directory.join(file)))
            }
        }
    }

    fn limit_memory_v1(&self, bytes: Option<u64>) -> io::Result<()> {
        let text = bytes.map_or("-1".to_owned(), |bytes| bytes.to_string());
        let swap = |text: &str| self.write("memory.memsw.limit_in_bytes", text);
        if bytes.is_none() {
            // The sum with swap may never be below the memory alone, so it is lifted first.
            let _ = swap(&text);
        }
        self.write("memory.limit_in_bytes", &text)?;
        // Not every kernel counts swap.
        let _ = swap(&text);
        Ok(())
    }

    fn limit_memory_v2(&self, bytes: Option<u64>) -> io::Result<()> {
        let text = bytes.map_or("max".to_owned(), |bytes| bytes.to_string());
        self.write("memory.max", &text)?;
        // Not every kernel counts swap, and before 4.19 none could end a group as a whole.
        let _ = self.write("memory.swap.max", if bytes.is_some() { "0" } else { "max" });
        let _ = self.write("memory.oom.group", if bytes.is_some() { "1" } else { "0" });
        Ok(())
    }

    fn counts(&self) -> Counts {
        let of_memory = self.named("memory.oom_control", "memory.events");
        let has = |controller| self.controllers.contains(&controller);
        Counts {
            out_of_memory: if has(Controller::Memory) { self.field(of_memory, "oom_kill") } else { 0 },
            forks_refused: if has(Controller::Pids) { self.field("pids.events", "max") } else { 0 },
            cpu: if has(Controller::Cpu) { self.cpu().unwrap_or_default() } else { Duration::ZERO },
        }
    }

    fn cpu(&self) -> Option<Duration> {
        match self.version {
            Version::V1 => self.number("cpuacct.usage").map(Duration::from_nanos),
            Version::V2 => Some(Duration::from_micros(self.field("cpu.stat", "usage_usec"))),
        }
    }

    fn named(&self, v1: &'static str, v2: &'static str) -> &'static str {
        match self.version {
            Version::V1 => v1,
            Version::V2 => v2,
        }
    }

    fn number(&self, file: &str) -> Option<u64> {
        read(&self.directory.join(file))?.trim().parse().ok()
    }

    /// The number beside a word in a file of such lines.
    fn field(&self, file: &str, word: &str) -> u64 {
        let text = read(&self.directory.join(file)).unwrap_or_default();
        let pairs = text.lines().filter_map(|line| line.split_once(' '));
        let found = pairs.into_iter().find(|(name, _)| *name == word);
        found.and_then(|(_, number)| number.trim().parse().ok()).unwrap_or(0)
    }

    fn write(&self, file: &str, text: &str) -> io::Result<()> {
        write(&self.directory.join(file), text)
    }
}

pub(super) fn write(file: &Path, text: &str) -> io::Result<()> {
    fs::write(file, text)
}

fn read(file: &Path) -> Option<String> {
    fs::read_to_string(file).ok()
}
