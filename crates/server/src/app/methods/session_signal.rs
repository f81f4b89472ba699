//! `session/signal`: a signal for the process group of a session's root process.

use windlass_engine::Signal;
use windlass_protocol::app::{Done, SessionSignalParams};
use windlass_protocol::envelope::{INVALID_PARAMS, INVALID_REQUEST, Refusal};

use super::target;
use crate::app::connection::{Connection, Request};

pub(super) async fn call(connection: &Connection, mut request: Request) -> Result<(), Refusal> {
    let params: SessionSignalParams = request.read()?;
    connection.client()?;
    let signal: Signal = params
        .signal
        .parse()
        .map_err(|error| Refusal::new(INVALID_PARAMS, format!("session/signal: {error}")))?;
    let process = target::find(connection, params.target)?;
    let id = process.session.id();
    process
        .session
        .signal(signal)
        .await
        .map_err(|_| Refusal::new(INVALID_REQUEST, format!("session {id} is no longer running")))?;
    connection.peer.answer(&request.id, &Done {});
    Ok(())
}
