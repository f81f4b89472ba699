//! One request and its response, as bytes: both must make progress. A body that does not arrive and a response that is
//! not read end the connection.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_TYPE};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};
use windlass_tools::Delivery;

use crate::connections::{BODY_PATIENCE, Slot};
use crate::gate::plain;
use crate::mcp::repair::{self, Repaired};

/// The largest body of a request; the same as for a line.
const BODY_LIMIT: usize = crate::lines::LINE_LIMIT;

/// How long a client may read nothing of a response.
pub(super) const WRITE_PATIENCE: Duration = Duration::from_secs(30);

/// The request with its body, or the reply to one whose body is too long or does not arrive.
pub(super) async fn received(request: Request<Incoming>) -> Result<Request<Bytes>, Response<Full<Bytes>>> {
    let too_long = || plain(StatusCode::PAYLOAD_TOO_LARGE, "the request is too long");
    // An announced length that is too large is rejected at once; a body without one is cut off while it is read.
    if request.body().size_hint().lower() > BODY_LIMIT as u64 {
        return Err(too_long());
    }
    let (mut parts, body) = request.into_parts();
    // timer: a client that announces a body and does not send it must not keep its connection.
    let collected = tokio::time::timeout(BODY_PATIENCE, Limited::new(body, BODY_LIMIT).collect()).await;
    let bytes = match collected {
        Ok(Ok(collected)) => collected.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => return Err(too_long()),
        Ok(Err(_)) => return Err(plain(StatusCode::BAD_REQUEST, "the body of the request broke off")),
        Err(_) => {
            return Err(without_keep_alive(plain(StatusCode::REQUEST_TIMEOUT, "the body did not arrive")));
        }
    };
    let (bytes, repaired) = match repair::without_lone_surrogates(&bytes) {
        Some((repaired, count)) => (Bytes::from(repaired), Some(Repaired(count))),
        None => (bytes, None),
    };
    if let Some(repaired) = repaired {
        parts.extensions.insert(repaired);
    }
    Ok(Request::from_parts(parts, bytes))
}

/// Closes the connection after the response: the rest of the body may still arrive, and would be parsed as the next
/// request.
fn without_keep_alive(mut response: Response<Full<Bytes>>) -> Response<Full<Bytes>> {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Replaces rmcp's rejection of an unreadable body, which lacks the request's id, by one that has it.
pub(super) fn explained(
    response: Response<BoxBody<Bytes, Infallible>>,
    body: &Bytes,
) -> Response<BoxBody<Bytes, Infallible>> {
    if response.status() != StatusCode::UNSUPPORTED_MEDIA_TYPE {
        return response;
    }
    let Some(refusal) = repair::unreadable(body) else { return response };
    let mut explained = Response::new(Full::new(Bytes::from(refusal.line())).boxed());
    *explained.status_mut() = StatusCode::BAD_REQUEST;
    explained.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    explained
}

/// The delivery of a response to its client. Lost if it is dropped before the end of the response.
pub(super) struct Delivering {
    delivery: Option<Delivery>,
    settles: bool,
    slot: Arc<Slot>,
}

impl Delivering {
    /// Attaches the delivery to a request, for its handler.
    pub(super) fn new<B>(request: &mut Request<B>, slot: &Arc<Slot>) -> Self {
        let delivery = Delivery::new();
        request.extensions_mut().insert(delivery.clone());
        Self { delivery: Some(delivery), settles: true, slot: Arc::clone(slot) }
    }

    /// Keeps the end of this response from settling the delivery: it may not hold the reply.
    pub(super) fn settled_elsewhere(mut self) -> Self {
        self.settles = false;
        self
    }

    pub(super) fn with<B>(self, body: B) -> DeliveredBody<B> {
        DeliveredBody { body, delivering: self }
    }

    /// The whole response was handed to the connection.
    fn done(&mut self) {
        if self.settles
            && let Some(delivery) = self.delivery.take()
        {
            delivery.confirm();
        }
    }
}

impl Drop for Delivering {
    fn drop(&mut self) {
        if let Some(delivery) = self.delivery.take() {
            delivery.revoke();
        }
    }
}

/// The body of a response. When it ends, the connection is idle until the next request.
pub(super) struct DeliveredBody<B> {
    body: B,
    delivering: Delivering,
}

impl<B: Body<Data = Bytes> + Unpin> Body for DeliveredBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if frame.is_none() || self.body.is_end_stream() {
            self.delivering.done();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B> Drop for DeliveredBody<B> {
    fn drop(&mut self) {
        // A connection that is being closed stays so.
        let _ = self.delivering.slot.let_in();
    }
}

/// A stream that fails when its peer reads nothing for too long.
pub(super) struct Unstalled<S> {
    stream: S,
    patience: Duration,
    /// The timer; set since a write could not proceed.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> Unstalled<S> {
    pub(super) fn new(stream: S, patience: Duration) -> Self {
        Self { stream, patience, stalled: None }
    }

    /// Passes on the result of a write, and fails once writing has stalled for too long.
    fn watch<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let patience = self.patience;
        // timer: a client that never reads its response must not keep its connection.
        let stalled =
            self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + patience)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Unstalled<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Unstalled<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watch(cx, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.watch(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ended = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.watch(cx, ended)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.watch(cx, written)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn a_response_that_is_not_read_ends_the_connection() {
        let (ours, _theirs) = tokio::io::duplex(16);
        let mut stream = Unstalled::new(ours, Duration::from_millis(1));
        let error = stream.write_all(&[0; 64]).await.expect_err("it is not read");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_response_that_is_read_piece_by_piece_is_written() {
        let (ours, mut theirs) = tokio::io::duplex(16);
        let mut stream = Unstalled::new(ours, windlass_testkit::HANG);
        let mut seen = vec![0; 1024];
        let (written, read) = tokio::join!(stream.write_all(&[7; 1024]), theirs.read_exact(&mut seen));
        written.expect("it is taken");
        read.expect("it arrives");
        assert_eq!(seen, [7; 1024]);
    }
}
