//! Chaos: clients use Windlass at random while random faults hit it, and four invariants must hold afterwards.
//!
//! 1. Every byte that a child reports as written is in the journal, or is reported as missing.
//! 2. No process survives the lifetime of its session.
//! 3. No dead session is shown as live, and no live one as dead.
//! 4. Every request is answered.
//!
//! A round has a seed, which decides what the clients do and which faults come; it has file systems, a process table
//! and a state directory of its own. Two short rounds run here. `cargo xtask chaos --minutes N` runs rounds for longer,
//! and `WINDLASS_TEST_CHAOS_SEED` repeats one. Timing is not repeated, so a seed may have to be run several times.

mod checks;
mod clients;
mod evidence;
mod faults;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use self::evidence::Evidence;
use windlass_testkit::Scratch;
use windlass_testkit::bytes::Noise;

use crate::rig::WINDLASS;

/// Set in the process that runs in its own namespaces.
const INSIDE: &str = "WINDLASS_TEST_CHAOS_INSIDE";
const TEST: &str = "chaos::invariants_hold_whatever_fails";

#[test]
fn invariants_hold_whatever_fails() {
    if std::env::var_os(INSIDE).is_some() {
        return run_rounds();
    }
    let own = std::env::current_exe().expect("a test knows its own path");
    let mut inside = Command::new("unshare");
    inside.args(["--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    inside.arg(own).args(["--exact", TEST, "--nocapture"]).env(INSIDE, "1").stdin(Stdio::null());
    let output = inside.stderr(Stdio::inherit()).output().expect("unshare starts");
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    assert!(output.status.success(), "the rounds failed: {}", output.status);
    assert!(said.contains("1 passed"), "the rounds did not run: {said}");
}

/// Runs two short rounds, one of each kind and always the same; or the round of a given seed; or as many rounds, each
/// with another seed, as fit into the given time.
fn run_rounds() {
    // Printed at the end, also if a violation ends the run.
    let mut totals = Summary(Totals::default());
    match (chosen("WINDLASS_TEST_CHAOS_SEED"), chosen("WINDLASS_TEST_CHAOS_SECONDS")) {
        (Some(seed), _) => totals.0.add(&Round::run(seed, OPERATIONS)),
        (None, Some(seconds)) => {
            let begun = Instant::now();
            let mut seeds = wall_clock()..;
            while begun.elapsed() < Duration::from_secs(seconds) {
                totals.0.add(&Round::run(seeds.next().unwrap_or_default(), OPERATIONS));
            }
        }
        (None, None) => {
            for seed in [2, 3] {
                totals.0.add(&Round::run(seed, OPERATIONS / 4));
            }
        }
    }
}

/// Prints the totals on drop. A run ends at the first violation, which is a panic of its round.
struct Summary(Totals);

impl Drop for Summary {
    fn drop(&mut self) {
        let violations = u8::from(std::thread::panicking());
        eprintln!("chaos: {} without a violation, {violations} violations", self.0);
    }
}

fn chosen(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn wall_clock() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(0)
}

/// The kind of a round: the faults that it injects, and thereby the invariants that it can check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Processes are killed and stopped, the clock jumps, the disk is slow: no byte that was read may be missing.
    Processes,
    /// Disks fill, fail and lose files: missing bytes must be reported.
    Disk,
}

/// One round: its directory, and the state that its threads share.
struct Round {
    kind: Kind,
    seed: u64,
    scratch: Scratch,
    control: File,
    /// All sessions that clients have requested.
    claims: Mutex<Vec<Claim>>,
    /// How many operations each client carries out.
    planned: u64,
    /// How many have been carried out in all.
    operations: AtomicU64,
    faults: Mutex<Vec<&'static str>>,
}

/// A session that a client requested. Its file shows whether it started.
#[derive(Clone, Debug)]
struct Claim {
    token: String,
    file: PathBuf,
}

impl Claim {
    /// How many lines its child reports as printed; `None`: it never ran.
    fn lines(&self) -> Option<u64> {
        let mut bytes = [0; 8];
        let file = File::open(&self.file).ok()?;
        // The file exists before the first line is printed.
        Some(file.read_exact_at(&mut bytes, 0).map_or(0, |()| u64::from_le_bytes(bytes)))
    }
}

const STATE_SIZE: &str = "size=24m";
/// How many operations each client carries out in a round.
const OPERATIONS: u64 = 30;

impl Round {
    fn run(seed: u64, operations: u64) -> Totals {
        let round = Self::new(seed, operations);
        eprintln!("chaos: seed {seed}, {:?}", round.kind);
        let evidence = Evidence::of(&round);
        let (over, is_over) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let faults = scope.spawn({
                let round = &round;
                move || faults::inject(round, &is_over)
            });
            let clients: Vec<_> = (0..clients::CLIENTS)
                .map(|number| {
                    scope.spawn({
                        let round = &round;
                        move || clients::work(round, number)
                    })
                })
                .collect();
            let outcomes: Vec<_> = clients.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
            drop(over);
            faults.join().expect("faults are injected");
            round.heal();
            let servers: Vec<_> =
                outcomes.into_iter().map(|outcome| outcome.expect("a client does its work")).collect();
            checks::check(&round, servers);
        });
        let totals = round.totals();
        drop(evidence);
        round.leave();
        totals
    }

    fn new(seed: u64, planned: u64) -> Self {
        let kind = if seed.is_multiple_of(2) { Kind::Processes } else { Kind::Disk };
        let scratch = Scratch::new(&format!("chaos-{seed}"));
        for name in ["state", "claims", "printed"] {
            std::fs::create_dir(scratch.path().join(name)).expect("a fresh directory");
        }
        let state = scratch.path().join("state");
        succeed(Command::new("mount").args(["-t", "tmpfs", "-o", STATE_SIZE, "none"]).arg(&state));
        let (source, library) = (scratch.path().join("preload.c"), scratch.path().join("preload.so"));
        std::fs::write(&source, include_str!("chaos/preload.c")).expect("the source can be written");
        succeed(Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).arg("-ldl"));
        let control =
            File::options().read(true).write(true).create_new(true).open(scratch.path().join("control"));
        let control = control.expect("a file can be made");
        control.set_len(16).expect("it can be made longer");
        Self {
            kind,
            seed,
            scratch,
            control,
            claims: Mutex::default(),
            planned,
            operations: AtomicU64::new(0),
            faults: Mutex::default(),
        }
    }

    /// Choices of one thread.
    fn choices(&self, thread: u64) -> Choices {
        Choices { noise: Noise::new(self.seed.wrapping_mul(1000).wrapping_add(thread)) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// A windlass whose files are subject to the disk's faults.
    fn windlass(&self, words: &[&str]) -> Command {
        let mut command = Command::new(WINDLASS);
        command.args(words).stdin(Stdio::null()).current_dir(self.scratch.path());
        command
            .env("WINDLASS_STATE_DIR", self.path("state"))
            .env("SHELL", "/bin/sh")
            .env("HOME", self.scratch.path());
        command.env("LD_PRELOAD", self.path("preload.so"));
        command.env("CHAOS_CONTROL", self.path("control")).env("CHAOS_DIRECTORY", self.path("state"));
        command
    }

    /// A new session's claim.
    fn claim(&self) -> Claim {
        let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        let token = format!("claim-{}-{:04}", self.seed, claims.len());
        let claim = Claim { file: self.path("claims").join(&token), token };
        claims.push(claim.clone());
        claim
    }

    fn claims(&self) -> Vec<Claim> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn did(&self) {
        self.operations.fetch_add(1, Ordering::Relaxed);
    }

    fn note(&self, fault: &'static str) {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
    }

    fn totals(&self) -> Totals {
        let claims = self.claims();
        let lines = claims.iter().filter_map(Claim::lines);
        Totals {
            rounds: 1,
            operations: self.operations.load(Ordering::Relaxed),
            sessions: lines.clone().count() as u64,
            lines: lines.sum(),
            faults: self.faults.lock().unwrap_or_else(PoisonError::into_inner).len() as u64,
        }
    }

    /// Unmounts the round's file system.
    fn leave(&self) {
        succeed(Command::new("umount").arg("--lazy").arg(self.path("state")));
    }
}

/// Random choices, the same for the same seed.
struct Choices {
    noise: Noise,
}

impl Choices {
    fn below(&mut self, limit: u64) -> u64 {
        // The upper bits of the generator are the better ones.
        (self.noise.word() >> 33) % limit
    }

    fn one_in(&mut self, number: u64) -> bool {
        self.below(number) == 0
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        let count = u64::try_from(all.len()).unwrap_or(0);
        if count == 0 { None } else { all.get(usize::try_from(self.below(count)).unwrap_or(0)) }
    }
}

/// Counters for the summary line.
#[derive(Default)]
struct Totals {
    rounds: u64,
    operations: u64,
    sessions: u64,
    lines: u64,
    faults: u64,
}

impl Totals {
    fn add(&mut self, other: &Self) {
        self.rounds += other.rounds;
        self.operations += other.operations;
        self.sessions += other.sessions;
        self.lines += other.lines;
        self.faults += other.faults;
    }
}

impl std::fmt::Display for Totals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { rounds, operations, sessions, lines, faults } = self;
        write!(
            f,
            "{rounds} rounds, {operations} operations, {sessions} sessions, {lines} lines, {faults} faults"
        )
    }
}

fn succeed(command: &mut Command) {
    let status = command.status().expect("it starts");
    assert!(status.success(), "{command:?}: {status}");
}

/// The processes that may run sessions.
fn runtimes() -> Vec<(u32, Vec<String>)> {
    let is_runtime = |words: &[String]| {
        matches!(words.get(1).map(String::as_str), Some("run" | "keep" | "shim" | "mcp" | "app-server"))
    };
    windlass_processes().into_iter().filter(|(_, words)| is_runtime(words)).collect()
}

/// The processes of the round that run this program, with their arguments. A round sees no others.
fn windlass_processes() -> Vec<(u32, Vec<String>)> {
    let own = std::process::id();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let runs_windlass = |pid: &u32| {
        std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == Path::new(WINDLASS))
    };
    let arguments = |pid: u32| {
        let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        (pid, line.split_terminator('\0').map(str::to_owned).collect())
    };
    pids.filter(|pid| *pid != own).filter(runs_windlass).map(arguments).collect()
}
