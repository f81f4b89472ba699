//! Callers that are not served: they are told why, with the HTTP status 403, and so is the operator of the server. Nothing
//! that they say is looked at.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::StatusCode;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::Semaphore;

use super::Denied;
use crate::gate::plain;
use crate::jsonrpc::door::Stream;
use crate::tls::ServerTls;

/// Takes a line for the operator of a server.
pub type Report = fn(&str);

/// How many are told why at a time. A confined command must not be able to take the connections that others need, so the
/// rest of them are closed without a word.
const MOST_AT_A_TIME: usize = 16;

/// How long one may take to listen.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many are reported. A command that calls again and again would fill the operator's log.
const MOST_REPORTED: usize = 10;

/// Turns callers away.
#[derive(Debug)]
pub(crate) struct TurnedAway {
    report: Report,
    reported: AtomicUsize,
    room: Semaphore,
}

impl TurnedAway {
    pub(crate) fn new(report: Report) -> Self {
        Self { report, reported: AtomicUsize::new(0), room: Semaphore::new(MOST_AT_A_TIME) }
    }

    /// Reports a caller, tells it why, and closes its connection.
    pub(crate) async fn send_off<S: Stream>(&self, stream: S, tls: Option<&ServerTls>, why: Denied) {
        self.tell_operator(why);
        let Ok(_place) = self.room.try_acquire() else { return };
        let telling = async {
            match tls {
                None => answer(stream, why).await,
                Some(tls) => {
                    if let Some(stream) = tls.accept(stream).await {
                        answer(stream, why).await;
                    }
                }
            }
        };
        // timer: a caller that says nothing, or does not read, must not be kept.
        let _ = tokio::time::timeout(PATIENCE, telling).await;
    }

    fn tell_operator(&self, why: Denied) {
        match self.reported.fetch_add(1, Ordering::Relaxed) {
            ..MOST_REPORTED => (self.report)(&format!("refused a connection: {why}")),
            MOST_REPORTED => (self.report)("refused more connections; they are not reported any more"),
            _ => {}
        }
    }
}

/// The request is read before the connection is closed: bytes that are left unread would reset it, and the answer be lost.
async fn answer<S: Stream>(stream: S, why: Denied) {
    let service =
        service_fn(|_| std::future::ready(Ok::<_, Infallible>(plain(StatusCode::FORBIDDEN, why.text()))));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    // A caller that is gone already needs no answer.
    let _ = connection.await;
}
