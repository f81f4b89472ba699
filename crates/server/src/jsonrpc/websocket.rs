//! Messages over a WebSocket, for either side of it.
//!
//! Frames are read here and written by the [`Peer`], so that pushing a message needs no other task and a slow client is
//! slow in the same way as on a pipe. Text is not checked for UTF-8: the handler rejects an invalid message, and the
//! connection goes on.

pub(crate) mod assembler;
pub(crate) mod frame;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};
use tokio::io::{AsyncRead, AsyncReadExt};

use self::assembler::{Assembler, FrameEvent};
use super::peer::Peer;

pub(crate) use self::assembler::Sender;

/// How much is read at once.
const STEP: usize = 64 * 1024;

/// The read-ahead while no messages are wanted.
const READ_AHEAD: usize = 1024 * 1024;

/// The suffix with which a server hashes a client's key, to prove that its reply was made for it (RFC 6455, 1.3).
const KEY_SUFFIX: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The status codes of close frames.
pub(crate) mod close {
    pub(crate) const NORMAL: u16 = 1000;
    /// The server stops.
    pub(crate) const GOING_AWAY: u16 = 1001;
    pub(crate) const PROTOCOL_ERROR: u16 = 1002;
    /// Stands for a close frame without a code; never sent.
    pub(crate) const NO_STATUS: u16 = 1005;
}

/// The `Sec-WebSocket-Accept` for a client's `Sec-WebSocket-Key`.
pub(crate) fn accept_key(key: &[u8]) -> String {
    STANDARD.encode(Sha1::new().chain_update(key).chain_update(KEY_SUFFIX).finalize())
}

/// The messages of a WebSocket. Cancel safe: dropping a wait for the next one loses nothing.
pub(crate) struct Frames<R> {
    source: R,
    assembler: Assembler,
    peer: Peer,
}

/// The kind of the next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// A message, to be fetched with [`Frames::take_message`] before the next call.
    Message,
    /// A message longer than the limit, skipped but for its beginning, which is fetched likewise.
    TooLong,
    /// A control frame that was handled. It may have been answered, so a sender of many must take those replies.
    Aside,
}

impl<R: AsyncRead + Unpin> Frames<R> {
    /// Messages of at most this many bytes. Pings and protocol errors are answered through the peer.
    pub(crate) fn up_to(limit: usize, source: R, (sender, peer): (Sender, Peer)) -> Self {
        Self { source, assembler: Assembler::new(sender, limit), peer }
    }

    /// The next event; `None` at the end. The peer gets a close frame where the protocol demands one.
    pub(crate) async fn next(&mut self) -> Option<Came> {
        loop {
            match self.assembler.next() {
                Ok(None) => {}
                Ok(Some(FrameEvent::Message)) => return Some(Came::Message),
                Ok(Some(FrameEvent::TooLong)) => return Some(Came::TooLong),
                Ok(Some(FrameEvent::Pong)) => return Some(Came::Aside),
                Ok(Some(FrameEvent::Ping(payload))) => {
                    self.peer.pong(&payload);
                    return Some(Came::Aside);
                }
                Ok(Some(FrameEvent::Close(code))) => {
                    self.peer.close(code.unwrap_or(close::NO_STATUS), "");
                    return None;
                }
                Err(violation) => {
                    self.peer.close(close::PROTOCOL_ERROR, &violation.to_string());
                    return None;
                }
            }
            // A read error counts as the end of the input, and so does a truncated message.
            if self.fill().await == 0 {
                return None;
            }
        }
    }

    /// The message that [`Came::Message`] announced.
    pub(crate) fn take_message(&mut self) -> Vec<u8> {
        self.assembler.take_message()
    }

    /// Waits for the end without taking a message. Reads ahead a little, and no further.
    pub(crate) async fn ended(&mut self) {
        while self.assembler.unread() < READ_AHEAD {
            if self.fill().await == 0 {
                return;
            }
        }
        std::future::pending::<()>().await;
    }

    /// Reads to the end and discards everything. Closing a socket with unread input in it discards what was sent
    /// through it last.
    pub(crate) async fn forget_the_rest(&mut self) {
        loop {
            self.assembler.incoming().clear();
            if self.fill().await == 0 {
                return;
            }
        }
    }

    async fn fill(&mut self) -> usize {
        let incoming = self.assembler.incoming();
        incoming.reserve(STEP);
        self.source.read_buf(incoming).await.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_answered_as_in_the_standard() {
        assert_eq!(accept_key(b"dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}
