//! `windlass apply-patch`, never typed by people: applies one patch of an agent inside the sandbox of its commands.
//! Like the sandbox's helper it is recognised first of all in `main`, because its start delays every patch.

use std::process::ExitCode;

use windlass_engine::sandbox::HelperProgram;

use crate::commands::confine;

const VERB: &str = "apply-patch";
const NAME: &str = "windlass-patch";

/// Whether this process was started as a patch helper.
pub(crate) fn asked_for() -> bool {
    confine::started_as(NAME, VERB)
}

/// Applies the patch on standard input.
pub(crate) fn run() -> ExitCode {
    match windlass_agent::run_patch_helper() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// The program with which an agent starts one, through the sandbox's helper; both are this same program.
pub(crate) fn program() -> HelperProgram {
    confine::itself_as(NAME, VERB)
}
