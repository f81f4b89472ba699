//! `process/resizePty`: resizes a process's terminal.

use windlass_protocol::app::ProcessResizePtyParams;
use windlass_protocol::envelope::Refusal;

use super::control::{self, PROCESS};
use crate::app::connection::{Connection, Request};
use crate::app::process::Name;

pub(super) async fn call(connection: &mut Connection, mut request: Request) -> Result<(), Refusal> {
    let ProcessResizePtyParams { process_handle, size } = request.read()?;
    connection.require_experimental("process/resizePty")?;
    control::resize(connection, (Name::Process(process_handle), &PROCESS), (request.id, size)).await
}
