//! A transport for HTTP requests to one address, with the same connections, certificates and proxies as model requests.
//! It does not interpret the requests that it carries.
//!
//! A request that a server may have received is never sent twice: a request that breaks off is reported, not repeated.
//! And a body may take any time: only making a connection has a time limit here, the rest is left to the caller.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{HOST, PROXY_AUTHORIZATION, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;

use crate::http::{Address, BadAddress, Connection, Connector, OURSELVES, Pool, basic, causes};
use crate::provider::{Certificates, Provider, WireKind};
use crate::proxy::Proxy;

/// A transport to one address. A cheap handle; all of its clones share the connections.
#[derive(Clone)]
pub struct HttpTransport(Arc<Route>);

struct Route {
    connector: Connector,
    pool: Pool,
    /// The request target, in the form that a connection to the server or to the proxy needs.
    target: http::Uri,
    headers: HeaderMap,
}

/// The route to the server.
#[derive(Clone, Debug, Default)]
pub struct HttpRoute {
    /// The proxy, if there is no direct way out.
    pub proxy: Option<Proxy>,
    /// The certificates that are trusted.
    pub certificates: Certificates,
    /// PEM certificates that are trusted in addition.
    pub extra_roots: Option<String>,
    /// The longest time for making a connection, where the default does not fit.
    pub connect_timeout: Option<Duration>,
}

/// A request to send.
#[derive(Clone)]
pub struct Parcel {
    /// The method: `GET`, `POST`, ...
    pub method: String,
    /// All headers except those of the transfer itself.
    pub headers: Vec<(String, String)>,
    /// The body; empty without one.
    pub body: Bytes,
}

/// A response: its head, and its body as it arrives. Dropping it ends the exchange.
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The headers that are text.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: ReplyBody,
}

/// A body that arrives in pieces.
pub struct ReplyBody {
    route: Arc<Route>,
    /// `None` once the body has ended.
    arriving: Option<(Connection, Incoming)>,
}

/// The reason why a request or its response was not carried, or not completely.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CarrierError {
    /// No connection could be made.
    #[error("{0}")]
    Connect(String),
    /// The connection broke off; the server may have received the request.
    #[error("the connection to {place} was lost: {reason}")]
    Lost {
        /// The server's host and port.
        place: String,
        /// The reason, as far as it is known.
        reason: String,
    },
    /// A header cannot be sent.
    #[error("the header {name} has a name or a value that cannot be sent")]
    Header {
        /// Its name.
        name: String,
    },
    /// The method is invalid.
    #[error("{method} is no method")]
    Method {
        /// The method as it was given.
        method: String,
    },
}

impl HttpTransport {
    /// A transport to this address, which messages call by this name. It connects when the first request is sent.
    pub fn new(name: &str, url: &str, way: HttpRoute) -> Result<Self, BadAddress> {
        let mut place = Provider::at(name, url, WireKind::Responses);
        place.proxy = way.proxy;
        place.certificates = way.certificates;
        place.extra_roots = way.extra_roots;
        place.connect_timeout = way.connect_timeout.unwrap_or(place.connect_timeout);
        let address = Address::of(&place)?;
        let headers = headers(&place, &address);
        let connector = Connector::of(&place, address);
        // `Address` drops a slash at the end, but here it may matter.
        let path = url.split(['?', '#']).next().unwrap_or_default();
        let tail = if path.ends_with('/') || connector.address().target("").is_empty() { "/" } else { "" };
        let address = connector.address();
        let target =
            if connector.forwarding().is_some() { address.whole(tail) } else { address.target(tail) };
        // The target is a part of an address that was parsed before, so it parses here as well.
        let target = target.parse().unwrap_or_default();
        Ok(Self(Arc::new(Route { connector, pool: Pool::default(), target, headers })))
    }

    /// Sends a request, and waits for the head of the response.
    pub async fn send(&self, parcel: Parcel) -> Result<Reply, CarrierError> {
        let message = self.message(parcel)?;
        if let Some(mut connection) = self.0.pool.take().await {
            match connection.send(message.clone()).await {
                Ok(response) => return Ok(self.reply(connection, response)),
                // The server had closed the connection before a byte of the request was written, so it is safe to send
                // it again.
                Err(error) if error.is_canceled() || error.is_closed() => {}
                Err(error) => return Err(self.0.lost(&error)),
            }
        }
        let connected = self.0.connector.connect().await;
        let mut connection = connected.map_err(|failure| CarrierError::Connect(failure.message))?;
        match connection.send(message).await {
            Ok(response) => Ok(self.reply(connection, response)),
            Err(error) => Err(self.0.lost(&error)),
        }
    }

    fn message(&self, parcel: Parcel) -> Result<http::Request<Full<Bytes>>, CarrierError> {
        let mut message = http::Request::new(Full::new(parcel.body));
        *message.method_mut() = http::Method::from_bytes(parcel.method.as_bytes())
            .map_err(|_| CarrierError::Method { method: parcel.method })?;
        *message.uri_mut() = self.0.target.clone();
        *message.headers_mut() = self.0.headers.clone();
        for (name, value) in parcel.headers {
            let Some((known, value)) = header(&name, &value) else {
                return Err(CarrierError::Header { name });
            };
            message.headers_mut().insert(known, value);
        }
        Ok(message)
    }

    fn reply(&self, connection: Connection, response: http::Response<Incoming>) -> Reply {
        let (head, body) = response.into_parts();
        let text = |(name, value): (&HeaderName, &HeaderValue)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        };
        Reply {
            status: head.status.as_u16(),
            headers: head.headers.iter().filter_map(text).collect(),
            body: ReplyBody { route: Arc::clone(&self.0), arriving: Some((connection, body)) },
        }
    }
}

impl ReplyBody {
    /// The next piece; `None` at the end. Cancel-safe: may be dropped and called again without losing anything.
    pub async fn next(&mut self) -> Option<Result<Bytes, CarrierError>> {
        loop {
            let (_, body) = self.arriving.as_mut()?;
            match body.frame().await {
                Some(Ok(frame)) => {
                    // A frame that is not data is a trailer, which no caller needs.
                    if let Ok(data) = frame.into_data() {
                        return Some(Ok(data));
                    }
                }
                Some(Err(error)) => {
                    self.arriving = None;
                    return Some(Err(self.route.lost(&error)));
                }
                None => {
                    let (connection, body) = self.arriving.take()?;
                    self.route.pool.put(connection, body);
                    return None;
                }
            }
        }
    }
}

impl Route {
    fn lost(&self, error: &hyper::Error) -> CarrierError {
        CarrierError::Lost { place: self.connector.address().place(), reason: causes(error) }
    }
}

/// The headers of the transfer itself.
fn headers(place: &Provider, address: &Address) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(USER_AGENT, HeaderValue::from_static(OURSELVES));
    if let Ok(host) = HeaderValue::from_str(&address.authority()) {
        headers.insert(HOST, host);
    }
    let forwarding = place.proxy.as_ref().filter(|proxy| proxy.forwards_requests() && !address.secure);
    if let Some(credentials) = forwarding.and_then(|proxy| basic(proxy.credentials.as_ref()?)) {
        headers.insert(PROXY_AUTHORIZATION, credentials);
    }
    headers
}

fn header(name: &str, value: &str) -> Option<(HeaderName, HeaderValue)> {
    let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some((name, value))
}
