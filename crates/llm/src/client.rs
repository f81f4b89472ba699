//! The client of one provider: sends requests, and returns responses as they arrive. It never retries: the caller
//! decides how to handle a [`Failure`].

mod error_response;
mod headers;
mod probe;
mod secrets;
mod streamed_response;

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use http_body_util::Full;
use hyper::body::Incoming;

use self::secrets::Secrets;
use crate::failure::Failure;
use crate::http::{Address, BadAddress, Connection, Connector, Pool, causes};
use crate::provider::Provider;
use crate::request::Request;
use crate::wire::{Wire, wire_of};

pub use self::probe::{Probe, ProbeFinding, ProbeStep, StepKind};
pub use self::streamed_response::StreamedResponse;

/// A client of one provider. A cheap handle; all of its clones share the connections.
#[derive(Clone)]
pub struct Client(Arc<Shared>);

struct Shared {
    provider: Provider,
    wire: Box<dyn Wire>,
    connector: Connector,
    headers: HeaderMap,
    secrets: Secrets,
    pool: Pool,
}

/// An error in the description of a provider: no request can be sent to it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadProvider {
    /// The address is invalid.
    #[error(transparent)]
    Address(#[from] BadAddress),
    /// A header cannot be sent: its name or its value is invalid.
    #[error("the header {name} of {provider} has a name or a value that cannot be sent")]
    Header {
        /// The provider's name.
        provider: String,
        /// The header's name.
        name: String,
    },
    /// The key cannot be sent in a header.
    #[error("the key of {provider} has characters that no key has{}", from(.source_name))]
    Key {
        /// The provider's name.
        provider: String,
        /// The source of the key, such as the name of an environment variable.
        source_name: Option<String>,
    },
}

fn from(source: &Option<String>) -> String {
    source.as_ref().map(|source| format!("; it comes from {source}")).unwrap_or_default()
}

/// A response whose head has arrived.
struct Exchange {
    connection: Connection,
    response: http::Response<Incoming>,
}

impl Client {
    /// A client of this provider. It connects when the first request is sent.
    pub fn new(provider: Provider) -> Result<Self, BadProvider> {
        let address = Address::of(&provider)?;
        Ok(Self(Arc::new(Shared {
            wire: wire_of(&provider),
            headers: headers::of(&provider, &address)?,
            secrets: Secrets::of(&provider),
            connector: Connector::of(&provider, address),
            pool: Pool::default(),
            provider,
        })))
    }

    /// The provider to which requests are sent.
    pub fn provider(&self) -> &Provider {
        &self.0.provider
    }

    /// Sends a request. Returns when the provider has begun to answer; dropping the future earlier ends the exchange.
    pub async fn send(&self, request: &Request) -> Result<StreamedResponse, Failure> {
        let shared = &self.0;
        let body = Bytes::from(shared.wire.body(request));
        let mut message = self.message(http::Method::POST, shared.wire.path(), body);
        headers::add_conversation(message.headers_mut(), request);
        let exchange = self.exchange(message).await?;
        if let Some(failure) =
            error_response::of(self, exchange.response.status(), exchange.response.headers())
        {
            return Err(failure.read(exchange.response.into_body()).await);
        }
        Ok(StreamedResponse::begin(self.clone(), exchange, shared.wire.reader(request)))
    }

    fn message(&self, method: http::Method, path: &str, body: Bytes) -> http::Request<Full<Bytes>> {
        let connector = &self.0.connector;
        let address = connector.address();
        let target =
            if connector.forwarding().is_some() { address.whole(path) } else { address.target(path) };
        let mut message = http::Request::new(Full::new(body));
        *message.method_mut() = method;
        // The target is a part of an address that was parsed before, so it parses here as well.
        *message.uri_mut() = target.parse().unwrap_or_default();
        *message.headers_mut() = self.0.headers.clone();
        message
    }

    /// Makes a request, on an idle connection if there is one.
    async fn exchange(&self, message: http::Request<Full<Bytes>>) -> Result<Exchange, Failure> {
        if let Some(connection) = self.0.pool.take().await {
            match self.on(connection, message.clone()).await {
                // The provider may close an idle connection at any moment, even while we write. No response has begun,
                // and a model request changes nothing on the provider's side, so it is sent again on another
                // connection.
                Err(Lost::Broken(_)) => {}
                other => return other.map_err(|lost| self.lost(lost)),
            }
        }
        let connection = self.0.connector.connect().await?;
        self.on(connection, message).await.map_err(|lost| self.lost(lost))
    }

    async fn on(
        &self,
        mut connection: Connection,
        message: http::Request<Full<Bytes>>,
    ) -> Result<Exchange, Lost> {
        // timer: a provider that accepts a request and never answers.
        match tokio::time::timeout(self.0.provider.idle_timeout, connection.send(message)).await {
            Ok(Ok(response)) => Ok(Exchange { connection, response }),
            Ok(Err(error)) => Err(Lost::Broken(error)),
            Err(_) => Err(Lost::Silent),
        }
    }

    /// The failure of a request whose response never began, or broke off.
    fn lost(&self, lost: Lost) -> Failure {
        let place = self.0.connector.address().place();
        let name = &self.0.provider.name;
        let message = match lost {
            Lost::Broken(error) => format!("the connection to {name} ({place}) was lost: {}", causes(&error)),
            Lost::Silent => {
                let seconds = self.0.provider.idle_timeout.as_secs_f32();
                format!("{name} ({place}) sent nothing for {seconds} s")
            }
        };
        Failure::passing(self.0.secrets.hide(&message))
    }
}

/// The reason why no response arrives.
enum Lost {
    Broken(hyper::Error),
    /// No byte arrived within the idle timeout.
    Silent,
}
