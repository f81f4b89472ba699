//! The outgoing side of a connection: replies and notifications, whole and in order.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use serde::Serialize;
use tokio::io::AsyncWrite;
use windlass_protocol::envelope::{Refusal, RequestId};

use super::websocket::close;
use super::websocket::frame::{CONTROL_LIMIT, Header, Opcode, mask};
use crate::outbox::{Broken, Outbox, SLOW};

/// The bytes that may be queued for a peer before output has to wait. Few, so that they are still in the processor's
/// cache when they are written; the pipe or socket between the two keeps both sides busy.
const OUTPUT: usize = SLOW / 4;

/// The bytes that may be queued for a peer before the server stops reading from it. Output waits much earlier: a peer
/// that is busy sending must be able to finish before it reads.
const ANSWERS: usize = 16 * SLOW;

/// The writing half of a connection.
pub(crate) type Sink = Box<dyn AsyncWrite + Send + Unpin>;

/// The other side of a connection. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Peer {
    shared: Arc<Shared>,
}

struct Shared {
    outbox: Outbox<Sink>,
    framing: Framing,
    stamping: Stamping,
    /// Whether a close frame was sent.
    closing: Mutex<bool>,
    /// How many frames were masked.
    masked: AtomicU64,
}

/// How messages are delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Each is a line.
    Lines,
    /// Each is a message of a WebSocket whose server we are.
    WebSocket,
    /// Each is a message of a WebSocket whose client we are. The masks of its frames are derived from this seed.
    MaskedWebSocket {
        /// A number that the other side cannot know.
        seed: u64,
    },
}

/// Whether notifications carry the time at which they were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stamping {
    /// In a member `emittedAtMs`.
    Stamped,
    /// They do not.
    Plain,
}

#[derive(Serialize)]
struct ResultMessage<'a, T> {
    id: &'a RequestId,
    result: &'a T,
}

#[derive(Serialize)]
struct Request<'a, T> {
    id: &'a RequestId,
    method: &'a str,
    params: &'a T,
}

#[derive(Serialize)]
struct Refused<'a> {
    error: &'a Refusal,
    id: &'a RequestId,
}

#[derive(Serialize)]
struct Notification<'a, T> {
    method: &'a str,
    params: &'a T,
    #[serde(rename = "emittedAtMs", skip_serializing_if = "Option::is_none")]
    emitted_at_ms: Option<u64>,
}

impl Peer {
    pub(crate) fn new(sink: Sink, framing: Framing, stamping: Stamping) -> Self {
        Self {
            shared: Arc::new(Shared {
                outbox: Outbox::new(sink),
                framing,
                stamping,
                closing: Mutex::new(false),
                masked: AtomicU64::new(0),
            }),
        }
    }

    /// Answers a request.
    pub(crate) fn answer(&self, id: &RequestId, result: &impl Serialize) {
        self.send(&ResultMessage { id, result });
    }

    /// Sends a request.
    pub(crate) fn request(&self, id: &RequestId, method: &str, params: &impl Serialize) {
        self.send(&Request { id, method, params });
    }

    /// Answers a request with an error.
    pub(crate) fn refuse(&self, id: &RequestId, refusal: &Refusal) {
        self.send(&Refused { error: refusal, id });
    }

    /// Sends a notification.
    pub(crate) fn notify(&self, method: &str, params: &impl Serialize) {
        let emitted_at_ms = self.stamp();
        self.send(&Notification { method, params, emitted_at_ms });
    }

    /// The time to put on a notification, in milliseconds since 1970, if this peer wants one.
    pub(crate) fn stamp(&self) -> Option<u64> {
        (self.shared.stamping == Stamping::Stamped).then(|| {
            let since = windlass_engine::wall_clock().duration_since(UNIX_EPOCH).unwrap_or_default();
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
    }

    /// Answers a request with a result that may be large, and frees it as soon as possible.
    pub(crate) fn answer_with(&self, id: &RequestId, result: impl Serialize) {
        let message = serde_json::to_vec(&ResultMessage { id, result: &result });
        drop(result);
        // Serialising cannot fail: see `send`.
        let Ok(mut message) = message else { return };
        match self.shared.framing {
            Framing::Lines => {
                message.push(b'\n');
                self.shared.outbox.push_whole(message);
            }
            Framing::WebSocket | Framing::MaskedWebSocket { .. } => self.push(&message),
        }
    }

    /// Sends one message that is already JSON.
    pub(crate) fn push(&self, message: impl AsRef<[u8]>) {
        let message = message.as_ref();
        match self.shared.framing {
            Framing::Lines => drop(self.shared.outbox.push_pieces([message, b"\n"])),
            Framing::WebSocket | Framing::MaskedWebSocket { .. } => self.push_frame(Opcode::Text, message),
        }
    }

    /// Answers a ping.
    pub(crate) fn pong(&self, payload: &[u8]) {
        self.push_frame(Opcode::Pong, payload);
    }

    /// Sends a close frame on a WebSocket. Messages pushed afterwards are dropped.
    pub(crate) fn close(&self, code: u16, reason: &str) {
        if self.shared.framing == Framing::Lines {
            return;
        }
        let mut payload = Vec::new();
        if code != close::NO_STATUS {
            payload.extend(code.to_be_bytes());
            payload.extend(&reason.as_bytes()[..reason.len().min(CONTROL_LIMIT - payload.len())]);
        }
        self.push_frame(Opcode::Close, &payload);
    }

    /// Closes this side once everything is written, or the peer takes nothing any more.
    pub(crate) async fn finish(&self, code: u16) {
        self.close(code, "");
        self.shared.outbox.finish().await;
    }

    fn push_frame(&self, opcode: Opcode, payload: &[u8]) {
        let key = self.shared.next_mask();
        let header = Header { last: true, opcode, mask: key, length: payload.len() as u64 };
        let header = header.write();
        let mut masked = Vec::new();
        let payload = match key {
            None => payload,
            Some(key) => {
                masked.extend_from_slice(payload);
                mask(&mut masked, key, 0);
                &masked
            }
        };
        // No frame may follow a close frame, not even another one, so the check and the push happen under one lock.
        let mut closing = self.shared.closing.lock().unwrap_or_else(PoisonError::into_inner);
        if !*closing {
            *closing = opcode == Opcode::Close;
            self.shared.outbox.push_pieces([header.bytes(), payload]);
        }
    }

    /// Waits until output may be sent. An error if the peer takes nothing any more.
    pub(crate) async fn room(&self) -> Result<(), Broken> {
        self.shared.outbox.room_within(OUTPUT).await
    }

    /// Waits until replies may be made. An error if the peer takes nothing any more.
    pub(crate) async fn room_for_answers(&self) -> Result<(), Broken> {
        self.shared.outbox.room_within(ANSWERS).await
    }

    /// Waits until the peer takes nothing any more.
    pub(crate) async fn gone(&self) {
        self.shared.outbox.broken().await;
    }

    /// The crate's own types always serialise: they hold no maps with keys other than strings and no failing members.
    fn send(&self, message: &impl Serialize) {
        if let Ok(message) = serde_json::to_vec(message) {
            self.push(&message);
        }
    }
}

impl Shared {
    /// The mask of the next frame. A page must not be able to predict it; it need not be secret otherwise.
    fn next_mask(&self) -> Option<[u8; 4]> {
        let Framing::MaskedWebSocket { seed } = self.framing else { return None };
        let count = self.masked.fetch_add(1, Ordering::Relaxed);
        let mut mixed = seed.wrapping_add(count.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed.to_le_bytes().first_chunk().copied()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
    use windlass_protocol::envelope::INVALID_REQUEST;

    use super::*;

    async fn check(stamping: Stamping, say: impl FnOnce(&Peer), expected: Value) {
        let (ours, theirs) = tokio::io::duplex(1024);
        let peer = Peer::new(Box::new(ours), Framing::Lines, stamping);
        say(&peer);
        let mut line = String::new();
        BufReader::new(theirs).read_line(&mut line).await.expect("it can be read");
        let mut seen: Value = serde_json::from_str(&line).expect("a line of JSON");
        let stamp = seen.as_object_mut().and_then(|members| members.remove("emittedAtMs"));
        let notifies = seen.get("method").is_some();
        assert_eq!(stamp.is_some_and(|at| at.is_u64()), notifies && stamping == Stamping::Stamped);
        assert_eq!(seen, expected);
    }

    #[tokio::test]
    async fn nothing_stands_after_a_close_frame() {
        for _ in 0..200 {
            let (ours, mut theirs) = tokio::io::duplex(64 * 1024);
            let peer = Peer::new(Box::new(ours), Framing::WebSocket, Stamping::Plain);
            let start = std::sync::Barrier::new(4);
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        start.wait();
                        (0..20).for_each(|_| peer.push("m"));
                    });
                }
                start.wait();
                peer.close(close::NORMAL, "");
            });
            drop(peer);
            let mut said = Vec::new();
            theirs.read_to_end(&mut said).await.expect("it can be read");
            assert!(said.ends_with(&[0x88, 2, 3, 232]), "{said:?}");
        }
    }

    #[tokio::test]
    async fn answers_refusals_and_notifications_have_their_shapes() {
        let id = RequestId::Text("7".to_owned());
        let refusal = Refusal::new(INVALID_REQUEST, "no");
        let answered = json!({ "id": "7", "result": {} });
        check(Stamping::Stamped, |peer| peer.answer(&id, &json!({})), answered).await;
        let refused = json!({ "id": "7", "error": { "code": -32600, "message": "no" } });
        check(Stamping::Stamped, |peer| peer.refuse(&id, &refusal), refused).await;
        let told = json!({ "method": "m", "params": [1] });
        check(Stamping::Stamped, |peer| peer.notify("m", &json!([1])), told.clone()).await;
        check(Stamping::Plain, |peer| peer.notify("m", &json!([1])), told).await;
    }
}
