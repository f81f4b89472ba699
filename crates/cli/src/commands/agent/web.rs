//! Gives MCP servers over HTTP access to the connections through which models are reached.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use windlass_llm::{Certificates, HttpRoute, HttpTransport, Parcel, ReplyBody};
use windlass_mcp_client::{
    BodyFuture, Http, HttpAnswer, HttpBody, HttpError, HttpFuture, HttpMethod, HttpRequest,
};

use super::proxies::Proxies;

/// Sends requests, with a separate connection pool for each address.
pub(super) struct Web {
    proxies: Proxies,
    certificates: Certificates,
    carriers: Mutex<HashMap<String, HttpTransport>>,
}

impl Web {
    pub(super) fn new(proxies: Proxies, certificates: Certificates) -> Self {
        Self { proxies, certificates, carriers: Mutex::default() }
    }

    fn carrier(&self, url: &str) -> Result<HttpTransport, HttpError> {
        let mut carriers = self.carriers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(carrier) = carriers.get(url) {
            return Ok(carrier.clone());
        }
        let failed = |error: &dyn std::fmt::Display| HttpError(format!("{error:#}"));
        let proxy = self.proxies.to("the server", url).map_err(|error| failed(&error))?;
        let way = HttpRoute { proxy, certificates: self.certificates.clone(), ..HttpRoute::default() };
        let carrier = HttpTransport::new("the server", url, way).map_err(|error| failed(&error))?;
        carriers.insert(url.to_owned(), carrier.clone());
        Ok(carrier)
    }
}

impl Http for Web {
    fn send(&self, request: HttpRequest) -> HttpFuture<'_> {
        Box::pin(async move {
            let carrier = self.carrier(&request.url)?;
            let HttpRequest { method, headers, body, .. } = request;
            let sent = carrier.send(Parcel { method: word(method), headers, body: body.into() }).await;
            let reply = sent.map_err(|error| HttpError(error.to_string()))?;
            let (status, headers) = (reply.status, reply.headers);
            Ok(HttpAnswer { status, headers, body: Box::new(Body(reply.body)) })
        })
    }
}

fn word(method: HttpMethod) -> String {
    method.name().to_owned()
}

struct Body(ReplyBody);

impl HttpBody for Body {
    fn next(&mut self) -> BodyFuture<'_> {
        Box::pin(async move {
            let piece = self.0.next().await?;
            Some(piece.map_err(|error| HttpError(error.to_string())))
        })
    }
}
