//! `command/exec/write`: input for a command.

use windlass_protocol::app::CommandExecWriteParams;
use windlass_protocol::envelope::Refusal;

use super::control::{self, COMMAND, Sent};
use crate::app::connection::{Connection, Request};
use crate::app::process::Name;

pub(super) async fn call(connection: &mut Connection, mut request: Request) -> Result<(), Refusal> {
    let CommandExecWriteParams { process_id, delta_base64, close_stdin } = request.read()?;
    let sent = Sent { id: request.id, delta_base64, close_stdin };
    control::write(connection, (Name::Command(process_id), &COMMAND), sent).await
}
