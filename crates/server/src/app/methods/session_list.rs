//! `session/list`: the sessions that the connection runs, and the latest that have ended.

use std::time::UNIX_EPOCH;

use windlass_engine::Phase;
use windlass_protocol::app::{SessionInfo, SessionListParams, SessionListResult, SessionState};
use windlass_protocol::envelope::Refusal;

use crate::app::connection::{Connection, Request};
use crate::app::ending::exit_of;
use crate::app::process::{Name, Process};

pub(super) fn call(connection: &Connection, mut request: Request) -> Result<(), Refusal> {
    let SessionListParams {} = request.read()?;
    connection.client()?;
    let sessions = connection.processes.all().iter().map(|process| describe(process)).collect();
    connection.peer.answer(&request.id, &SessionListResult { sessions });
    Ok(())
}

fn describe(process: &Process) -> SessionInfo {
    let facts = process.session.facts();
    let progress = process.session.progress();
    let exit = process.receipt().map(|receipt| exit_of(process, receipt));
    let (process_id, process_handle) = match &process.name {
        Some(Name::Command(name)) => (Some(name.clone()), None),
        Some(Name::Process(name)) => (None, Some(name.clone())),
        None => (None, None),
    };
    let since = facts.started.duration_since(UNIX_EPOCH).unwrap_or_default();
    SessionInfo {
        session_id: facts.id.get(),
        process_id,
        process_handle,
        pid: facts.root.get(),
        command: facts.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        cwd: facts.directory.to_string_lossy().into_owned(),
        tty: facts.terminal.is_some(),
        started_at_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
        state: match progress.phase {
            _ if exit.is_some() => SessionState::Exited,
            Phase::Running => SessionState::Running,
            Phase::Stopping => SessionState::Stopping,
            // Its end is known and not settled: processes left in its group are being ended.
            Phase::Draining | Phase::Over => SessionState::Draining,
        },
        end: progress.end.get(),
        exit,
    }
}
