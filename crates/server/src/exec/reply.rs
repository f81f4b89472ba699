//! The reply to one request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use windlass_protocol::envelope::{Refusal, RequestId};

use crate::jsonrpc::Peer;
use crate::panics::Panicked;

/// A request that its handler has still to answer. If the handler panics, the client gets an error.
#[derive(Clone)]
pub(super) struct Reply {
    peer: Peer,
    id: RequestId,
    is_given: Arc<AtomicBool>,
}

impl Reply {
    pub(super) fn new(peer: &Peer, id: RequestId) -> Self {
        Self { peer: peer.clone(), id, is_given: Arc::default() }
    }

    pub(super) fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Sends the reply. Consumes `self`, because a request is answered once.
    pub(super) fn give(self, outcome: Result<impl Serialize, Refusal>) {
        self.is_given.store(true, Ordering::Relaxed);
        match outcome {
            Ok(result) => self.peer.answer(&self.id, &result),
            Err(refusal) => self.peer.refuse(&self.id, &refusal),
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        // Outside of a panic it is dropped with its connection, or because a clone answers.
        if std::thread::panicking() && !self.is_given.swap(true, Ordering::Relaxed) {
            self.peer.refuse(&self.id, &Panicked.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tokio::io::{AsyncBufReadExt, BufReader};

    use super::*;
    use crate::jsonrpc::{Framing, Stamping};

    #[tokio::test]
    async fn a_request_whose_handler_panics_is_answered_once() {
        let (ours, theirs) = tokio::io::duplex(1024);
        let peer = Peer::new(Box::new(ours), Framing::Lines, Stamping::Plain);
        let reply = Reply::new(&peer, RequestId::Number(7));
        let (one, other) = (reply.clone(), reply);
        let handler = tokio::spawn(async move {
            let _both = (one, other);
            assert!(std::hint::black_box(false), "a defect");
        });
        assert!(handler.await.is_err());
        peer.push(b"the end");
        let mut lines = BufReader::new(theirs).lines();
        let answer = lines.next_line().await.expect("it can be read").expect("there is an answer");
        let answer: Value = serde_json::from_str(&answer).expect("it is JSON");
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(-32603)), "{answer}");
        assert_eq!(lines.next_line().await.expect("it can be read").as_deref(), Some("the end"));
    }
}
