//! Messages over a WebSocket, one per message of the socket, whichever side we are.
//!
//! The frames are read here and written by the [`Peer`], so that pushing a message needs no other task and a slow client
//! is slow in the same way as on a pipe. Text is not checked for UTF-8: a message that is none is refused as a message,
//! and the connection goes on.

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

/// How much may lie unread while nobody wants messages.
const READ_AHEAD: usize = 1024 * 1024;

/// What a client's key is completed with to prove that the answer was made for it.
const KEY_SUFFIX: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Why a connection is closed, as the protocol numbers it.
pub(crate) mod close {
    pub(crate) const NORMAL: u16 = 1000;
    /// The server stops.
    pub(crate) const GOING_AWAY: u16 = 1001;
    pub(crate) const PROTOCOL_ERROR: u16 = 1002;
    /// Stands for a close frame without a code, and is never sent.
    pub(crate) const NO_STATUS: u16 = 1005;
}

/// The answer to a client's `Sec-WebSocket-Key`.
pub(crate) fn accept_key(key: &[u8]) -> String {
    STANDARD.encode(Sha1::new().chain_update(key).chain_update(KEY_SUFFIX).finalize())
}

/// The messages that come in over a WebSocket. Whoever waits for one may give up at any point and ask again.
pub(crate) struct Frames<R> {
    source: R,
    assembler: Assembler,
    peer: Peer,
}

/// What came next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// A message, to be fetched with [`Frames::take_message`] before anything else is asked for.
    Message,
    /// One longer than the limit, which was skipped but for its beginning, to be fetched likewise.
    TooLong,
    /// Something between the connection's ends that was dealt with. It may have been answered, so whoever sends many must
    /// take those answers.
    Aside,
}

impl<R: AsyncRead + Unpin> Frames<R> {
    /// Messages of at most this many bytes. What the protocol asks to be answered is answered through the peer.
    pub(crate) fn up_to(limit: usize, source: R, (sender, peer): (Sender, Peer)) -> Self {
        Self { source, assembler: Assembler::new(sender, limit), peer }
    }

    /// What comes next; none at the end, which the peer is told of where it has to be.
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
            // Input that cannot be read has ended, and so has a message that was cut off.
            if self.fill().await == 0 {
                return None;
            }
        }
    }

    /// The message that [`Came::Message`] told of.
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

    /// Reads to the end and looks at nothing. A socket that is closed with something unread in it takes back what was
    /// sent through it last.
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
