//! The methods that a client may call, one file each.

mod command_exec;
mod command_exec_resize;
mod command_exec_terminate;
mod command_exec_write;
mod control;
mod initialize;
mod process_kill;
mod process_resize_pty;
mod process_spawn;
mod process_write_stdin;
mod session_end_all;
mod session_list;
mod session_read;
mod session_signal;
mod session_subscribe;
mod session_wait;
mod target;

use windlass_protocol::app::Method;
use windlass_protocol::envelope::Refusal;

use super::connection::{Connection, Request};

/// Carries out a request. The method answers it, now or later, unless it returns an error.
pub(super) async fn call(
    connection: &mut Connection,
    method: Method,
    request: Request,
) -> Result<(), Refusal> {
    match method {
        Method::Initialize => initialize::call(connection, request),
        Method::CommandExec => command_exec::call(connection, request),
        Method::CommandExecWrite => command_exec_write::call(connection, request).await,
        Method::CommandExecResize => command_exec_resize::call(connection, request).await,
        Method::CommandExecTerminate => command_exec_terminate::call(connection, request),
        Method::ProcessSpawn => process_spawn::call(connection, request),
        Method::ProcessWriteStdin => process_write_stdin::call(connection, request).await,
        Method::ProcessResizePty => process_resize_pty::call(connection, request).await,
        Method::ProcessKill => process_kill::call(connection, request),
        Method::SessionList => session_list::call(connection, request),
        Method::SessionRead => session_read::call(connection, request),
        Method::SessionWait => session_wait::call(connection, request),
        Method::SessionSignal => session_signal::call(connection, request).await,
        Method::SessionSubscribe => session_subscribe::subscribe(connection, request),
        Method::SessionUnsubscribe => session_subscribe::unsubscribe(connection, request),
        Method::SessionEndAll => session_end_all::call(connection, request).await,
    }
}
