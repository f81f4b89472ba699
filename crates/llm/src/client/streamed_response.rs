//! A response while it arrives.

use std::collections::VecDeque;

use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::{Client, Exchange, Lost};
use crate::event::ResponseEvent;
use crate::failure::Failure;
use crate::http::Connection;
use crate::sse::{Decoder, SseEvent};
use crate::wire::Reader;

/// A response that arrives piece by piece. Dropping it ends the exchange: unless the response was complete, the
/// connection is closed, which signals the provider to stop generating.
pub struct StreamedResponse {
    client: Client,
    state: State,
    decoder: Decoder,
    reader: Box<dyn Reader>,
    /// Events that were read, but not returned yet.
    waiting: VecDeque<ResponseEvent>,
}

enum State {
    Arriving { connection: Connection, body: Incoming },
    Complete,
    Failed(Failure),
}

impl StreamedResponse {
    pub(super) fn begin(client: Client, exchange: Exchange, reader: Box<dyn Reader>) -> Self {
        let Exchange { connection, response } = exchange;
        Self {
            client,
            state: State::Arriving { connection, body: response.into_body() },
            decoder: Decoder::default(),
            reader,
            waiting: VecDeque::new(),
        }
    }

    /// The next event; `None` after [`ResponseEvent::Completed`]. After a failure the same failure is returned again.
    /// Cancel-safe: the future may be dropped and the method called again without losing anything.
    pub async fn next(&mut self) -> Result<Option<ResponseEvent>, Failure> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Ok(Some(event));
            }
            match &mut self.state {
                State::Complete => return Ok(None),
                State::Failed(failure) => return Err(failure.clone()),
                State::Arriving { body, .. } => {
                    // timer: a provider that falls silent in the middle of a response.
                    let frame = tokio::time::timeout(self.client.0.provider.idle_timeout, body.frame()).await;
                    match frame {
                        Ok(Some(Ok(frame))) => {
                            self.take(frame.data_ref().map(AsRef::as_ref).unwrap_or_default());
                        }
                        Ok(Some(Err(error))) => self.fail(self.client.lost(Lost::Broken(error))),
                        Ok(None) => self.end(),
                        Err(_) => self.fail(self.client.lost(Lost::Silent)),
                    }
                }
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        match self.decoder.feed(bytes) {
            Ok(events) => self.read(&events),
            Err(failure) => self.fail(failure),
        }
    }

    fn read(&mut self, events: &[SseEvent]) {
        for event in events {
            match self.reader.read(event) {
                Ok(pieces) => self.waiting.extend(pieces),
                Err(failure) => return self.fail(failure),
            }
            if matches!(self.waiting.back(), Some(ResponseEvent::Completed(_))) {
                return self.complete();
            }
        }
    }

    /// Handles the end of the stream.
    fn end(&mut self) {
        match self.reader.end() {
            Ok(pieces) => {
                self.waiting.extend(pieces);
                self.complete();
            }
            Err(failure) => self.fail(failure),
        }
    }

    /// Keeps the connection. Bytes that still follow on it are read when the connection is taken again.
    fn complete(&mut self) {
        if let State::Arriving { connection, body } = std::mem::replace(&mut self.state, State::Complete) {
            self.client.0.pool.put(connection, body);
        }
    }

    fn fail(&mut self, Failure { remedy, message }: Failure) {
        let message = self.client.0.secrets.hide(&message);
        self.state = State::Failed(Failure { remedy, message });
    }
}
