//! The faults of a round, each applied for a moment and then healed.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use windlass_sys::process::{Pid, Process};
use windlass_sys::signal::Signal;

use super::checks::eventually;
use super::{Choices, Kind, Round, runtimes, windlass_processes};

/// Injects one fault after the other until the clients are done.
pub(super) fn inject(round: &Round, is_over: &Receiver<()>) {
    let mut choices = round.choices(1000);
    let pause = |limit: u64, choices: &mut Choices| {
        is_over.recv_timeout(Duration::from_millis(choices.below(limit)))
            == Err(RecvTimeoutError::Disconnected)
    };
    loop {
        if pause(200, &mut choices) {
            return;
        }
        let fault = Fault::choose(round, &mut choices);
        let name = fault.apply(round, &mut choices);
        round.note(name);
        let is_last = pause(300, &mut choices);
        round.heal();
        if is_last {
            return;
        }
    }
}

#[derive(Clone, Copy)]
enum Fault {
    /// One process of windlass gets SIGKILL: a server, a guardian, a runtime of a detached session, a command.
    Kill,
    /// All processes of windlass get SIGKILL.
    KillAll,
    /// One process of windlass is stopped.
    Stop,
    SlowDisk,
    ClockJump,
    FullDisk,
    /// Some calls on the state directory fail.
    Errors,
    /// A process gets no more descriptors.
    NoDescriptors,
    /// A file in the state directory loses its end.
    Truncate,
    /// A file in the state directory is removed.
    Remove,
}

impl Fault {
    fn choose(round: &Round, choices: &mut Choices) -> Self {
        let common = [Self::Kill, Self::Kill, Self::Stop, Self::SlowDisk, Self::ClockJump, Self::KillAll];
        let disk =
            [Self::FullDisk, Self::Errors, Self::Errors, Self::NoDescriptors, Self::Truncate, Self::Remove];
        let all: &[Self] = if round.kind == Kind::Disk && !choices.one_in(3) { &disk } else { &common };
        choices.of(all).copied().unwrap_or(Self::Kill)
    }

    /// Returns the fault's name.
    fn apply(self, round: &Round, choices: &mut Choices) -> &'static str {
        match self {
            Self::Kill => {
                signal_one(choices, Signal::KILL);
                "kill"
            }
            Self::KillAll => {
                eventually(round, "a runtime with sessions is registered while the disk works", || {
                    all_are_registered(round)
                });
                signal_all(Signal::KILL);
                "kill all"
            }
            Self::Stop => {
                signal_one(choices, Signal::STOP);
                "stop"
            }
            Self::SlowDisk => {
                round.set(&Control { delay_us: 20_000, ..Control::default() });
                "slow disk"
            }
            Self::ClockJump => {
                let hours = i32::try_from(choices.below(48)).unwrap_or(0) - 24;
                round.set(&Control { clock_shift_s: hours * 3600, ..Control::default() });
                "clock jump"
            }
            Self::FullDisk => {
                // The write fails, as intended: it fills the disk.
                let _ = std::fs::write(round.path("state/filling"), vec![0; 64 << 20]);
                "full disk"
            }
            Self::Errors => {
                const ERRORS: [u32; 5] = [5, 13, 23, 24, 28]; // EIO, EACCES, ENFILE, EMFILE, ENOSPC
                let error = choices.of(&ERRORS).copied().unwrap_or(5);
                round.set(&Control {
                    error,
                    one_in: 1 + u32::try_from(choices.below(4)).unwrap_or(0),
                    ..Control::default()
                });
                "failing calls"
            }
            Self::NoDescriptors => {
                if let Some((pid, _)) = choices.of(&windlass_processes()) {
                    limit_descriptors(*pid, "20:");
                }
                "no descriptors"
            }
            Self::Truncate => {
                if let Some(path) = choices.of(&files(&round.path("state"))) {
                    let file = std::fs::File::options().write(true).open(path);
                    let length =
                        file.as_ref().map_or(0, |file| file.metadata().map_or(0, |metadata| metadata.len()));
                    let _ = file.and_then(|file| file.set_len(length / 2));
                }
                "truncated file"
            }
            Self::Remove => {
                if let Some(path) = choices.of(&files(&round.path("state"))) {
                    let _ = std::fs::remove_file(path);
                }
                "removed file"
            }
        }
    }
}

/// All regular files in the state directory except the counters of session numbers, which cannot be recovered.
fn files(state: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(state).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect()
}

/// Checks that the next windlass can find every runtime that has started commands. If a runtime is killed together with
/// its guardian before it is registered, and the disk refused its records as well, no windlass knows of it.
fn all_are_registered(round: &Round) -> Result<(), String> {
    let registered: Vec<String> = std::fs::read_dir(round.path("state/runtimes"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let has_registered =
        |pid: u32| registered.iter().any(|name| name.split('-').nth(1) == Some(&pid.to_string()));
    let own: Vec<u32> = windlass_processes().into_iter().map(|(pid, _)| pid).collect();
    let commands = |pid: u32| -> Vec<String> {
        children(pid).into_iter().filter(|child| !own.contains(child)).filter_map(shown).collect()
    };
    for (pid, words) in runtimes() {
        let commands = commands(pid);
        if !commands.is_empty() && !has_registered(pid) {
            return Err(format!("{pid} {words:?}, which has {commands:?}, is not among {registered:?}"));
        }
    }
    Ok(())
}

/// A description of a living process.
fn shown(pid: u32) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let state = status.lines().find_map(|line| line.strip_prefix("State:"))?.trim().to_owned();
    let words = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    (!state.starts_with(['Z', 'X'])).then(|| format!("{pid} {state}: {}", words.replace('\0', " ")))
}

fn children(pid: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

fn signal_one(choices: &mut Choices, signal: Signal) {
    if let Some((pid, _)) = choices.of(&windlass_processes()) {
        send(*pid, signal);
    }
}

fn signal_all(signal: Signal) {
    for (pid, _) in windlass_processes() {
        send(pid, signal);
    }
}

/// Sends a signal; a process that has ended meanwhile needs none.
pub(super) fn send(pid: u32, signal: Signal) {
    let _ = Process::open(Pid::new(pid)).and_then(|process| process.signal(signal));
}

fn limit_descriptors(pid: u32, limit: &str) {
    let mut command = Command::new("prlimit");
    command.args(["--pid", &pid.to_string(), &format!("--nofile={limit}")]).stderr(Stdio::null());
    // The process may have ended.
    let _ = command.status();
}

/// Settings of the preloaded library, in the layout of `struct control` in `preload.c`.
#[derive(Default)]
struct Control {
    error: u32,
    one_in: u32,
    delay_us: u32,
    clock_shift_s: i32,
}

impl Round {
    fn set(&self, control: &Control) {
        let Control { error, one_in, delay_us, clock_shift_s } = control;
        let fields =
            [error.to_ne_bytes(), one_in.to_ne_bytes(), delay_us.to_ne_bytes(), clock_shift_s.to_ne_bytes()];
        self.control.write_all_at(&fields.concat(), 0).expect("the control file can be written");
    }

    /// Ends all faults except those that cannot be undone.
    pub(super) fn heal(&self) {
        self.set(&Control::default());
        let _ = std::fs::remove_file(self.path("state/filling"));
        for (pid, _) in windlass_processes() {
            send(pid, Signal::CONT);
            if self.kind == Kind::Disk {
                limit_descriptors(pid, "1024:");
            }
        }
    }
}
