//! `initialize`: the client introduces itself, and the server answers with its own description.

use windlass_protocol::app::{InitializeParams, InitializeResult};
use windlass_protocol::envelope::{INVALID_REQUEST, Refusal};

use crate::app::connection::{Client, Connection, Request};

/// The server's name and version, as it reports them.
const USER_AGENT: &str = concat!("windlass/", env!("CARGO_PKG_VERSION"));

pub(super) fn call(connection: &mut Connection, mut request: Request) -> Result<(), Refusal> {
    let params: InitializeParams = request.read()?;
    let capabilities = params.capabilities.unwrap_or_default();
    let name = &params.client_info.name;
    let client = Client {
        experimental: capabilities.experimental_api,
        opted_out: capabilities.opt_out_notification_methods.unwrap_or_default().into_iter().collect(),
    };
    if http::HeaderValue::from_str(name).is_err() && connection.client().is_err() {
        let message = format!("Invalid clientInfo.name: '{name}'. Must be a valid HTTP header value.");
        return Err(Refusal::new(INVALID_REQUEST, message));
    }
    connection.introduce(client)?;
    let resume = match &capabilities.resume {
        Some(wanted) => connection.resume(wanted)?,
        None => None,
    };
    let result = InitializeResult {
        user_agent: USER_AGENT.to_owned(),
        codex_home: connection.server.options().state_directory.to_string_lossy().into_owned(),
        platform_family: "unix".to_owned(),
        platform_os: "linux".to_owned(),
        resume,
    };
    connection.peer.answer(&request.id, &result);
    Ok(())
}
