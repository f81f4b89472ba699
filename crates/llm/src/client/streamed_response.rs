//! An answer while it arrives.

use std::collections::VecDeque;

use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::{Client, Exchange, Lost};
use crate::event::ResponseEvent;
use crate::failure::Failure;
use crate::http::Connection;
use crate::sse::{Decoder, SseEvent};
use crate::wire::Reader;

/// An answer that arrives piece by piece. Dropping it ends the exchange: unless it was complete, the connection is closed,
/// which is how a provider hears that nobody listens any more.
pub struct StreamedResponse {
    client: Client,
    state: State,
    decoder: Decoder,
    reader: Box<dyn Reader>,
    /// Read, but not asked for yet.
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

    /// The next piece; `None` after [`Event::Completed`]. After a failure the same failure comes again. May be dropped
    /// while it waits, and asked again: nothing is lost.
    pub async fn next(&mut self) -> Result<Option<ResponseEvent>, Failure> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Ok(Some(event));
            }
            match &mut self.state {
                State::Complete => return Ok(None),
                State::Failed(failure) => return Err(failure.clone()),
                State::Arriving { body, .. } => {
                    // timer: a provider that has fallen silent in the middle.
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

    /// The stream has ended.
    fn end(&mut self) {
        match self.reader.end() {
            Ok(pieces) => {
                self.waiting.extend(pieces);
                self.complete();
            }
            Err(failure) => self.fail(failure),
        }
    }

    /// The connection is kept; what may still come on it is looked at when it is wanted again.
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
