//! The output of one process or session, in order, as its consumer takes it.

use std::collections::VecDeque;
use std::sync::Arc;

use windlass_protocol::app::{OutputStream, SessionReadParams, SessionReadResult, SessionTarget, SpanChoice};

use super::Client;
use super::error::ClientError;
use super::queue::{ConsumerStep, Queue};

/// How much is read at once while catching up.
const STEP: usize = 1 << 20;

/// A piece of output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientPiece {
    /// Bytes of one stream.
    Bytes {
        /// The stream to which they were printed. A terminal's output is `Stdout`.
        stream: OutputStream,
        /// The offset of the first of them in the session's output; 0 from a server that does not count.
        offset: u64,
        /// The bytes. A character may be split between two pieces.
        bytes: Vec<u8>,
    },
    /// Output that the server no longer keeps.
    Dropped {
        /// The offset of its first byte.
        from: u64,
        /// The offset after its last byte.
        to: u64,
    },
}

impl ClientPiece {
    /// Decodes the bytes of a delta; `None` if they are not base64.
    pub(super) fn decode(stream: OutputStream, offset: u64, base64: &str) -> Option<Self> {
        Some(Self::Bytes { stream, offset, bytes: base64_simd::STANDARD.decode_to_vec(base64).ok()? })
    }

    pub(super) fn offset(&self) -> u64 {
        match self {
            Self::Bytes { offset, .. } => *offset,
            Self::Dropped { from, .. } => *from,
        }
    }

    /// The offset after it.
    pub(super) fn end(&self) -> u64 {
        match self {
            Self::Bytes { offset, bytes, .. } => offset + bytes.len() as u64,
            Self::Dropped { to, .. } => *to,
        }
    }

    /// The number of bytes that it holds.
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::Bytes { bytes, .. } => bytes.len(),
            Self::Dropped { .. } => 0,
        }
    }

    /// The part after this offset, if the server counts offsets.
    pub(super) fn after(self, offset: Option<u64>) -> Option<Self> {
        let Some(known) = offset.filter(|known| *known > self.offset()) else { return Some(self) };
        if self.end() <= known {
            return None;
        }
        Some(match self {
            Self::Bytes { stream, offset, mut bytes } => {
                bytes.drain(..usize::try_from(known - offset).unwrap_or(usize::MAX));
                Self::Bytes { stream, offset: known, bytes }
            }
            Self::Dropped { to, .. } => Self::Dropped { from: known, to },
        })
    }
}

/// The output of one process or session. Later output is discarded once it is dropped.
pub struct Output {
    client: Client,
    session: Option<u64>,
    queue: Arc<Queue>,
    /// The offset up to which output was taken; `None` if the server does not count.
    position: Option<u64>,
    /// Pieces that were read from the server while catching up.
    backlog: VecDeque<ClientPiece>,
    catching_up: bool,
}

impl Output {
    pub(super) fn new(client: Client, queue: Arc<Queue>) -> Self {
        let (session, position) = (None, None);
        Self { client, session, queue, position, backlog: VecDeque::new(), catching_up: false }
    }

    pub(super) fn queue(&self) -> Arc<Queue> {
        Arc::clone(&self.queue)
    }

    /// Sets the session and the offset at which the output begins.
    pub(super) fn is_of(&mut self, session: u64, from: u64) {
        (self.session, self.position) = (Some(session), Some(from));
    }

    /// The next piece; `None` at the end. Cancel safe: dropping the future loses nothing.
    ///
    /// # Errors
    ///
    /// When the connection is lost before the end is known. After [`Client::reconnect`] the output continues where it
    /// stopped.
    pub async fn next(&mut self) -> Result<Option<ClientPiece>, ClientError> {
        loop {
            let piece = match self.backlog.pop_front() {
                Some(piece) => piece,
                None if self.catching_up => {
                    self.catch_up().await?;
                    continue;
                }
                None => match self.queue.turn().await {
                    ConsumerStep::Take(piece) => piece,
                    ConsumerStep::CatchUp => {
                        self.catching_up = true;
                        continue;
                    }
                    ConsumerStep::End => return Ok(None),
                    ConsumerStep::Lost => return Err(ClientError::Lost),
                },
            };
            // A piece that was read while catching up may arrive again as a notification.
            if let Some(piece) = piece.after(self.position) {
                self.position = self.position.map(|_| piece.end());
                return Ok(Some(piece));
            }
        }
    }

    /// All later output, both streams together, up to the end.
    ///
    /// # Errors
    ///
    /// As [`Output::next`].
    pub async fn rest(&mut self) -> Result<Vec<u8>, ClientError> {
        let mut all = Vec::new();
        while let Some(piece) = self.next().await? {
            if let ClientPiece::Bytes { bytes, .. } = piece {
                all.extend(bytes);
            }
        }
        Ok(all)
    }

    /// The offset up to which output was taken. Another consumer continues there with [`Client::subscribe`] or
    /// [`Client::adopt`].
    pub fn position(&self) -> Option<u64> {
        self.position
    }

    /// Reads the output that was skipped from the server.
    async fn catch_up(&mut self) -> Result<(), ClientError> {
        let (Some(session), Some(position)) = (self.session, self.position) else {
            self.catching_up = false;
            return Ok(());
        };
        let to = self.queue.front();
        if to.is_some_and(|to| to <= position) {
            self.catching_up = false;
            return Ok(());
        }
        let read = SessionReadParams {
            target: SessionTarget { session_id: Some(session), ..SessionTarget::default() },
            span: Some(SpanChoice { from: position, to }),
            max_bytes: Some(STEP),
            ..SessionReadParams::default()
        };
        let read = self.client.read(&read).await?;
        let next = read.next.unwrap_or(read.end);
        self.backlog.extend(pieces(&read));
        self.queue.caught_up_to(next);
        self.catching_up = next < to.unwrap_or(read.end) && !self.backlog.is_empty();
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.queue.abandon();
        if let Some(session) = self.session.filter(|_| self.queue.is_subscription()) {
            self.client.leave(session, &self.queue);
        }
    }
}

/// The pieces of a reply to `session/read`, in order.
fn pieces(read: &SessionReadResult) -> Vec<ClientPiece> {
    let bytes = read
        .chunks
        .iter()
        .filter_map(|chunk| ClientPiece::decode(chunk.stream, chunk.offset, &chunk.delta_base64));
    let dropped = read.dropped.iter().map(|span| ClientPiece::Dropped { from: span.from, to: span.to });
    let mut all: Vec<ClientPiece> = bytes.chain(dropped).collect();
    all.sort_by_key(ClientPiece::offset);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_had_is_not_had_again() {
        let piece = |offset, text: &str| ClientPiece::Bytes {
            stream: OutputStream::Stdout,
            offset,
            bytes: text.into(),
        };
        assert_eq!(piece(5, "abc").after(None), Some(piece(5, "abc")));
        assert_eq!(piece(5, "abc").after(Some(4)), Some(piece(5, "abc")));
        assert_eq!(piece(5, "abc").after(Some(7)), Some(piece(7, "c")));
        assert_eq!(piece(5, "abc").after(Some(8)), None);
        assert_eq!(
            ClientPiece::Dropped { from: 1, to: 9 }.after(Some(4)),
            Some(ClientPiece::Dropped { from: 4, to: 9 })
        );
    }
}
