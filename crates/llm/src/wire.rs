//! The formats of requests and responses. Pure: a wire writes a request as bytes and reads a response from the events
//! of a stream; it never sees a connection.

use crate::chat::Chat;
use crate::event::ResponseEvent;
use crate::failure::Failure;
use crate::provider::{Provider, WireKind};
use crate::request::Request;
use crate::responses::Responses;
use crate::sse::SseEvent;

/// A format of requests and responses.
pub trait Wire: Send + Sync {
    /// The path of requests, below the provider's address.
    fn path(&self) -> &'static str;

    /// The body of a request. The conversation stands at its end, so that a longer one begins with the same bytes.
    fn body(&self, request: &Request) -> String;

    /// A reader for the response to this request.
    fn reader(&self, request: &Request) -> Box<dyn Reader>;
}

/// Reads one response.
pub trait Reader: Send {
    /// The pieces that an event of the stream adds. Nothing is read after [`ResponseEvent::Completed`] or a failure.
    fn read(&mut self, event: &SseEvent) -> Result<Vec<ResponseEvent>, Failure>;

    /// Handles the end of a stream that ended before the response was complete.
    fn end(&mut self) -> Result<Vec<ResponseEvent>, Failure>;
}

/// The wire of this provider.
pub fn wire_of(provider: &Provider) -> Box<dyn Wire> {
    match provider.wire {
        WireKind::Responses => Box::new(Responses::of(provider)),
        WireKind::Chat => Box::new(Chat::of(provider)),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    //! Helpers for the tests of both wires.

    use proptest::prelude::*;

    use super::*;
    use crate::item::Item;
    use crate::sse::Decoder;

    /// A plain request.
    pub(crate) fn request(items: Vec<Item>) -> Request {
        Request {
            model: "m".to_owned(),
            items,
            tools: [].into(),
            parallel_calls: true,
            effort: None,
            summary: None,
            verbosity: None,
            output_schema: None,
            most_output: None,
            cache_key: "cache".to_owned(),
            thread: "thread".to_owned(),
        }
    }

    /// Reads a whole stream, as a client does.
    pub(crate) fn read_all(
        reader: &mut dyn Reader,
        events: &[SseEvent],
    ) -> Result<Vec<ResponseEvent>, Failure> {
        let mut read = Vec::new();
        for event in events {
            read.extend(reader.read(event)?);
            if matches!(read.last(), Some(ResponseEvent::Completed(_))) {
                return Ok(read);
            }
        }
        read.extend(reader.end()?);
        Ok(read)
    }

    /// Random streams with events of either wire, and events of neither.
    fn streams() -> impl Strategy<Value = Vec<u8>> {
        const PIECES: &[&str] = &[
            "data: {\"type\":\"response.created\"}\n\n",
            "data: {\"type\":\"response.output_item.done\",\r\ndata: \"item\":{\"type\":\"reasoning\"}}\r\n\r\n",
            "event: response.output_text.delta\ndata: {\"delta\":\"né€😀\"}\n\n",
            "data: {\"choices\":[{\"delta\":{\"content\":\"né€😀\"}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":1,\"function\":{\"arguments\":\"x\"}}]}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
            "data: {\"error\":{\"code\":500}}\n\n",
            "data: {\"type\":\"response.completed\"}\n\n",
            "data: [DONE]\n\n",
            "data: ",
            ": ping\n\n",
        ];
        let known = proptest::sample::select(PIECES).prop_map(|piece| piece.as_bytes().to_vec());
        let piece = prop_oneof![6 => known, 1 => proptest::collection::vec(any::<u8>(), 0..8)];
        proptest::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
    }

    fn read_in_pieces(kind: WireKind, stream: &[u8], size: usize) -> Result<Vec<ResponseEvent>, Failure> {
        let provider = Provider::at("it", "http://it", kind);
        let mut decoder = Decoder::default();
        let events = stream.chunks(size).flat_map(|bytes| decoder.feed(bytes).unwrap());
        let events: Vec<SseEvent> = events.collect();
        read_all(wire_of(&provider).reader(&request(Vec::new())).as_mut(), &events)
    }

    proptest! {
        #[test]
        fn an_answer_is_the_same_in_whatever_pieces_it_comes(stream in streams(), size in 1_usize..40) {
            for kind in [WireKind::Responses, WireKind::Chat] {
                let whole = read_in_pieces(kind, &stream, stream.len().max(1));
                prop_assert_eq!(read_in_pieces(kind, &stream, size), whole);
            }
        }
    }
}
