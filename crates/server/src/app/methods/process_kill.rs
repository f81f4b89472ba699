//! `process/kill`: ends a process and everything it started.

use windlass_protocol::app::ProcessKillParams;
use windlass_protocol::envelope::Refusal;

use super::control::{self, PROCESS};
use crate::app::connection::{Connection, Request};
use crate::app::process::Name;

pub(super) fn call(connection: &mut Connection, mut request: Request) -> Result<(), Refusal> {
    let ProcessKillParams { process_handle } = request.read()?;
    connection.require_experimental("process/kill")?;
    control::terminate(connection, (Name::Process(process_handle), &PROCESS), &request.id)
}
