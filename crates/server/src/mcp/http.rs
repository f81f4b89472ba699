//! MCP over HTTP: one address, one token, any number of clients.
//!
//! Each client of the older protocol has a session, which few clients end; when there are too many, the one that was
//! silent for longest is closed.
//!
//! Every request must carry the token; its `Host` must be a name of this server and its `Origin`, if a browser sent
//! one, too, so that no web page can reach a server on its reader's own machine.

mod clients;
mod exchange;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use windlass_engine::Announcement;

use self::clients::Clients;
use self::exchange::{Delivering, Unstalled, WRITE_PATIENCE};
use crate::caller::{Caller, Report, TurnedAway};
use crate::connections::{Entrance, HEADER_PATIENCE, Slot, accept_until};
use crate::gate::{
    Access, Called, Elsewhere, Gate, ServerReach, given_up, has_plain_origin, plain, unauthorized,
};
use crate::jsonrpc::ws_upgrade::Stream;
use crate::mcp::arrivals::Arrivals;
use crate::tls::ServerTls;

/// The path of the MCP endpoint.
pub const PATH: &str = "/mcp";

/// The largest body of a request; the same as for a line.
const BODY_LIMIT: usize = crate::lines::LINE_LIMIT;

/// How long responses under way may take once the server stops.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// How long a client of the older protocol may be silent before its MCP session is closed. An agent thinks for minutes
/// and its people sleep; the commands' sessions are not affected.
const CLIENT_PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);

/// The limit on clients of the older protocol.
pub const CLIENT_LIMIT: usize = 256;

/// The access control of the HTTP server.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// The credentials that clients must show.
    pub access: Access,
    /// Names, besides those of the loopback and the bound address, by which clients may call this server.
    pub names: Vec<String>,
    /// How connections are encrypted, if they are.
    pub tls: Option<ServerTls>,
    /// Receives a line about each caller that was rejected.
    pub report: Report,
}

/// Why the server cannot listen on an address.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Other machines could reach it, and that was not allowed.
    #[error("{address} can be reached from other machines")]
    NotLoopback {
        /// The address.
        address: SocketAddr,
    },
    /// Other machines could reach it, and the traffic would not be encrypted, the token included.
    #[error("{address} can be reached from other machines, and connections are not encrypted")]
    Unencrypted {
        /// The address.
        address: SocketAddr,
    },
    /// The system refuses.
    #[error("cannot listen on {address}: {error}")]
    Refused {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        error: io::Error,
    },
}

/// Binds an address.
///
/// # Errors
///
/// When it reaches further than allowed, or is taken.
pub async fn listen(
    address: SocketAddr,
    reach: ServerReach,
    tls: Option<&ServerTls>,
) -> Result<TcpListener, ListenError> {
    let is_remote = !address.ip().is_loopback();
    if is_remote && !reach.is_remote() {
        return Err(ListenError::NotLoopback { address });
    }
    if is_remote && reach == ServerReach::Network && tls.is_none() {
        return Err(ListenError::Unencrypted { address });
    }
    TcpListener::bind(address).await.map_err(|error| ListenError::Refused { address, error })
}

/// Serves all clients that connect until `stop` is done; responses under way then get a moment to be written. Each
/// client of the older protocol, and each request of the newer one, gets a handler of its own.
///
/// # Errors
///
/// When the listener has no address.
pub async fn serve_http<H: ServerHandler>(
    listener: TcpListener,
    options: HttpOptions,
    handler: impl Fn() -> H + Send + Sync + 'static,
    stop: impl Future<Output = ()> + Send,
) -> io::Result<()> {
    let over = CancellationToken::new();
    let bound = listener.local_addr()?.ip();
    let _announced = Announcement::of(listener.local_addr()?.port());
    let config = config(bound, &options, over.clone());
    let places = Arc::new(places());
    let service = StreamableHttpService::new(move || Ok(handler()), Arc::clone(&places), config);
    let HttpOptions { access, names, tls, report } = options;
    let turned_away = TurnedAway::new(report);
    let gate = Gate { access, origins: Vec::new(), names };
    let (arrivals, recent) = (Arrivals::default(), Mutex::default());
    let door = Arc::new(HttpFront { gate, bound, tls, turned_away, service, places, arrivals, recent });
    let connection = |stream, slot| converse((stream, slot), Arc::clone(&door), over.clone());
    let mut connections = accept_until(&listener, connection, stop).await;
    drop(listener);
    over.cancel();
    let last_answers = async { while connections.join_next().await.is_some() {} };
    // timer: a client that does not take its response must not keep the server.
    let _ = tokio::time::timeout(LAST_ANSWERS, last_answers).await;
    connections.shutdown().await;
    Ok(())
}

fn config(bound: IpAddr, options: &HttpOptions, over: CancellationToken) -> StreamableHttpServerConfig {
    let own = ["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned(), bound.to_string()];
    let hosts: Vec<String> = own.into_iter().chain(options.names.iter().cloned()).collect();
    let scheme = if options.tls.is_some() { "https" } else { "http" };
    let bracketed = |host: &String| if host.contains(':') { format!("[{host}]") } else { host.clone() };
    let origins: Vec<String> = hosts.iter().map(|host| format!("{scheme}://{}:*", bracketed(host))).collect();
    StreamableHttpServerConfig::default()
        // The gate checks the host instead: this library accepts `evil.example@127.0.0.1` and the first of two `Host`
        // fields.
        .disable_allowed_hosts()
        .with_allowed_origins(origins)
        .enforce_origin_validation()
        .with_json_response(true)
        .with_max_request_body_bytes(BODY_LIMIT)
        .with_cancellation_token(over)
}

fn places() -> Clients {
    let mut config = SessionConfig::default();
    config.keep_alive = Some(CLIENT_PATIENCE);
    let mut places = LocalSessionManager::default();
    places.session_config = config;
    Clients::new(places)
}

/// The HTTP layer in front of the protocol's library.
struct HttpFront<H> {
    gate: Gate,
    /// The bound address.
    bound: IpAddr,
    tls: Option<ServerTls>,
    turned_away: TurnedAway,
    service: StreamableHttpService<H, Clients>,
    places: Arc<Clients>,
    arrivals: Arrivals,
    /// The MCP sessions of clients, the most recently used one last.
    recent: Mutex<VecDeque<String>>,
}

type HttpResponse = Response<BoxBody<Bytes, Infallible>>;

/// One connection, until its client closes it or the server stops.
async fn converse<H: ServerHandler>(
    (stream, slot): (TcpStream, Arc<Slot>),
    door: Arc<HttpFront<H>>,
    over: CancellationToken,
) {
    let caller = TcpListener::caller(&stream);
    match &door.tls {
        None => answer_requests(stream, (&caller, &slot), &door, over).await,
        Some(tls) => {
            let encrypted = tokio::select! {
                encrypted = tls.accept(stream) => encrypted,
                () = over.cancelled() => None,
            };
            if let Some(stream) = encrypted {
                answer_requests(stream, (&caller, &slot), &door, over).await;
            }
        }
    }
}

async fn answer_requests<H: ServerHandler>(
    stream: impl Stream,
    (caller, slot): (&Caller, &Arc<Slot>),
    door: &Arc<HttpFront<H>>,
    over: CancellationToken,
) {
    let called = &Called::new(Some(door.bound), stream.local_address());
    let service = service_fn(|request| async move {
        let rejection = match slot.judge(caller, &door.gate.access).await {
            Ok(()) => door.rejection(&request, called, slot),
            Err(denied) => Some(door.turned_away.answer(denied)),
        };
        Ok::<_, Infallible>(match rejection {
            None => door.answer(request, slot).await,
            Some(rejection) => rejection.map(BodyExt::boxed),
        })
    });
    let mut connection = std::pin::pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_PATIENCE)
            .serve_connection(TokioIo::new(Unstalled::new(stream, WRITE_PATIENCE)), service)
    );
    tokio::select! {
        _ = connection.as_mut() => return,
        () = over.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

impl<H: ServerHandler> HttpFront<H> {
    /// The reply to a request that is rejected before the protocol's library sees it. The library checks the origin.
    fn rejection<B>(
        &self,
        request: &Request<B>,
        called: &Called,
        slot: &Slot,
    ) -> Option<Response<Full<Bytes>>> {
        if let Err(elsewhere) = self.gate.looks_at_host(request, called) {
            return Some(elsewhere.answer());
        }
        if !has_plain_origin(request.headers()) {
            return Some(Elsewhere::Page.answer());
        }
        if !self.gate.access.lets_in(request.headers()) {
            return Some(unauthorized());
        }
        if slot.let_in() { None } else { Some(given_up()) }
    }

    async fn answer(&self, request: Request<Incoming>, slot: &Arc<Slot>) -> HttpResponse {
        if request.uri().path() != PATH {
            return plain(StatusCode::NOT_FOUND, "the protocol is spoken at /mcp").map(BodyExt::boxed);
        }
        let mut request = match exchange::received(request).await {
            Ok(request) => request,
            Err(rejection) => return rejection.map(BodyExt::boxed),
        };
        if !slot.establish() {
            return given_up().map(BodyExt::boxed);
        }
        if calls_tool(request.body()) {
            request.extensions_mut().insert(self.arrivals.next());
        }
        let known = place(request.headers());
        let delivering = Delivering::new(&mut request, slot);
        let body = request.body().clone();
        let answer = exchange::explained(self.service.handle(request.map(Full::new)).await, &body);
        // A client without a session may just have got one. An id that the client made up is none.
        let place = known.clone().or_else(|| place(answer.headers()));
        if let Some(place) = place.filter(|_| answer.status() != StatusCode::NOT_FOUND) {
            self.heard_of(place).await;
        }
        // In a session, rmcp may end the events of a request without its response; the session's stream settles the
        // delivery.
        let delivering = if known.is_some() { delivering.settled_elsewhere() } else { delivering };
        answer.map(|body| delivering.with(body).boxed())
    }

    /// Marks this session as the most recent one, and closes the one that was silent for longest if there are too many.
    /// Its client may start again, as after a restart; the commands' sessions are not affected.
    async fn heard_of(&self, place: String) {
        let silent = {
            let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
            recent.retain(|other| *other != place);
            recent.push_back(place);
            if recent.len() > CLIENT_LIMIT { recent.pop_front() } else { None }
        };
        if let Some(silent) = silent {
            // The session may have ended by itself.
            let _ = self.places.close_session(&silent.into()).await;
        }
    }
}

/// Whether a body calls a tool. Only such requests take a turn: others may last as long as their client stays.
fn calls_tool(body: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Method<'a> {
        #[serde(borrow)]
        method: std::borrow::Cow<'a, str>,
    }
    serde_json::from_slice(body).is_ok_and(|Method { method }| method == "tools/call")
}

fn place(headers: &HeaderMap) -> Option<String> {
    headers.get("mcp-session-id")?.to_str().ok().map(str::to_owned)
}
