//! `windlass run-cell`, never typed by people: runs one script of a model inside a sandbox. Like the sandbox's helper it is recognised
//! before anything else is done: nothing of the user's is read in it.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use windlass_engine::sandbox::HelperProgram;

use crate::commands::confine;

const VERB: &str = "run-cell";
const NAME: &str = "windlass-cell";

/// Whether this process was started as one.
pub(crate) fn asked_for() -> bool {
    confine::started_as(NAME, VERB)
}

/// Runs the script that comes over standard input, which is a stream in both directions.
pub(crate) fn run() -> ExitCode {
    let stream = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from);
    match stream.and_then(|stream| windlass_agent::run_cell(stream, || std::process::exit(1))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// How an agent starts one, by way of the sandbox's helper, which is this same program.
pub(crate) fn program() -> HelperProgram {
    confine::itself_as(NAME, VERB)
}
