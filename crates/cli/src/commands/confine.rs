//! `windlass confine`, never typed by people: the helper of a sandbox, which confines itself and becomes the command. Like
//! the guardian it is recognised before anything else is done, because it must have no thread and costs every command.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;

use windlass_engine::sandbox::{HelperProgram, helper};

use crate::config::Config;

const VERB: &str = "confine";
const NAME: &str = "windlass-sandbox";

/// Whether this process was started as a helper.
pub(crate) fn asked_for() -> bool {
    let mut words = std::env::args_os();
    words.next().is_some_and(|name| name == NAME) && words.next().is_some_and(|verb| verb == VERB)
}

/// Confines itself, and becomes the command.
pub(crate) fn run() {
    helper::run();
}

/// How an engine starts one: this same program under another name.
pub(crate) fn program() -> HelperProgram {
    HelperProgram {
        program: c_string(Config::own_program().as_os_str()),
        arguments: [NAME, VERB].map(|word| c_string(OsStr::new(word))).into(),
    }
}

/// Neither a path of the kernel's nor a word of ours holds a NUL byte.
fn c_string(text: &OsStr) -> CString {
    CString::new(text.as_bytes()).unwrap_or_default()
}
