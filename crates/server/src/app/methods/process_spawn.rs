//! `process/spawn`: starts a process and answers at once.

use std::sync::Arc;
use std::time::Duration;

use windlass_engine::Size;
use windlass_protocol::app::{ProcessSpawnParams, ProcessSpawnResult, notification};
use windlass_protocol::envelope::{INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, Refusal};

use crate::app::connection::{Client, Connection, Request};
use crate::app::follow::{EndMessage, Manner};
use crate::app::launch::Launch;
use crate::app::output::Cap;
use crate::app::permissions::Permissions;
use crate::app::process::Name;
use crate::app::start::{self, AppStartRequest, Connected, DEFAULT_TIMEOUT};

pub(super) fn call(connection: &mut Connection, mut request: Request) -> Result<(), Refusal> {
    let params: ProcessSpawnParams = request.read()?;
    connection.require_experimental("process/spawn")?;
    let client = Arc::clone(connection.client()?);
    let timeout = check(&params)?;
    let name = Name::Process(params.process_handle.clone());
    let size = size(&params)?;
    if connection.processes.is_taken(&name) {
        return Err(refused(format!("duplicate active process handle: {}", name.quoted())));
    }
    let handle = params.process_handle.clone();
    let permissions = Permissions::of_a_process(connection.server.options());
    let launch = plan(params, (name, size, timeout), (&client, permissions));
    let started = launch.start(connection);
    let started =
        started.map_err(|why| Refusal::new(INTERNAL_ERROR, format!("failed to spawn process: {why}")))?;
    let facts = started.process.session.facts();
    let result = ProcessSpawnResult { session_id: facts.id.get(), pid: facts.root.get() };
    // The reply goes out before any output.
    connection.peer.answer(&request.id, &result);
    let wanted = client.wants(notification::PROCESS_EXITED);
    started.follow(connection, EndMessage::Notification { handle, wanted });
    Ok(())
}

/// Checks in the order in which the reference implementation of the dialect reports faults.
fn check(params: &ProcessSpawnParams) -> Result<Option<Duration>, Refusal> {
    if params.command.is_empty() {
        return Err(refused("command must not be empty"));
    }
    if params.process_handle.is_empty() {
        return Err(refused("processHandle must not be empty"));
    }
    if params.size.is_some() && !params.tty {
        return Err(Refusal::new(INVALID_PARAMS, "process/spawn size requires tty: true"));
    }
    match params.timeout_ms {
        None => Ok(Some(DEFAULT_TIMEOUT)),
        Some(None) => Ok(None),
        Some(Some(given)) => match u64::try_from(given) {
            Ok(given) => Ok(Some(Duration::from_millis(given))),
            Err(_) => {
                let message = format!("process/spawn timeoutMs must be non-negative, got {given}");
                Err(Refusal::new(INVALID_PARAMS, message))
            }
        },
    }
}

fn size(params: &ProcessSpawnParams) -> Result<Size, Refusal> {
    let size = params.size.map_or_else(|| Some(Size::default()), start::size_of);
    size.ok_or_else(|| Refusal::new(INVALID_PARAMS, "process size rows and cols must be greater than 0"))
}

fn plan(
    params: ProcessSpawnParams,
    (name, size, timeout): (Name, Size, Option<Duration>),
    (client, permissions): (&Client, Permissions),
) -> Launch {
    let streams = params.tty || params.stream_stdout_stderr;
    let told = (notification::PROCESS_OUTPUT_DELTA, "processHandle");
    let manner = Manner::of(streams.then_some(&name), told, client);
    Launch {
        order: AppStartRequest {
            command: params.command,
            directory: params.cwd.to_path(),
            environment: params.env,
            connection: Connected::new(params.tty.then_some(size), params.stream_stdin),
            timeout,
            followed: !matches!(manner, Manner::Untold),
            permissions,
        },
        name: Some(name),
        cap: match params.output_bytes_cap {
            None => Cap::default(),
            Some(None) => Cap::NONE,
            Some(Some(bytes)) => Cap::of(bytes),
        },
        manner,
    }
}

fn refused(message: impl Into<String>) -> Refusal {
    Refusal::new(INVALID_REQUEST, message)
}
