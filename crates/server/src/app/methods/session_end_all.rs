//! `session/endAll`: ends all processes, for a client that will not come back.

use windlass_protocol::app::{Done, SessionEndAllParams};
use windlass_protocol::envelope::Refusal;

use crate::app::connection::{Connection, Request};

/// Reads nothing else meanwhile: a client that calls this has no further requests.
pub(super) async fn call(connection: &mut Connection, mut request: Request) -> Result<(), Refusal> {
    let SessionEndAllParams {} = request.read()?;
    connection.client()?;
    if connection.will_not_resume() {
        connection.processes.end_each().await;
    }
    connection.peer.answer(&request.id, &Done {});
    Ok(())
}
