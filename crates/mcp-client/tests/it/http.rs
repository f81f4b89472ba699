//! An HTTP client for servers on the loopback address: one plain connection for each request.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use windlass_mcp_client::{BodyFuture, Http, HttpAnswer, HttpBody, HttpError, HttpFuture, HttpRequest};

pub(crate) struct PlainHttp;

impl PlainHttp {
    pub(crate) fn shared() -> Option<Arc<dyn Http>> {
        Some(Arc::new(Self))
    }
}

impl Http for PlainHttp {
    fn send(&self, request: HttpRequest) -> HttpFuture<'_> {
        Box::pin(async move { exchange(request).await.map_err(|error| HttpError(error.to_string())) })
    }
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

async fn exchange(request: HttpRequest) -> Result<HttpAnswer, Failure> {
    let rest = request.url.strip_prefix("http://").ok_or("only http is spoken here")?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let stream = TcpStream::connect(authority).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let mut connections = JoinSet::new();
    connections.spawn(async move { drop(connection.await) });
    let mut sent = hyper::Request::builder().method(request.method.name()).uri(format!("/{path}"));
    sent = sent.header("Host", authority);
    for (name, value) in &request.headers {
        sent = sent.header(name, value);
    }
    let answer = sender.send_request(sent.body(Full::new(Bytes::from(request.body)))?).await?;
    let headers = answer.headers().iter();
    let headers =
        headers.map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into()));
    Ok(HttpAnswer {
        status: answer.status().as_u16(),
        headers: headers.collect(),
        body: Box::new(Body { incoming: answer.into_body(), _connection: connections }),
    })
}

struct Body {
    incoming: Incoming,
    /// Ends with the body.
    _connection: JoinSet<()>,
}

impl HttpBody for Body {
    fn next(&mut self) -> BodyFuture<'_> {
        Box::pin(async {
            loop {
                match self.incoming.frame().await? {
                    Ok(frame) => match frame.into_data() {
                        Ok(data) => return Some(Ok(data)),
                        Err(_trailers) => continue,
                    },
                    Err(error) => return Some(Err(HttpError(error.to_string()))),
                }
            }
        })
    }
}
