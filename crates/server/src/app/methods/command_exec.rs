//! `command/exec`: runs a command and answers when it has ended.

use std::sync::Arc;
use std::time::Duration;

use windlass_engine::Size;
use windlass_protocol::app::{CommandExecParams, notification};
use windlass_protocol::envelope::{INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, Refusal};

use crate::app::AppOptions;
use crate::app::connection::{Client, Connection, Request};
use crate::app::follow::{EndMessage, Manner};
use crate::app::launch::Launch;
use crate::app::output::Cap;
use crate::app::permissions::Permissions;
use crate::app::process::Name;
use crate::app::start::{self, AppStartRequest, Connected, DEFAULT_TIMEOUT};

pub(super) fn call(connection: &mut Connection, mut request: Request) -> Result<(), Refusal> {
    let params: CommandExecParams = request.read()?;
    let client = Arc::clone(connection.client()?);
    let launch = plan(params, &client, connection.server.options())?;
    if let Some(name) = launch.name.as_ref().filter(|name| connection.processes.is_taken(name)) {
        return Err(refused(format!("duplicate active command/exec process id: {}", name.quoted())));
    }
    let started = launch.start(connection);
    let started =
        started.map_err(|why| Refusal::new(INTERNAL_ERROR, format!("failed to spawn command: {why}")))?;
    started.follow(connection, EndMessage::Answer(request.id));
    Ok(())
}

/// Checks in the order in which the reference implementation of the dialect reports faults.
fn plan(params: CommandExecParams, client: &Client, options: &AppOptions) -> Result<Launch, Refusal> {
    check_profile_is_allowed(&params, client)?;
    check_combinations(&params)?;
    let timeout = timeout(&params)?;
    let directory = start::directory(options, params.cwd.as_deref());
    let permissions = Permissions::of(&params, &directory, options).map_err(refused)?;
    let size = size(&params)?;
    let streams = params.tty || params.stream_stdout_stderr;
    if (streams || params.stream_stdin) && params.process_id.is_none() {
        return Err(refused("command/exec tty or streaming requires a client-supplied processId"));
    }
    let name = params.process_id.map(Name::Command);
    let told = (notification::COMMAND_EXEC_OUTPUT_DELTA, "processId");
    let manner = Manner::of(name.as_ref().filter(|_| streams), told, client);
    Ok(Launch {
        order: AppStartRequest {
            command: params.command,
            directory,
            environment: params.env,
            connection: Connected::new(params.tty.then_some(size), params.stream_stdin),
            timeout,
            followed: !matches!(manner, Manner::Untold),
            permissions,
        },
        name,
        cap: match params.output_bytes_cap {
            _ if params.disable_output_cap => Cap::NONE,
            None => Cap::default(),
            Some(bytes) => Cap::of(bytes),
        },
        manner,
    })
}

fn refused(message: impl Into<String>) -> Refusal {
    Refusal::new(INVALID_REQUEST, message)
}

fn params_refused(message: impl Into<String>) -> Refusal {
    Refusal::new(INVALID_PARAMS, message)
}

fn check_profile_is_allowed(params: &CommandExecParams, client: &Client) -> Result<(), Refusal> {
    if params.permission_profile.is_some() && !client.experimental {
        return Err(refused("command/exec.permissionProfile requires experimentalApi capability"));
    }
    Ok(())
}

fn check_combinations(params: &CommandExecParams) -> Result<(), Refusal> {
    if params.command.is_empty() {
        return Err(refused("command must not be empty"));
    }
    if params.permission_profile.is_some() && params.sandbox_policy.is_some() {
        return Err(refused("`permissionProfile` cannot be combined with `sandboxPolicy`"));
    }
    if params.size.is_some() && !params.tty {
        return Err(params_refused("command/exec size requires tty: true"));
    }
    if params.output_bytes_cap.is_some() && params.disable_output_cap {
        return Err(params_refused("command/exec cannot set both outputBytesCap and disableOutputCap"));
    }
    if params.timeout_ms.is_some() && params.disable_timeout {
        return Err(params_refused("command/exec cannot set both timeoutMs and disableTimeout"));
    }
    Ok(())
}

fn size(params: &CommandExecParams) -> Result<Size, Refusal> {
    let size = params.size.map_or_else(|| Some(Size::default()), start::size_of);
    size.ok_or_else(|| params_refused("command/exec size rows and cols must be greater than 0"))
}

fn timeout(params: &CommandExecParams) -> Result<Option<Duration>, Refusal> {
    match params.timeout_ms {
        _ if params.disable_timeout => Ok(None),
        None => Ok(Some(DEFAULT_TIMEOUT)),
        Some(given) => match u64::try_from(given) {
            Ok(given) => Ok(Some(Duration::from_millis(given))),
            Err(_) => {
                Err(params_refused(format!("command/exec timeoutMs must be non-negative, got {given}")))
            }
        },
    }
}
