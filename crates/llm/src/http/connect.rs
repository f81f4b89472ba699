//! Makes a connection, step by step: name lookup, socket, the proxy's tunnel, encryption, HTTP. Each step can be made
//! alone, so that a probe can say which one fails.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use base64::Engine as _;
use bytes::Bytes;
use http::header::{HOST, HeaderValue, PROXY_AUTHORIZATION};
use http_body_util::{Empty, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use zeroize::Zeroizing;

use super::{Address, socks, tls};
use crate::failure::{Failure, Remedy};
use crate::provider::{Certificates, Key, Provider};
use crate::proxy::{Proxy, ProxyKind};

/// A stream of bytes in both directions, encrypted or not.
pub(crate) trait Transport: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Transport for T {}

/// A connection on which no request was sent yet.
pub(crate) type Stream = Box<dyn Transport>;

/// Makes connections to one provider.
pub(crate) struct Connector {
    address: Address,
    proxy: Option<Proxy>,
    timeout: Duration,
    certificates: Certificates,
    extra_roots: Option<String>,
    tls: OnceLock<Result<TlsConnector, String>>,
}

/// A connection for requests. Dropping it closes it.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    _driver: Driver,
}

/// The task that moves a connection's bytes; it is aborted when its owner is dropped.
struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Connection {
    /// Sends a request; returns when the head of the response has arrived.
    pub(crate) async fn send(
        &mut self,
        request: http::Request<Full<Bytes>>,
    ) -> hyper::Result<http::Response<Incoming>> {
        self.sender.ready().await?;
        self.sender.send_request(request).await
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }
}

impl Connector {
    pub(crate) fn of(provider: &Provider, address: Address) -> Self {
        Self {
            address,
            proxy: provider.proxy.clone(),
            timeout: provider.connect_timeout,
            certificates: provider.certificates.clone(),
            extra_roots: provider.extra_roots.clone(),
            tls: OnceLock::new(),
        }
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// The proxy that forwards each request, if there is one: its credentials must be sent with each request.
    pub(crate) fn forwarding(&self) -> Option<&Proxy> {
        self.proxy.as_ref().filter(|proxy| proxy.forwards_requests() && !self.address.secure)
    }

    /// Whether a proxy tunnels the connection to the provider.
    pub(crate) fn is_tunnelled(&self) -> bool {
        self.proxy.is_some() && self.forwarding().is_none()
    }

    /// Makes all steps.
    pub(crate) async fn connect(&self) -> Result<Connection, Failure> {
        let steps = async {
            let addresses = self.look_up().await?;
            let (stream, _) = self.dial(&addresses).await?;
            let stream = self.tunnel(stream).await?;
            let stream = self.encrypt(stream).await?;
            self.begin(stream).await
        };
        self.in_time(steps).await
    }

    /// Runs a step within the time that a connection may take.
    pub(crate) async fn in_time<T>(
        &self,
        step: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        // timer: a provider that cannot be reached must not hold up the agent.
        match tokio::time::timeout(self.timeout, step).await {
            Ok(result) => result,
            Err(_) => {
                let seconds = self.timeout.as_secs_f32();
                Err(Failure::passing(format!("connecting to {} took more than {seconds} s", self.hop())))
            }
        }
    }

    /// The addresses of the first hop.
    pub(crate) async fn look_up(&self) -> Result<Vec<SocketAddr>, Failure> {
        let (host, port) = self.first_hop();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        match tokio::net::lookup_host((host, port)).await {
            Ok(addresses) => Ok(addresses.collect()),
            Err(error) => Err(Failure::passing(format!("{} was not found: {error}", self.hop()))),
        }
    }

    /// Connects to the first of these addresses that answers. Each gets its share of the time, so that an address that
    /// silently drops packets leaves time for the next one.
    pub(crate) async fn dial(&self, addresses: &[SocketAddr]) -> Result<(Stream, SocketAddr), Failure> {
        let began = Instant::now();
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for (index, &address) in addresses.iter().enumerate() {
            let left = self.timeout.saturating_sub(began.elapsed());
            let share = left / u32::try_from(addresses.len() - index).unwrap_or(u32::MAX);
            // timer: the share of this address.
            match tokio::time::timeout(share, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => {
                    // Requests are written in one piece; Nagle's algorithm would only delay them.
                    let _ = stream.set_nodelay(true);
                    return Ok((Box::new(stream), address));
                }
                Ok(Err(error)) => last = error,
                Err(_) => last = io::ErrorKind::TimedOut.into(),
            }
        }
        Err(Failure::passing(format!("cannot connect to {}: {last}", self.hop())))
    }

    /// Asks the proxy for a tunnel to the provider, unless it forwards each request.
    pub(crate) async fn tunnel(&self, stream: Stream) -> Result<Stream, Failure> {
        let Some(proxy) = self.proxy.as_ref().filter(|_| self.is_tunnelled()) else { return Ok(stream) };
        match proxy.kind {
            ProxyKind::Http => self.http_tunnel(stream, proxy).await,
            ProxyKind::Socks5(lookup) => {
                let wanted =
                    socks::ConnectRequest { address: &self.address, lookup, credentials: &proxy.credentials };
                socks::connect(stream, &wanted).await.map_err(|error| error.into_failure(&self.hop()))
            }
        }
    }

    async fn http_tunnel(&self, stream: Stream, proxy: &Proxy) -> Result<Stream, Failure> {
        let lost = |error: hyper::Error| Failure::passing(format!("{} broke off: {error}", self.hop()));
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(lost)?;
        // The task ends by itself when the connection has become a tunnel, or earlier with the tunnel's owner.
        let driver = Driver(tokio::spawn(async move { drop(connection.with_upgrades().await) }));
        let response = sender.send_request(connect_request(&self.address, proxy)).await.map_err(lost)?;
        if !response.status().is_success() {
            return Err(self.not_let_through(response.status()));
        }
        let tunnel = hyper::upgrade::on(response).await.map_err(lost)?;
        drop(driver);
        Ok(Box::new(TokioIo::new(tunnel)))
    }

    fn not_let_through(&self, status: http::StatusCode) -> Failure {
        let remedy = if status.is_server_error() { Remedy::Retry { after: None } } else { Remedy::GiveUp };
        Failure { remedy, message: format!("{} refuses to connect: {status}", self.hop()) }
    }

    /// Encrypts the connection, if the address is `https`.
    pub(crate) async fn encrypt(&self, stream: Stream) -> Result<Stream, Failure> {
        if !self.address.secure {
            return Ok(stream);
        }
        let place = self.address.place();
        let connector = self.tls.get_or_init(|| {
            let configuration = tls::configuration(&self.certificates, self.extra_roots.as_deref());
            configuration.map(|configuration| TlsConnector::from(Arc::new(configuration)))
        });
        let connector = connector.as_ref().map_err(Failure::lasting)?;
        let name = ServerName::try_from(self.address.host.clone());
        let name = name.map_err(|_| Failure::lasting(format!("{place} is no name for a certificate")))?;
        match connector.connect(name, stream).await {
            Ok(stream) => Ok(Box::new(stream)),
            Err(error) => {
                let message = format!("no encrypted connection to {place}: {error}");
                let distrust = tls::is_distrust(&error);
                Err(if distrust { Failure::lasting(message) } else { Failure::passing(message) })
            }
        }
    }

    /// Performs the HTTP handshake.
    pub(crate) async fn begin(&self, stream: Stream) -> Result<Connection, Failure> {
        match http1::handshake(TokioIo::new(stream)).await {
            Ok((sender, connection)) => {
                let driver = Driver(tokio::spawn(async move { drop(connection.await) }));
                Ok(Connection { sender, _driver: driver })
            }
            Err(error) => Err(Failure::passing(format!("{} broke off: {error}", self.hop()))),
        }
    }

    fn first_hop(&self) -> (&str, u16) {
        match &self.proxy {
            Some(proxy) => (&proxy.host, proxy.port),
            None => (&self.address.host, self.address.port),
        }
    }

    /// A description of the first hop, for messages.
    fn hop(&self) -> String {
        match &self.proxy {
            Some(proxy) => format!("the proxy {proxy}"),
            None => self.address.place(),
        }
    }
}

fn connect_request(address: &Address, proxy: &Proxy) -> http::Request<Empty<Bytes>> {
    let mut request = http::Request::new(Empty::new());
    *request.method_mut() = http::Method::CONNECT;
    let place = address.place();
    // Host and port come from an address that was parsed before, so they parse here as well.
    if let (Ok(uri), Ok(host)) = (place.parse(), HeaderValue::from_str(&place)) {
        *request.uri_mut() = uri;
        request.headers_mut().insert(HOST, host);
    }
    if let Some(credentials) = proxy.credentials.as_ref().and_then(basic) {
        request.headers_mut().insert(PROXY_AUTHORIZATION, credentials);
    }
    request
}

/// The `Basic` credentials for a proxy.
pub(crate) fn basic(credentials: &Key) -> Option<HeaderValue> {
    let encoded = Zeroizing::new(base64::engine::general_purpose::STANDARD.encode(credentials.reveal()));
    let mut value = HeaderValue::from_str(&Zeroizing::new(["Basic ", &encoded].concat())).ok()?;
    value.set_sensitive(true);
    Some(value)
}
