//! `windlass guardian FAMILY`, never typed by people: outlives the runtime that started it by a moment and ends what it
//! left. It is recognised before anything else is done, because from its first instruction a life may depend on it.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

use windlass_engine::Patience;
use windlass_sys::guardian::{self, GuardianProgram};
use windlass_sys::mark::Brand;

const VERB: &str = "guardian";
const NAME: &str = "windlass-guardian";
const OWN_PROGRAM: &str = "/proc/self/exe";

/// The family to watch over, if this process was started as a guardian.
pub(crate) fn asked_for() -> Option<u32> {
    let mut words = std::env::args_os().skip(1);
    let is_guardian = words.next().is_some_and(|verb| verb == VERB);
    if is_guardian { words.next()?.to_str()?.parse().ok() } else { None }
}

/// Stands guard until its runtime is gone and nothing of it is left.
pub(crate) fn run(family: u32) -> ExitCode {
    guardian::watch(Brand::of_family(family), Patience::default().grace);
    ExitCode::SUCCESS
}

/// How an engine starts one: this same program under another name.
pub(crate) fn program(family: u32) -> GuardianProgram {
    let words = [NAME, VERB, &family.to_string()].map(|word| c_string(OsStr::new(word)));
    GuardianProgram { program: own_program(), arguments: words.into() }
}

/// The real path, so that the process table shows a name. A program that was replaced or removed while it runs is
/// still there under the kernel's link.
fn own_program() -> CString {
    let path = std::fs::read_link(OWN_PROGRAM).ok().filter(|path| path.is_file());
    c_string(path.as_deref().unwrap_or(Path::new(OWN_PROGRAM)).as_os_str())
}

/// Neither a path of the kernel's nor a number holds a NUL byte.
fn c_string(text: &OsStr) -> CString {
    CString::new(text.as_bytes()).unwrap_or_default()
}
