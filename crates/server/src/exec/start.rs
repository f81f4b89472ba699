//! `process/start`: from the parameters of a request to a running process, or an error that leaves nothing behind.

use std::sync::Arc;

use windlass_engine::{CommandSpec, Io, Pace, Queries, Size, Stdin, Terminal};
use windlass_protocol::envelope::{INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, Refusal};
use windlass_protocol::exec::{ExecParams, TerminalSize};

use super::control::Input;
use super::environment;
use super::permissions;
use super::process::Process;
use super::sessions::ExecSession;
use super::{ExecEnvironment, Shared};
use crate::failure;

/// How far a process may print ahead of a client that does not take its events; then it waits, so that nothing is lost.
/// Less than the journal keeps.
const AHEAD: u64 = 64 * 1024 * 1024;

/// Starts a process in an exec session. It is not followed yet, so that its first output comes after the reply.
pub(super) fn start(
    server: &Shared,
    exec: &ExecSession,
    params: ExecParams,
) -> Result<Arc<Process>, Refusal> {
    check(&params)?;
    if exec.knows(&params.process_id) {
        let message = format!("process {} already exists", params.process_id);
        return Err(Refusal::new(INVALID_REQUEST, message));
    }
    let input = if params.tty || params.pipe_stdin { Input::Open } else { Input::None };
    let sandbox = permissions::plan(server, &params)?;
    let (id, command) = command(&server.place, params)?;
    let started = failure::start(&server.engine, CommandSpec { sandbox, ..command });
    let session = started.map_err(|why| Refusal::new(INTERNAL_ERROR, why))?;
    let process = Process::new(id, session, input, exec);
    exec.add(Arc::clone(&process));
    Ok(process)
}

/// Checks that need no look at the system.
fn check(params: &ExecParams) -> Result<(), Refusal> {
    if params.argv.is_empty() {
        return Err(Refusal::new(INVALID_PARAMS, "argv must not be empty"));
    }
    if params.size.is_some() && !params.tty {
        return Err(Refusal::new(INVALID_PARAMS, "process/start size requires tty: true"));
    }
    Ok(())
}

fn command(place: &ExecEnvironment, params: ExecParams) -> Result<(String, CommandSpec), Refusal> {
    let environment = environment::variables(place, params.env_policy.as_ref(), &params.env)
        .map_err(|bad| Refusal::new(INVALID_PARAMS, format!("envPolicy: {bad}")))?;
    let io = match (params.tty, params.pipe_stdin) {
        (true, _) => Io::Terminal(terminal(params.size)?),
        (false, true) => Io::Pipes(Stdin::Open),
        (false, false) => Io::Pipes(Stdin::Closed),
    };
    let mut command = CommandSpec::new(params.argv, params.cwd.into_path());
    command.argv0 = params.arg0.map(Into::into);
    command.environment = environment;
    command.io = io;
    command.pace = Pace::Reader { window: AHEAD };
    Ok((params.process_id, command))
}

fn terminal(asked: Option<TerminalSize>) -> Result<Terminal, Refusal> {
    let size = asked.map(size).transpose()?.unwrap_or_default();
    Ok(Terminal { size, queries: Queries::Answered })
}

/// The size of a terminal: at least one cell.
pub(super) fn size(asked: TerminalSize) -> Result<Size, Refusal> {
    let TerminalSize { rows, cols } = asked;
    if rows == 0 || cols == 0 {
        return Err(Refusal::new(INVALID_PARAMS, "process size rows and cols must be greater than 0"));
    }
    Ok(Size { rows, cols })
}
