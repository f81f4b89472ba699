//! `windlass guardian FAMILY`, never typed by people: outlives the runtime that started it for a moment and ends the
//! processes that the runtime left. It is recognised first of all in `main`: the runtime may die at any moment after it
//! started the guardian.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::ExitCode;

use windlass_engine::{KillDelays, Store};
use windlass_sys::guardian::{self, Guardian, GuardianProgram};
use windlass_sys::mark::{self, Mark, RuntimeTag};
use windlass_sys::process::{self, Process};
use windlass_sys::tree;

use crate::config::ITSELF;

const VERB: &str = "guardian";
/// Differs from the name of a runtime: `pkill windlass` does not match the guardians, and they clean up.
const NAME: &CStr = c"wl-guardian";

/// The family to watch over, if this process was started as a guardian.
pub(crate) fn asked_for() -> Option<u32> {
    let mut words = std::env::args_os().skip(1);
    let is_guardian = words.next().is_some_and(|verb| verb == VERB);
    if is_guardian { words.next()?.to_str()?.parse().ok() } else { None }
}

/// Waits until the runtime has died and all of its processes are ended.
pub(crate) fn run(family: u32) -> ExitCode {
    // If the kernel refuses, the name stays that of the link through which this program was executed.
    let _ = rustix::thread::set_name(NAME);
    let _ = process::hide_from_others();
    let registration = std::env::var_os(guardian::REGISTRATION).map(PathBuf::from);
    guardian::watch(RuntimeTag::of_family(family), KillDelays::default().grace, registration.as_deref());
    ExitCode::SUCCESS
}

/// The program with which an engine starts one: this same program under another name.
pub(crate) fn program(family: u32) -> GuardianProgram {
    let words = [VERB, &family.to_string()].map(|word| c_string(OsStr::new(word)));
    GuardianProgram { program: ITSELF.into(), arguments: [NAME.into()].into_iter().chain(words).collect() }
}

/// Ends what is left of runtimes that died together with their guardians: each family of processes gets a guardian
/// whose runtime is gone, so that it begins at once and goes on when this process ends. The marks must belong to
/// sessions in a state directory of this user, in this pid namespace and since this boot. Returns the guardians.
pub(crate) fn sweep(abandoned: &[Mark]) -> Vec<Process> {
    let families: BTreeSet<u32> = abandoned.iter().map(|mark| mark.runtime_tag().family()).collect();
    // The end of a sandbox ends everything in it, and its processes cannot signal those outside.
    if families.is_empty() || mark::in_sandbox() {
        return Vec::new();
    }
    start_unguarded(tree::living_families(&families).into_iter().map(|family| (family, None)))
}

/// The same for runtimes that are registered in a state directory, whether or not a record of their sessions exists.
/// Their guardians remove the registrations when nothing is left.
pub(crate) fn sweep_registered(store: &Store) -> Vec<Process> {
    let dead = store.dead_runtimes();
    if dead.is_empty() || mark::in_sandbox() {
        return Vec::new();
    }
    // This does not check first whether any process is alive: a single check can miss a process that forks and exits at
    // once.
    start_unguarded(dead.into_iter().map(|runtime| (runtime.family, Some(runtime.registration))))
}

fn start_unguarded(families: impl Iterator<Item = (u32, Option<PathBuf>)>) -> Vec<Process> {
    let unguarded = families.filter(|(family, _)| !is_guarded(*family));
    // If a guardian cannot be started now, the next windlass starts it.
    let start =
        |(family, file): (u32, Option<PathBuf>)| guardian::start(&program(family), file.as_deref()).ok();
    unguarded.filter_map(start).map(Guardian::release).collect()
}

/// Whether a guardian of this family runs already: a second TERM makes some programs skip their cleanup.
fn is_guarded(family: u32) -> bool {
    let wanted = [NAME.to_bytes(), VERB.as_bytes(), family.to_string().as_bytes(), b""].join(&0);
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut numbered = processes.filter(|entry| entry.file_name().as_bytes()[0].is_ascii_digit());
    numbered.any(|entry| std::fs::read(entry.path().join("cmdline")).is_ok_and(|words| words == wanted))
}

/// Neither the fixed strings nor a number contains a NUL byte.
fn c_string(text: &OsStr) -> CString {
    CString::new(text.as_bytes()).unwrap_or_default()
}
