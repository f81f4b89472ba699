//! Finds the session that a request addresses.

use std::sync::Arc;

use windlass_engine::SessionId;
use windlass_protocol::app::SessionTarget;
use windlass_protocol::envelope::{INVALID_PARAMS, INVALID_REQUEST, Refusal};

use super::control::{self, COMMAND, PROCESS};
use crate::app::connection::Connection;
use crate::app::process::{Name, Process};

/// The addressed session, which must belong to this connection.
pub(super) fn find(connection: &Connection, target: SessionTarget) -> Result<Arc<Process>, Refusal> {
    connection.client()?;
    match (target.session_id, target.process_id, target.process_handle) {
        (Some(id), None, None) => connection
            .processes
            .numbered(SessionId::new(id))
            .ok_or_else(|| Refusal::new(INVALID_REQUEST, format!("no session {id} on this connection"))),
        (None, Some(name), None) => control::find(connection, &Name::Command(name), &COMMAND),
        (None, None, Some(name)) => control::find(connection, &Name::Process(name), &PROCESS),
        _ => {
            let message = "name the session by exactly one of sessionId, processId and processHandle";
            Err(Refusal::new(INVALID_PARAMS, message))
        }
    }
}
