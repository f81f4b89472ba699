//! The HTTP request that upgrades a connection to a WebSocket, from the client's side.

use std::io::{self, Cursor};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{
    AUTHORIZATION, CONNECTION, HOST, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Collected, Empty, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustix::rand::{GetRandomFlags, getrandom};
use tokio::io::AsyncReadExt;

use super::endpoint::Endpoint;
use super::error::ClientError;
use crate::gate::Token;
use crate::jsonrpc::connection::Source;
use crate::jsonrpc::peer::Sink;
use crate::jsonrpc::websocket::accept_key;
use crate::jsonrpc::ws_upgrade::Stream;

/// A longer body is a page, not a reason.
const LONGEST_REASON: usize = 1000;

/// The request: the server, the path there, and the token.
pub(super) struct UpgradeRequest<'a> {
    pub(super) endpoint: &'a Endpoint,
    pub(super) host: &'a str,
    pub(super) path: &'a str,
    pub(super) token: Option<&'a Token>,
}

/// Upgrades a connection to a WebSocket.
pub(super) async fn upgrade<S: Stream>(
    stream: S,
    asked: UpgradeRequest<'_>,
) -> Result<(Source, Sink), ClientError> {
    let broken = |error: io::Error| ClientError::Unreachable { endpoint: asked.endpoint.to_string(), error };
    let http = |error: hyper::Error| broken(io::Error::other(error));
    let key = STANDARD.encode(random::<16>().map_err(broken)?);
    let request = request(&asked, &key).map_err(|error| broken(io::Error::other(error)))?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(http)?;
    let exchange = async {
        let response = sender.send_request(request).await.map_err(http)?;
        if let Err(refused) = refused(&response, &asked, &key) {
            return Err(with_reason(refused, response).await);
        }
        hyper::upgrade::on(response).await.map_err(http)
    };
    let mut exchange = std::pin::pin!(exchange);
    // The connection makes progress only while it is polled. It ends with the upgrade, and is dropped with a refusal.
    let upgraded = tokio::select! {
        upgraded = &mut exchange => upgraded,
        _ = connection.with_upgrades() => exchange.await,
    };
    let upgraded = upgraded?.downcast::<TokioIo<S>>();
    let parts = upgraded.map_err(|_| broken(io::ErrorKind::Unsupported.into()))?;
    let (source, sink) = parts.io.into_inner().halves();
    // A server may send a message right after its reply, so that bytes of it are buffered already.
    Ok((Box::new(Cursor::new(parts.read_buf).chain(source)), sink))
}

fn request(asked: &UpgradeRequest<'_>, key: &str) -> http::Result<Request<Empty<Bytes>>> {
    let mut request = Request::get(asked.path)
        .header(HOST, asked.host)
        .header(CONNECTION, "Upgrade")
        .header(UPGRADE, "websocket")
        .header(SEC_WEBSOCKET_VERSION, "13")
        .header(SEC_WEBSOCKET_KEY, key);
    if let Some(token) = asked.token {
        let mut value = HeaderValue::try_from(format!("Bearer {}", token.reveal()))?;
        value.set_sensitive(true);
        request = request.header(AUTHORIZATION, value);
    }
    request.body(Empty::new())
}

/// Checks that the server agreed, and to this very request.
fn refused(response: &Response<Incoming>, asked: &UpgradeRequest<'_>, key: &str) -> Result<(), ClientError> {
    let endpoint = asked.endpoint.to_string();
    let accepted = response.headers().get(SEC_WEBSOCKET_ACCEPT).map(HeaderValue::as_bytes);
    match response.status() {
        StatusCode::SWITCHING_PROTOCOLS if accepted == Some(accept_key(key.as_bytes()).as_bytes()) => Ok(()),
        StatusCode::UNAUTHORIZED => Err(ClientError::Token { endpoint, shown: asked.token.is_some() }),
        status => Err(ClientError::NoWebSocket { endpoint, status: status.as_u16(), said: String::new() }),
    }
}

/// Adds the first line of the response's body to a refusal.
async fn with_reason(mut refused: ClientError, response: Response<Incoming>) -> ClientError {
    if let ClientError::NoWebSocket { said, .. } = &mut refused {
        let body = Limited::new(response.into_body(), LONGEST_REASON).collect().await;
        let bytes = body.map(Collected::to_bytes).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        *said = text.lines().next().unwrap_or_default().replace(char::is_control, " ");
    }
    refused
}

/// Unpredictable bytes from the system.
pub(super) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())?;
    }
    Ok(bytes)
}
