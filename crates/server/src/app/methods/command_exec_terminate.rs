//! `command/exec/terminate`: ends a command and everything it started.

use windlass_protocol::app::CommandExecTerminateParams;
use windlass_protocol::envelope::Refusal;

use super::control::{self, COMMAND};
use crate::app::connection::{Connection, Request};
use crate::app::process::Name;

pub(super) fn call(connection: &mut Connection, mut request: Request) -> Result<(), Refusal> {
    let CommandExecTerminateParams { process_id } = request.read()?;
    control::terminate(connection, (Name::Command(process_id), &COMMAND), &request.id)
}
