//! `session/subscribe` and `session/unsubscribe`: a session's output from an offset on, then its end.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use windlass_engine::{Delivery, JournalPiece, Offset, Span, Subscription, SubscriptionLimits};
use windlass_protocol::app::{
    Done, SessionClosed, SessionDropped, SessionExited, SessionOutput, SessionSubscribeParams,
    SessionSubscribeResult, SessionUnsubscribeParams, notification,
};
use windlass_protocol::envelope::Refusal;

use super::target;
use crate::app::connection::{Client, Connection, Request};
use crate::app::ending::exit_of;
use crate::app::output::Channel;
use crate::app::process::Process;
use crate::jsonrpc::Peer;

pub(super) fn subscribe(connection: &mut Connection, mut request: Request) -> Result<(), Refusal> {
    let params: SessionSubscribeParams = request.read()?;
    let client = Arc::clone(connection.client()?);
    let process = target::find(connection, params.target)?;
    let id = process.session.id();
    // The former follower must not send anything after this reply.
    connection.subscribed(id, None);
    let end = process.session.progress().end;
    let from = params.from.map_or(end, Offset::new);
    let subscription = process.session.subscribe(from, SubscriptionLimits::default());
    let follower = Follower { process, client, peer: connection.peer.clone() };
    let result = SessionSubscribeResult { session_id: id.get(), from: from.get() };
    // The reply precedes every notification about the session; a refusal takes its place.
    let (go, gone) = tokio::sync::oneshot::channel::<()>();
    let following = async move {
        if gone.await.is_ok() {
            follower.run(subscription).await;
        }
    };
    let errand = connection.run_errand(following)?;
    connection.subscribed(id, Some(errand));
    connection.peer.answer(&request.id, &result);
    // The follower waits for this, and for nothing else.
    let _ = go.send(());
    Ok(())
}

pub(super) fn unsubscribe(connection: &mut Connection, mut request: Request) -> Result<(), Refusal> {
    let params: SessionUnsubscribeParams = request.read()?;
    let process = target::find(connection, params.target)?;
    connection.subscribed(process.session.id(), None);
    connection.peer.answer(&request.id, &Done {});
    Ok(())
}

/// Sends the events of one session to one connection.
struct Follower {
    process: Arc<Process>,
    client: Arc<Client>,
    peer: Peer,
}

impl Follower {
    async fn run(self, mut subscription: Subscription) {
        while let Some(delivery) = subscription.next().await {
            if self.peer.room().await.is_err() {
                return;
            }
            self.tell(delivery).await;
        }
    }

    async fn tell(&self, delivery: Delivery) {
        let session_id = self.process.session.id().get();
        match delivery {
            Delivery::Piece(JournalPiece::Bytes { span, stream, bytes, .. }) => {
                let delta_base64 = STANDARD.encode(bytes);
                let stream = Channel::of(stream).into();
                let output = SessionOutput { session_id, stream, offset: span.from().get(), delta_base64 };
                self.notify(notification::SESSION_OUTPUT, &output);
            }
            Delivery::Piece(JournalPiece::Dropped { span }) => self.tell_dropped(span, None),
            Delivery::Piece(JournalPiece::Unreadable { span, reason }) => {
                self.tell_dropped(span, Some(reason));
            }
            // Subscriptions have no cap.
            Delivery::Capped { .. } => {}
            Delivery::Exited(receipt) => {
                let receipt = self.process.settle(receipt).await;
                let exit = exit_of(&self.process, &receipt);
                self.notify(notification::SESSION_EXITED, &SessionExited { session_id, exit });
            }
            Delivery::Closed { end } => {
                self.notify(notification::SESSION_CLOSED, &SessionClosed { session_id, end: end.get() });
            }
        }
    }

    fn tell_dropped(&self, span: Span, reason: Option<String>) {
        let (session_id, from, to) = (self.process.session.id().get(), span.from().get(), span.to().get());
        self.notify(notification::SESSION_DROPPED, &SessionDropped { session_id, from, to, reason });
    }

    fn notify(&self, method: &str, params: &impl serde::Serialize) {
        if self.client.wants(method) {
            self.peer.notify(method, params);
        }
    }
}
