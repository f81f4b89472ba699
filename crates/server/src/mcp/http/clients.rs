//! The clients of the older protocol: rmcp's sessions, and the requests of each that are under way.
//!
//! rmcp routes a response by the id of its request. A second request under the same id would replace the first one's
//! route: one of the two gets no response, and the other one may get the wrong one. So the second is rejected, as on
//! pipes.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use http::request::Parts;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorData, GetExtensions, JsonRpcRequest, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use windlass_tools::Delivery;

use crate::mcp::wire::{IN_FLIGHT_LIMIT, RejectedMessage, answered_id};

type Inner = LocalSessionManager;

/// All clients of the older protocol.
pub(super) struct Clients {
    inner: Inner,
    under_way: Mutex<HashMap<SessionId, Arc<UnderWay>>>,
}

/// The requests of one client that are under way, each with the delivery of its response.
#[derive(Default)]
struct UnderWay {
    requests: Mutex<HashMap<RequestId, Delivery>>,
}

impl Clients {
    pub(super) fn new(inner: Inner) -> Self {
        Self { inner, under_way: Mutex::default() }
    }

    fn of(&self, id: &SessionId) -> Option<Arc<UnderWay>> {
        self.lock().get(id).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<UnderWay>>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnderWay {
    fn begin<T: GetExtensions>(&self, request: &JsonRpcRequest<T>) -> Result<Delivery, RejectedMessage> {
        let mut requests = self.lock();
        if requests.contains_key(&request.id) {
            return Err(RejectedMessage::id_in_use(&request.id));
        }
        if requests.len() >= IN_FLIGHT_LIMIT {
            return Err(RejectedMessage::too_many(&request.id));
        }
        let parts = request.request.extensions().get::<Parts>();
        let delivery =
            parts.and_then(|parts| parts.extensions.get::<Delivery>()).cloned().unwrap_or_default();
        requests.insert(request.id.clone(), delivery.clone());
        Ok(delivery)
    }

    fn end(&self, id: &RequestId) -> Option<Delivery> {
        self.lock().remove(id)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, Delivery>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionManager for Clients {
    type Error = <Inner as SessionManager>::Error;
    type Transport = ObservedTransport<<Inner as SessionManager>::Transport>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let (id, inner) = self.inner.create_session().await?;
        let under_way = Arc::<UnderWay>::default();
        self.lock().insert(id.clone(), Arc::clone(&under_way));
        Ok((id, ObservedTransport { inner, under_way }))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.inner.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.inner.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.lock().remove(id);
        self.inner.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let (request, under_way) = match (&message, self.of(id)) {
            (ClientJsonRpcMessage::Request(request), Some(under_way)) => (request, under_way),
            // The session has just ended: the inner manager reports that.
            _ => {
                let events = self.inner.create_stream(id, message).await?;
                return Ok(Response { rejection: None, events: Some(events), delivery: Delivery::new() });
            }
        };
        let request_id = request.id.clone();
        let delivery = match under_way.begin(request) {
            Ok(delivery) => delivery,
            Err(refusal) => {
                let rejection = Some(ServerSseMessage::from_message(error(refusal, request_id)));
                return Ok(Response { rejection, events: None, delivery: Delivery::new() });
            }
        };
        match self.inner.create_stream(id, message).await {
            Ok(events) => Ok(Response { rejection: None, events: Some(events), delivery }),
            Err(error) => {
                under_way.end(&request_id);
                Err(error)
            }
        }
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        if let ClientJsonRpcMessage::Notification(notification) = &message
            && let ClientNotification::CancelledNotification(cancelled) = &notification.notification
            && let Some(request) = &cancelled.params.request_id
            && let Some(delivery) = self.of(id).and_then(|under_way| under_way.end(request))
        {
            // Its response is dropped, even if it exists already.
            delivery.revoke();
        }
        self.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.resume(id, last_event_id).await
    }
}

fn error(refusal: RejectedMessage, id: RequestId) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::error(ErrorData::new(refusal.code, refusal.message, None), Some(id))
}

/// A client's transport, which records answered requests.
pub(super) struct ObservedTransport<T> {
    inner: T,
    under_way: Arc<UnderWay>,
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for ObservedTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        // The stream of the response settles the delivery.
        answered_id(&message).and_then(|id| self.under_way.end(id));
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.inner.receive().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

/// The events that answer one request. Its response is delivered when it is handed to the connection. A client that
/// loses the connection before may resume the stream and get the response; a later reply then repeats its contents.
struct Response<S> {
    rejection: Option<ServerSseMessage>,
    events: Option<S>,
    delivery: Delivery,
}

impl<S: Stream<Item = ServerSseMessage> + Unpin> Stream for Response<S> {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ServerSseMessage>> {
        if let Some(rejection) = self.rejection.take() {
            return Poll::Ready(Some(rejection));
        }
        let Some(events) = &mut self.events else { return Poll::Ready(None) };
        let event = ready!(Pin::new(events).poll_next(cx));
        if let Some(message) = event.as_ref().and_then(|event| event.message.as_deref())
            && answered_id(message).is_some()
        {
            self.delivery.confirm();
        }
        Poll::Ready(event)
    }
}

impl<S> Drop for Response<S> {
    fn drop(&mut self) {
        self.delivery.revoke();
    }
}
