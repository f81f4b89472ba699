//! `command/exec`: runs a command and answers when it has ended.

use std::sync::Arc;
use std::time::Duration;

use windlass_protocol::app::{CommandExecParams, SandboxPolicy, notification};
use windlass_protocol::envelope::{INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, Refusal};

use crate::app::connection::{Client, Connection, Request};
use crate::app::delta::Deltas;
use crate::app::follow::{Follow, Manner, Telling};
use crate::app::input::Input;
use crate::app::output::{Cap, Collected};
use crate::app::process::{Name, Process};
use crate::app::start::{self, Connected, DEFAULT_TIMEOUT, Order};

pub(super) fn call(connection: &mut Connection, mut request: Request) -> Result<(), Refusal> {
    let params: CommandExecParams = request.read()?;
    let client = Arc::clone(connection.client()?);
    let plan = Plan::make(params, &client)?;
    if let Some(name) = plan.name.as_ref().filter(|name| connection.processes.is_taken(name)) {
        let message = format!("duplicate active command/exec process id: {}", name.quoted());
        return Err(Refusal::new(INVALID_REQUEST, message));
    }
    let order = plan.order(connection);
    let session = start::start(&connection.server, order)
        .map_err(|why| Refusal::new(INTERNAL_ERROR, format!("failed to spawn command: {why}")))?;
    let input = plan.reads.then(Input::default);
    let process = Arc::new(Process { session, name: plan.name, input });
    connection.processes.add(&process);
    let follow = Follow {
        process,
        processes: Arc::clone(&connection.processes),
        peer: connection.peer.clone(),
        cap: plan.cap,
        manner: plan.manner,
        telling: Telling::Answer(request.id),
    };
    connection.spawn(follow.run());
    Ok(())
}

/// What is going to happen, checked.
struct Plan {
    command: Vec<String>,
    name: Option<Name>,
    connected: Connected,
    /// Whether the client may write to it.
    reads: bool,
    manner: Manner,
    cap: Cap,
    timeout: Option<Duration>,
    cwd: Option<String>,
    env: Option<std::collections::HashMap<String, Option<String>>>,
}

impl Plan {
    /// The checks are in the order in which the dialect finds faults.
    fn make(params: CommandExecParams, client: &Client) -> Result<Self, Refusal> {
        check_profile_is_allowed(&params, client)?;
        check_combinations(&params)?;
        let timeout = timeout(&params)?;
        check_permissions(&params)?;
        let size = match params.size {
            None => Some(windlass_engine::Size::default()),
            Some(size) => start::size_of(size),
        };
        let size =
            size.ok_or_else(|| params_refused("command/exec size rows and cols must be greater than 0"))?;
        let streams = params.tty || params.stream_stdout_stderr;
        let reads = params.tty || params.stream_stdin;
        if (streams || reads) && params.process_id.is_none() {
            return Err(refused("command/exec tty or streaming requires a client-supplied processId"));
        }
        let name = params.process_id.map(Name::Command);
        let manner = match &name {
            Some(_) if streams && !client.wants(notification::COMMAND_EXEC_OUTPUT_DELTA) => Manner::Untold,
            Some(name) if streams => Manner::Deltas(Deltas::new(
                notification::COMMAND_EXEC_OUTPUT_DELTA,
                "processId",
                &name.quoted(),
            )),
            _ => Manner::Collected(Collected::default()),
        };
        Ok(Self {
            command: params.command,
            name,
            connected: match (params.tty, params.stream_stdin) {
                (true, _) => Connected::Terminal(size),
                (false, true) => Connected::Both,
                (false, false) => Connected::Output,
            },
            reads,
            manner,
            cap: if params.disable_output_cap {
                Cap::NONE
            } else {
                params.output_bytes_cap.map_or_else(Cap::default, Cap::of)
            },
            timeout,
            cwd: params.cwd,
            env: params.env,
        })
    }

    fn order(&self, connection: &Connection) -> Order {
        Order {
            command: self.command.clone(),
            directory: start::directory(connection.server.options(), self.cwd.as_deref()),
            environment: self.env.clone(),
            connection: self.connected,
            timeout: self.timeout,
            followed: !matches!(self.manner, Manner::Untold),
        }
    }
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

/// A restriction that is not enforced is refused: running without it would be a lie.
fn check_permissions(params: &CommandExecParams) -> Result<(), Refusal> {
    if let Some(profile) = &params.permission_profile {
        return check_profile(profile).map_err(|why| refused(format!("invalid permission profile: {why}")));
    }
    let form = match &params.sandbox_policy {
        None | Some(SandboxPolicy::DangerFullAccess | SandboxPolicy::ExternalSandbox { .. }) => return Ok(()),
        Some(SandboxPolicy::ReadOnly { .. }) => "readOnly",
        Some(SandboxPolicy::WorkspaceWrite { .. }) => "workspaceWrite",
    };
    Err(refused(format!(
        "invalid sandbox policy: this windlass does not enforce {form} yet; send {{\"type\":\"dangerFullAccess\"}} to run without a sandbox, or {{\"type\":\"externalSandbox\"}} inside one of your own"
    )))
}

fn check_profile(profile: &str) -> Result<(), String> {
    match profile {
        ":danger-full-access" => Ok(()),
        ":read-only" | ":workspace" => Err(format!(
            "this windlass does not enforce `{profile}` yet; `:danger-full-access` runs without a sandbox"
        )),
        built_in if built_in.starts_with(':') => {
            Err(format!("default_permissions refers to unknown built-in profile `{built_in}`"))
        }
        _ => Err("default_permissions requires a `[permissions]` table".to_owned()),
    }
}
