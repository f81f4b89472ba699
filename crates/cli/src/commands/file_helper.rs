//! `windlass work-on-files`, never typed by people: does one file operation of an exec-server's client inside a
//! sandbox. Like the sandbox's helper it is recognised first of all in `main`, because its start delays every such
//! operation.

use std::process::ExitCode;

use windlass_engine::sandbox::HelperProgram;

use crate::commands::confine;

const VERB: &str = "work-on-files";
const NAME: &str = "windlass-files";

/// Whether this process was started as a file helper.
pub(crate) fn asked_for() -> bool {
    confine::started_as(NAME, VERB)
}

/// Carries out the request on standard input.
pub(crate) fn run() -> ExitCode {
    match windlass_server::exec::run_file_helper() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// The program with which a server starts one: this same program under another name. The sandbox's helper, also this
/// program, starts it.
pub(crate) fn program() -> HelperProgram {
    confine::itself_as(NAME, VERB)
}
