//! `command/exec/resize`: resizes a command's terminal.

use windlass_protocol::app::CommandExecResizeParams;
use windlass_protocol::envelope::Refusal;

use super::control::{self, COMMAND};
use crate::app::connection::{Connection, Request};
use crate::app::process::Name;

pub(super) async fn call(connection: &mut Connection, mut request: Request) -> Result<(), Refusal> {
    let CommandExecResizeParams { process_id, size } = request.read()?;
    control::resize(connection, (Name::Command(process_id), &COMMAND), (request.id, size)).await
}
