//! Tests the connection to a provider step by step, so that a user sees which step fails.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::StatusCode;
use http_body_util::{BodyExt, Collected, Limited};
use serde_json::Value;

use super::{Client, error_response};
use crate::failure::Failure;
use crate::http::{Connection, Stream};
use crate::provider_error::Complaint;

/// The longest list of models that is read, in bytes.
const LONGEST_LIST: usize = 8 * 1024 * 1024;

/// The result of testing a provider. The last step is the one that failed, if one did.
#[derive(Clone, Debug)]
pub struct Probe {
    /// The steps that were tried, in order.
    pub steps: Vec<ProbeStep>,
}

/// A step and its result.
#[derive(Clone, Debug)]
pub struct ProbeStep {
    /// The kind of step.
    pub kind: StepKind,
    /// The time that the step took.
    pub took: Duration,
    /// The result of the step, or why it failed.
    pub found: Result<ProbeFinding, Failure>,
}

/// The steps, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// Look up the provider's name, or the proxy's where there is one.
    LookUp,
    /// Connect a socket.
    Connect,
    /// Ask the proxy for a connection to the provider.
    Tunnel,
    /// Encrypt the connection, and check the certificate.
    Encrypt,
    /// Ask the provider for its models, with the key.
    Models,
}

/// The result of a step that succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeFinding {
    /// The addresses of the name.
    Addresses(Vec<SocketAddr>),
    /// The address that accepted the connection.
    Address(SocketAddr),
    /// Success without further details.
    Passed,
    /// The models that the provider offers.
    Models(Vec<String>),
    /// The provider answers, but does not list models; so it is unknown whether the key is valid.
    NoList {
        /// The status of its response.
        status: u16,
    },
}

impl Probe {
    /// Whether all steps succeeded.
    pub fn passed(&self) -> bool {
        self.failure().is_none()
    }

    /// The failure of the last step, if it failed.
    pub fn failure(&self) -> Option<&Failure> {
        self.steps.iter().find_map(|step| step.found.as_ref().err())
    }
}

impl Client {
    /// Tests a fresh connection to the provider: its name, the socket, encryption, and `GET {base_url}/models`.
    pub async fn probe(&self) -> Probe {
        let mut probe = Probe { steps: Vec::new() };
        if let Some(connection) = self.probe_connection(&mut probe).await {
            probe.step(StepKind::Models, self.models_on(connection), Clone::clone).await;
        }
        probe
    }

    /// The models that the provider offers, by the provider's names.
    pub async fn models(&self) -> Result<Vec<String>, Failure> {
        match self.models_on(self.0.connector.connect().await?).await? {
            ProbeFinding::Models(models) => Ok(models),
            _ => Err(Failure::lasting(format!("{} lists no models", self.0.provider.name))),
        }
    }

    async fn probe_connection(&self, probe: &mut Probe) -> Option<Connection> {
        let connector = &self.0.connector;
        let look_up = connector.in_time(connector.look_up());
        let addresses =
            probe.step(StepKind::LookUp, look_up, |found| ProbeFinding::Addresses(found.clone())).await?;
        let dial = connector.in_time(connector.dial(&addresses));
        let (mut stream, _) =
            probe.step(StepKind::Connect, dial, |(_, address)| ProbeFinding::Address(*address)).await?;
        let passed = |_: &Stream| ProbeFinding::Passed;
        if connector.is_tunnelled() {
            let tunnel = connector.in_time(connector.tunnel(stream));
            stream = probe.step(StepKind::Tunnel, tunnel, passed).await?;
        }
        if connector.address().secure {
            let encrypt = connector.in_time(connector.encrypt(stream));
            stream = probe.step(StepKind::Encrypt, encrypt, passed).await?;
        }
        connector.begin(stream).await.ok()
    }

    async fn models_on(&self, connection: Connection) -> Result<ProbeFinding, Failure> {
        let message = self.message(http::Method::GET, "/models", Bytes::new());
        let exchange = self.on(connection, message).await.map_err(|lost| self.lost(lost))?;
        // Dropping the connection closes it, so it must live until the body was read.
        let (head, body) = exchange.response.into_parts();
        if matches!(head.status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED) {
            return Ok(ProbeFinding::NoList { status: head.status.as_u16() });
        }
        if head.status != StatusCode::OK {
            let refusal = error_response::of(self, head.status, &head.headers);
            return Err(match refusal {
                Some(refusal) => refusal.read(body).await,
                None => Complaint::of_body(head.status.as_u16(), "").into_failure(&self.0.provider.name),
            });
        }
        // timer: a list that never ends.
        let body =
            tokio::time::timeout(self.0.provider.connect_timeout, Limited::new(body, LONGEST_LIST).collect());
        let body = body.await.ok().and_then(Result::ok).map(Collected::to_bytes).unwrap_or_default();
        drop(exchange.connection);
        Ok(listed(&body).map_or(ProbeFinding::NoList { status: 200 }, ProbeFinding::Models))
    }
}

impl Probe {
    async fn step<T>(
        &mut self,
        kind: StepKind,
        step: impl Future<Output = Result<T, Failure>>,
        found: impl Fn(&T) -> ProbeFinding,
    ) -> Option<T> {
        let began = Instant::now();
        let result = step.await;
        let outcome = result.as_ref().map(found).map_err(Clone::clone);
        self.steps.push(ProbeStep { kind, took: began.elapsed(), found: outcome });
        result.ok()
    }
}

fn listed(body: &[u8]) -> Option<Vec<String>> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let models = value.get("data").or_else(|| value.get("models"))?.as_array()?;
    let name = |model: &Value| {
        let name = ["id", "slug", "name"].iter().find_map(|field| model.get(field)?.as_str());
        name.map(str::to_owned)
    };
    Some(models.iter().filter_map(name).collect())
}
