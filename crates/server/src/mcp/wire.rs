//! Messages over lines: incoming ones are parsed or rejected, and none stops the server; outgoing ones keep their
//! order.
//!
//! A line that is not a message is answered with an error and reading goes on. While a client sends more than it reads,
//! the server does not read from it. At the end of the input the replies under way get a moment to be written.

mod message;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, GetExtensions, GetMeta, ProtocolVersion,
    RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use windlass_tools::Delivery;

pub(crate) use self::message::RejectedMessage;
use self::message::read;
use crate::lines::{Line, Lines};
use crate::mcp::arrivals::Arrivals;
use crate::outbox::Outbox;

/// The limit on requests of one client under way at a time. One more is rejected, not queued: behind a queue, the
/// cancellation of a request under way could not be read.
pub const IN_FLIGHT_LIMIT: usize = 256;

/// How long requests under way may still be answered after the client has closed its side. Clients give a server about
/// two seconds to exit before they use force, and ending sessions needs most of them.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// A client on a pair of byte streams.
pub(crate) struct Wire<R, W> {
    lines: Lines<R>,
    outbox: Outbox<W>,
    /// Further messages of a line that held several.
    batch: VecDeque<ClientJsonRpcMessage>,
    in_flight: HashMap<RequestId, InFlight>,
    arrivals: Arrivals,
    stage: McpConnectionState,
    /// Cancelled when the client waits for no replies any more.
    over: CancellationToken,
}

/// A request under way.
struct InFlight {
    awaited: Awaited,
    /// The delivery of its response to the client. The handler of the request has the same.
    delivery: Delivery,
}

/// The kind of result that a request has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaited {
    /// A single reply.
    Answer,
    /// Notifications until the client cancels it. The client does not wait for the reply itself.
    Stream,
}

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum McpConnectionState {
    /// No request has chosen a protocol yet.
    Opening,
    Open,
    /// The input has ended; replies may still be written until then.
    Closing(Instant),
}

impl<R, W> Wire<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    pub(crate) fn new(source: R, sink: W, over: CancellationToken) -> Self {
        Self {
            lines: Lines::new(source),
            outbox: Outbox::new(sink),
            batch: VecDeque::new(),
            in_flight: HashMap::new(),
            arrivals: Arrivals::default(),
            stage: McpConnectionState::Opening,
            over,
        }
    }

    /// The next message to pass on; `None` once the input has ended.
    async fn next(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            tokio::select! {
                biased;
                room = self.outbox.room() => room.ok()?,
                // A client that neither reads nor sends any more will not come back.
                () = self.lines.ended() => return None,
            }
            if let Some(mut message) = self.batch.pop_front() {
                if self.admit(&mut message) {
                    return Some(message);
                }
                continue;
            }
            // A read error counts as the end of the input.
            match self.lines.next().await.ok().flatten()? {
                Line::TooLong(beginning) => self.refuse(&RejectedMessage::too_long(&beginning)),
                Line::Whole(range) => {
                    let (messages, refusals) = read(self.lines.bytes(&range));
                    refusals.iter().for_each(|refusal| self.refuse(refusal));
                    self.batch = messages;
                }
            }
        }
    }

    /// Decides whether a message is passed on, and tracks the requests under way.
    fn admit(&mut self, message: &mut ClientJsonRpcMessage) -> bool {
        match message {
            ClientJsonRpcMessage::Request(request) => {
                if let Some(refusal) = self.objection(&request.id) {
                    self.refuse(&refusal);
                    return false;
                }
                let listens = matches!(request.request, ClientRequest::SubscriptionsListenRequest(_));
                let awaited = if listens { Awaited::Stream } else { Awaited::Answer };
                let delivery = Delivery::new();
                request.request.extensions_mut().insert(delivery.clone());
                if matches!(request.request, ClientRequest::CallToolRequest(_)) {
                    request.request.extensions_mut().insert(self.arrivals.next());
                }
                self.in_flight.insert(request.id.clone(), InFlight { awaited, delivery });
                if self.stage == McpConnectionState::Opening && opens(&request.request) {
                    self.stage = McpConnectionState::Open;
                }
                true
            }
            // Ignore a stray notification before the first request: rmcp would close the connection.
            _ if self.stage == McpConnectionState::Opening => false,
            ClientJsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                    && let Some(request) = self.in_flight.remove(id)
                {
                    // Its response is dropped, even if it exists already: the next poll shows that output.
                    request.delivery.revoke();
                }
                true
            }
            _ => true,
        }
    }

    fn objection(&self, id: &RequestId) -> Option<RejectedMessage> {
        if self.in_flight.contains_key(id) {
            return Some(RejectedMessage::id_in_use(id));
        }
        (self.in_flight.len() >= IN_FLIGHT_LIMIT).then(|| RejectedMessage::too_many(id))
    }

    fn refuse(&self, refusal: &RejectedMessage) {
        self.outbox.push(&refusal.line());
    }

    /// Gives the replies under way a moment. Every reply that is written returns here.
    async fn last_answers(&mut self, until: Instant) {
        if self.in_flight.values().any(|request| request.awaited == Awaited::Answer) {
            tokio::select! {
                () = self.outbox.broken() => {}
                // timer: a call may take minutes, and a client that closed the input waits for the server to exit.
                () = tokio::time::sleep_until(until) => {}
            }
        }
        self.over.cancel();
    }
}

/// The id of the request that a message answers.
pub(crate) fn answered_id(message: &ServerJsonRpcMessage) -> Option<&RequestId> {
    match message {
        ServerJsonRpcMessage::Response(response) => Some(&response.id),
        ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
        _ => None,
    }
}

/// Whether this request chooses the protocol. Until then rmcp accepts only requests.
fn opens(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        other => {
            let meta = other.get_meta();
            let known = |version| ProtocolVersion::KNOWN_VERSIONS.contains(&version);
            meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
                && meta.protocol_version().is_some_and(known)
        }
    }
}

impl<R, W> Transport<RoleServer> for Wire<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answered = answered_id(&message).and_then(|id| self.in_flight.remove(id));
        let written = serde_json::to_vec(&message).map_err(io::Error::from).map(|mut line| {
            line.push(b'\n');
            self.outbox.written(self.outbox.push(&line))
        });
        async move {
            written?.await?;
            if let Some(InFlight { delivery, .. }) = answered {
                delivery.confirm();
            }
            Ok::<_, io::Error>(())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        if !matches!(self.stage, McpConnectionState::Closing(_)) {
            if let Some(message) = self.next().await {
                return Some(message);
            }
            self.stage = McpConnectionState::Closing(Instant::now() + LAST_ANSWERS);
        }
        if let McpConnectionState::Closing(until) = self.stage {
            self.last_answers(until).await;
        }
        None
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::outbox::SLOW;

    #[tokio::test]
    async fn a_client_that_does_not_read_is_not_read_from_until_it_does() {
        let (ours, mut theirs) = tokio::io::duplex(1024);
        let (source, sink) = tokio::io::split(ours);
        let mut wire = Wire::new(source, sink, CancellationToken::new());
        theirs.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").await.expect("it fits");
        wire.outbox.push(&vec![b'x'; SLOW + 2 * 1024]);
        {
            let mut receive = std::pin::pin!(wire.receive());
            let first_look = std::future::poll_fn(|cx| Poll::Ready(receive.as_mut().poll(cx))).await;
            assert!(first_look.is_pending());
        }
        theirs.read_exact(&mut vec![0; 2 * 1024]).await.expect("there is more");
        assert!(matches!(wire.receive().await, Some(ClientJsonRpcMessage::Request(_))));
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_may_still_go() {
        let (source, mut input) = tokio::io::duplex(1024);
        let (sink, _output) = tokio::io::duplex(1024);
        let mut wire = Wire::new(source, sink, CancellationToken::new());
        wire.outbox.push(&vec![b'x'; SLOW + 2 * 1024]);
        input.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").await.expect("it fits");
        drop(input);
        assert!(wire.receive().await.is_none());
        assert!(wire.over.is_cancelled());
    }
}
