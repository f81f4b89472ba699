//! Event streams: the one that answers a request, resumed where it broke off, and the one for the server's own
//! messages.

use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::Value;

use super::Web;
use crate::events::{Events, StreamEvent};
use crate::fault::Fault;
use crate::http::{HttpAnswer, HttpBody, HttpMethod};
use crate::message::{self, Message};
use crate::notes::quote;
use crate::protocol_revision::Era;

/// How many times in a row a stream that brings no message is resumed.
const FRUITLESS: u32 = 5;

/// The pause before that, if the server gives none.
const PAUSE: Duration = Duration::from_secs(1);

/// The longest pause that a server may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Follows the stream that answers a request.
pub(super) struct Follow<'a> {
    pub(super) web: &'a Arc<Web>,
    pub(super) revision: Option<&'a Era>,
}

impl Follow<'_> {
    /// Reads until the response is there. A stream that breaks off is resumed if the server supports it.
    pub(super) async fn until_answered(&self, id: u64, body: Box<dyn HttpBody>) -> Result<Value, Fault> {
        let (mut events, mut body, mut fruitless) = (Events::default(), body, 0);
        loop {
            let Read { heard, answer, broke } = self.read(id, body.as_mut(), &mut events).await;
            if let Some(answer) = answer {
                return answer;
            }
            fruitless = if heard { 0 } else { fruitless + 1 };
            let Some(last) = events.last_id().filter(|_| fruitless <= FRUITLESS).map(str::to_owned) else {
                let why = broke.map(|error| format!(": {error}")).unwrap_or_default();
                return Err(Fault::Ended(format!("the connection ended before the answer came{why}").into()));
            };
            pause(&events).await;
            let again = self.web.reopen(self.revision, Some(last)).await?;
            if again.status != 200 {
                return Err(self.web.refused(again).await);
            }
            // The server sends the event that the break cut off again as a whole.
            events = events.restarted();
            body = again.body;
        }
    }

    /// Reads one stream to its end or to the response.
    async fn read(&self, id: u64, body: &mut dyn HttpBody, events: &mut Events) -> Read {
        let mut read = Read { heard: false, answer: None, broke: None };
        while let Some(piece) = body.next().await {
            let piece = match piece {
                Ok(piece) => piece,
                Err(error) => {
                    read.broke = Some(error.0);
                    break;
                }
            };
            for message in messages(self.web, events, &piece) {
                read.heard = true;
                if let Some(answer) = self.web.sort(id, self.revision, message) {
                    read.answer = Some(answer);
                }
            }
            if read.answer.is_some() {
                break;
            }
        }
        read
    }
}

/// The result of reading a stream.
struct Read {
    /// Whether any message arrived.
    heard: bool,
    answer: Option<Result<Value, Fault>>,
    /// The error, if the stream did not just end.
    broke: Option<String>,
}

/// Receives a server's own messages, until the server says that it has no stream for them.
pub(super) async fn listen(web: &Weak<Web>, revision: &Era) {
    let (mut events, mut fruitless) = (Events::default(), 0);
    while fruitless <= FRUITLESS {
        let Some(web) = web.upgrade() else { return };
        let last = events.last_id().map(str::to_owned);
        let Ok(HttpAnswer { status: 200, mut body, headers, .. }) = web.reopen(Some(revision), last).await
        else {
            return;
        };
        let is_stream = headers.iter().any(|(name, value)| {
            name.eq_ignore_ascii_case("content-type") && value.starts_with("text/event-stream")
        });
        if !is_stream {
            return;
        }
        events = events.restarted();
        fruitless += 1;
        while let Some(Ok(piece)) = body.next().await {
            for message in messages(&web, &mut events, &piece) {
                fruitless = 0;
                web.overhear(Some(revision), message);
            }
        }
        drop(web);
        pause(&events).await;
    }
}

impl Web {
    /// Requests a stream, from where it broke off if that is known.
    async fn reopen(&self, revision: Option<&Era>, last: Option<String>) -> Result<HttpAnswer, Fault> {
        let mut headers = self.headers(revision);
        headers.retain(|(name, _)| name != "Content-Type" && name != "Accept");
        headers.push(("Accept".to_owned(), "text/event-stream".to_owned()));
        headers.extend(last.map(|last| ("Last-Event-ID".to_owned(), last)));
        self.send(HttpMethod::Get, headers, Vec::new()).await
    }
}

/// The messages that a chunk of a stream completes. Invalid ones are noted.
fn messages(web: &Web, events: &mut Events, piece: &[u8]) -> Vec<Message> {
    let (notes, mut found) = (&web.handler.notes, Vec::new());
    events.push(piece, |event| match event {
        StreamEvent::Data(data) => match message::read(data) {
            Ok(messages) => found.extend(messages),
            Err(problem) => notes.add(&format!("it sent {} as an event: {problem}", quote(data))),
        },
        StreamEvent::TooLong => notes.add("it sent an event that is longer than any message may be"),
    });
    found
}

async fn pause(events: &Events) {
    let pause = events.retry().unwrap_or(PAUSE).min(LONGEST_PAUSE);
    // timer: the protocol demands a pause before a stream is resumed, and nothing else can end it.
    let _ = tokio::time::timeout(pause, std::future::pending::<()>()).await;
}
