//! `windlass confine`, never typed by people: the helper of a sandbox, which confines itself and becomes the command.
//! Like the guardian it is recognised first of all in `main`, because it must have no second thread and its start
//! delays every command.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;

use windlass_engine::sandbox::{HelperProgram, helper};

use crate::config::ITSELF;

const VERB: &str = "confine";
const NAME: &str = "windlass-sandbox";

/// Whether this process was started as a helper.
pub(crate) fn asked_for() -> bool {
    started_as(NAME, VERB)
}

/// Whether this process was started under this name with this subcommand.
pub(super) fn started_as(name: &str, verb: &str) -> bool {
    let mut words = std::env::args_os();
    words.next().is_some_and(|word| word == name) && words.next().is_some_and(|word| word == verb)
}

/// Confines itself, and becomes the command.
pub(crate) fn run() {
    helper::run();
}

/// The program with which an engine starts a helper.
pub(crate) fn program() -> HelperProgram {
    itself_as(NAME, VERB)
}

/// This same program under another name.
pub(super) fn itself_as(name: &str, verb: &str) -> HelperProgram {
    HelperProgram {
        program: ITSELF.into(),
        arguments: [name, verb].map(|word| c_string(OsStr::new(word))).into(),
    }
}

/// None of these strings contains a NUL byte.
fn c_string(text: &OsStr) -> CString {
    CString::new(text.as_bytes()).unwrap_or_default()
}
