//! `process/writeStdin`: input for a process.

use windlass_protocol::app::ProcessWriteStdinParams;
use windlass_protocol::envelope::Refusal;

use super::control::{self, PROCESS, Sent};
use crate::app::connection::{Connection, Request};
use crate::app::process::Name;

pub(super) async fn call(connection: &mut Connection, mut request: Request) -> Result<(), Refusal> {
    let ProcessWriteStdinParams { process_handle, delta_base64, close_stdin } = request.read()?;
    connection.require_experimental("process/writeStdin")?;
    let sent = Sent { id: request.id, delta_base64, close_stdin };
    control::write(connection, (Name::Process(process_handle), &PROCESS), sent).await
}
