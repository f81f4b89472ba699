//! `windlass run-cell`, never typed by people: runs one script of a model inside a sandbox. Like the sandbox's helper
//! it is recognised first of all in `main`, so that it reads no data of the user.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use windlass_engine::sandbox::HelperProgram;

use crate::commands::confine;

const VERB: &str = "run-cell";
const NAME: &str = "windlass-cell";

/// Whether this process was started as a cell helper.
pub(crate) fn asked_for() -> bool {
    confine::started_as(NAME, VERB)
}

/// Runs the script that arrives on standard input, which is a stream in both directions.
pub(crate) fn run() -> ExitCode {
    let stream = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from);
    match stream.and_then(|stream| windlass_agent::run_cell(stream, || std::process::exit(1))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// The program with which an agent starts one, through the sandbox's helper; both are this same program.
pub(crate) fn program() -> HelperProgram {
    confine::itself_as(NAME, VERB)
}
