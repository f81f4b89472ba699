//! The upgrade of a connection: the HTTP request that makes it a WebSocket, and the gate that checks the request.

use std::convert::Infallible;
use std::io::Cursor;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use http::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Version};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::fd::AsFd;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use windlass_engine::Announcement;

use super::connection::Source;
use super::peer::Sink;
use super::websocket::accept_key;
use crate::caller::{Caller, TurnedAway};
use crate::connections::{HEADER_PATIENCE, Slot};
use crate::gate::{Called, Gate, given_up, plain, unauthorized};
use crate::tls::ServerTls;
use crate::unread::{WakeSocket, network, nobody_reads};

/// The paths of health checks.
const PROBES: [&str; 2] = ["/readyz", "/healthz"];

/// The only version of the WebSocket protocol.
const VERSION: HeaderValue = HeaderValue::from_static("13");

/// A socket that can be split into halves for reading and writing.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    fn halves(self) -> (Source, Sink);

    /// Done when the other side has stopped reading without closing the socket, if the socket reports that.
    fn unread(&self) -> Unread;

    /// The address at which the client reached this machine; `None` over a unix socket.
    fn local_address(&self) -> Option<IpAddr>;
}

/// See [`Stream::unread`].
pub(crate) type Unread = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Stream for TcpStream {
    fn halves(self) -> (Source, Sink) {
        let (source, sink) = self.into_split();
        (Box::new(source), Box::new(sink))
    }

    fn unread(&self) -> Unread {
        match (self.local_addr(), self.peer_addr()) {
            (Ok(ours), Ok(theirs)) => Box::pin(network::nobody_reads(ours, theirs)),
            // The connection is gone already, and reading will report it.
            _ => Box::pin(std::future::pending()),
        }
    }

    fn local_address(&self) -> Option<IpAddr> {
        self.local_addr().ok().map(|address| address.ip())
    }
}

impl Stream for UnixStream {
    fn halves(self) -> (Source, Sink) {
        let (source, sink) = self.into_split();
        (Box::new(source), Box::new(WakeSocket::new(sink)))
    }

    fn unread(&self) -> Unread {
        match self.as_fd().try_clone_to_owned() {
            Ok(socket) => Box::pin(nobody_reads(socket)),
            // Out of descriptors: writing will report a peer that has gone.
            Err(_) => Box::pin(std::future::pending()),
        }
    }

    fn local_address(&self) -> Option<IpAddr> {
        None
    }
}

/// Upgrades connections to WebSockets.
pub(crate) struct WsUpgrade {
    pub(crate) gate: Gate,
    /// The bound address; `None` for a path.
    pub(crate) bound: Option<IpAddr>,
    /// How connections are encrypted, if they are.
    pub(crate) tls: Option<ServerTls>,
    pub(crate) turned_away: TurnedAway,
    /// Marks the port as one of Windlass's for as long as the server runs.
    #[expect(dead_code, reason = "it is there to be dropped with the server")]
    pub(crate) announced: Option<Announcement>,
}

type HttpResponse = Response<Full<Bytes>>;

impl WsUpgrade {
    /// Encrypts the connection, if the server does so, and makes it a WebSocket.
    pub(crate) async fn open<S: Stream>(
        &self,
        stream: S,
        from: (&Caller, &Slot),
    ) -> Option<(Source, Sink, Unread)> {
        match &self.tls {
            Some(tls) => self.upgrade(tls.accept(stream).await?, from).await,
            None => self.upgrade(stream, from).await,
        }
    }

    /// Answers requests until one of them upgrades the connection; `None` if it ends before.
    async fn upgrade<S: Stream>(
        &self,
        stream: S,
        (caller, slot): (&Caller, &Slot),
    ) -> Option<(Source, Sink, Unread)> {
        let upgrade: Mutex<Option<OnUpgrade>> = Mutex::default();
        let called = Called::new(self.bound, stream.local_address());
        let (called, upgrade_to) = (&called, &upgrade);
        let service = service_fn(|mut request: Request<Incoming>| async move {
            let answer = match slot.judge(caller, &self.gate.access).await {
                Ok(()) => self.answer(&request, called, slot),
                Err(denied) => self.turned_away.answer(denied),
            };
            if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
                let upgraded = hyper::upgrade::on(&mut request);
                *upgrade_to.lock().unwrap_or_else(PoisonError::into_inner) = Some(upgraded);
            }
            Ok::<_, Infallible>(answer)
        });
        let requests = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_PATIENCE)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        requests.await.ok()?;
        let upgraded = upgrade.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let parts = upgraded.await.ok()?.downcast::<TokioIo<S>>().ok()?;
        let stream = parts.io.into_inner();
        let unread = stream.unread();
        let (source, sink) = stream.halves();
        if parts.read_buf.is_empty() {
            return Some((source, sink, unread));
        }
        // A client may send its first message without waiting for the reply, so that bytes of it are buffered already.
        Some((Box::new(Cursor::new(parts.read_buf).chain(source)), sink, unread))
    }

    fn answer<B>(&self, request: &Request<B>, called: &Called, slot: &Slot) -> HttpResponse {
        let headers = request.headers();
        if let Err(elsewhere) = self.gate.looks_at(request, called) {
            return elsewhere.answer();
        }
        if PROBES.contains(&request.uri().path()) {
            return plain(StatusCode::OK, "ready\n");
        }
        let Some(key) = wanted_socket(request) else { return upgrade_required() };
        if !self.gate.access.lets_in(headers) {
            return unauthorized();
        }
        if !slot.let_in() {
            return given_up();
        }
        switching(key)
    }
}

/// The `Sec-WebSocket-Key` of a request for a WebSocket.
fn wanted_socket<B>(request: &Request<B>) -> Option<&HeaderValue> {
    let headers = request.headers();
    let wanted = request.method() == Method::GET
        && request.version() == Version::HTTP_11
        && lists(headers, &CONNECTION, "upgrade")
        && lists(headers, &UPGRADE, "websocket")
        && headers.get(SEC_WEBSOCKET_VERSION) == Some(&VERSION);
    headers.get(SEC_WEBSOCKET_KEY).filter(|_| wanted)
}

/// Whether a header whose value is a list contains this.
fn lists(headers: &HeaderMap, name: &HeaderName, wanted: &str) -> bool {
    let named = |value: &HeaderValue| {
        value
            .as_bytes()
            .split(|&byte| byte == b',')
            .any(|word| word.trim_ascii().eq_ignore_ascii_case(wanted.as_bytes()))
    };
    headers.get_all(name).iter().any(named)
}

fn upgrade_required() -> HttpResponse {
    let mut answer =
        plain(StatusCode::UPGRADE_REQUIRED, "this server speaks JSON-RPC over WebSockets, version 13\n");
    let headers = answer.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_VERSION, VERSION);
    answer
}

fn switching(key: &HeaderValue) -> HttpResponse {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = answer.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    // Base64 is always a valid header value.
    if let Ok(accept) = HeaderValue::try_from(accept_key(key.as_bytes())) {
        headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    }
    answer
}
