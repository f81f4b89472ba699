//! `windlass guardian FAMILY`, never typed by people: outlives the runtime that started it by a moment and ends what it
//! left. It is recognised before anything else is done, because from its first instruction a life may depend on it.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use windlass_engine::Patience;
use windlass_sys::guardian::{self, GuardianProgram};
use windlass_sys::mark::Brand;

use crate::config::ITSELF;

const VERB: &str = "guardian";
const NAME: &str = "windlass-guardian";

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
    GuardianProgram { program: ITSELF.into(), arguments: words.into() }
}

/// Neither a word of ours nor a number holds a NUL byte.
fn c_string(text: &OsStr) -> CString {
    CString::new(text.as_bytes()).unwrap_or_default()
}
